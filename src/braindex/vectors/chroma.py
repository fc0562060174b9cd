"""ChromaDB: one client, one collection a workspace. It holds ids and vectors, and nothing that `index.db`
has.
"""

import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

from braindex.domain.ports import Vector
from braindex.vectors import placement
from braindex.vectors.backing import BATCH, HNSW, Entry, VectorIndexUnavailable, Wanted, never
from braindex.vectors.exact import as_array
from braindex.vectors.turn import Turns

FOLDER: Final = "vector_db"
LOCK: Final = f"{FOLDER}.lock"
MARKERS: Final = (f"{FOLDER}.writing", f"{FOLDER}.reading")
COLLECTION: Final = "entities"
# One call takes 5,461 ids at most; BATCH lets others in between and needs less memory.
_BATCH_BESIDE_OTHERS: Final = 200  # about 50 ms; smaller ones cost more than they spare
_SAMPLES: Final = 16  # places of which an index that is opened is looked at; each costs what SQLite's OFFSET does
_SAMPLED_AT_ONCE: Final = 4


class ChromaVectors:
    """The `vector_db` of one workspace.

    Two clients that use one folder at a time lose data silently, a reader's among them: its queries fold what
    others wrote into files of its own making. So everything but `close` and `interrupted` is done inside
    `turn`, which lets one thread of one process in, and after `refresh`, which opens anew what another
    process has changed.
    """

    asked_first = False
    counts_cheaply = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / FOLDER
        self._writing, self._reading = (folder / name for name in MARKERS)
        self._turns = Turns(folder, folder / LOCK, self._path)
        self._client: Any = None
        self._collection: Any = None
        self._generation: int | None = None

    def turn(self, wait_seconds: float = 0.0, stop: Callable[[], bool] = never) -> AbstractContextManager[None]:
        """Alone with the folder, across threads and processes. Raises VectorIndexBusy after `wait_seconds`."""
        return self._turns.taken(wait_seconds, stop)

    @property
    def exists(self) -> bool:
        return self._path.is_dir()

    @property
    def interrupted(self) -> bool:
        """Whether a write was cut off, after which the files may be of two states and crash whoever loads
        them, or reading them failed or killed a process, as damaged files do to one process after another.

        So is one that a server took the place of. Ask inside `turn`: no other process can be reading or writing then,
        so what it left is left over.
        """
        markers = self._writing, self._reading, self._folder / placement.FILE
        return any(one.exists() for one in markers)

    @property
    def is_placed(self) -> bool:
        """Whether no server has taken the place of this one."""
        return placement.placement(self._folder) is None

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Around `refresh` and `nearest`: a failure inside, or the end of the process, leaves the index `interrupted`.

        It takes about 50 µs, so that every search can be inside: damage may show at any of them.
        """
        with self._named_errors():
            self._reading.touch(mode=0o600)
        failed = False
        try:
            yield
        except VectorIndexUnavailable:
            failed = True
            raise
        finally:
            if not failed:
                with self._named_errors():
                    self._reading.unlink(missing_ok=True)

    def question(self, wanted: Wanted) -> list[tuple[str, float]] | None:
        """About the nearest, with their distances; None where the index is cut off or was never made."""
        with self.turn():
            if self.interrupted or not self.exists:
                return None
            with self.reading():
                is_open = self._client is not None
                self.refresh(wanted.generation)
                if not is_open and not wanted.alike(self._sample()):
                    raise VectorIndexUnavailable(self._path, "it holds other vectors than were put into it")
                return self.nearest(wanted.vector, wanted.limit, wanted.least)

    def refresh(self, generation: int) -> None:
        """Open the index as it is on disk, unless it is open at this generation already."""
        if self._client is None or self._generation != generation:
            self._release()
            try:
                with self._named_errors():
                    self._open()
            except BaseException:
                self._release()
                self._forget_half_started()
                raise
            self._generation = generation

    def moved_to(self, generation: int) -> None:
        """What is open is this generation: the one that came of its own changes."""
        self._generation = generation

    @contextlib.contextmanager
    def changes(self) -> Iterator[None]:
        """Around `apply`: what does not end in order leaves the index `interrupted`."""
        with self._named_errors():
            self._writing.touch(mode=0o600)
        yield
        with self._named_errors():
            self._make_private()
            self._writing.unlink(missing_ok=True)

    def apply(self, upserts: Sequence[tuple[str, Vector]], deletes: Sequence[str]) -> None:
        """Take in changes, in batches. Of an id that comes twice, the last counts; unknown deletes do
        nothing.
        """
        latest = dict(upserts)
        with self._named_errors():
            for some in _gently(list(dict.fromkeys(deletes))):
                self._collection.delete(ids=some)
            for some in _gently(list(latest)):
                matrix = as_array(b"".join(latest[one] for one in some)).reshape(len(some), -1)
                self._collection.upsert(ids=some, embeddings=matrix)

    def nearest(self, question: Vector, limit: int, least: int = 0) -> list[tuple[str, float]]:
        """(id, true L2 distance) of about the nearest `limit`, nearest first.

        Raises VectorIndexUnavailable also where it has fewer than `least`.
        """
        with self._named_errors():
            found = self._collection.query(
                query_embeddings=[as_array(question)], n_results=limit, include=["distances"]
            )
        if len(found["ids"][0]) < least:
            raise VectorIndexUnavailable(self._path, "it lost vectors")
        pairs = zip(found["ids"][0], found["distances"][0], strict=True)
        return [(one, max(0.0, float(squared)) ** 0.5) for one, squared in pairs]

    def count(self) -> int:
        with self._named_errors():
            return int(self._collection.count())

    def entries(self, page: int) -> Iterator[list[Entry]]:
        """All ids with their numbers, at most `page` at a time."""
        start = 0
        while True:
            with self._named_errors():
                found = self._collection.get(limit=page, offset=start, include=["embeddings"])
                some = list(zip(found["ids"], found["embeddings"], strict=True))
            if not some:
                return
            yield some
            start += len(some)

    def _sample(self) -> list[Entry]:
        """Some of the entries, from all over the file that they lie in."""
        step = max(1, self.count() // _SAMPLES)
        sample: list[Entry] = []
        for start in range(0, step * _SAMPLES, step):
            with self._named_errors():
                found = self._collection.get(limit=_SAMPLED_AT_ONCE, offset=start, include=["embeddings"])
                sample += zip(found["ids"], found["embeddings"], strict=True)
        return sample

    def tidy(self) -> None:
        """Nothing is left over: the folder goes as a whole."""

    def doubt(self) -> None:
        """Leave the index `interrupted`."""
        with self._named_errors():
            self._writing.touch(mode=0o600)

    def reset(self) -> None:
        """Delete the whole index, as a folder: a damaged one cannot be asked to empty itself."""
        self._release()
        with self._named_errors():
            if self._path.exists():
                shutil.rmtree(self._path)
            for marker in (self._writing, self._reading):
                marker.unlink(missing_ok=True)
        placement.retire(self._folder)

    def close(self, wait_seconds: float = 10.0) -> bool:
        """Release the client, its files and its memory; it opens again at the next `refresh`.

        False when another thread was still at work in it after `wait_seconds`.
        """
        with self._turns.alone_in_process(wait_seconds) as alone:
            if alone:
                self._release()
        return alone

    def _open(self) -> None:
        with _without_env_files():
            import chromadb  # noqa: PLC0415 - over a second of imports, needed by large workspaces and writers only
            from chromadb.config import Settings  # noqa: PLC0415 - the same

        self._path.mkdir(mode=0o700, exist_ok=True)
        settings = Settings(
            # Else Chroma reads the `.env` of the working directory, which a stranger may have written.
            _env_file=None,  # type: ignore[call-arg]
            anonymized_telemetry=False,
            chroma_api_impl="chromadb.api.rust.RustBindingsAPI",
            chroma_otel_collection_endpoint="",
        )
        self._client = chromadb.PersistentClient(path=str(self._path), settings=settings)
        self._collection = self._client.get_or_create_collection(
            COLLECTION, embedding_function=None, configuration={"hnsw": HNSW}
        )

    def _release(self) -> None:
        client, self._client, self._collection, self._generation = self._client, None, None, None
        if client is not None:
            with contextlib.suppress(*_failures()):  # a folder that was deleted under it has nothing left to release
                client.close()

    def _forget_half_started(self) -> None:
        """Chroma keeps what it failed to start, and hands it to the next client of the same folder."""
        with contextlib.suppress(ImportError, ValueError):  # Chroma itself could not be loaded
            from chromadb.api.shared_system_client import SharedSystemClient  # noqa: PLC0415 - loaded by `_open`

            SharedSystemClient._identifier_to_system.pop(str(self._path), None)  # noqa: SLF001 - no public way to one
            SharedSystemClient._identifier_to_refcount.pop(str(self._path), None)  # noqa: SLF001 - the same

    def _make_private(self) -> None:
        """Chroma creates its files with the process's default mode."""
        if os.name != "posix":
            return
        for folder, _, files in os.walk(self._path):
            Path(folder).chmod(0o700)
            for file in files:
                Path(folder, file).chmod(0o600)

    @contextlib.contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except _failures() as error:
            raise VectorIndexUnavailable(self._path, str(error) or type(error).__name__) from error


