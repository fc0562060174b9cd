"""`IndexStore`: everything that is known of one workspace's source, from which it can be rebuilt."""

import contextlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from braindex.domain.entities import EntityHead
from braindex.domain.ports import Vector, VectorChange
from braindex.domain.references import Reference
from braindex.domain.results import Skipped
from braindex.domain.units import EntityFilter, FileRecord, FileUnits, StoredEntity
from braindex.registry import disk, entities, files, filters, fulltext, meta, outbox, references, stored_vectors
from braindex.registry.database import BUSY_SECONDS, Closing, Database
from braindex.registry.failures import StoreDamaged, StoreMissing
from braindex.registry.meta import Counts, ScanMarks
from braindex.registry.migrations import Migration, open_store
from braindex.registry.references import Referring
from braindex.registry.writing import Tables, WriteCounts

INDEX_FILE: Final = "index.db"
MIGRATIONS: Final = (
    Migration(
        "index-1",
        (
            *meta.SCHEMA, *files.SCHEMA, *entities.SCHEMA, *stored_vectors.SCHEMA, *fulltext.SCHEMA,
            *outbox.SCHEMA,
        ),
    ),
    Migration("index-2-refused-files", files.REFUSED),
    Migration("index-3-vector-stamps", stored_vectors.STAMPS),
    Migration("index-4-counts", meta.COUNTS),
    Migration("index-5-references", (references.TABLE,)),
)  # fmt: skip
_REMEDY: Final = "It holds nothing that a scan does not rebuild: scan the workspace again."
_EVERYTHING: Final = EntityFilter()
_KEPT: Final = 3  # damaged files that stay for whoever wants to look at them


@dataclass(frozen=True, slots=True)
class Totals:
    """What an index holds. `languages` and `kinds` count entities, the most frequent first."""

    files: int
    entities: int
    languages: dict[str, int]
    kinds: dict[str, int]


def set_aside(folder: Path, damage: StoreDamaged | None = None) -> Path | None:
    """Move a damaged index away, so that the next open starts afresh; see `disk.set_aside`.

    Of those that were moved before, the last few stay: nothing is in them that a scan does not rebuild.
    """
    moved = disk.set_aside(folder / INDEX_FILE, damage)
    if moved is not None:
        with contextlib.suppress(OSError):  # another user's, or held open: it goes the next time
            _forget_older(folder, moved)
    return moved


def _forget_older(folder: Path, newest: Path) -> None:
    found = [one for one in folder.glob(f"{INDEX_FILE}.damaged-*") if not one.name.endswith(("-wal", "-shm"))]
    by_age = sorted(found, key=lambda one: (one == newest, one.stat().st_mtime_ns))
    for old in by_age[:-_KEPT]:
        for side in ("-wal", "-shm", ""):
            old.with_name(old.name + side).unlink(missing_ok=True)


