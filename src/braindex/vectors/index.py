"""The dense index of a workspace: exact search while it is small, ChromaDB when it is large, and keeping both
true.
"""

import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

from braindex.domain.ports import Vector, VectorSource
from braindex.vectors.chroma import BATCH, ChromaVectors, VectorIndexUnavailable
from braindex.vectors.exact import Found, Matrix, MatrixCache, blend, nearest_of_blocks

# 154 MB of vectors of 256 numbers, which ChromaDB would hold in memory as well, and 15 ms a question. Unlike ChromaDB
# a matrix answers while another process writes, and with any filter.
EXACT_LIMIT: Final = 150_000
_USUAL_BYTES: Final = 1024  # of a vector of the bundled model; of longer ones fewer are held in memory
_KEPT_WORKSPACES: Final = 3
_KEPT_BYTES: Final = 160_000_000
_BLOCK: Final = 4096
# Beyond a quarter of the rows a new matrix is read as fast as the old one is copied, and the old one can go first.
_MOST_CHANGED: Final = 4
# Waiting changes are read one by one: beyond so many, reading everything in order is faster.
_MOST_WAITING: Final = 10_000
# Ids that ChromaDB still has and index.db does not would take the places of others.
_SPARE: Final = 20


@runtime_checkable
class TellsChanges(Protocol):
    """A source that can tell which vectors changed; any other is read whole when one did."""

    def vector_rows(self, since: int = -1) -> "array[int]":
        """Rows that have a vector, ascending: all, or those whose vector was written after a vector generation."""
        ...


class WorkspaceVectors:
    """`DenseIndex` of one workspace, over an open `VectorSource`. Made for one operation, like its source.

    Distances are always measured on the stored vectors. A large workspace's neighbours come from ChromaDB,
    together with what it has not taken in yet; when it is busy, cut off or incomplete, the stored vectors are
    read instead.
    """

    def __init__(
        self, folder: Path, source: VectorSource, chroma: ChromaVectors, cache: MatrixCache, exact_limit: int
    ) -> None:
        self._folder = folder
        self._source = source
        self._chroma = chroma
        self._cache = cache
        self._exact_limit = exact_limit

    def nearest(self, question: Vector, limit: int, among: Sequence[int] | None = None) -> Found:
        """Row ids with true L2 distances, nearest first; equal distances by row. `among` restricts the
        search.
        """
        with self._source.snapshot():
            if limit < 1 or self._source.vector_count() == 0:
                return []
            matrix = self._matrix(len(question))
            if matrix is not None:
                positions = None if among is None else matrix.positions(among)
                return matrix.nearest(question, limit, positions)
            if among is not None:
                return nearest_of_blocks(self._blocks_of(among), question, limit)
            return self._approximate(question, limit) or self._streamed(question, limit)

    def distances(self, question: Vector, rows: Sequence[int]) -> dict[int, float]:
        """The true distance of each row that has a vector."""
        with self._source.snapshot():
            matrix = self._matrix(len(question)) or Matrix.of_vectors(self._source.vectors(rows))
        return dict(matrix.distances(question, matrix.positions(rows))) if len(matrix.rows) else {}

    def blend(self, question: Vector, rows: Sequence[tuple[int, float]], weight: float) -> Vector:
        """Relevance feedback: normalise(question + weight * normalise(sum of vectors * their weights))."""
        found = self._source.vectors([row for row, _ in rows])
        return blend(question, [(found[row], share) for row, share in rows if row in found], weight)

    def sync(self, *, wait_seconds: float = 0.0, stop: Callable[[], bool] = lambda: False) -> int:
        """Bring ChromaDB up to date; returns how many changes it took in.

        An index that was cut off, lost, or holds another number of vectors than the store is built anew,
        while questions are answered from the store. `stop` is asked between batches. Raises VectorIndexBusy
        when another thread or process is at it, VectorIndexUnavailable when it cannot be built; nothing is
        lost by either.
        """
        with self._chroma.turn(wait_seconds):
            if self._chroma.interrupted or (not self._chroma.exists and self._source.vector_count()):
                self._start_over()
            try:
                return self._drain(stop)
            except VectorIndexUnavailable:
                self._start_over()
                return self._drain(stop)

    def _drain(self, stop: Callable[[], bool]) -> int:
        changes = self._source.outbox(BATCH)
        if not changes:
            return 0
        taken = 0
        with self._chroma.changes():
            self._chroma.refresh(self._source.applied_generation())
            while changes and not stop():
                self._chroma.apply(
                    [(one.id, one.vector) for one in changes if one.vector is not None],
                    [one.id for one in changes if one.vector is None],
                )
                self._chroma.moved_to(self._source.outbox_done(changes))
                taken += len(changes)
                changes = self._source.outbox(BATCH)
        self._check_complete()
        return taken

    def _check_complete(self) -> None:
        with self._source.snapshot():
            expected = None if self._source.outbox(1) else self._source.vector_count()
        found = self._chroma.count()
        if expected is not None and found != expected:
            raise VectorIndexUnavailable(self._folder, f"it has {found} vectors instead of {expected}")

    def _start_over(self) -> None:
        self._chroma.reset()
        self._source.outbox_all()

    def _matrix(self, vector_bytes: int) -> Matrix | None:
        """All vectors in memory, or None where they are too many, or of too many numbers, for that."""
        if self._source.vector_count() * max(vector_bytes, _USUAL_BYTES) > self._exact_limit * _USUAL_BYTES:
            return None
        generation = self._source.vector_generation()
        return self._cache.get(self._folder, generation, self._loaded, self._updated)

    def _loaded(self) -> Matrix:
        return Matrix.of(*self._source.all_vectors())

    def _updated(self, generation: int, matrix: Matrix) -> Matrix | None:
        """An earlier matrix brought up to date, or None where too much changed for that."""
        if not isinstance(self._source, TellsChanges):
            return None
        changed, count = self._source.vector_rows(since=generation), self._source.vector_count()
        if len(changed) * _MOST_CHANGED >= count:
            return None
        return matrix.updated(Matrix.of_vectors(self._source.vectors(changed)), count, self._source.vector_rows)

    def _approximate(self, question: Vector, limit: int) -> Found | None:
        """What ChromaDB and the waiting changes have, or None when that cannot be the whole answer."""
        pending = self._source.pending_rows() if self._chroma.exists else []
        if len(pending) > _MOST_WAITING:
            return None
        least = min(limit, self._source.vector_count() - len(pending))
        try:
            with self._chroma.turn():
                if self._chroma.interrupted or not self._chroma.exists:
                    return None
                with self._chroma.reading():
                    self._chroma.refresh(self._source.applied_generation())
                    near = self._chroma.nearest(question, limit + _SPARE, least)
        except VectorIndexUnavailable:
            return None
        rows = set(self._source.rows_of(one for one, _ in near).values())
        if len(rows) < least:
            return None
        return nearest_of_blocks(self._blocks_of(rows.union(pending)), question, limit)

    def _streamed(self, question: Vector, limit: int) -> Found:
        blocks = (Matrix.of(*block) for block in self._source.stream_vectors())
        return nearest_of_blocks(blocks, question, limit)

    def _blocks_of(self, rows: Iterable[int]) -> Iterator[Matrix]:
        ordered = sorted(rows)
        for start in range(0, len(ordered), _BLOCK):
            found = self._source.vectors(ordered[start : start + _BLOCK])
            if found:
                yield Matrix.of_vectors(found)


