"""The bundled model: a static token table trained on code, int8 by row, 30,000 tokens of 256 dimensions.

A passage's vector is a weighted bag of its tokens: log(1 + count) over the first 2,000 characters (256 tokens) of its
body, plus 1.0 for each signature token (64), 1.5 for each name token (16), 0.5 for each parent token (16) and 1.5 for
each token of the last three path parts (24); L2-normalised. A question's vector is the plain sum on the question side
of the table. The weights are those the table was measured with (docs/retrieval.md).
"""

import math
import threading
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from braindex.domain.ports import Passage, Vector
from braindex.embedding.pieces import WEIGHTS, data_folder, load_pieces

Floats = npt.NDArray[np.float32]

BODY_CHARACTERS: Final = 2000
BODY_TOKENS: Final = 256
QUESTION_TOKENS: Final = 64
WORD_TOKENS: Final = 8  # pieces of one word of a question
# (weight, most tokens) of each field beside the body.
SIGNATURE: Final = (1.0, 64)
NAME: Final = (1.5, 16)
PARENT: Final = (0.5, 16)
PATH: Final = (1.5, 24)
_LOG: Final = [math.log1p(count) for count in range(BODY_TOKENS * 48)]
_TINY: Final = 1e-9


def _unit(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    normed: Floats = rows / np.maximum(lengths, np.float32(_TINY))
    return normed


class _Table:
    """The loaded weights."""

    def __init__(self) -> None:
        with (data_folder() / WEIGHTS).open("rb") as file, np.load(file) as arrays:
            document_scale = arrays["dscale"].astype(np.float32)
            self.documents: Floats = arrays["table"].astype(np.float32) * document_scale[:, None]
            question_scale = arrays["qscale"].astype(np.float32)
        self.question_ratio: Floats = question_scale / np.maximum(document_scale, np.float32(1e-8))
        self.pieces = load_pieces()


def tail(path: str) -> str:
    """The last three parts of a path: what a reader recognises a file by."""
    return "/".join(path.split("/")[-3:])


class BundledEmbedder:
    """Fulfils `domain.ports.Embedder` with the weights in this package; no network, loaded at first use."""

    model = "braindex-static-2"
    dimension = 256

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: _Table | None = None
        self._last_path: tuple[str, list[int]] = ("", [])

    @property
    def _table(self) -> _Table:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = _Table()
        return self._loaded

    def passages(self, passages: Sequence[Passage]) -> list[Vector | None]:
        """One vector a passage, in order; None where the text holds no known token."""
        table = self._table
        sums = np.zeros((len(passages), self.dimension), np.float32)
        known = [self._add(table, passage, sums[row]) for row, passage in enumerate(passages)]
        vectors = _unit(sums)
        return [vectors[row].tobytes() if one else None for row, one in enumerate(known)]

    def _add(self, table: _Table, passage: Passage, total: Any) -> bool:
        ids = table.pieces.ids
        counts = Counter(ids(passage.body[:BODY_CHARACTERS], BODY_TOKENS))
        weights = {token: _LOG[count] for token, count in counts.items()}
        fields = (
            (ids(passage.signature, SIGNATURE[1]), SIGNATURE[0]),
            (ids(passage.name, NAME[1]), NAME[0]),
            (ids(passage.parent, PARENT[1]) if passage.parent else (), PARENT[0]),
            (self._path_ids(table, passage.path), PATH[0]),
        )
        known = weights.get
        for field, weight in fields:
            for token in field:
                weights[token] = known(token, 0.0) + weight
        if weights:
            rows = np.fromiter(weights, np.int64, len(weights))
            scale = np.fromiter(weights.values(), np.float32, len(weights))
            np.dot(scale, table.documents.take(rows, axis=0), out=total)
        return bool(weights)

    def _path_ids(self, table: _Table, path: str) -> list[int]:
        """Token ids of a path's tail; the passages of one file come one after the other."""
        last, ids = self._last_path
        if path != last:
            ids = table.pieces.ids(tail(path), PATH[1])
            self._last_path = (path, ids)
        return ids

    def question(self, text: str) -> Vector | None:
        """The question's vector over its first 64 tokens, or None when it has no word the model knows."""
        table = self._table
        ids = table.pieces.ids(text, QUESTION_TOKENS)
        if not ids:
            return None
        vector = _unit(table.question_ratio[ids] @ table.documents[ids])
        return vector.tobytes()

    def name_similarities(self, question: Vector, names: Sequence[tuple[str, str]]) -> list[float]:
        """Cosine of the question with name + 0.5 × parent alone; 0.0 where a name has no known token."""
        table = self._table
        bags = [
            (table.pieces.ids(name, NAME[1]), table.pieces.ids(parent, PARENT[1]) if parent else [])
            for name, parent in names
        ]
        weights = [[1.0] * len(own) + [PARENT[0]] * len(above) for own, above in bags]
        sums = _sums(table.documents, [[*own, *above] for own, above in bags], weights)
        cosines = _unit(sums) @ np.frombuffer(question, np.float32)
        return [float(one) for one in cosines]

    def word_similarities(self, question_words: Sequence[str], texts: Sequence[str]) -> list[list[float]]:
        """For each text, for each question word, the best cosine to a token of the text, at least 0.0.

        A word's direction is the sum of its pieces; a word without a known piece is like nothing (0.0).
        """
        table = self._table
        words = self._word_directions(question_words)
        bags = [table.pieces.ids(text, PATH[1] * 2) for text in texts]
        tokens = sorted({token for bag in bags for token in bag})
        if not tokens:
            return [[0.0] * len(question_words) for _ in texts]
        column = {token: index for index, token in enumerate(tokens)}
        cosines = np.maximum(words @ _unit(table.documents[tokens]).T, np.float32(0))
        return [_best(cosines, [column[token] for token in bag]) for bag in bags]

    def _word_directions(self, words: Sequence[str]) -> Floats:
        table = self._table
        bags = [table.pieces.ids(word, WORD_TOKENS) for word in words]
        return _unit(_sums(table.documents, bags, [[1.0] * len(bag) for bag in bags]))


def _sums(rows: Floats, bags: Sequence[Sequence[int]], weights: Sequence[Sequence[float]]) -> Floats:
    """For each bag of row numbers, the weighted sum of its rows; zeros for an empty bag. One gather for all."""
    sums = np.zeros((len(bags), rows.shape[1]), np.float32)
    filled = [index for index, bag in enumerate(bags) if bag]
    if filled:
        sizes = [len(bags[index]) for index in filled]
        starts = np.cumsum([0, *sizes[:-1]])
        flat = np.fromiter(chain.from_iterable(bags), np.int64, sum(sizes))
        scale = np.fromiter(chain.from_iterable(weights), np.float32, sum(sizes))
        sums[filled] = np.add.reduceat(rows[flat] * scale[:, None], starts, axis=0)
    return sums


def _best(cosines: Floats, columns: list[int]) -> list[float]:
    if not columns:
        return [0.0] * len(cosines)
    return [float(one) for one in cosines[:, columns].max(axis=1)]
