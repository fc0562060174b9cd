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
# `stamp` is the vector generation of the write; its index also lists all rows without reading a vector.
STAMPS: Final = (
    "ALTER TABLE vectors ADD COLUMN stamp INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX vectors_stamp ON vectors (stamp)",
)
_BLOCK: Final = 4096
# A whole block in one row. Row by row, each would wait its turn among this process's threads, and ChromaDB's holds on
# to it for as long as it takes in vectors: 28 s were seen for 100,000. Bytes pass through `group_concat` as they are.
_JOINED: Final = (
    "SELECT group_concat(row), CAST(group_concat(vector, '') AS BLOB), min(length(vector)), max(length(vector)) "
    "FROM (SELECT row, vector FROM vectors WHERE row > ? ORDER BY row LIMIT ?)"
)
Block = tuple["array[int]", bytearray]


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

    def put(self, vectors: Iterable[tuple[int, Vector]], stamp: int) -> int:
        return self._database.many(
            "INSERT INTO vectors (row, vector, stamp) VALUES (?, ?, ?)", ((*one, stamp) for one in vectors)
        )

    def delete(self, rows: Iterable[int]) -> int:
        return self._database.many("DELETE FROM vectors WHERE row = ?", [(row,) for row in rows])

    def count(self) -> int:
        return int(self._database.value("SELECT count(*) FROM vectors INDEXED BY vectors_stamp"))

    def of_rows(self, rows: Iterable[int]) -> dict[int, Vector]:
        found: dict[int, Vector] = {}
        for some in chunks(rows):
            found.update(self._database.rows(f"SELECT row, vector FROM vectors WHERE row IN ({marks(some)})", some))
        return found

    def stream(self, block: int = _BLOCK) -> Iterator[Block]:
        """Blocks of at most `block` rows in ascending order, each with its matrix.

        Raises StoreDamaged for vectors of several lengths.
        """
        last, lengths = 0, set[int]()
        while True:
            [(rows, matrix, shortest, longest)] = self._database.rows(_JOINED, (last, block))
            if rows is None:
                return
            found = array("q", map(int, rows.split(",")))
            lengths |= {shortest, longest}
            if len(lengths) > 1 or len(matrix) != longest * len(found):
                raise self._database.damaged("its vectors differ in length")
            yield found, bytearray(matrix)
            last = found[-1]

    def rows(self, since: int) -> "array[int]":
        """Rows in ascending order whose stamp is above `since`, from the index alone."""
        sql = "SELECT row FROM vectors INDEXED BY vectors_stamp WHERE stamp > ?"
        return array("q", sorted(row for (row,) in self._database.rows(sql, (since,))))
