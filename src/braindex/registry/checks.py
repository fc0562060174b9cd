"""Whether stored data is sound: read beside whoever writes, never changed, never created, and in bounded memory."""

# ruff: noqa: S608 - only constants of this room become part of a statement; values are parameters

import json
import math
import os
import re
import sqlite3
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from braindex.domain.results import Workspace
from braindex.registry import meta
from braindex.registry.database import MOVE_AWAY, Database, Row
from braindex.registry.failures import StoreDamaged, StoreError, StoreMissing
from braindex.registry.files import Files
from braindex.registry.index import MIGRATIONS as INDEX_MIGRATIONS
from braindex.registry.memory import MemoryStore
from braindex.registry.memory_file import kept_mark
from braindex.registry.memory_tables import MIGRATIONS as MEMORY_MIGRATIONS
from braindex.registry.meta import Meta, ScanMarks
from braindex.registry.migrations import Migration, applied, check_store, open_store
from braindex.registry.stored_vectors import StoredVectors
from braindex.registry.workspaces import MIGRATIONS as REGISTRY_MIGRATIONS

_BUSY_SECONDS: Final = 3.0
_MOST_PROBLEMS: Final = 20  # that SQLite lists before it ends its check; the first ones say enough
_MOST_OF_A_KIND: Final = 3  # that are named; the others are counted
_FLOAT_BYTES: Final = 4
_SMALLEST_PAGE: Final = 512  # https://www.sqlite.org/fileformat2.html#pages
_LARGEST_DESCRIPTION: Final = 65_536  # bytes of a workspace.json
# (what is wrong, the number of rows of which it is true). Each is an index look-up a row, no text is read.
_CONTRADICTIONS: Final = (
    (
        "entities that full-text search does not have",
        "SELECT count(*) FROM entities WHERE row NOT IN (SELECT id FROM fulltext_docsize)",
    ),
    (
        "rows of full-text search without an entity",
        "SELECT count(*) FROM fulltext_docsize WHERE id NOT IN (SELECT row FROM entities)",
    ),
    ("vectors without an entity", "SELECT count(*) FROM vectors WHERE row NOT IN (SELECT row FROM entities)"),
    ("entities without a file", "SELECT count(*) FROM entities WHERE file NOT IN (SELECT id FROM files)"),
)


class StoreEmpty(StoreDamaged):
    """A store that was cut off before its first page, which SQLite takes for one that is yet to be filled."""

    def __init__(self, path: Path, size: int) -> None:
        super().__init__(path, f"it has only {size} bytes" if size else "it is empty", MOVE_AWAY)


class StoreAdrift(StoreDamaged):
    """A link in the place of a store that leads nowhere: a disk that is not mounted, or a file that is gone."""

    def __init__(self, path: Path) -> None:
        self.target = os.path.realpath(path)
        super().__init__(path, f"it is a link to {self.target}, where nothing is", MOVE_AWAY)


class StoreNoFile(StoreError):
    def __init__(self, path: Path) -> None:
        super().__init__(path, f"{path} is no file")


@dataclass(frozen=True, slots=True)
class IndexHealth:
    """What an index.db holds and what is wrong with it: `problems` is empty when it is sound.

    `older` says that an earlier version wrote it: it was not looked into, and the next scan brings it up to date.
    """

    files: int = 0
    entities: int = 0
    vectors: int = 0
    dimension: int | None = None
    model: str | None = None
    marks: ScanMarks | None = None
    older: bool = False
    problems: tuple[str, ...] = ()


def sqlite_version() -> str:
    """The SQLite library that this Python uses."""
    return sqlite3.sqlite_version


def has_full_text_search() -> bool:
    with Database.in_memory() as database:
        return bool(database.value("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'"))


def older_than(path: Path, migrations: Sequence[Migration], remedy: str = MOVE_AWAY) -> bool:
    """Whether a store is one of an earlier version, which its next opener brings up to date.

    Raises StoreMissing, StoreTooNew, StoreDamaged for what braindex did not write or what lost a part of its schema,
    StoreEmpty for what lost everything, StoreAdrift and StoreNoFile for what is no file, and StoreErrors for one that
    cannot be looked at.
    """
    if path.is_symlink() and not path.exists():
        raise StoreAdrift(path)
    if not path.exists():
        raise StoreMissing(path)
    if not path.is_file():
        raise StoreNoFile(path)
    size = path.stat().st_size
    if size < _SMALLEST_PAGE:
        raise StoreEmpty(path, size)
    check_store(path, migrations, remedy=remedy, busy_seconds=_BUSY_SECONDS)
    with Database.reading(path, remedy=remedy, busy_seconds=_BUSY_SECONDS) as database:
        return bool({one.name for one in migrations}.difference(applied(database)))


