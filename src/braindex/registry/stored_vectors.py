"""The vectors, as they were computed: the truth that distances are measured on and ChromaDB is built from."""

# ruff: noqa: S608 - only constants of this room become part of a statement; values are parameters

from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from braindex.domain.ports import Vector
from braindex.registry.database import Database, chunks, marks
from braindex.registry.failures import StoreError

SCHEMA: Final = ("CREATE TABLE vectors (row INTEGER PRIMARY KEY, vector BLOB NOT NULL)",)
_BLOCK: Final = 4096


class VectorMismatch(StoreError):
    """Vectors of two models would be mixed."""

    def __init__(self, path: Path, stored: int, given: int) -> None:
        super().__init__(
            path,
            f"{path} holds vectors of {stored} numbers and was given one of {given}: the embedding model "
            "changed. Scan the workspace again to embed it anew.",
        )


class StoredVectors:
    """The `vectors` table. A vector is float32, little-endian, one row an entity that has one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, vectors: Iterable[tuple[int, Vector]]) -> int:
        return self._database.many("INSERT INTO vectors VALUES (?, ?)", vectors)

    def delete(self, rows: Iterable[int]) -> int:
        return self._database.many("DELETE FROM vectors WHERE row = ?", [(row,) for row in rows])

    def of_rows(self, rows: Iterable[int]) -> dict[int, Vector]:
        found: dict[int, Vector] = {}
        for some in chunks(rows):
            found.update(self._database.rows(f"SELECT row, vector FROM vectors WHERE row IN ({marks(some)})", some))
        return found

    def of_ids(self, ids: Iterable[str]) -> dict[str, Vector]:
        found: dict[str, Vector] = {}
        for some in chunks(ids):
            sql = (
                "SELECT entities.id, vector FROM entities JOIN vectors ON vectors.row = entities.row "
                f"WHERE entities.id IN ({marks(some)})"
            )
            found.update(self._database.rows(sql, some))
        return found

    def stream(self, block: int = _BLOCK) -> "Iterator[tuple[array[int], bytearray]]":
        """Blocks of at most `block` rows in ascending order, each with its matrix."""
        rows, matrix = array("q"), bytearray()
        for row, vector in self._database.stream("SELECT row, vector FROM vectors ORDER BY row"):
            rows.append(row)
            matrix += vector
            if len(rows) == block:
                yield rows, matrix
                rows, matrix = array("q"), bytearray()
        if rows:
            yield rows, matrix

    def all(self) -> "tuple[array[int], bytearray]":
        """Everything in one matrix, which grows in place: a second copy never exists."""
        rows, matrix = array("q"), bytearray()
        for row, vector in self._database.stream("SELECT row, vector FROM vectors ORDER BY row"):
            rows.append(row)
            matrix += vector
        return rows, matrix