class IndexStore(Closing):
    """One workspace's index, open. Made for one operation at a time: `with IndexStore.open(folder) as
    store:`.

    Opening is cheap, safe from any thread and process; an open store belongs to its thread. Readers see the
    last committed state and never wait for a writer. Every method may raise a `StoreError`; writes are whole
    or nothing.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tables = Tables(database)
        self._left_as: tuple[int, ...] | None = None
        self._counted: tuple[int, Counts] | None = None

    @classmethod
    def open(cls, folder: Path, *, create: bool = True, busy_seconds: float = BUSY_SECONDS) -> Self:
        """Open the index in a workspace's folder, created and migrated as needed.

        With `create=False` a missing index is StoreMissing, so that a workspace that was dropped stays
        dropped. Raises also StoreDamaged (see `set_aside`), StoreTooNew, StoreLocked, StoreReadOnly and
        StoreFull.
        """
        path = folder / INDEX_FILE
        if not create and not path.exists():
            raise StoreMissing(path)
        database = open_store(path, MIGRATIONS, remedy=_REMEDY, busy_seconds=busy_seconds)
        store = cls(database)
        try:
            filters.register(database)
            store._tables.meta.check()
        except BaseException:
            store.close()
            raise
        return store

    @property
    def folder(self) -> Path:
        """The workspace's folder."""
        return self._database.path.parent

    @staticmethod
    def exists(folder: Path) -> bool:
        return (folder / INDEX_FILE).exists()

    def close(self) -> None:
        self._database.close()

    def leave(self) -> bool:
        """Whether it may be used again later, and by another thread; see `is_untouched`."""
        self._left_as = self._database.outer_state()
        return self._left_as is not None

    def is_untouched(self) -> bool:
        """Whether the file is what it was at `leave`, but for what the write-ahead log brought."""
        return self._left_as is not None and self._database.outer_state() == self._left_as

    def snapshot(self) -> AbstractContextManager[None]:
        """Everything read inside comes from one moment. Not for writing."""
        return self._database.snapshot()

    def transaction(self) -> AbstractContextManager[None]:
        """Several writes as one: the old index serves until a rebuild inside is complete."""
        return self._database.transaction()

    def problems(self) -> list[str]:
        """What a structural check finds wrong; empty when the index is sound."""
        return self._database.problems()

    # What has changed

    def generation(self) -> int:
        """Moves whenever what can be found may have changed, in any process."""
        return self._tables.meta.number(meta.GENERATION)

    def vector_generation(self) -> int:
        """Moves whenever a vector was added, replaced or removed, in any process."""
        return self._tables.meta.number(meta.VECTOR_GENERATION)

    def applied_generation(self) -> int:
        """Moves whenever vector changes were taken in by ChromaDB, in any process."""
        return self._tables.meta.number(meta.APPLIED_GENERATION)

    def model(self) -> str | None:
        """The embedding model of the stored vectors, or None in an index without one."""
        found = self._tables.meta.get(meta.MODEL)
        return None if found is None else str(found)

    def set_model(self, model: str) -> None:
        with self.transaction():
            self._tables.meta.set(meta.MODEL, model)

    def dimension(self) -> int | None:
        """How many numbers each stored vector has, or None in an index that never had one."""
        found = self._tables.meta.get(meta.DIMENSION)
        return None if found is None else int(found)

    def skip_bare(self) -> frozenset[str]:
        """The extensions whose bare files were left out when the index was last brought up to date."""
        return frozenset(str(self._tables.meta.get(meta.SKIP_BARE) or "").split())

    def set_skip_bare(self, suffixes: Iterable[str]) -> None:
        with self.transaction():
            self._tables.meta.set(meta.SKIP_BARE, " ".join(sorted(suffixes)))

    # Files

    def files(self) -> dict[str, FileRecord]:
        """Every file that was looked into, by path, also those of which nothing is stored."""
        return self._tables.files.all()

    def touch(self, records: Iterable[FileRecord]) -> None:
        """Files whose content is what it was (the same digest), with new times."""
        with self.transaction():
            self._tables.files.touch(records)

    def record_skipped(self, rows: Sequence[Skipped]) -> None:
        """Replace the list of what was left out."""
        with self.transaction():
            self._tables.files.skip(rows)

    def skipped(self) -> tuple[Skipped, ...]:
        return self._tables.files.skipped()

    # Writing

    def write(self, batch: Sequence[FileUnits]) -> WriteCounts:
        """Store files whole, in one transaction.

        Of each file, units with a known id and digest keep their row and vector and get their other columns
        brought up to date (their `vector` is not read); new and changed ones are written; what the file no
        longer has is forgotten. Of a path or an id that comes twice, the last counts. Raises VectorMismatch
        for a vector of another dimension.
        """
        with self.transaction():
            return self._tables.replace(batch)

    def remove(self, paths: Iterable[str]) -> int:
        """Forget files and their entities, in one transaction; returns how many were known."""
        with self.transaction():
            return self._tables.remove(paths)

    def clear(self) -> None:
        """Forget all files, entities, vectors and the model."""
        with self.transaction():
            self._tables.clear()

    def optimize(self) -> None:
        """Merge the full-text index into one piece: worth it after a first scan."""
        with self.transaction():
            self._tables.fulltext.optimize()
            self._tables.references.optimize()

    # Entities

    def known_units(self, path: str) -> dict[str, bytes]:
        """Digest by id of a file's units."""
        return self._tables.entities.digests(path)

    def entity_marks(self) -> Iterator[tuple[str, bytes]]:
        """Id and digest of every entity, one at a time."""
        return self._tables.entities.marks()

    def entities(self, rows: Iterable[int]) -> dict[int, StoredEntity]:
        """Entities by row; rows that are gone are left out."""
        return self._tables.entities.of_rows(rows)

    def heads(self, rows: Iterable[int]) -> dict[int, EntityHead]:
        """What entities are ranked by, by row; rows that are gone are left out."""
        return self._tables.entities.heads(rows)

    def of_file(self, path: str) -> list[StoredEntity]:
        """A file's entities in source order."""
        return self._tables.entities.of_file(path)

    def of_folder(self, folder: str, name: str) -> list[StoredEntity]:
        """What in the files of a folder, subfolders apart, has a name or a parent of that name; in source order."""
        return self._tables.entities.of_folder(folder, name)

    def first_inside(self, path: str, start: int, end: int, after_line: int) -> int | None:
        """The first line beyond `after_line` on which an entity inside a span (byte offsets) of a file begins."""
        return self._tables.entities.first_inside(path, start, end, after_line)

    def rows(self, narrowed: EntityFilter = _EVERYTHING) -> list[int]:
        """Rows that a filter lets through, in no particular order."""
        return self._tables.entities.rows(narrowed)

    def entity_count(self, narrowed: EntityFilter = _EVERYTHING) -> int:
        if narrowed.is_empty:
            return self._tables.meta.number(meta.ENTITY_COUNT)
        return self._tables.entities.count(narrowed)

    def rows_by_name(self, names: Sequence[str], narrowed: EntityFilter = _EVERYTHING) -> list[int]:
        """Rows whose name or qualified name is one of these, whatever the case; by path, line, name."""
        return self._tables.entities.rows_by_name(names, narrowed)

    def names_beginning(self, start: str) -> dict[str, int]:
        """The names that begin with some letters, whatever the case, and how many entities have each."""
        return self._tables.entities.names_beginning(start)

    def files_called(self, name: str, narrowed: EntityFilter = _EVERYTHING) -> dict[str, int]:
        """Row of the `file` entity by path, of every file of a name (`http.py`), whatever the case; by path."""
        return self._tables.entities.files_called(name, narrowed)

    def files_in(self, name: str) -> list[int]:
        """Rows of the `file` entities of every file whose folder has a name, in its own case; by path."""
        return self._tables.entities.files_in(name)

    def around(self, path: str, line: int) -> dict[int, str]:
        """Name by row of the entities of a file whose lines hold a line, the innermost first, the file left out."""
        return self._tables.entities.around(path, line)

    def rows_of(self, ids: Iterable[str]) -> dict[str, int]:
        """Rows by id; unknown ids are left out."""
        return self._tables.entities.rows_of(ids)

    def totals(self) -> Totals:
        """What it holds. The end of a scan leaves its counts: to count a large table takes a third of a second, and
        seconds where it is not in memory.
        """
        with self.snapshot():
            return Totals(self._tables.files.count(), self.entity_count(), *self._counts())

    def _counts(self) -> Counts:
        """Entities by language and by kind, counted once for each content."""
        generation = self.generation()
        if self._counted is None or self._counted[0] != generation:
            found = self._tables.meta.counts(generation) or self._tables.entities.totals()
            self._counted = generation, found
        return self._counted[1]

    # Words

    def search(self, terms: Sequence[str], limit: int, narrowed: EntityFilter = _EVERYTHING) -> list[tuple[int, float]]:
        """Rows that have any of the terms, with BM25 scores (higher is better), best first.

        Column weights: name 3, path 2, doc 1.5, parent, signature and body 1; k1 1.2 and b 0.75 are FTS5's.
        The filter comes before the cut. Ties by path, line, name. Terms are taken as they are: no operators,
        no phrases. The rarest terms come first; frequent ones count only when these find fewer than `limit`.
        """
        with self.snapshot():
            return self._tables.fulltext.search(terms, limit, narrowed)

    def texts(self, rows: Iterable[int]) -> dict[int, tuple[str, ...]]:
        """The index terms of some entities, space separated: name, parent, signature, path, doc and body, by row."""
        return self._tables.fulltext.texts(rows)

    def search_phrase(self, terms: Sequence[str], limit: int, narrowed: EntityFilter = _EVERYTHING) -> list[int]:
        """Rows that have the terms one after the other in one column, at most `limit`, by path, line, name."""
        with self.snapshot():
            return self._tables.fulltext.phrase(terms, limit, narrowed)

    def frequencies(self, terms: Iterable[str]) -> dict[str, int]:
        """In how many entities each term occurs."""
        return self._tables.fulltext.frequencies(terms)

    def in_names(self, term: str) -> bool:
        """Whether a term stands in any entity's name or path."""
        return self._tables.fulltext.in_names(term)

    # References

    def references(self, rows: Iterable[int]) -> dict[int, tuple[Reference, ...]]:
        """What entities refer to, by row and in the order of their text; rows without references are left out."""
        return self._tables.references.of(rows)

    def referring(self, kind: str, name: str, languages: Iterable[str]) -> list[Referring]:
        """The entities of some languages that call, import or derive from a name (`REFERENCE_KINDS`), by row."""
        return self._tables.references.to(kind, name, languages)

    def reference_lines(self, kind: str, name: str, rows: Iterable[int]) -> dict[int, int]:
        """The line on which each of some entities first refers to a name in a way, by row."""
        return self._tables.references.lines(kind, name, rows)

    # Vectors

    def vector_count(self) -> int:
        return self._tables.meta.number(meta.VECTOR_COUNT)

    def vectors(self, rows: Iterable[int]) -> dict[int, Vector]:
        """Vectors by row; rows without one are left out."""
        return self._tables.vectors.of_rows(rows)

    def stream_vectors(self) -> "Iterator[tuple[array[int], bytearray]]":
        """Every row that has a vector, ascending, with the vectors one after the other: a few thousand at a time."""
        with self.snapshot():
            left = self.vector_count()
            for rows, matrix in self._tables.vectors.stream():
                left -= len(rows)
                yield rows, matrix
            if left:
                raise self._database.damaged("it lost vectors")

    def vector_rows(self, since: int = -1) -> "array[int]":
        """Rows that have a vector, ascending: all, or those whose vector was written after a vector generation."""
        return self._tables.vectors.rows(since)

    def outbox(self, limit: int) -> list[VectorChange]:
        """The oldest changes that ChromaDB has not taken in yet."""
        return self._tables.outbox.read(limit)

    def outbox_done(self, changes: Sequence[VectorChange]) -> int:
        """Forget changes that ChromaDB took in, unless newer ones replaced them; the applied generation."""
        with self.transaction():
            self._tables.outbox.done(changes)
            self._tables.meta.add(meta.APPLIED_GENERATION, 1)
            return self.applied_generation()

    def outbox_all(self) -> int:
        """Ask for every vector again, for a ChromaDB that was lost; returns the applied generation."""
        with self.transaction():
            self._tables.meta.set(meta.OUTBOX_KEPT, 1)
            self._tables.outbox.add_all()
            self._tables.meta.add(meta.APPLIED_GENERATION, 1)
            return self.applied_generation()

    def outbox_kept(self) -> bool:
        """Whether changes are noted: where ChromaDB has a copy of the vectors."""
        return bool(self._tables.meta.number(meta.OUTBOX_KEPT))

    def outbox_ends(self) -> None:
        """There is no copy any more: changes are noted again after `outbox_all`."""
        with self.transaction():
            self._tables.outbox.clear()
            self._tables.meta.set(meta.OUTBOX_KEPT, 0)
            self._tables.meta.add(meta.APPLIED_GENERATION, 1)

    def pending_rows(self) -> list[int]:
        """Rows whose vector ChromaDB has not taken in yet."""
        return self._tables.outbox.pending_rows()

    # The scan's markers

    def scan_started(self, now: str) -> None:
        """From here until `scan_finished` or `scan_failed` the index counts as interrupted.

        Raises StoreDamaged where rows are lost that a scan of what changed would not bring back.
        """
        with self.transaction():
            self._tables.check()
            self._tables.meta.scan_started(now)

    def scan_finished(self, now: str) -> None:
        with self.transaction():
            self._tables.meta.scan_finished(now)
            self._tables.meta.keep_counts(self.generation(), self._counts())

    def scan_failed(self, error: str) -> None:
        with self.transaction():
            self._tables.meta.scan_failed(error)

    def scan_marks(self) -> ScanMarks:
        return self._tables.meta.scan_marks()
