"""Vector changes that ChromaDB has not taken in yet, so that no crash between the two stores can lose one."""

from collections.abc import Iterable, Sequence
from typing import Final

from braindex.domain.ports import VectorChange
from braindex.registry.database import Database

# What a change is follows from the entity as it is when the change is read: a vector is put, none is a
# removal. `sequence` tells a change from a newer one of the same entity.
SCHEMA: Final = ("CREATE TABLE outbox (sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE)",)
_READ: Final = (
    "SELECT outbox.sequence, outbox.id, vectors.vector FROM outbox "
    "LEFT JOIN entities ON entities.id = outbox.id LEFT JOIN vectors ON vectors.row = entities.row "
    "ORDER BY outbox.sequence LIMIT ?"
)


class Outbox:
    """The `outbox` table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, ids: Iterable[str]) -> None:
        self._database.many("INSERT OR REPLACE INTO outbox (id) VALUES (?)", [(one,) for one in ids])

    def clear(self) -> None:
        self._database.run("DELETE FROM outbox")

    def add_all(self) -> None:
        self.clear()
        self._database.run(
            "INSERT INTO outbox (id) SELECT entities.id FROM entities "
            "JOIN vectors ON vectors.row = entities.row ORDER BY entities.row"
        )

    def read(self, limit: int) -> list[VectorChange]:
        return [VectorChange(*row) for row in self._database.rows(_READ, (limit,))]

    def done(self, changes: Sequence[VectorChange]) -> None:
        self._database.many("DELETE FROM outbox WHERE sequence = ?", [(change.sequence,) for change in changes])

    def pending_rows(self) -> list[int]:
        rows = self._database.rows(
            "SELECT entities.row FROM outbox JOIN entities ON entities.id = outbox.id ORDER BY entities.row"
        )
        return [row[0] for row in rows]
