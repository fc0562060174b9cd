"""Files of a workspace, read and parsed into what the index stores: in the scan's own process, or in one beside it."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from braindex.domain.errors import BraindexError
from braindex.domain.options import WorkspaceOptions
from braindex.domain.ports import Embedder, Passage, Vector
from braindex.domain.results import Skipped
from braindex.domain.units import Terms, Unit
from braindex.indexing.decode import SourceText, read_text
from braindex.indexing.passages import Indexed, index_file, terms_of
from braindex.indexing.walk import Found

log = logging.getLogger(__name__)

# Of the files that are read as one: some hundred entities, which fill an embedder's batch and take a tenth of a second.
CHUNK_BYTES: Final = 100_000
CHUNK_FILES: Final = 50
_NO_TERMS: Final = Terms("", "", "", "", "", "")


@dataclass(frozen=True, slots=True)
class Task:
    """A file to read. `digest` is of its content as it was indexed, b"" for a new one; `known` are the digests of its
    stored units by id: those units need neither terms nor a vector.
    """

    found: Found
    digest: bytes = b""
    known: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a file holds: `units`, or why it was left out, or neither where its content is what it was.

    An unchanged unit carries neither terms nor vector. `unembedded` are the passages, by id, of units whose vectors
    are not computed yet.
    """

    path: str
    digest: bytes
    units: tuple[Unit, ...] = ()
    skipped: Skipped | None = None
    same: bool = False
    unembedded: Mapping[str, Passage] = field(default_factory=dict)


def chunks(tasks: Iterable[Task]) -> Iterator[list[Task]]:
    """The tasks in groups of a bounded size, in their order."""
    group: list[Task] = []
    size = 0
    for task in tasks:
        group.append(task)
        size += task.found.size
        if size >= CHUNK_BYTES or len(group) >= CHUNK_FILES:
            yield group
            group, size = [], 0
    if group:
        yield group


class Reader:
    """Reads the files of one workspace. Without an embedder, vectors are left for whoever asked."""

    def __init__(self, root: Path, options: WorkspaceOptions, embedder: Embedder | None) -> None:
        self._root = root
        self._options = options
        self._embedder = embedder

    @property
    def root(self) -> Path:
        return self._root

    @property
    def options(self) -> WorkspaceOptions:
        return self._options

    @property
    def embeds(self) -> bool:
        return self._embedder is not None

    def read(self, tasks: Sequence[Task]) -> list[Outcome]:
        """One outcome a task, in order. One bad file never ends a scan: whatever it does costs that file alone."""
        parsed = [self._read(task) for task in tasks]
        waiting = {one.id: one.passage for file in parsed if isinstance(file, _Parsed) for one in file.fresh()}
        vectors: dict[str, Vector | None] = {}
        if self._embedder is not None:
            vectors = dict(zip(waiting, self._embedder.passages(list(waiting.values())), strict=True))
            waiting = {}
        return [file.outcome(vectors, waiting) if isinstance(file, _Parsed) else file for file in parsed]

    def _read(self, task: Task) -> "Outcome | _Parsed":
        path = task.found.path
        source = read_text(self._root, task.found, self._options.max_file_bytes)
        if isinstance(source, Skipped):
            return Outcome(path, b"", skipped=source)
        if source.digest == task.digest:
            return Outcome(path, source.digest, same=True)
        found = self._parsed(path, source)
        if isinstance(found, Skipped):
            return Outcome(path, source.digest, skipped=found)
        return _Parsed(task, source.digest, found)

    def _parsed(self, path: str, source: SourceText) -> list[Indexed] | Skipped:
        try:
            return index_file(path, source.data, self._options.skip_bare_files)
        except BraindexError as error:
            return Skipped(path, str(error))
        except Exception as error:  # any parser fault costs one file, and its reason is shown
            log.exception("parsing failed for a file of %d bytes", len(source.data))
            return Skipped(path, f"could not be parsed ({type(error).__name__}); the log has the details")


@dataclass(frozen=True, slots=True)
class _Parsed:
    """A file between its parser and its vectors."""

    task: Task
    digest: bytes
    found: list[Indexed]

    def fresh(self) -> Iterator[Indexed]:
        """What is new or has another text than the index."""
        known = self.task.known
        return (one for one in self.found if known.get(one.id) != one.digest)

    def outcome(self, vectors: Mapping[str, Vector | None], waiting: Mapping[str, Passage]) -> Outcome:
        fresh = {one.id for one in self.fresh()}
        units = tuple(
            Unit(
                one.id, one.entity, one.digest, terms_of(one.passage) if one.id in fresh else _NO_TERMS,
                vectors.get(one.id), one.references,
            )
            for one in self.found
        )  # fmt: skip
        left = {one.id: one.passage for one in self.found if one.id in fresh} if waiting else {}
        return Outcome(self.task.found.path, self.digest, units, unembedded=left)


def with_vectors(outcome: Outcome, vectors: Mapping[str, Vector | None]) -> Outcome:
    """The outcome with the vectors, by id, that its units waited for."""
    if not outcome.unembedded:
        return outcome
    units = (replace(one, vector=vectors[one.id]) if one.id in outcome.unembedded else one for one in outcome.units)
    return replace(outcome, units=tuple(units), unembedded={})
