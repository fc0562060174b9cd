"""The dense index of a workspace: exact search while it is small, ChromaDB when it is large or a server was chosen,
and keeping both true.
"""

import contextlib
import logging
import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

from braindex.domain.ports import IndexPlace, Vector, VectorSource
from braindex.vectors import placement
from braindex.vectors.backing import (
    BATCH,
    Backing,
    SyncStopped,
    VectorIndexUnavailable,
    VectorServerAway,
    VectorServerBehind,
    Wanted,
    never,
)
from braindex.vectors.check import alike, differences
from braindex.vectors.chroma import ChromaVectors
from braindex.vectors.chroma_server import ServerVectors, sweep
from braindex.vectors.exact import Block, Found, Matrix, MatrixCache, blend, nearest_of_blocks
from braindex.vectors.server import ChromaServer

log = logging.getLogger(__name__)

_BESIDE_FROM: Final = 4_000  # vectors: fewer are searched in less time than a thread takes to begin
_beside: Final = ThreadPoolExecutor(max_workers=2, thread_name_prefix="nearest")

# 512 MB of vectors of 256 numbers, and a quarter of that again. Up to here ChromaDB finds less and needs more: at
# 262,000 entities a scan took 2.5 times as long an entity as one that is searched exactly, a question three times, and
# 650 MB. A matrix answers while another process writes, and with any filter (bench/dense.py, bench/scale.py).
EXACT_LIMIT: Final = 500_000
_FLOAT_BYTES: Final = 4
_USUAL_BYTES: Final = 1024  # of a vector of the bundled model; of longer ones fewer are held in memory
_KEPT_WORKSPACES: Final = 3
_KEPT_BYTES: Final = 200_000_000
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

    Distances are always measured on the stored vectors. A large workspace's neighbours come from ChromaDB, and any
    workspace's where that is a server, together with what it has not taken in yet; when it is busy, cut off,
    incomplete or away, the stored vectors are read instead.
    """

    def __init__(
        self, folder: Path, source: VectorSource, backing: Backing, cache: MatrixCache, exact_limit: int
    ) -> None:
        self._folder = folder
        self._source = source
        self._backing = backing
        self._cache = cache
        self._exact_limit = exact_limit
        self._remark = ""

    @property
    def remark(self) -> str:
        """In one line why the last `nearest` did without the server that was chosen, else ""."""
        return self._remark

    def nearest(self, question: Vector, limit: int, among: Sequence[int] | None = None) -> Found:
        """Row ids with true L2 distances, nearest first; equal distances by row. `among` restricts the
        search.
        """
        self._remark = ""
        with self._source.snapshot():
            if limit < 1 or self._source.vector_count() == 0:
                return []
            if among is None and self._backing.asked_first:
                found = self._approximate(question, limit)
                if found is not None:
                    return found
            matrix = self._matrix(len(question))
            if matrix is not None:
                positions = None if among is None else matrix.positions(among)
                return matrix.nearest(question, limit, positions)
            if among is not None:
                return nearest_of_blocks(self._blocks_of(among), question, limit)
            found = None if self._backing.asked_first else self._approximate(question, limit)
            return found or self._streamed(question, limit)

    def begin(self, question: Vector, limit: int, among: Sequence[int] | None = None) -> Callable[[], Found]:
        """`nearest`, begun now; the call of what it returns waits for the answer.

        A large matrix is searched in another thread, on another core, while this one reads the full-text index.
        """
        if among is None and not self._backing.asked_first:
            with self._source.snapshot():
                matrix = self._matrix(len(question)) if limit > 0 and self._source.vector_count() else None
            if matrix is not None and len(matrix) >= _BESIDE_FROM:
                self._remark = ""
                return _beside.submit(matrix.nearest, question, limit).result
        found = self.nearest(question, limit, among)
        return lambda: found

    def distances(self, question: Vector, rows: Sequence[int]) -> dict[int, float]:
        """The true distance of each row that has a vector."""
        with self._source.snapshot():
            # With a server, what is asked for does not have to be searched: no need to hold everything.
            matrix = None if self._backing.asked_first else self._matrix(len(question))
            matrix = matrix or Matrix.of_vectors(self._source.vectors(rows))
        return dict(matrix.distances(question, matrix.positions(rows))) if len(matrix) else {}

    def blend(self, question: Vector, rows: Sequence[tuple[int, float]], weight: float) -> Vector:
        """Relevance feedback: normalise(question + weight * normalise(sum of vectors * their weights))."""
        found = self._source.vectors([row for row, _ in rows])
        return blend(question, [(found[row], share) for row, share in rows if row in found], weight)

    def sync(self, *, wait_seconds: float = 0.0, stop: Callable[[], bool] = never) -> int:
        """Bring ChromaDB up to date; returns how many changes it took in.

        A workspace that is searched exactly has no index, and one left from when it was larger goes. An index that was
        cut off, lost, or holds another number of vectors than the store is built anew,
        while questions are answered from the store. `stop` is asked between batches and in every wait. Raises
        VectorIndexBusy when another thread or process is at it, VectorServerAway when a server does not answer,
        VectorIndexUnavailable when it cannot be built; nothing is lost by any.
        """
        if self._is_small() and not self._source.outbox_kept() and not self._backing.exists:
            return 0
        with self._backing.turn(wait_seconds, stop):
            taken = self._brought_up_to_date(stop)
            if not stop():
                self._backing.tidy()
        return taken

    def _brought_up_to_date(self, stop: Callable[[], bool]) -> int:
        if self._is_small():
            self._backing.reset()
            self._source.outbox_ends()
            return 0
        is_whole = self._source.outbox_kept() and self._backing.exists
        if self._backing.interrupted or (not is_whole and self._source.vector_count()):
            self._start_over()
        try:
            return self._drain(stop)
        except VectorServerAway:
            raise
        except VectorIndexUnavailable:
            self._start_over()
            return self._drain(stop)

    def place(self) -> IndexPlace:
        """Where ChromaDB's copy of the vectors is to be, and whether a sync has put it there; no server is asked."""
        return IndexPlace(
            is_needed=self._source.vector_count() > 0 and not self._is_small(),
            is_there=self._source.outbox_kept() and self._backing.is_placed,
            on_server=self._backing.asked_first,
        )

    def problems(self, *, wait_seconds: float = 0.0, stop: Callable[[], bool] = never) -> list[str]:
        """What the index holds otherwise than the store, a line each; the next `sync` then builds it anew.

        Reads every vector of both, a page at a time: seconds for 100,000. Raises as `sync`.
        """
        with self._backing.turn(wait_seconds, stop), self._source.snapshot():
            if not self._source.vector_count() or (self._is_small() and not self._source.outbox_kept()):
                return []
            if not self._backing.exists:
                return ["the vector index does not exist: the next scan makes it"]
            if self._backing.interrupted:
                return ["the vector index was cut off or is of another place: the next scan makes it anew"]
            found = self._checked(stop)
            if found:
                self._backing.doubt()
        return found

    def _checked(self, stop: Callable[[], bool]) -> list[str]:
        try:
            self._backing.refresh(self._source.applied_generation())
            return differences(self._source, self._backing, stop)
        except VectorServerAway:
            raise
        except VectorIndexUnavailable as why:
            return [str(why)]

    def _drain(self, stop: Callable[[], bool]) -> int:
        taken = 0
        with contextlib.suppress(SyncStopped):
            changes = self._source.outbox(BATCH)
            if not changes:
                if self._backing.counts_cheaply and self._backing.exists:
                    self._check_complete()
                return 0
            with self._backing.changes():
                self._backing.refresh(self._source.applied_generation())
                while changes and not stop():
                    self._backing.apply(
                        [(one.id, one.vector) for one in changes if one.vector is not None],
                        [one.id for one in changes if one.vector is None],
                    )
                    self._backing.moved_to(self._source.outbox_done(changes))
                    taken += len(changes)
                    changes = self._source.outbox(BATCH)
            self._check_complete()
        return taken

    def _check_complete(self) -> None:
        with self._source.snapshot():
            expected = None if self._source.outbox(1) else self._source.vector_count()
        if expected is None:
            return
        found = self._backing.count()
        if found != expected:
            raise VectorIndexUnavailable(self._folder, f"it has {found} vectors instead of {expected}")

    def _start_over(self) -> None:
        self._backing.reset()
        self._source.outbox_all()

    def _is_small(self) -> bool:
        """Whether ChromaDB is of no use: all vectors are searched in memory. A workspace that shrinks keeps it for a
        while, so that one at the limit does not come and go.
        """
        if self._backing.asked_first:
            return False
        size = self._source.vector_count() * max(_USUAL_BYTES, _FLOAT_BYTES * (self._source.dimension() or 0))
        return size <= self._exact_limit * _USUAL_BYTES // (2 if self._source.outbox_kept() else 1)

    def _matrix(self, vector_bytes: int) -> Matrix | None:
        """All vectors in memory, or None where they are too many, or of too many numbers, for that."""
        if self._source.vector_count() * max(vector_bytes, _USUAL_BYTES) > self._exact_limit * _USUAL_BYTES:
            return None
        generation = self._source.vector_generation()
        return self._cache.get(self._folder, generation, self._loaded, self._updated)

    def _loaded(self) -> Matrix:
        return Matrix(Block.of(*block) for block in self._source.stream_vectors()).reduced()

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
        pending = self._source.pending_rows() if self._backing.exists else []
        if not self._source.outbox_kept() or len(pending) > _MOST_WAITING:
            return None
        least = min(limit, self._source.vector_count() - len(pending))
        expected = None if self._source.outbox(1) else self._source.vector_count()
        generation = self._source.applied_generation()
        wanted = Wanted(question, limit + _SPARE, least, expected, generation, partial(alike, self._source))
        try:
            near = self._backing.question(wanted)
        except (VectorServerAway, VectorServerBehind) as why:
            self._remark = f"searched the stored vectors instead, since {why}"
            return None
        except VectorIndexUnavailable:
            return None
        if near is None:
            return None
        rows = set(self._source.rows_of(one for one, _ in near).values())
        if len(rows) < least:
            if self._backing.asked_first:
                self._remark = "searched the stored vectors instead, since those of the Chroma server are others"
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
    exactly. With a `server` the vectors are in collections there.
    """

    def __init__(
        self,
        exact_limit: int = EXACT_LIMIT,
        kept_workspaces: int = _KEPT_WORKSPACES,
        server: ChromaServer | None = None,
    ) -> None:
        self._exact_limit = exact_limit
        self._most = kept_workspaces
        self._server = server
        self._cache = MatrixCache(kept_workspaces, _KEPT_BYTES)
        self._lock = threading.Lock()
        self._open: OrderedDict[Path, Backing] = OrderedDict()

    def of(self, folder: Path, source: VectorSource, *, stays_here: bool = False) -> WorkspaceVectors:
        """The index of the workspace whose data is in `folder`, over its open store.

        With `stays_here` it is the embedded one, whatever the server.
        """
        server = None if stays_here else self._server
        return WorkspaceVectors(folder, source, self._backing(folder, server), self._cache, self._exact_limit)

    def forget(self, folder: Path) -> None:
        """Release all that is held of a workspace."""
        self._cache.forget(folder)
        with self._lock:
            backing = self._open.pop(folder, None)
        if backing is not None:
            backing.close()

    def drop(self, folder: Path) -> None:
        """Release all that is held of a workspace, before its folder is deleted, and delete its collection.

        Never fails. A collection on a server that is away, or that is not the configured one, is noted, and deleted by
        the first scan that reaches that server.
        """
        self.forget(folder)
        try:
            where = placement.retire(folder)
            if where is None or not where.collection:
                return
            if self._server is not None and self._server.address == where.address:
                sweep(folder.parent, self._server)
                return
            why = "CHROMA_URL does not lead to its server"
        except VectorIndexUnavailable as failure:
            why = str(failure)
        log.warning("a dropped workspace's collection is left on its Chroma server until a scan reaches it: %s", why)

    def close(self) -> None:
        for folder in list(self._open):
            self.forget(folder)
        if self._server is not None:
            self._server.close()

    def _backing(self, folder: Path, server: ChromaServer | None) -> Backing:
        with self._lock:
            found = self._open.pop(folder, None)
            if found is None or found.asked_first != (server is not None):
                if found is not None:
                    found.close(wait_seconds=0)
                found = ChromaVectors(folder) if server is None else ServerVectors(folder, server)
            self._open[folder] = found
            for oldest in list(self._open)[: -self._most]:
                if self._open[oldest].close(wait_seconds=0):  # one at work stays until the next time
                    del self._open[oldest]
        return found
