"""The words and word pieces of the bundled table, from training pairs.

usage: python training/vocabulary.py VOCAB.txt PAIRS.jsonl [PAIRS.jsonl …] [--size 30000] [--pieces 6000]

A word is a lower-case sub-word of the product's own split. The words in most pairs come first; the pieces, of which
any other word is made, are all single characters and the most frequent beginnings and (`##`) continuations of the words
that did not get in.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from braindex.domain.words import subwords

LONGEST_WORD = 30
PIECE_LENGTHS = range(2, 6)
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
FIELDS = ("question", "paragraph", "path", "parent", "name", "signature", "body")


def records(files: list[Path]) -> Iterator[dict[str, str]]:
    for file in files:
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)


def frequencies(files: list[Path]) -> Counter[str]:
    """In how many pairs each word occurs; words of questions count three times, they are what has to be understood."""
    found: Counter[str] = Counter()
    for one in records(files):
        found.update({word for field in FIELDS for word in subwords(one[field]) if len(word) <= LONGEST_WORD})
        asked = set(subwords(one["question"]))
        found.update(asked)
        found.update(asked)
    return found


def vocabulary(found: Counter[str], size: int, pieces: int) -> list[str]:
    ordered = [word for word, count in found.most_common() if count >= 3]
    single = [*ALPHABET, *(f"##{one}" for one in ALPHABET)]
    words = [word for word in ordered if word not in set(single)][: size - pieces - len(single)]
    known = set(words)
    parts: Counter[str] = Counter()
    for word, count in found.items():
        if word not in known and word.isascii() and word.isalpha():
            for length in PIECE_LENGTHS:
                if len(word) > length and word[:length] not in known:
                    parts[word[:length]] += count
                for start in range(1, len(word) - length + 1):
                    parts[f"##{word[start : start + length]}"] += count
    best = sorted(parts, key=lambda one: (-parts[one] * len(one.removeprefix("##")), one))[:pieces]
    return [*single, *words, *best]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("pairs", nargs="+", type=Path)
    parser.add_argument("--size", type=int, default=30_000)
    parser.add_argument("--pieces", type=int, default=6_000)
    given = parser.parse_args()
    words = vocabulary(frequencies(given.pairs), given.size, given.pieces)
    given.out.write_text("\n".join(words), encoding="utf-8")
    print(f"{len(words)} words and pieces")


if __name__ == "__main__":
    main()