class DenseIndexes:
    """The dense indexes of all workspaces: what is kept between operations, for the few used last.

    Safe from several threads. `exact_limit` is the number of vectors of 1 kB up to which a workspace is searched
    exactly.
    """

    def __init__(self, exact_limit: int = EXACT_LIMIT, kept_workspaces: int = _KEPT_WORKSPACES) -> None:
        self._exact_limit = exact_limit
        self._most = kept_workspaces
        self._cache = MatrixCache(kept_workspaces, _KEPT_BYTES)
        self._lock = threading.Lock()
        self._open: OrderedDict[Path, ChromaVectors] = OrderedDict()

    def of(self, folder: Path, source: VectorSource) -> WorkspaceVectors:
        """The index of the workspace whose data is in `folder`, over its open store."""
        return WorkspaceVectors(folder, source, self._chroma(folder), self._cache, self._exact_limit)

    def forget(self, folder: Path) -> None:
        """Release all that is held of a workspace, before its folder is deleted."""
        self._cache.forget(folder)
        with self._lock:
            chroma = self._open.pop(folder, None)
        if chroma is not None:
            chroma.close()

    def close(self) -> None:
        for folder in list(self._open):
            self.forget(folder)

    def _chroma(self, folder: Path) -> ChromaVectors:
        with self._lock:
            found = self._open.pop(folder, None) or ChromaVectors(folder)
            self._open[folder] = found
            for oldest in list(self._open)[: -self._most]:
                if self._open[oldest].close(wait_seconds=0):  # one at work stays until the next time
                    del self._open[oldest]
        return found
