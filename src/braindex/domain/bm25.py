"""BM25F over a few candidates: how well the index terms of each, field by field, fit a question's terms.

BM25F (Robertson, Zaragoza and Taylor 2004) adds up a term's occurrences over weighted fields before it lets them
saturate, each field judged by its own length. One length for the whole entity, as full-text search has it, takes from
the name of a function what its body is long.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

# Weight and b (how much a field's length counts) of name, parent, signature, path, doc and body. Within wide ranges the
# figures hardly move (docs/retrieval.md).
FIELDS: Final = ((3.0, 0.3), (1.0, 0.3), (1.0, 0.5), (2.0, 0.3), (1.5, 0.6), (1.0, 0.6))
_K1: Final = 1.2

Fields = tuple[str, ...]  # the terms of each, space separated
Counts = dict[str, list[tuple[int, int]]]  # by term, (which field, how often)


def occurrences(fields: Fields, terms: Iterable[str]) -> Counts:
    """By term, how often it stands in which of the fields; a term that stands in none is left out."""
    whole = " ".join(fields)
    likely = [term for term in terms if term in whole]
    if not likely:
        return {}
    padded = [f" {field.replace(' ', '  ')} " for field in fields]  # no two terms share a space
    found: Counts = {}
    for term in likely:
        word = f" {term} "
        places = [(index, field.count(word)) for index, field in enumerate(padded) if word in field]
        if places:
            found[term] = places
    return found


def counted(texts: Mapping[int, Fields], terms: Collection[str]) -> dict[int, Counts]:
    """The `occurrences` in each row."""
    return {row: occurrences(fields, terms) for row, fields in texts.items()}


def bm25f(texts: Mapping[int, Fields], counts: Mapping[int, Counts], idf: Mapping[str, float]) -> dict[int, float]:
    """Σ over the question's terms of idf · tf · (k1 + 1) / (tf + k1), by row, where tf is the sum over the fields of
    weight · count / (1 - b + b · length / mean length). The means are those of the rows given.
    """
    lengths = {row: [field.count(" ") + 1 if field else 0 for field in fields] for row, fields in texts.items()}
    means = [sum(column) / len(lengths) for column in zip(*lengths.values(), strict=True)]
    found: dict[int, float] = {}
    for row, of_row in lengths.items():
        score = 0.0
        for term, places in counts[row].items():
            tf = 0.0
            for field, count in places:
                weight, b = FIELDS[field]
                tf += weight * count / (1.0 - b + b * of_row[field] / means[field])
            score += idf[term] * tf / (tf + _K1)
        found[row] = score * (_K1 + 1.0)
    return found
