"""Whether an index holds what the store holds, vector by vector."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from braindex.domain.ports import VectorSource
from braindex.vectors.backing import Backing, Entry, VectorIndexBusy
from braindex.vectors.exact import as_array

_PAGE: Final = 1000
# A vector takes a journey through decimal numbers: what is closer than this is the same float32.
_SAME: Final = 1e-6
_MOST_WAITING: Final = 10_000  # changes that are looked at one by one
_MEANWHILE: Final = 8  # of a sample, one in so many may differ: another process may have written since the snapshot


@dataclass(slots=True)
class _Tally:
    alike: int = 0
    different: int = 0
    left_over: int = 0
    without_vector: int = 0


def differences(source: VectorSource, index: Backing, stop: Callable[[], bool]) -> list[str]:
    """What differs, a line each; nothing where the index is what the store and its outbox say.

    To be called in the index's turn and the store's snapshot. Holds a page of vectors at a time. What waits in the
    outbox is no difference. Raises VectorIndexUnavailable, VectorIndexBusy among them where `stop` turned true.
    """
    waiting = source.outbox(_MOST_WAITING + 1)
    pending = set(source.pending_rows())
    leaving = {one.id for one in waiting}
    tally = _Tally()
    for page in index.entries(_PAGE):
        if stop():
            raise VectorIndexBusy("the check of the vector index")
        _compare(source, page, pending, leaving, tally)
    if len(waiting) > _MOST_WAITING:
        tally.left_over = 0  # what is leaving cannot be told from what should have left
    missing = source.vector_count() - len(_stored(source, pending)) - tally.alike - tally.different
    return _said(tally, missing - tally.without_vector)


def alike(source: VectorSource, sample: Sequence[Entry]) -> bool:
    """Whether a sample of the index is what the store holds, but for what waits in the outbox or is leaving.

    What a damaged file lost is never near anything, so that a search which skips it looks as good as any other.
    """
    tally = _Tally()
    _compare(source, list(sample), set(source.pending_rows()), set(), tally)
    return (tally.different + tally.without_vector) * _MEANWHILE <= len(sample)


def _stored(source: VectorSource, rows: set[int]) -> set[int]:
    """Those of some rows that have a vector, looked up a page at a time."""
    ordered, found = sorted(rows), set[int]()
    for start in range(0, len(ordered), _PAGE):
        found |= source.vectors(ordered[start : start + _PAGE]).keys()
    return found


def _compare(source: VectorSource, page: list[Entry], pending: set[int], leaving: set[str], tally: _Tally) -> None:
    rows = source.rows_of(one for one, _ in page)
    vectors = source.vectors(rows.values())
    for one, numbers in page:
        row = rows.get(one)
        if row in pending or one in leaving:
            continue
        stored = None if row is None else vectors.get(row)
        if stored is None:
            tally.left_over += 1
        elif numbers is None:
            tally.without_vector += 1
        elif _same(as_array(stored), np.asarray(numbers, dtype="<f4")):
            tally.alike += 1
        else:
            tally.different += 1


def _same(stored: "np.typing.NDArray[np.float32]", held: "np.typing.NDArray[np.float32]") -> bool:
    return stored.shape == held.shape and bool(np.abs(stored - held).max(initial=0.0) <= _SAME)


def _said(tally: _Tally, missing: int) -> list[str]:
    found = (
        (missing, "missing from the vector index"),
        (tally.left_over, "in the vector index, and of nothing that is stored any more"),
        (tally.different, "different in the vector index from what is stored"),
        (tally.without_vector, "known to the vector index, which lost their numbers"),
    )
    return [f"{count:,} vector{'s are' if count != 1 else ' is'} {what}" for count, what in found if count > 0]
