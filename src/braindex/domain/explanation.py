"""Why an answer's sources came in their order, in values that a person can read and a script can check."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from braindex.domain.account import Factor, Signal
from braindex.domain.question import Analysis, QuestionType

TYPES_SAID: Final[Mapping[QuestionType, str]] = {
    "symbol": "it asks for something by its name",
    "web": "it reads like a question to a search engine, with a language in it",
    "how": "it begins with a question word",
    "action": "it tells what a function does",
    "phrase": "it names a topic",
    "error": "it shows an error or a stack trace",
}
SIGNALS_SAID: Final[Mapping[str, str]] = {
    "dense": "its meaning is near the question's",
    "lexical": "it holds words of the question",
    "words": "it holds words of the question",
    "name_vector": "its name means something near",
    "feedback": "it is near the best first results too",
    "soft_path": "its path means something near",
    "file_stem": "its file is named after the question",
    "name_share": "its name is made of the question's words",
    "length": "it is long enough to say something",
    "callable": "it is something that is called",
    "exact": "it bears the very name",
    "identifier": "the question writes its name",
    "written": "it holds the question word for word",
    "pointed": "the question names this place",
    "kind": "it is of the kind asked for",
    "coherence": "its file holds other good ones",
}
Found = Literal["meaning", "words", "name", "verbatim", "place"]
Check = Literal["gone", "moved", "stale"]


@dataclass(frozen=True, slots=True)
class Word:
    """A term of the question: in how many entities it stands. A `telling` one is evidence by itself."""

    term: str
    entities: int
    weight: float
    telling: bool

    def as_json(self) -> dict[str, Any]:
        weight = round(self.weight, 4)
        return {"term": self.term, "entities": self.entities, "weight": weight, "telling": self.telling}


@dataclass(frozen=True, slots=True)
class Placed:
    """How one source came to its place.

    `dense_rank` and `lexical_rank` count from 1, None where that search did not bring it up; `lexical` is its BM25F.
    `score` = the sum of the signals' points × the factors × `place_factor`, that of the `file_place`-th source of its
    file; `before` is that score, and differs from the source's own only where the lexical rerank came last.
    """

    id: str
    name: str
    path: str
    line: int
    distance: float | None
    dense_rank: int | None
    lexical_rank: int | None
    lexical: float
    words: tuple[str, ...]
    found_by: tuple[Found, ...]
    signals: tuple[Signal, ...]
    factors: tuple[Factor, ...]
    file_place: int
    place_factor: float
    before: float
    remark: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "path": self.path or None,
            "line": self.line or None,
            "distance": _rounded(self.distance),
            "dense_rank": self.dense_rank,
            "lexical_rank": self.lexical_rank,
            "lexical_score": round(self.lexical, 4),
            "words": list(self.words),
            "found_by": list(self.found_by),
            "signals": [_signal_json(one) for one in self.signals],
            "factors": [{"factor": round(one.factor, 4), "reason": one.reason} for one in self.factors],
            "saturation": {"place": self.file_place, "factor": round(self.place_factor, 4)},
            "score": round(self.before, 4),
            "remark": self.remark or None,
        }


@dataclass(frozen=True, slots=True)
class Dropped:
    """A candidate that did not become a source, and why."""

    name: str
    kind: str
    path: str
    line: int
    distance: float | None
    why: str

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind,
            "path": self.path,
            "line": self.line,
            "distance": _rounded(self.distance),
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Corrected:
    """What the look at the disk changed of a candidate: it is `gone`, it `moved`, or its lines are `stale`."""

    name: str
    path: str
    line: int
    check: Check
    said: str

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "path": self.path, "line": self.line, "check": self.check, "said": self.said}


@dataclass(frozen=True, slots=True)
class Explanation:
    """How an answer's sources were found and ordered. `placed` are in the order of the sources.

    `weights` are those of the question's type; `candidates` is how many entities were ranked, `cut` those that the
    distance threshold kept out, nearest first, `following` the first that found no room, `corrected` what the look at
    the disk changed. `rerank` is the weight of the lexical rerank where it came last, else None.
    """

    analysis: Analysis
    threshold: float
    weights: Mapping[str, float]
    words: tuple[Word, ...]
    candidates: int
    placed: tuple[Placed, ...]
    cut: tuple[Dropped, ...] = ()
    following: tuple[Dropped, ...] = ()
    corrected: tuple[Corrected, ...] = ()
    note: str = ""
    rerank: float | None = None

    @property
    def type_said(self) -> str:
        """What kind of question it was taken for, and why, on one line."""
        return f"{self.analysis.type}: {TYPES_SAID[self.analysis.type]}"

    def as_json(self) -> dict[str, Any]:
        asked = self.analysis
        return {
            "type": asked.type,
            "type_reason": TYPES_SAID[asked.type],
            "searched_for": asked.text,
            "name": asked.name or None,
            "kind": asked.kind_hint or None,
            "identifiers": list(asked.identifiers),
            "words": [one.as_json() for one in self.words],
            "weights": dict(self.weights),
            "threshold": self.threshold,
            "rerank": self.rerank,
            "candidates": self.candidates,
            "sources": [one.as_json() for one in self.placed],
            "cut": [one.as_json() for one in self.cut],
            "following": [one.as_json() for one in self.following],
            "corrected": [one.as_json() for one in self.corrected],
            "note": self.note or None,
        }


def by_points(signals: Sequence[Signal]) -> list[Signal]:
    """What counted most first."""
    return sorted(signals, key=lambda one: -one.points)


def _signal_json(one: Signal) -> dict[str, Any]:
    return {
        "name": one.name,
        "value": round(one.value, 4),
        "weight": one.weight,
        "points": round(one.points, 4),
        "reason": SIGNALS_SAID[one.name],
    }


def _rounded(distance: float | None) -> float | None:
    return None if distance is None else round(distance, 4)
