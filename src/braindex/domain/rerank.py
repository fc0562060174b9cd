"""The optional last step: a pure reorder by keyword overlap. Nothing is dropped."""

from collections.abc import Sequence
from dataclasses import replace

from braindex.domain.results import Source
from braindex.domain.words import STOP_WORDS, stem, subwords

SMALLEST_DISTANCE = 0.001


def keyword_hits(question: str, name: str, docstring: str) -> int:
    """How many distinct words of the question (stems, without stop words) stand in a name or a docstring."""
    asked = {stem(word) for word in subwords(question) if word not in STOP_WORDS}
    return len(asked & {stem(word) for word in subwords(f"{name} {docstring}")})


def rerank_score(distance: float, hits: int, weight: float) -> float:
    """1/distance + hits × weight, the distance floored at 0.001."""
    return 1.0 / max(distance, SMALLEST_DISTANCE) + hits * weight


def lexical_rerank(question: str, sources: Sequence[Source], weight: float) -> list[Source]:
    """The same sources, best first by `rerank_score`, which becomes their score.

    A source without a distance (a question without a known word) counts as the farthest there can be, 2.0. Ties keep
    the order they came in.
    """
    scored = [
        replace(one, score=rerank_score(2.0 if one.distance is None else one.distance, _hits(question, one), weight))
        for one in sources
    ]
    return sorted(scored, key=lambda one: -one.score)


def _hits(question: str, source: Source) -> int:
    return keyword_hits(question, source.name, source.doc)