def structure_problems(database: Database, *, full: bool) -> list[str]:
    """What SQLite itself finds wrong, a line a kind: every page, index and constraint, or with `full=False` without the
    indexes.
    """
    pragma = "integrity_check" if full else "quick_check"
    found: list[str] = []
    try:
        found += (str(row[0]) for row in database.stream(f"PRAGMA {pragma}({_MOST_PROBLEMS})"))
    except StoreDamaged as damage:  # which ends a check that has named what came before
        found.append(damage.detail)
    return [] if found == ["ok"] else by_kind(line for one in found for line in one.splitlines())


def by_kind(lines: Iterable[str]) -> list[str]:
    """Lines that differ in nothing but their numbers as one, which names three of them and counts the others.

    One torn stretch of a file makes a line of each of its pages. SQLite's headings, such as `*** in database main ***`,
    are left out.
    """
    kinds: dict[str, list[str]] = {}
    for line in lines:
        text = " ".join(line.split())
        if text and not text.startswith("***"):
            kinds.setdefault(re.sub(r"[0-9]+", "#", text), []).append(text)
    return [_of_a_kind(same) for same in kinds.values()]


def _of_a_kind(same: Sequence[str]) -> str:
    more = len(same) - _MOST_OF_A_KIND
    named = ", ".join(same[:_MOST_OF_A_KIND])
    if more <= 0:
        return named
    return f"{named} and {'at least ' if len(same) >= _MOST_PROBLEMS else ''}{more} more of this kind"


@dataclass(frozen=True, slots=True)
class RegistryHealth:
    """What a registry.db lists, and what SQLite finds wrong with it. `scanned` are the ids that were scanned once."""

    workspaces: tuple[Workspace, ...] = ()
    scanned: frozenset[str] = frozenset()
    older: bool = False
    problems: tuple[str, ...] = ()


def registry_health(path: Path, *, full: bool) -> RegistryHealth:
    """A registry.db as it is. Raises as `older_than` does; nothing is moved, healed or created."""
    if older_than(path, REGISTRY_MIGRATIONS):
        return RegistryHealth(older=True)
    with Database.reading(path, busy_seconds=_BUSY_SECONDS) as database, database.snapshot():
        problems = structure_problems(database, full=full)
        rows: list[Row] = database.rows("SELECT id, name, path, created, last_scan FROM workspaces ORDER BY name, path")
    scanned = frozenset(str(row[0]) for row in rows if row[4] is not None)
    return RegistryHealth(tuple(Workspace(*map(str, row[:4])) for row in rows), scanned, problems=tuple(problems))


@dataclass(frozen=True, slots=True)
class MemoryHealth:
    """How many notes and episodes a memory.db holds, and what SQLite finds wrong with it. `is_another` says that notes
    or episodes were kept in another file than this one.
    """

    notes: int = 0
    episodes: int = 0
    older: bool = False
    problems: tuple[str, ...] = ()
    is_another: bool = False


