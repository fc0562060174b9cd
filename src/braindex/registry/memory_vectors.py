"""The vectors of notes and episodes: several models side by side, since the notes outlive each."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from braindex.domain.memories import ID_LENGTH, MemoryType, MemoryVector
from braindex.domain.ports import Vector
from braindex.registry.database import Database
from braindex.registry.failures import StoreError

# A vector is float32, little-endian; NULL says that the model knows no word of the text, so that nobody asks again.
SCHEMA: Final = (
    (
        "CREATE TABLE vectors (row INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE, model TEXT NOT NULL, "
        "vector BLOB, PRIMARY KEY (row, model))"
    ),
    "CREATE INDEX vectors_model ON vectors (model, row)",
)
_FLOAT: Final = 4
_BLOCK: Final = 4096
# A whole block in one row: one by one, each would wait its turn among this process's threads.
_JOINED: Final = (
    "SELECT max(row), count(*), group_concat(id, ''), CAST(group_concat(vector, '') AS BLOB), "
    "min(length(vector)), max(length(vector)) FROM ("
    "SELECT row, id, vector FROM vectors JOIN memories USING (row) WHERE model = ? AND row > ? "
    "AND vector IS NOT NULL AND (? IS NULL OR type = ?) AND (? IS NULL OR created >= ?) ORDER BY row LIMIT ?)"
)


class UnfitVector(StoreError):
    def __init__(self, path: Path, model: str, stored: int, given: int) -> None:
        super().__init__(
            path,
            f"a vector of {model} has {given} bytes where the others in {path} have {stored}: the model is not the "
            "one that made them; nothing was stored. Forget the model's vectors and embed the notes anew.",
        )


class MemoryVectors:
    """The `vectors` table of a memory."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, model: str, vectors: Iterable[MemoryVector]) -> int:
        """Store vectors of memories that are still in the state they were made from; the others are left out.

        Raises UnfitVector for one of another length than the model's others, or of no whole number of floats.
        """
        sql = (
            "INSERT OR REPLACE INTO vectors (row, model, vector) "
            "SELECT row, ?, ? FROM memories WHERE id = ? AND stamp = ?"
        )
        length, stored = self._length(model), 0
        for one in vectors:
            if one.vector is not None:
                length = self._checked(model, one.vector, length)
            stored += max(0, self._database.run(sql, (model, one.vector, one.id, one.stamp)))
        return stored

    def _checked(self, model: str, vector: Vector, length: int | None) -> int:
        expected = length or len(vector) // _FLOAT * _FLOAT or _FLOAT
        if len(vector) != expected:
            raise UnfitVector(self._database.path, model, expected, len(vector))
        return expected

    def _length(self, model: str) -> int | None:
        """Bytes of each vector of a model, or None where it has none."""
        sql = "SELECT length(vector) FROM vectors WHERE model = ? AND vector IS NOT NULL LIMIT 1"
        found = self._database.value(sql, (model,))
        return None if found is None else int(found)

    def of_row(self, row: int) -> list[tuple[str, Vector | None]]:
        """(model, vector) of a memory."""
        sql = "SELECT model, vector FROM vectors WHERE row = ? ORDER BY model"
        return [(model, found) for model, found in self._database.rows(sql, (row,))]

    def copy(self, row: int, vectors: Iterable[tuple[str, Vector | None]]) -> None:
        """Take over vectors that another memory made of the same text, where none is and the length fits."""
        for model, vector in vectors:
            if vector is None or self._length(model) in (None, len(vector)):
                self._database.run("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", (row, model, vector))

    def delete(self, row: int) -> None:
        """Forget the vectors of a memory whose text changed."""
        self._database.run("DELETE FROM vectors WHERE row = ?", (row,))

    def forget(self, model: str) -> int:
        return self._database.run("DELETE FROM vectors WHERE model = ?", (model,))

    def models(self) -> dict[str, int]:
        """How many memories each model has been asked about, by model."""
        return dict(self._database.rows("SELECT model, count(*) FROM vectors GROUP BY model ORDER BY model"))

    def without(self, model: str, limit: int) -> list[tuple[int, int]]:
        """(row, stamp) of memories that the model was not asked about yet, in the order they were added."""
        sql = (
            "SELECT row, stamp FROM memories WHERE NOT EXISTS "
            "(SELECT 1 FROM vectors WHERE vectors.row = memories.row AND model = ?) ORDER BY row LIMIT ?"
        )
        return [(row, stamp) for row, stamp in self._database.rows(sql, (model, limit))]

    def all(self, model: str, what: MemoryType | None, since: str | None) -> tuple[list[str], bytearray]:
        """Every id that has a vector of the model, and the matrix: the vectors one after the other."""
        ids, matrix = list[str](), bytearray()
        for some, part in self._blocks(model, what, since):
            ids += some
            matrix += part
        return ids, matrix

    def _blocks(self, model: str, what: MemoryType | None, since: str | None) -> Iterator[tuple[list[str], bytes]]:
        last, lengths = 0, set[int]()
        while True:
            parameters = (model, last, what, what, since, since, _BLOCK)
            [(row, count, ids, part, shortest, longest)] = self._database.rows(_JOINED, parameters)
            if not count:
                return
            lengths |= {shortest, longest}
            if len(lengths) > 1 or len(part) != longest * count or len(ids) != ID_LENGTH * count:
                raise self._database.damaged("its vectors differ in length")
            yield [ids[at : at + ID_LENGTH] for at in range(0, len(ids), ID_LENGTH)], part
            last = row
