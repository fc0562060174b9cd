"""What notes and episodes share: one row a memory, with its id and its time."""

# ruff: noqa: S608 - only constants of this room become part of a statement; values are parameters

from collections.abc import Iterable, Sequence
from typing import Final

from braindex.domain.memories import AmbiguousMemory, MemoryType, UnknownMemory, checked_reference
from braindex.registry.database import Database, chunks, marks

# `stamp` is the generation at which the content was last written: a vector of an earlier state is not taken.
SCHEMA: Final = (
    (
        "CREATE TABLE memories (row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, "
        "type TEXT NOT NULL CHECK (type IN ('note', 'episode')), created TEXT NOT NULL, stamp INTEGER NOT NULL)"
    ),
    "CREATE INDEX memories_created ON memories (type, created DESC, id)",
)
_NAMED: Final = 11  # ids of an ambiguous prefix that are read: one more than an error lists


class Rows:
    """The `memories` table. Whatever else there is of a memory goes when its row goes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, identifier: str, what: MemoryType, created: str, stamp: int) -> int:
        self._database.run(
            "INSERT INTO memories (id, type, created, stamp) VALUES (?, ?, ?, ?)", (identifier, what, created, stamp)
        )
        return int(self._database.value("SELECT last_insert_rowid()"))

    def changed(self, row: int, created: str, stamp: int) -> None:
        self._database.run("UPDATE memories SET created = ?, stamp = ? WHERE row = ?", (created, stamp, row))

    def delete(self, rows: Iterable[int]) -> int:
        return self._database.many("DELETE FROM memories WHERE row = ?", [(row,) for row in rows])

    def find(self, what: MemoryType | None, reference: str) -> int:
        """The row of an id or of the only one that begins so, of either type where `what` is None.

        Raises NotAReference, UnknownMemory, AmbiguousMemory.
        """
        prefix = checked_reference(reference)
        sql = "SELECT row, id FROM memories WHERE (? IS NULL OR type = ?) AND id >= ? AND id < ? ORDER BY id LIMIT ?"
        found = self._database.rows(sql, (what, what, prefix, prefix + "g", _NAMED))  # "g" comes after every hex digit
        if not found:
            raise UnknownMemory(what, reference)
        if len(found) > 1:
            raise AmbiguousMemory(what, reference, [one for _, one in found])
        return int(found[0][0])

    def kind_of(self, identifier: str) -> tuple[int, MemoryType] | None:
        """Row and type of an id, or None where it is not known."""
        found = self._database.rows("SELECT row, type FROM memories WHERE id = ?", (identifier,))
        return (found[0][0], found[0][1]) if found else None

    def of_ids(self, ids: Sequence[str], what: MemoryType) -> dict[str, int]:
        """Rows by id; unknown ids are left out."""
        found: dict[str, int] = {}
        for some in chunks(ids):
            sql = f"SELECT id, row FROM memories WHERE type = ? AND id IN ({marks(some)})"
            found.update(self._database.rows(sql, (what, *some)))
        return found

    def after(self, row: int, limit: int) -> list[tuple[int, MemoryType]]:
        """The next rows in the order they were added."""
        return [
            (found, what)
            for found, what in self._database.rows(
                "SELECT row, type FROM memories WHERE row > ? ORDER BY row LIMIT ?", (row, limit)
            )
        ]

    def count(self, what: MemoryType) -> int:
        return int(self._database.value("SELECT count(*) FROM memories WHERE type = ?", (what,)))
