"""What each entity refers to, and who refers to a name: a full-text index of names."""

# ruff: noqa: S608 - only constants of this room become part of a statement; values are parameters

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from braindex.domain.references import Reference
from braindex.registry.database import Database, chunks, marks, storable
from braindex.registry.fulltext import TOKENIZER

# One row an entity, with its names by kind and their lines: a table with a row for each reference is five times as
# many rows and twice the time of a scan's writes.
_COLUMNS: Final[dict[str, str]] = {"call": "calls", "import": "imports", "base": "bases"}
TABLE: Final = (
    f"CREATE VIRTUAL TABLE refs USING fts5({', '.join(_COLUMNS.values())}, lines UNINDEXED, "
    f"detail = column, columnsize = 0, {TOKENIZER})"
)
_INSERT: Final = f"INSERT INTO refs (rowid, {', '.join(_COLUMNS.values())}, lines) VALUES (?, ?, ?, ?, ?)"


class Referring(NamedTuple):
    """An entity that refers to a name, with its first line."""

    row: int
    path: str
    kind: str
    name: str
    parent: str
    line: int


class References:
    """The `refs` table. Names keep their case, and are looked for with it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, rows: Iterable[tuple[int, tuple[Reference, ...]]]) -> None:
        """Row and references of entities that have none stored."""
        self._database.many(_INSERT, (_values(row, references) for row, references in rows if references))

    def delete(self, rows: Iterable[int]) -> None:
        self._database.many("DELETE FROM refs WHERE rowid = ?", [(row,) for row in rows])

    def clear(self) -> None:
        self._database.run("DROP TABLE refs")
        self._database.run(TABLE)

    def optimize(self) -> None:
        self._database.run("INSERT INTO refs (refs) VALUES ('optimize')")

    def of(self, rows: Iterable[int]) -> dict[int, tuple[Reference, ...]]:
        """What entities refer to, by row and in the order of their text; rows without references are left out."""
        found: dict[int, tuple[Reference, ...]] = {}
        for some in chunks(rows):
            sql = f"SELECT rowid, {', '.join(_COLUMNS.values())}, lines FROM refs WHERE rowid IN ({marks(some)})"
            for row, *names, lines in self._database.rows(sql, some):
                found[row] = _references(names, lines)
        return found

    def to(self, kind: str, name: str, languages: Iterable[str]) -> list[Referring]:
        """Every entity of some languages that refers to a name in a way of `REFERENCE_KINDS`, by row."""
        word = storable(name)
        if not word or word.split() != [word]:
            return []
        column, spoken = _COLUMNS[kind], sorted(languages)
        quoted = word.replace('"', '""')
        # The index folds ASCII case, so another spelling may be what it found.
        sql = (
            "SELECT row, path, kind, name, parent, line FROM refs JOIN entities ON row = refs.rowid "
            f"JOIN files ON files.id = entities.file WHERE refs MATCH ? AND instr(' ' || refs.{column} || ' ', ?) "
            f"AND entities.language IN ({marks(spoken)}) ORDER BY refs.rowid"
        )
        parameters = (f'{column} : "{quoted}"', f" {word} ", *spoken)
        return [Referring._make(row) for row in self._database.rows(sql, parameters)]

    def lines(self, kind: str, name: str, rows: Iterable[int]) -> dict[int, int]:
        """The line on which each of some entities first refers to a name, by row."""
        word = storable(name)
        of = self.of(rows).items()
        return {row: line for row, found in of for one, that, line in found if one == kind and that == word}


def _values(row: int, references: Sequence[Reference]) -> tuple[int | str, ...]:
    by_kind = {kind: [(storable(name), line) for one, name, line in references if one == kind] for kind in _COLUMNS}
    names = (" ".join(name for name, _ in found) for found in by_kind.values())
    return row, *names, ";".join(" ".join(str(line) for _, line in found) for found in by_kind.values())


def _references(names: Sequence[str], lines: str) -> tuple[Reference, ...]:
    found = [
        (kind, name, int(line))
        for kind, some, at in zip(_COLUMNS, names, lines.split(";"), strict=True)
        for name, line in zip(some.split(" ") if some else (), at.split(), strict=True)
    ]
    return tuple(sorted(found, key=lambda one: one[2]))
