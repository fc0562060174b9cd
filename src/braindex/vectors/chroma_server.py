"""The vectors of a workspace in a Chroma server: one collection a workspace, of ids and vectors alone.

The server keeps its own files sound and answers while others write, so only writers take turns here.
"""

import base64
import contextlib
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import numpy as np

from braindex.domain.ports import Vector
from braindex.vectors import placement
from braindex.vectors.backing import (
    HNSW,
    Entry,
    VectorIndexBusy,
    VectorServerAway,
    VectorServerBehind,
    Wanted,
    never,
)
from braindex.vectors.chroma import FOLDER, LOCK, MARKERS
from braindex.vectors.exact import as_array
from braindex.vectors.placement import Placement
from braindex.vectors.server import REQUEST_BYTES, ChangeRefused, ChromaServer, NotThere
from braindex.vectors.turn import Turns

_COUNTED_FOR: Final = 30.0  # seconds for which a count that was right is taken to be right still
_PREFIX: Final = "braindex"


class ServerVectors:
    """The collection of one workspace. Safe from several threads; `question` needs no turn."""

    asked_first = True
    counts_cheaply = True

    def __init__(self, folder: Path, server: ChromaServer) -> None:
        self._folder = folder
        self._server = server
        self._turns = Turns(folder, folder / LOCK, folder / FOLDER)
        self._stop: Callable[[], bool] = never
        self._counted: tuple[str, int, int, float] | None = None

    @contextlib.contextmanager
    def turn(self, wait_seconds: float = 0.0, stop: Callable[[], bool] = never) -> Iterator[None]:
        """Alone with the collection among those who write to it."""
        with self._turns.taken(wait_seconds, stop):
            self._stop = stop
            try:
                yield
            finally:
                self._stop = never

    @property
    def exists(self) -> bool:
        return placement.placement(self._folder) is not None

    @property
    def is_placed(self) -> bool:
        """Whether a collection was made on this server. A note of it that cannot be read is one of damage."""
        found = placement.placement(self._folder)
        if found is None:
            return False
        return not found.collection or (bool(found.id) and found.address == self._server.address)

    @property
    def interrupted(self) -> bool:
        """Whether the collection is in doubt, was never made, or is one of another server."""
        found = placement.placement(self._folder)
        return found is not None and not self._is_ready(found)

    def question(self, wanted: Wanted) -> list[tuple[str, float]] | None:
        """About the nearest; None where no scan has brought the vectors here yet, or one is at it and they are few.

        Takes `question_seconds` of the server's limits at most. Raises VectorServerAway and VectorServerBehind.
        """
        where = placement.placement(self._folder)
        if where is None or not self._is_ready(where):
            return None
        deadline = self._server.limits.clock() + self._server.limits.question_seconds
        try:
            near = self._near(where, wanted, deadline)
            self._check_count(where, wanted, deadline)
        except VectorServerBehind:
            if self._is_written():  # by a scan that is ahead of what this question sees of the store
                return None
            raise
        return near

    def refresh(self, generation: int) -> None:
        """Create the collection where there is none. A server needs no opening anew."""
        del generation
        if placement.placement(self._folder) is not None:
            return
        placement.forget_embedded(self._folder, (FOLDER, *MARKERS))
        # A name of its own: the same folder on another machine has the same id, and a server may be shared.
        where = Placement(self._server.address, f"{_PREFIX}-{self._folder.name}-{uuid.uuid4().hex[:8]}")
        placement.place(self._folder, where)  # before it is there, so that none is ever left unknown
        made = self._created(where)
        placement.place(self._folder, Placement(where.address, where.collection, made))

    def moved_to(self, generation: int) -> None:
        """The server shows what it holds to all who ask."""

    def changes(self) -> AbstractContextManager[None]:
        """A change that was cut off waits in the outbox still, and may be repeated: nothing has to be noted."""
        return contextlib.nullcontext()

    def apply(self, upserts: Sequence[tuple[str, Vector]], deletes: Sequence[str]) -> None:
        """Take in changes, in requests of bounded size. Raises as `ChromaServer.change`, and VectorServerBehind."""
        latest = dict(upserts)
        takes = self._server.takes(self._stop)
        for some in _parts(list(dict.fromkeys(deletes)), takes.records):
            self._change("delete", {"ids": some})
        largest = max(map(len, latest.values()), default=1)
        for some in _parts(list(latest), min(takes.records, max(1, REQUEST_BYTES // largest))):
            vectors = [_sent(latest[one], compact=takes.base64) for one in some]
            self._change("upsert", {"ids": some, "embeddings": vectors})

    def count(self) -> int:
        with self._named():
            return self._number(self._server.change("GET", f"{self._collection()}/count", stop=self._stop))

    def entries(self, page: int) -> Iterator[list[Entry]]:
        """All ids with their numbers, at most `page` at a time."""
        most, start, size = min(page, self._server.takes(self._stop).records), 0, 1
        while some := self._entries(self._change("get", {"limit": size, "offset": start, "include": ["embeddings"]})):
            yield some
            start += len(some)
            longest = max((4 * len(numbers) for _, numbers in some if numbers is not None), default=1)
            size = max(1, min(most, REQUEST_BYTES // longest))

    def tidy(self) -> None:
        """Collections that were left over on this server go; those that it does not delete now stay noted."""
        with contextlib.suppress(VectorServerAway):
            sweep(self._folder.parent, self._server)

    def doubt(self) -> None:
        """The next sync makes the collection anew."""
        placement.doubt(self._folder)

    def reset(self) -> None:
        """Let go of the collection. It is deleted when the server next takes something in."""
        placement.retire(self._folder)
        self._counted = None

    def close(self, wait_seconds: float = 0.0) -> bool:
        """Nothing is held of one workspace: the connection is the server's."""
        del wait_seconds
        return True

    def _is_ready(self, where: Placement) -> bool:
        return bool(where.id) and not where.rebuild and where.address == self._server.address

    def _collection(self) -> str:
        where = placement.placement(self._folder)
        if where is None or not self._is_ready(where):
            raise VectorServerBehind(self._server.shown, "has no collection of this workspace")
        return _path(where)

    def _created(self, where: Placement) -> str:
        body = {
            "name": where.collection,
            "metadata": {"made_by": _PREFIX, "workspace_id": self._folder.name},
            "configuration": {"hnsw": HNSW},
            "get_or_create": True,
        }
        try:
            made = self._server.change("POST", "/collections", body, self._stop)
        except NotThere:
            what = "has no such tenant or database: create it, or check CHROMA_URL"
            raise VectorServerAway(self._server.shown, what) from None
        except ChangeRefused:
            what = "refused to make a collection (HTTP 400): it may be of a version that braindex does not know"
            raise VectorServerAway(self._server.shown, what) from None
        name = made.get("id") if isinstance(made, dict) else None
        if not isinstance(name, str) or not name:
            raise self._server.nonsense()
        return name

    def _near(self, where: Placement, wanted: Wanted, deadline: float) -> list[tuple[str, float]]:
        body = {
            "query_embeddings": [as_array(wanted.vector).tolist()],
            "n_results": wanted.limit,
            "include": ["distances"],
        }
        with self._named():
            found = self._server.question("POST", f"{_path(where)}/query", body, deadline)
        near = self._pairs(found)
        if len(near) < wanted.least:
            raise VectorServerBehind(self._server.shown, f"found {len(near)} vectors instead of {wanted.least}")
        return near

    def _check_count(self, where: Placement, wanted: Wanted, deadline: float) -> None:
        """A collection that lost vectors answers like one that did not. So it is counted, not at every question."""
        if wanted.expected is None:
            return
        now, known = self._server.limits.clock(), (where.id, wanted.generation, wanted.expected)
        if self._counted is not None and self._counted[:3] == known and now - self._counted[3] < _COUNTED_FOR:
            return
        with self._named():
            found = self._number(self._server.question("GET", f"{_path(where)}/count", None, deadline))
        if found != wanted.expected:
            raise VectorServerBehind(self._server.shown, f"holds {found:,} vectors instead of {wanted.expected:,}")
        self._counted = (*known, now)

    def _is_written(self) -> bool:
        try:
            with self._turns.taken(0):
                return False
        except VectorIndexBusy:
            return True

    def _change(self, what: str, body: Any) -> Any:
        with self._named():
            return self._server.change("POST", f"{self._collection()}/{what}", body, self._stop)

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except NotThere:
            raise VectorServerBehind(self._server.shown, "lost the collection of this workspace") from None
        except ChangeRefused:
            raise VectorServerBehind(self._server.shown, "has vectors of another kind in its collection") from None

    # What a server says may be anything.

    def _pairs(self, found: Any) -> list[tuple[str, float]]:
        try:
            pairs = list(zip(found["ids"][0], found["distances"][0], strict=True))
            if all(isinstance(one, str) for one, _ in pairs):
                return [(one, max(0.0, float(squared)) ** 0.5) for one, squared in pairs]
        except (LookupError, TypeError, ValueError):
            pass
        raise self._server.nonsense()

    def _number(self, found: Any) -> int:
        if isinstance(found, int) and not isinstance(found, bool) and found >= 0:
            return found
        raise self._server.nonsense()

    def _entries(self, found: Any) -> list[Entry]:
        try:
            pairs = list(zip(found["ids"], found["embeddings"], strict=True))
            if all(isinstance(one, str) for one, _ in pairs):
                return [(one, None if numbers is None else np.asarray(numbers, dtype="<f4")) for one, numbers in pairs]
        except (LookupError, TypeError, ValueError):
            pass
        raise self._server.nonsense()


def sweep(workspaces: Path, server: ChromaServer) -> None:
    """Delete the collections that are left over on a server. Raises VectorServerAway; what is left stays noted."""

    def delete(collection: str) -> None:
        deadline = server.limits.clock() + server.limits.question_seconds
        with contextlib.suppress(NotThere):
            server.question("DELETE", f"/collections/{quote(collection, safe='')}", None, deadline)

    with contextlib.suppress(ChangeRefused):
        placement.sweep(workspaces, server.address, delete)


def _path(where: Placement) -> str:
    return f"/collections/{quote(where.id, safe='')}"


def _sent(vector: Vector, *, compact: bool) -> str | list[float]:
    """A vector as a request has it: its bytes in base64, or a list of numbers for servers that do not know that."""
    return base64.b64encode(vector).decode("ascii") if compact else as_array(vector).tolist()


def _parts(ids: list[str], size: int) -> Iterator[list[str]]:
    return (ids[start : start + size] for start in range(0, len(ids), size))