class MemoryLost(StoreDamaged):
    """A memory that is gone or empty, though notes or episodes were kept in it."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(path, f"{what}, though notes or episodes were kept in it", MOVE_AWAY)


def memory_health(path: Path, *, full: bool) -> MemoryHealth:
    """A memory.db as it is; no byte of it changes, whatever it is. Raises as `older_than` does."""
    log = path.with_name(f"{path.name}-wal")
    size = path.stat().st_size if path.is_file() else 0
    if log.is_file() and log.stat().st_size and not size:
        raise StoreDamaged(path, f"it is gone or empty, while its write-ahead log {log.name} is not", MOVE_AWAY)
    mark = kept_mark(path.parent)
    if mark and not os.path.lexists(path):
        raise MemoryLost(path, "it is gone")
    if mark and path.is_file() and not size:
        raise MemoryLost(path, "it is empty")
    if older_than(path, MEMORY_MIGRATIONS):
        return MemoryHealth(older=True)
    with Database.reading(path, busy_seconds=_BUSY_SECONDS) as database, database.snapshot():
        problems = structure_problems(database, full=full)
        if problems:
            return MemoryHealth(problems=tuple(problems))
        store = MemoryStore(database)
        counts, is_another = store.counts(), bool(mark) and store.mark() != mark
    return MemoryHealth(counts.notes, counts.episodes, is_another=is_another)


def index_health(path: Path, *, full: bool) -> IndexHealth:
    """What an index.db holds, from one moment, and what contradicts itself in it.

    With `full` every page and every vector is read, a few thousand at a time. Raises as `older_than` does.
    """
    older = older_than(path, INDEX_MIGRATIONS)
    with Database.reading(path, busy_seconds=_BUSY_SECONDS) as database, database.snapshot():
        problems = structure_problems(database, full=full)
        if older or problems:  # a damaged file is not worth the counting, and may read as anything
            return IndexHealth(older=older, problems=tuple(problems))
        table = Meta(database)
        table.check()
        dimension, model = table.get(meta.DIMENSION), table.get(meta.MODEL)
        problems += _contradictions(database, table)
        if full and not problems:
            problems += _vector_problems(database, dimension)
        return IndexHealth(
            files=Files(database).count(),
            entities=_count(database, "entities"),
            vectors=_count(database, "vectors"),
            dimension=dimension if isinstance(dimension, int) else None,
            model=None if model is None else str(model),
            marks=table.scan_marks(),
            problems=tuple(problems),
        )


def _count(database: Database, table: str) -> int:
    return int(database.value(f"SELECT count(*) FROM {table}"))


def _contradictions(database: Database, table: Meta) -> list[str]:
    found = [(what, int(database.value(sql))) for what, sql in _CONTRADICTIONS]
    problems = [f"{number:,} {what}" for what, number in found if number]
    counted = (
        ("entities", _count(database, "entities"), table.number(meta.ENTITY_COUNT)),
        ("vectors", StoredVectors(database).count(), table.number(meta.VECTOR_COUNT)),
    )
    return problems + [
        f"{here:,} {what} where {stored:,} were stored" for what, here, stored in counted if here != stored
    ]


def _vector_problems(database: Database, dimension: object) -> list[str]:
    """Vectors that are of another length than the index says, hold what is no number, or are nothing but zeros."""
    if not isinstance(dimension, int) or dimension < 1:
        return ["vectors of no known dimension"] if _count(database, "vectors") else []
    other = int(database.value("SELECT count(*) FROM vectors WHERE length(vector) != ?", (dimension * _FLOAT_BYTES,)))
    if other:
        return [f"{other:,} vectors that are not of {dimension} numbers"]
    lengths = _lengths(database, dimension)
    broken = sum(not 0.0 < length < math.inf for length in lengths)  # false for NaN too
    return [f"{broken:,} vectors that hold no direction (NaN, infinity or zeros)"] if broken else []


def _lengths(database: Database, dimension: int) -> Iterator[float]:
    """The Euclidean length of every vector: infinite or NaN as soon as one of its numbers is."""
    for rows, matrix in StoredVectors(database).stream():
        numbers = array("f")
        numbers.frombytes(matrix)
        if sys.byteorder == "big":
            numbers.byteswap()
        for start in range(0, len(rows) * dimension, dimension):
            yield math.hypot(*numbers[start : start + dimension])


def full_text_problem(path: Path) -> str:
    """What FTS5's own check finds wrong between its index and the text that it indexed; "" where that fits.

    It is a statement that SQLite counts as a write, though nothing changes: whoever writes meanwhile waits. So the
    caller holds the writer lock, which scans wait for with more patience. Raises StoreError other than StoreDamaged.
    """
    if not path.is_file():
        raise StoreMissing(path)
    try:
        with open_store(path, INDEX_MIGRATIONS, busy_seconds=_BUSY_SECONDS) as database, database.transaction():
            database.run("INSERT INTO fulltext (fulltext) VALUES ('integrity-check')")
            database.run("INSERT INTO refs (refs) VALUES ('integrity-check')")
    except StoreDamaged as damage:
        return f"full-text search does not fit its text ({damage.detail})"
    return ""


def described(file: Path) -> Workspace | None:
    """What a `workspace.json` says, None where there is none that can be read."""
    try:
        with file.open("rb") as opened:
            found = json.loads(opened.read(_LARGEST_DESCRIPTION).decode("utf-8"))
        return Workspace(*(str(found[key]) for key in ("id", "name", "path", "created")))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
