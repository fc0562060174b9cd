"""Exact search: all vectors in memory, or the stored ones block by block."""

import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from braindex.domain.ports import Vector

Found = list[tuple[int, float]]
Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]
Places = npt.NDArray[np.intp]

# A float32 dot product of unit vectors is right to about 1e-6; whatever comes this close to the cut is
# measured again.
_DOUBT: Final = 1e-5
# Two copies of one vector may differ in the last bits of a distance by where they lie in memory; they must
# tie.
_DECIMALS: Final = 6
_BLOCK_ROWS: Final = 4096
# Beyond so many vectors a question first looks at their 64 principal components, a quarter of the memory to read, and
# then measures an eightieth of the vectors, at least 2,000, in full. Of 167,890 entities that finds .997 of the ten
# nearest and .991 of the forty nearest, in a sixth of the time (bench/dense.py).
REDUCED_FROM: Final = 40_000
_COMPONENTS: Final = 64
_SAMPLE: Final = 20_000
_LIKELY_SHARE: Final = 80
_LIKELY_LEAST: Final = 2_000


def as_array(vector: Vector) -> Floats:
    """The numbers of a vector, without a copy."""
    return np.frombuffer(vector, dtype="<f4")


@dataclass(frozen=True, slots=True)
class Block:
    """`values[i]` is the vector of `rows[i]`; rows ascend. `heads[:, i]` are its principal components, where kept: one
    component after the other is read in two thirds of the time that one vector after the other takes.

    Never changed, so that matrices share blocks.
    """

    rows: Rows
    values: Floats
    heads: Floats | None = None

    @classmethod
    def of(cls, rows: "array[int]", values: bytearray | bytes) -> "Block":
        found = np.frombuffer(rows, dtype=np.int64)
        dimension = len(values) // 4 // max(1, len(found))
        return cls(found, np.frombuffer(values, dtype="<f4").reshape(len(found), dimension))

    @property
    def nbytes(self) -> int:
        return self.values.nbytes + (0 if self.heads is None else self.heads.nbytes)

    def reduced(self, basis: Floats) -> "Block":
        return Block(self.rows, self.values, _heads(self.values, basis))

    def between(self, low: int, high: int | None) -> "Block":
        """The rows from `low` on and below `high`."""
        start = int(np.searchsorted(self.rows, low))
        end = len(self.rows) if high is None else int(np.searchsorted(self.rows, high))
        heads = None if self.heads is None else self.heads[:, start:end]
        return Block(self.rows[start:end], self.values[start:end], heads)

    def changed(self, wanted: Rows, fresh: "Block") -> "Block | None":
        """A block of these rows: the fresh vectors where there are some, else its own. None where some are missing."""
        if not len(fresh.rows) and len(wanted) == len(self.rows):
            return self if np.array_equal(wanted, self.rows) else None
        mine = np.isin(wanted, self.rows, assume_unique=True)
        theirs = np.isin(wanted, fresh.rows, assume_unique=True)
        if not (mine | theirs).all():
            return None
        mine &= ~theirs
        values = np.empty((len(wanted), self.values.shape[1]), "<f4")
        heads = None if self.heads is None else np.empty((len(self.heads), len(wanted)), np.float32)
        for those, block in ((mine, self), (theirs, fresh)):
            if not those.any():
                continue
            at = np.searchsorted(block.rows, wanted[those])
            values[those] = block.values[at]
            if heads is not None and block.heads is not None:
                heads[:, those] = block.heads[:, at]
        return Block(wanted, values, heads)


def _heads(values: Floats, basis: Floats) -> Floats:
    return np.ascontiguousarray(basis.T @ values.T)


