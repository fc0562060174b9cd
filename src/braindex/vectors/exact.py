"""Exact search: one matrix in memory, or the stored vectors block by block."""

import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from braindex.domain.ports import Vector

Found = list[tuple[int, float]]
Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

# A float32 dot product of unit vectors is right to about 1e-6; whatever comes this close to the cut is
# measured again.
_DOUBT: Final = 1e-5
# Two copies of one vector may differ in the last bits of a distance by where they lie in memory; they must
# tie.
_DECIMALS: Final = 6


def as_array(vector: Vector) -> Floats:
    """The numbers of a vector, without a copy."""
    return np.frombuffer(vector, dtype="<f4")


@dataclass(frozen=True, slots=True)
class Matrix:
    """`values[i]` is the vector of `rows[i]`; rows ascend. Both are views of what the store gave."""

    rows: Rows
    values: Floats

    @classmethod
    def of(cls, rows: "array[int]", values: bytearray | bytes) -> "Matrix":
        found = np.frombuffer(rows, dtype=np.int64)
        dimension = len(values) // 4 // max(1, len(found))
        return cls(found, np.frombuffer(values, dtype="<f4").reshape(len(found), dimension))

    @classmethod
    def of_vectors(cls, vectors: dict[int, Vector]) -> "Matrix":
        rows = array("q", sorted(vectors))
        return cls.of(rows, b"".join(vectors[row] for row in rows))

    def updated(self, fresh: "Matrix", count: int, rows: Callable[[], "array[int]"]) -> "Matrix | None":
        """A matrix with these vectors put in, and without those that are gone.

        `count` is how many there are now, and `rows` gives their rows in ascending order; it is asked only where some
        are gone. None where vectors are missing.
        """
        everything = np.union1d(self.rows, fresh.rows)
        wanted = everything if len(everything) == count else np.frombuffer(rows(), dtype=np.int64)
        values = np.empty((len(wanted), self.values.shape[1]), dtype="<f4")
        at = np.minimum(np.searchsorted(self.rows, wanted), len(self.rows) - 1)
        np.take(self.values, at, axis=0, out=values, mode="clip")
        filled = self.rows[at] == wanted
        to, at = np.intersect1d(wanted, fresh.rows, assume_unique=True, return_indices=True)[1:]
        if len(to):
            values[to] = fresh.values[at]
            filled[to] = True
        return Matrix(wanted, values) if filled.all() else None

    def positions(self, rows: Iterable[int]) -> npt.NDArray[np.intp]:
        """Where these rows are; rows that are not here are left out."""
        wanted = np.unique(np.fromiter(rows, dtype=np.int64))
        at = np.searchsorted(self.rows, wanted)
        at = at[at < len(self.rows)]
        return at[np.isin(self.rows[at], wanted, assume_unique=True)]

    def distances(self, question: Vector, positions: npt.NDArray[np.intp]) -> Found:
        """(row, true L2 distance) at each position, nearest first; equal distances by row."""
        difference = self.values[positions].astype(np.float64) - as_array(question)
        lengths = np.sqrt(np.einsum("ij,ij->i", difference, difference)).round(_DECIMALS)
        rows = self.rows[positions]
        order = np.lexsort((rows, lengths))
        return [(int(rows[at]), float(lengths[at])) for at in order]

    def nearest(self, question: Vector, limit: int, positions: npt.NDArray[np.intp] | None = None) -> Found:
        """The `limit` nearest, of these positions or of all."""
        among = np.arange(len(self.rows)) if positions is None else positions
        if len(among) * 4 < len(self.rows):
            dots = self.values[among] @ as_array(question)
        else:  # reading on past what is not wanted is faster than copying what is
            dots = (self.values @ as_array(question))[among]
        if len(dots) > limit:
            cut = np.partition(dots, len(dots) - limit)[len(dots) - limit]
            among = among[dots >= cut - _DOUBT]
        return self.distances(question, among)[:limit]


def nearest_of_blocks(blocks: Iterable[Matrix], question: Vector, limit: int) -> Found:
    """The same answer as from one matrix, with one block at a time in memory."""
    found: Found = []
    for block in blocks:
        found += block.nearest(question, limit)
        found = sorted(found, key=lambda one: (one[1], one[0]))[:limit]
    return found


def blend(question: Vector, vectors: Sequence[tuple[Vector, float]], weight: float) -> Vector:
    """normalise(question + weight * normalise(sum of the vectors * their weights)), as float32."""
    start = as_array(question).astype(np.float64)
    total = np.zeros_like(start)
    for vector, share in vectors:
        total += share * as_array(vector)
    mixed = start + weight * _normalised(total)
    return _normalised(mixed).astype("<f4").tobytes()


def _normalised(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    length = float(np.linalg.norm(values))
    return values / length if length > 0 else values


class MatrixCache:
    """The matrices of the workspaces used last, each until its generation moves. Thread-safe.

    At most `most` of them, and all but the last used one only as long as they need at most `most_bytes` together.
    """

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[Path, tuple[int, Matrix]] = OrderedDict()

    def get(
        self,
        folder: Path,
        generation: int,
        load: Callable[[], Matrix],
        update: Callable[[int, Matrix], Matrix | None],
    ) -> Matrix:
        """The matrix of this generation: `update` makes it of an earlier generation's where it can, else `load`.

        Threads that need one at the same time wait and share it.
        """
        with self._lock:
            kept = self._kept.pop(folder, None)
            if kept is None or kept[0] != generation:
                made = None if kept is None else update(*kept)
                del kept  # the old matrix goes before a new one is loaded
                kept = generation, load() if made is None else made
            self._kept[folder] = kept
            while len(self._kept) > self._most or (len(self._kept) > 1 and self._bytes() > self._most_bytes):
                self._kept.popitem(last=False)
            return kept[1]

    def _bytes(self) -> int:
        return sum(matrix.values.nbytes for _, matrix in self._kept.values())

    def forget(self, folder: Path) -> None:
        with self._lock:
            self._kept.pop(folder, None)
