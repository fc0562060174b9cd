"""What the services need from the adapters, as Protocols. `bootstrap` alone knows who fulfils them."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple, Protocol

# A vector in transit and at rest: `dimension` float32 values, little-endian, L2-normalised. Bytes keep numpy
# out of the rules and are what SQLite stores.
Vector = bytes


@dataclass(frozen=True, slots=True)
class Passage:
    """What is embedded and indexed of one entity.

    `body` is the entity's own source text (a class without its members), `doc` its docstring or leading
    comment.
    """

    path: str
    parent: str
    name: str
    signature: str
    doc: str
    body: str


class Embedder(Protocol):
    """Text to vectors. Implementations load what they need at first use, not at construction.

    One that asks a provider raises EngineFailed from `passages` and `question` for whatever goes wrong there.
    """

    @property
    def model(self) -> str:
        """Name and version; a stored vector of another model is never compared with one of this."""
        ...

    @property
    def dimension(self) -> int:
        """0 as long as a provider has not said it by an answer."""
        ...

    def passages(self, passages: Sequence[Passage]) -> list[Vector | None]:
        """One vector a passage; None where no token is known (a zero vector is never stored)."""
        ...

    def question(self, text: str) -> Vector | None:
        """The question's vector, or None when it has no word the model knows."""
        ...


class WordModel(Embedder, Protocol):
    """An embedder that also compares single words. It needs no network, so ranking may ask it for every candidate."""

    def name_similarities(self, question: Vector, names: Sequence[tuple[str, str]]) -> list[float]:
        """Cosine of the question with each (name, parent) alone; 0.0 where a name has no known token."""
        ...

    def word_similarities(self, question_words: Sequence[str], texts: Sequence[str]) -> list[list[float]]:
        """For each text, for each question word, the best cosine to a token of the text, at least 0.0."""
        ...


class IndexPlace(NamedTuple):
    """Where the approximate index of a workspace is to be. `is_needed` is false where the stored vectors are searched
    exactly; `is_there` where the settings changed, or a server was away, and the next `sync` puts all vectors there.
    """

    is_needed: bool
    is_there: bool
    on_server: bool


class DenseIndex(Protocol):
    """Vectors of one workspace. Distances are true (not squared) L2 distances between unit vectors."""

    def nearest(self, question: Vector, limit: int, among: Sequence[int] | None = None) -> list[tuple[int, float]]:
        """Row ids with distances, nearest first; equal distances by row id. `among` restricts the search."""
        ...

    @property
    def remark(self) -> str:
        """In one line what the last `nearest` had to do without, such as a server that is away; else ""."""
        ...

    def begin(
        self, question: Vector, limit: int, among: Sequence[int] | None = None
    ) -> Callable[[], list[tuple[int, float]]]:
        """`nearest`, begun now and perhaps beside what else the caller does; the returned call waits for it."""
        ...

    def distances(self, question: Vector, rows: Sequence[int]) -> dict[int, float]:
        """The true distance of each row that has a vector."""
        ...

    def blend(self, question: Vector, rows: Sequence[tuple[int, float]], weight: float) -> Vector:
        """Relevance feedback: normalise(question + weight × normalise(sum of row vectors × their weights))."""
        ...

    def sync(self, *, wait_seconds: float = 0.0, stop: Callable[[], bool] = ...) -> int:
        """Takes in the vector changes that wait in the source's outbox; returns how many. What is left, the next
        call takes in. Raises a BraindexError when the index on disk is busy or cannot be written, or its server is
        away: nothing is lost.
        """
        ...

    def place(self) -> IndexPlace:
        """Where the index on disk or on a server is to be, and whether it is there yet; no server is asked."""
        ...

    def problems(self, *, wait_seconds: float = 0.0, stop: Callable[[], bool] = ...) -> list[str]:
        """What the index on disk or on its server holds otherwise than the source, a line each; the next `sync` then
        builds it anew. Reads everything. Raises a BraindexError when it is busy or away, which says nothing of it.
        """
        ...


class VectorChange(NamedTuple):
    """A vector change that the dense index has not taken in yet; `vector` is None for a removal."""

    sequence: int
    id: str
    vector: Vector | None


class VectorSource(Protocol):
    """The stored vectors of one workspace: the truth that every dense index is a copy of.

    `rows` are int64 row ids; a matrix is `len(rows)` vectors one after the other, in the same order.
    """

    def snapshot(self) -> AbstractContextManager[None]:
        """Everything read inside comes from one moment."""
        ...

    def vector_generation(self) -> int:
        """Moves whenever a vector was added, replaced or removed, in any process."""
        ...

    def applied_generation(self) -> int:
        """Moves whenever changes were taken in by the dense index on disk, in any process."""
        ...

    def vector_count(self) -> int: ...

    def dimension(self) -> int | None:
        """How many numbers each vector has; None where there never was one."""
        ...

    def stream_vectors(self) -> "Iterator[tuple[array[int], bytearray]]":
        """Every row that has a vector, in ascending order, with the matrix, block by block."""
        ...

    def vectors(self, rows: Iterable[int]) -> dict[int, Vector]: ...

    def rows_of(self, ids: Iterable[str]) -> dict[str, int]: ...

    def pending_rows(self) -> list[int]:
        """Rows whose vector the dense index has not taken in yet."""
        ...

    def outbox(self, limit: int) -> list[VectorChange]:
        """The oldest changes that the dense index has not taken in yet."""
        ...

    def outbox_done(self, changes: Sequence[VectorChange]) -> int:
        """Forget changes that were taken in, unless newer ones replaced them; the applied generation."""
        ...

    def outbox_kept(self) -> bool:
        """Whether changes are noted for a dense index: from `outbox_all` until `outbox_ends`."""
        ...

    def outbox_ends(self) -> None:
        """Note no more changes: the dense index was given up."""
        ...

    def outbox_all(self) -> int:
        """Ask for everything again, for a dense index that was lost. Returns the applied generation."""
        ...
