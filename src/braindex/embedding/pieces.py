"""Text to token ids of the bundled model's vocabulary."""

from collections.abc import Iterable
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import chain
from typing import Final

from braindex.domain.words import SUBWORD, tokens

WEIGHTS: Final = "model_int8.npz"
_MAX_WORD: Final = 40  # a longer word is not split into pieces
_MEMO_LIMIT: Final = 200_000


def data_folder() -> Traversable:
    """Where the model's files lie in the package."""
    return resources.files("braindex.embedding") / "data"


def load_pieces() -> "Pieces":
    words = (data_folder() / "vocab.txt").read_text(encoding="utf-8").split("\n")
    return Pieces({word: index for index, word in enumerate(words)})


class Pieces(dict[str, tuple[int, ...]]):
    """Token ids by token, from a vocabulary: whole words first, else the longest pieces (`##` marks an inner one).

    A dict that fills itself, so that the loop over a text's tokens runs in C; bounded, and safe to race.
    """

    def __init__(self, vocabulary: dict[str, int]) -> None:
        super().__init__()
        self._vocabulary = vocabulary

    def _word(self, word: str) -> tuple[int, ...]:
        whole = self._vocabulary.get(word)
        if whole is not None:
            return (whole,)
        ids: list[int] = []
        start = 0
        while start < len(word) <= _MAX_WORD:
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                piece = self._vocabulary.get(prefix + word[start:end])
                if piece is not None:
                    ids.append(piece)
                    start = end
                    break
            else:
                start += 1
        return tuple(ids)

    def __missing__(self, token: str) -> tuple[int, ...]:
        ids = tuple(one for word in SUBWORD.findall(token) for one in self._word(word.lower()))
        if len(self) < _MEMO_LIMIT:
            self[token] = ids
        return ids

    def ids(self, text: str, limit: int) -> list[int]:
        """Token ids in order, ended by the word that reaches `limit`."""
        found = tokens(text)
        every = list(chain.from_iterable(map(self.__getitem__, found)))
        return every if len(every) < limit else self._ended(found, limit)

    def _ended(self, found: Iterable[str], limit: int) -> list[int]:
        out: list[int] = []
        for token in found:
            ids = self[token]
            if len(out) + len(ids) < limit:
                out.extend(ids)
                continue
            for word in SUBWORD.findall(token):
                out.extend(self._word(word.lower()))
                if len(out) >= limit:
                    return out
        return out