class Matrix:
    """Vectors in memory, in blocks whose rows ascend, within each and from one to the next."""

    def __init__(self, blocks: Iterable[Block], basis: Floats | None = None) -> None:
        self.blocks: Final = tuple(block for block in blocks if len(block.rows))
        self._starts = np.cumsum([0, *(len(block.rows) for block in self.blocks)])
        self._basis = basis

    @classmethod
    def of(cls, rows: "array[int]", values: bytearray | bytes) -> "Matrix":
        return cls([Block.of(rows, values)])

    @classmethod
    def of_vectors(cls, vectors: dict[int, Vector]) -> "Matrix":
        rows = array("q", sorted(vectors))
        return cls.of(rows, b"".join(vectors[row] for row in rows))

    def __len__(self) -> int:
        return int(self._starts[-1])

    @cached_property
    def rows(self) -> Rows:
        return np.concatenate([block.rows for block in self.blocks]) if self.blocks else np.empty(0, np.int64)

    @property
    def nbytes(self) -> int:
        return sum(block.nbytes for block in self.blocks)

    def reduced(self) -> "Matrix":
        """With the principal components of each vector, where there are enough for that to be faster."""
        if len(self) < REDUCED_FROM or self.blocks[0].values.shape[1] <= _COMPONENTS:
            return self
        step = max(1, len(self) // _SAMPLE)
        sample = np.concatenate([block.values[::step] for block in self.blocks])
        _, vectors = np.linalg.eigh(sample.T @ sample)
        basis = np.ascontiguousarray(vectors[:, : -_COMPONENTS - 1 : -1], dtype=np.float32)
        return Matrix([block.reduced(basis) for block in self.blocks], basis)

    def updated(self, fresh: "Matrix", count: int, rows: Callable[[], "array[int]"]) -> "Matrix | None":
        """A matrix with these vectors put in, and without those that are gone; what did not change is shared.

        `count` is how many there are now, and `rows` gives their rows in ascending order; it is asked only where some
        are gone. None where vectors are missing.
        """
        everything = np.union1d(self.rows, fresh.rows)
        wanted = everything if len(everything) == count else np.frombuffer(rows(), dtype=np.int64)
        changes = fresh.as_one(self._basis)
        made: list[Block] = []
        for block, low, high in self._ranges():
            part = wanted[np.searchsorted(wanted, low) : None if high is None else np.searchsorted(wanted, high)]
            one = block.changed(part, changes.between(low, high))
            if one is None:
                return None
            made += _split(one)
        return Matrix(made, self._basis)

    def _ranges(self) -> Iterator[tuple[Block, int, int | None]]:
        """Each block with the rows it is responsible for: a new one lies in the last, or in a gap."""
        lows = [0, *(int(block.rows[0]) for block in self.blocks[1:])]
        highs = [*lows[1:], None]
        return zip(self.blocks, lows, highs, strict=True)

    def as_one(self, basis: Floats | None) -> Block:
        """All of it as one block, with the principal components by this basis."""
        if not self.blocks:
            return Block(np.empty(0, np.int64), np.empty((0, 0), np.float32))
        values = np.concatenate([block.values for block in self.blocks])
        return Block(self.rows, values, None if basis is None else _heads(values, basis))

    def positions(self, rows: Iterable[int]) -> Places:
        """Where these rows are, ascending; rows that are not here are left out."""
        wanted = np.sort(np.fromiter(rows, dtype=np.int64))
        # Not `np.unique`, which imports numpy's masked arrays: a hundredth of a second of a first question.
        wanted = wanted[np.diff(wanted, prepend=-1) > 0]
        at = np.searchsorted(self.rows, wanted)
        at = at[at < len(self)]
        return at[np.isin(self.rows[at], wanted, assume_unique=True)]

    def distances(self, question: Vector, positions: Places) -> Found:
        """(row, true L2 distance) at each position, nearest first; equal distances by row."""
        difference = self._at(positions).astype(np.float64) - as_array(question)
        lengths = np.sqrt(np.einsum("ij,ij->i", difference, difference)).round(_DECIMALS)
        rows = self.rows[positions]
        order = np.lexsort((rows, lengths))
        return [(int(rows[at]), float(lengths[at])) for at in order]

    def nearest(self, question: Vector, limit: int, positions: Places | None = None) -> Found:
        """The `limit` nearest, of these positions or of all."""
        numbers = as_array(question)
        if positions is not None:
            among = positions
        elif self._basis is None:
            among = np.arange(len(self))
        else:
            among = self._likely(numbers, self._basis, limit)
        if len(among) * 4 < len(self):
            dots = self._at(among) @ numbers
        else:  # reading on past what is not wanted is faster than copying what is
            dots = np.concatenate([block.values @ numbers for block in self.blocks])[among]
        if len(dots) > limit:
            cut = np.partition(dots, len(dots) - limit)[len(dots) - limit]
            among = among[dots >= cut - _DOUBT]
        return self.distances(question, among)[:limit]

    def _likely(self, numbers: Floats, basis: Floats, limit: int) -> Places:
        """Where the nearest most likely are, by their principal components; ascending."""
        head = numbers @ basis
        dots = np.concatenate([head @ block.heads for block in self.blocks if block.heads is not None])
        most = max(_LIKELY_LEAST, len(dots) // _LIKELY_SHARE, 2 * limit)
        if len(dots) <= most:
            return np.arange(len(dots))
        return np.sort(np.argpartition(dots, len(dots) - most)[len(dots) - most :])

    def _at(self, positions: Places) -> Floats:
        """The vectors at ascending positions, copied."""
        cuts = np.searchsorted(positions, self._starts)
        parts = [
            block.values.take(positions[low:high] - start, axis=0)
            for block, start, low, high in zip(self.blocks, self._starts, cuts, cuts[1:], strict=False)
            if low < high
        ]
        width = self.blocks[0].values.shape[1] if self.blocks else 0
        return np.concatenate(parts) if parts else np.empty((0, width), np.float32)


def _split(block: Block) -> list[Block]:
    """A block that grew over twice the usual size, in two; changes then copy less."""
    if len(block.rows) <= 2 * _BLOCK_ROWS:
        return [block]
    middle = int(block.rows[_BLOCK_ROWS])
    return [block.between(0, middle), *_split(block.between(middle, None))]


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
        return sum(matrix.nbytes for _, matrix in self._kept.values())

    def forget(self, folder: Path) -> None:
        with self._lock:
            self._kept.pop(folder, None)