def _gently(ids: list[str]) -> Iterator[list[str]]:
    """The ids in as many as one call may take.

    While Chroma takes them in, no other thread of this process runs: a call of 2,000 stopped a server for a second. So
    beside others, which is anywhere but in the main thread, a call takes few, and as long a pause follows.
    """
    alone = threading.current_thread() is threading.main_thread()
    size = BATCH if alone else _BATCH_BESIDE_OTHERS
    for start in range(0, len(ids), size):
        began = time.monotonic()
        yield ids[start : start + size]
        if not alone:
            time.sleep(time.monotonic() - began)


@contextlib.contextmanager
def _without_env_files() -> Iterator[None]:
    """Chroma builds settings while it is imported, from the `.env` of the working directory, which a stranger may have
    written: a bad value ends the import, and a FIFO holds it for ever. No public switch reaches that far.
    """
    from pydantic_settings import DotEnvSettingsSource  # noqa: PLC0415 - comes with chromadb

    name = "_read_env_files"
    read = getattr(DotEnvSettingsSource, name, None)
    if read is None or "chromadb" in sys.modules:
        yield
        return
    setattr(DotEnvSettingsSource, name, lambda _: {})
    try:
        yield
    finally:
        setattr(DotEnvSettingsSource, name, read)


def _failures() -> tuple[type[Exception], ...]:
    """What Chroma raises: its own errors, and those of its settings, its half-started parts and the file system."""
    others = ImportError, OSError, ValueError, RuntimeError, AttributeError
    try:
        from chromadb.errors import ChromaError  # noqa: PLC0415 - as above
    except (ImportError, ValueError, AttributeError):  # a setting in the environment does not fit
        return others
    return ChromaError, *others
