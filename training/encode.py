"""Training pairs as token numbers, with the fields and limits of the product's encoder.

usage: python training/encode.py OUT.npz VOCAB.txt PAIRS.jsonl [PAIRS.jsonl …]
"""

import argparse
from array import array
from collections import Counter
from pathlib import Path

import numpy as np
from vocabulary import records

from braindex.embedding.bundled import (
    BODY_CHARACTERS,
    BODY_TOKENS,
    NAME,
    PARENT,
    PATH,
    QUESTION_TOKENS,
    SIGNATURE,
    _Pieces,
    tail,
)  # fmt: skip

BODY_FIELD, SIGNATURE_FIELD, NAME_FIELD, PARENT_FIELD, PATH_FIELD = range(5)


class Encoder:
    """Collects rows of token numbers: questions, paragraphs, and passages with a weight and a field for each token."""

    def __init__(self, pieces: _Pieces) -> None:
        self._pieces = pieces
        self.questions, self.question_ends = array("i"), array("q", [0])
        self.paragraphs, self.paragraph_ends = array("i"), array("q", [0])
        self.tokens, self.weights, self.fields, self.ends = array("i"), array("f"), array("b"), array("q", [0])
        self.packages, self.kinds, self.asked = array("i"), array("b"), array("q")
        self._packages: dict[str, int] = {}
        self._kinds: dict[str, int] = {}

    def add(self, one: dict[str, str]) -> None:
        ids = self._pieces.ids
        question = ids(one["question"], QUESTION_TOKENS)
        body = Counter(ids(one["body"][:BODY_CHARACTERS], BODY_TOKENS))
        if not question or not body:
            return
        self.questions.extend(question)
        self.question_ends.append(len(self.questions))
        self.paragraphs.extend(ids(one["paragraph"], QUESTION_TOKENS) or question)
        self.paragraph_ends.append(len(self.paragraphs))
        self._put(list(body), [float(np.log1p(count)) for count in body.values()], BODY_FIELD)
        for text, (weight, most), field in (
            (one["signature"], SIGNATURE, SIGNATURE_FIELD), (one["name"], NAME, NAME_FIELD),
            (one["parent"], PARENT, PARENT_FIELD), (tail(one["path"]), PATH, PATH_FIELD),
        ):  # fmt: skip
            found = ids(text, most) if text else []
            self._put(found, [weight] * len(found), field)
        self.ends.append(len(self.tokens))
        self.packages.append(self._packages.setdefault(one["package"], len(self._packages)))
        self.kinds.append(self._kinds.setdefault(one["kind"], len(self._kinds)))
        self.asked.append(hash(tuple(question)))

    def _put(self, tokens: list[int], weights: list[float], field: int) -> None:
        self.tokens.extend(tokens)
        self.weights.extend(weights)
        self.fields.extend([field] * len(tokens))

    def save(self, out: Path) -> int:
        columns = {
            name: np.frombuffer(value, dtype=value.typecode)
            for name, value in vars(self).items()
            if isinstance(value, array)
        }
        np.savez(out, kind_names=np.array(list(self._kinds)), **columns)  # type: ignore[arg-type]
        return len(self.packages)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("vocabulary", type=Path)
    parser.add_argument("pairs", nargs="+", type=Path)
    given = parser.parse_args()
    words = given.vocabulary.read_text(encoding="utf-8").split("\n")
    encoder = Encoder(_Pieces({word: index for index, word in enumerate(words)}))
    for one in records(given.pairs):
        encoder.add(one)
    print(f"{encoder.save(given.out)} pairs")


if __name__ == "__main__":
    main()
