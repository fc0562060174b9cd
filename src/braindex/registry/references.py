"""What each entity refers to, and who refers to a name: a full-text index of names."""

# ruff: noqa: S608 - only constants of this room become part of a statement; values are parameters

from collections.abc import Iterable, Sequence
from typing import Final

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

    def to(self, kind: str, name: str, limit: int) -> list[tuple[int, int]]:
        """(row, line) of entities that refer to a name in a way of `REFERENCE_KINDS`: at most `limit`, by row."""
        word = storable(name)
        if not word or word.split() != [word]:
            return []
        column = _COLUMNS[kind]
        quoted = word.replace('"', '""')
        sql = f"SELECT rowid, {', '.join(_COLUMNS.values())}, lines FROM refs WHERE refs MATCH ? ORDER BY rowid"
        found: list[tuple[int, int]] = []
        for row, *names, lines in self._database.stream(sql, (f'{column} : "{quoted}"',)):
            # The index folds ASCII case, so another spelling may be what it found.
            at = [line for one, that, line in _references(names, lines) if one == kind and that == word]
            found += [(row, at[0])] if at else []
            if len(found) >= limit:
                break
        return found


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
