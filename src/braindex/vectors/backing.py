"""Where the approximate index of a workspace lies: what `WorkspaceVectors` needs of it, whichever it is."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, NamedTuple, Protocol

from braindex.domain.errors import BraindexError
from braindex.domain.ports import Vector

# Changes that are read from the store at a time.
BATCH: Final = 2000
# Chroma's "l2" is the squared distance. On 33,032 vectors of source code (256 dimensions) these give a
# recall@10 of .994 at 5,300 upserts a CPU second; the defaults .957 at 4,400.
HNSW: Final = {"space": "l2", "ef_construction": 80, "max_neighbors": 16, "ef_search": 500}
# (id, numbers; None where the index knows the id and lost its vector)
Entry = tuple[str, Any]


class Wanted(NamedTuple):
    """What a question wants of the index: the `limit` nearest of `vector`, as of the applied `generation`.

    Sound is an index that finds at least `least`, holds `expected` vectors (None where that cannot be told), and of
    which `alike` says that a sample is what is stored.
    """

    vector: Vector
    limit: int
    least: int
    expected: int | None
    generation: int
    alike: Callable[[Sequence[Entry]], bool]


def never() -> bool:
    """For whoever has no reason to stop."""
    return False


class VectorIndexUnavailable(BraindexError):
    """The index cannot answer now; the stored vectors can. Unless a subclass says otherwise, a rebuild mends it."""

    def __init__(self, where: object, reason: str) -> None:
        super().__init__(f"{where} cannot be used: {reason}. It is rebuilt from index.db at the next scan.")


class VectorIndexBusy(VectorIndexUnavailable):
    def __init__(self, where: object) -> None:
        super().__init__(where, "it is being written by another thread or process")


class VectorServerBehind(VectorIndexUnavailable):
    """A server answers, and has not what it should have."""

    def __init__(self, shown: str, what: str) -> None:
        BraindexError.__init__(self, f"the Chroma server at {shown} {what}; the next scan mends that")


class VectorServerAway(VectorIndexUnavailable):
    """A server does not answer as it should, which no rebuild mends. `again`: another attempt may help."""

    def __init__(self, shown: str, what: str, *, again: bool = False, retry_after: float = 0.0) -> None:
        BraindexError.__init__(self, f"the Chroma server at {shown} {what}")
        self.again = again
        self.retry_after = retry_after


class VectorServerSilent(VectorServerAway):
    """A server gave no answer in time. Asking it again costs as much once more, so nobody does for a while."""


class SyncStopped(VectorServerAway):
    """Whoever asked for the changes wants them no more; the next sync goes on."""

    def __init__(self, shown: str) -> None:
        super().__init__(shown, "was not waited for, since the scan was stopped")


class Backing(Protocol):
    """The approximate index of one workspace, embedded or on a server: ids and vectors, a copy of the store's.

    Everything but `question`, `exists` and `close` is called inside `turn`.
    """

    @property
    def asked_first(self) -> bool:
        """Whether it is asked also where the stored vectors are few enough to be searched exactly."""
        ...

    @property
    def counts_cheaply(self) -> bool:
        """Whether `count` costs so little that each sync may ask for it."""
        ...

    @property
    def exists(self) -> bool: ...

    @property
    def is_placed(self) -> bool:
        """Whether it is in the place that the settings name, sound or not; false until a sync has put it there."""
        ...

    @property
    def interrupted(self) -> bool:
        """Whether it has to be built anew, whatever waits for it."""
        ...

    def turn(self, wait_seconds: float = 0.0, stop: Callable[[], bool] = ...) -> AbstractContextManager[None]:
        """Alone with the index, across threads and processes. Raises VectorIndexBusy after `wait_seconds`.

        No wait inside, for whatever it be, lasts long after `stop` turned true.
        """
        ...

    def question(self, wanted: Wanted) -> list[tuple[str, float]] | None:
        """(id, L2 distance), nearest first; None where the index is not ready for questions.

        Raises VectorIndexUnavailable, also where it turns out not to be sound.
        """
        ...

    def refresh(self, generation: int) -> None:
        """Open the index as it is, unless it is open at this generation already; create it where there is none."""
        ...

    def moved_to(self, generation: int) -> None:
        """What is open is this generation: the one that came of its own changes."""
        ...

    def changes(self) -> AbstractContextManager[None]:
        """Around `apply`: what does not end in order leaves the index `interrupted` where that could damage it."""
        ...

    def apply(self, upserts: Sequence[tuple[str, Vector]], deletes: Sequence[str]) -> None:
        """Take in changes. Of an id that comes twice, the last counts; unknown deletes do nothing."""
        ...

    def count(self) -> int: ...

    def entries(self, page: int) -> Iterator[list[Entry]]:
        """All that it holds, at most `page` at a time, as they were put in."""
        ...

    def tidy(self) -> None:
        """Delete what was left over in this place by indexes that were given up. Called at the end of a sync."""
        ...

    def doubt(self) -> None:
        """Leave the index `interrupted`, so that the next sync builds it anew."""
        ...

    def reset(self) -> None:
        """Forget the whole index, however damaged."""
        ...

    def close(self, wait_seconds: float = ...) -> bool:
        """Release what is held; it opens again at the next use. False when another thread was still at work in it
        after `wait_seconds`.
        """
        ...
