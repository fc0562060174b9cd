"""How candidates become an order: small pure signals, weighted by the question's type.

Each signal lies between 0 and 1 for every candidate of a question (divided by its largest value there, negatives
clipped). The weights come from an ablation over labelled questions; docs/retrieval.md says what each is worth.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Final

from braindex.domain.account import Account, Factor
from braindex.domain.entities import CALLABLE_KINDS, TYPE_KINDS, CodeEntity, EntityHead
from braindex.domain.penalties import Waived, old_folders, path_penalties, path_penalty, waived_by
from braindex.domain.question import Analysis, QuestionType
from braindex.domain.units import EntityFilter
from braindex.domain.words import terms


@dataclass(frozen=True, slots=True)
class Weights:
    """What each signal is worth for one type of question. `saturation` is d in d^(j-1) for a file's j-th source."""

    dense: float
    lexical: float
    name_vector: float
    feedback: float
    soft_path: float
    file_stem: float
    name_share: float
    length: float
    callable: float
    exact: float
    identifier: float
    written: float
    pointed: float
    kind: float
    coherence: float
    saturation: float


_PHRASE: Final = Weights(
    dense=0.8, lexical=0.6, name_vector=0.25, feedback=0.25, soft_path=0.25, file_stem=0.15,
    name_share=0.1, length=0.35, callable=0.1, exact=2.0, identifier=0.3, written=2.0, pointed=2.0,
    kind=0.3, coherence=0.6, saturation=0.7,
)  # fmt: skip
WEIGHTS: Final[Mapping[QuestionType, Weights]] = {
    "phrase": _PHRASE,
    "how": _PHRASE,
    "error": _PHRASE,
    "symbol": Weights(
        dense=0.7, lexical=0.2, name_vector=0.2, feedback=0.4, soft_path=0.3, file_stem=0.2,
        name_share=0.1, length=0.2, callable=0.0, exact=2.0, identifier=0.0, written=2.0, pointed=2.0,
        kind=0.0, coherence=0.4, saturation=0.7,
    ),
    "action": Weights(
        dense=1.3, lexical=0.7, name_vector=0.35, feedback=0.0, soft_path=0.0, file_stem=0.0,
        name_share=0.0, length=0.3, callable=0.9, exact=2.0, identifier=0.15, written=2.0, pointed=2.0,
        kind=0.3, coherence=0.1, saturation=0.95,
    ),
    "web": Weights(
        dense=0.7, lexical=0.3, name_vector=0.0, feedback=0.0, soft_path=0.0, file_stem=0.0,
        name_share=0.0, length=0.0, callable=0.0, exact=2.0, identifier=0.3, written=2.0, pointed=2.0,
        kind=0.3, coherence=0.0, saturation=1.0,
    ),
}  # fmt: skip

# A value or a run of statements is seldom the answer to a sentence, and there are many of them.
FRAGMENTS: Final[Mapping[str, float]] = {"code-block": 0.7, "variable": 0.7, "constant": 0.7, "property": 0.7}

_EVERYTHING: Final = EntityFilter()
COHERENCE_POOL: Final = 60  # of the best so far …
COHERENCE_PER_FILE: Final = 3  # … at most three a file speak for it
_LONGEST: Final = 200  # lines beyond which a longer entity says no more


Headed = CodeEntity | EntityHead


@dataclass(slots=True)
class Candidate:
    """An entity in the running, with what the retrieval arms measured (0.0 where an arm did not find it)."""

    row: int
    id: str
    entity: Headed
    distance: float | None
    dense: float = 0.0
    lexical: float = 0.0
    name_vector: float = 0.0
    feedback: float = 0.0
    soft_path: float = 0.0
    written: float = 0.0
    pointed: float = 0.0
    exact: float = 0.0
    score: float = 0.0


def cosine(distance: float | None) -> float:
    """The cosine of two unit vectors at an L2 distance, negatives clipped: 1 - d²/2."""
    return 0.0 if distance is None else max(0.0, 1.0 - distance * distance / 2.0)


def soft_match(similarities: Sequence[float], idf: Sequence[float]) -> float:
    """Σ over the question's words of idf × the best cosine to a word of the text."""
    return sum(one * weight for one, weight in zip(similarities, idf, strict=True))


def inverse_frequency(count: int, total: int) -> float:
    """ln(1 + (N - n + ½) / (n + ½)), the idf of BM25 (Robertson and Zaragoza 2009), never negative."""
    return math.log(1.0 + (total - count + 0.5) / (count + 0.5)) if total > count else 0.01


def file_stem(path: str) -> str:
    """`src/http_client.test.ts` → `http_client.test`."""
    name = path.rsplit("/", 1)[-1]
    return name.rsplit(".", 1)[0] or name


def stem_share(question: Mapping[str, float], text: str) -> float:
    """The share of the question's terms, weighted by idf, that stand in a text."""
    total = sum(question.values())
    return sum(question.get(term, 0.0) for term in _parts(text)) / total if total else 0.0


@lru_cache(maxsize=20_000)
def _parts(name: str) -> frozenset[str]:
    """The terms of a name; questions meet the same names again."""
    return frozenset(terms(name))


def name_share(question: Mapping[str, float], name: str) -> float:
    """The share of the name's terms in the question × min(1, 3 × the share of the question they cover)."""
    parts = _parts(name)
    common = [part for part in parts if part in question]
    if not common:
        return 0.0
    covered = sum(question[part] for part in common) / sum(question.values())
    return len(common) / len(parts) * min(1.0, 3.0 * covered)


def length_signal(entity: Headed) -> float:
    """ln(1 + lines) / 5 up to 200 lines: a longer definition answers more questions than a stub."""
    return math.log1p(min(_LONGEST, entity.end_line - entity.line + 1)) / 5.0


def _spellings(entity: Headed) -> tuple[str, ...]:
    """The ways a person writes this entity's name: bare, with its parent, with its file."""
    bare = entity.name
    forms = [bare, entity.qualified_name]
    if entity.parent:
        forms += [f"{entity.parent}.{bare}", f"{entity.parent}#{bare}", f"{entity.parent}::{bare}"]
    return (*forms, f"{file_stem(entity.path)}.{bare}")


def exact_match(asked: str, entity: Headed) -> float:
    """1 for the very name (`name`, `Parent.name`, `file.name`), .6 when only the case differs, .9 for one selector
    of a list, else 0."""
    if not asked:
        return 0.0
    bare = asked.removesuffix("()")
    low = bare.lower()
    if low.endswith(entity.name.lower()) or asked.endswith(entity.name):  # every spelling ends in the bare name
        forms = _spellings(entity)
        if asked in forms or bare in forms:
            return 1.0
        if any(form.lower() == low for form in forms):
            return 0.6
    if entity.kind == "rule" and low in [part.strip().lower() for part in entity.name.split(",")]:
        return 0.9
    return 0.0


def is_kind(asked: str, entity: Headed) -> bool:
    """Whether an entity is of the kind asked for: any callable is a function, any type a class."""
    if asked == "function":
        return entity.kind in CALLABLE_KINDS
    if asked == "class":
        return entity.kind in TYPE_KINDS
    return entity.kind == asked


def kind_factor(analysis: Analysis, entity: Headed) -> float:
    """Less for another kind than the one asked for: a `.button` asked for is a rule, a `Foo class` is a class."""
    if analysis.kind_hint:
        return 1.0 if is_kind(analysis.kind_hint, entity) else 0.7
    if analysis.name[:1] in {".", "#"} and analysis.name[1:2].isalpha():
        return 1.0 if entity.kind in {"rule", "element"} else 0.7
    return 0.9 if entity.kind in {"file", "code-block", "property", "checklist-item"} else 1.0


def exact_signal(analysis: Analysis, entity: Headed) -> float:
    """The exact-name signal of a symbol question, or of a question that is a name (a heading, a selector) whole."""
    named = exact_match(analysis.name, entity) * kind_factor(analysis, entity)
    return max(named, exact_match(analysis.whole, entity))


def identifier_signal(analysis: Analysis, entity: Headed) -> float:
    """The best exact match of a code-like word inside a longer question."""
    return max((exact_match(word, entity) for word in analysis.identifiers), default=0.0)


def _normalised(values: Sequence[float]) -> list[float]:
    top = max(values, default=0.0)
    return [max(0.0, value) / top for value in values] if top > 0 else [0.0] * len(values)


Signal = Callable[[Candidate], float]


def _signals(analysis: Analysis, idf: Mapping[str, float]) -> list[tuple[str, Signal, bool]]:
    """(weight's name, signal, whether it is divided by its largest value)."""
    by_file: dict[str, float] = {}
    asked = "" if analysis.type == "symbol" else analysis.kind_hint

    def in_file_stem(one: Candidate) -> float:
        path = one.entity.path
        if path not in by_file:
            by_file[path] = stem_share(idf, file_stem(path))
        return by_file[path]

    return [
        ("dense", attrgetter("dense"), True),
        ("lexical", attrgetter("lexical"), True),
        ("name_vector", attrgetter("name_vector"), True),
        ("feedback", attrgetter("feedback"), True),
        ("soft_path", attrgetter("soft_path"), True),
        ("file_stem", in_file_stem, True),
        ("name_share", lambda one: name_share(idf, one.entity.name), True),
        ("length", lambda one: length_signal(one.entity), False),
        ("callable", lambda one: float(one.entity.kind in CALLABLE_KINDS), False),
        ("exact", attrgetter("exact"), False),
        ("written", attrgetter("written"), False),
        ("pointed", attrgetter("pointed"), False),
        ("kind", lambda one: float(bool(asked) and is_kind(asked, one.entity)), False),
        ("identifier", lambda one: identifier_signal(analysis, one.entity), False),
    ]


def _coherence(candidates: Sequence[Candidate], scores: Sequence[float]) -> dict[str, float]:
    """For each file, the sum of its at most three best of the 60 best scores, divided by the best file's."""
    order = sorted(range(len(candidates)), key=lambda index: _place(candidates[index], scores[index]))
    sums: dict[str, float] = defaultdict(float)
    seen: dict[str, int] = defaultdict(int)
    for index in order[:COHERENCE_POOL]:
        path = candidates[index].entity.path
        if seen[path] < COHERENCE_PER_FILE:
            seen[path] += 1
            sums[path] += scores[index]
    top = max(sums.values(), default=0.0)
    return {path: value / top for path, value in sums.items()} if top > 0 else {}


def _place(candidate: Candidate, score: float) -> tuple[float, str, int, str]:
    """Best first; ties by path, line and name, so that an order never depends on how an index was built."""
    entity = candidate.entity
    return (-round(score, 9), entity.path, entity.line, entity.name)


def rank(
    analysis: Analysis,
    candidates: Sequence[Candidate],
    idf: Mapping[str, float],
    narrowed: EntityFilter = _EVERYTHING,
    account: Account | None = None,
) -> list[Candidate]:
    """All candidates, best first, with their final score. `idf` weighs the question's terms; into the `account`, where
    there is one, goes how each score came about.
    """
    weights = WEIGHTS[analysis.type]
    _measure_exact(analysis, candidates)
    scores = [0.0] * len(candidates)
    for name, signal, normalise in _signals(analysis, idf):
        weight: float = getattr(weights, name)
        if weight:
            values = [signal(one) for one in candidates]
            added = _normalised(values) if normalise else values
            for index, value in enumerate(added):
                scores[index] += weight * value
            if account is not None:
                account.signal(name, weight, [one.row for one in candidates], added)
    penalties = _penalties(analysis, candidates, waived_by(narrowed), account)
    scores = [score * penalty for score, penalty in zip(scores, penalties, strict=True)]
    if weights.coherence:
        files = _coherence(candidates, scores)
        for index, one in enumerate(candidates):
            scores[index] += weights.coherence * files.get(one.entity.path, 0.0) * penalties[index]
        if account is not None:
            together = [files.get(one.entity.path, 0.0) for one in candidates]
            account.signal("coherence", weights.coherence, [one.row for one in candidates], together)
    return _saturated(candidates, scores, weights.saturation, account)


def _measure_exact(analysis: Analysis, candidates: Sequence[Candidate]) -> None:
    """Fills in the exact-name signal; beside the very name, one that differs in case is worth half as much."""
    for one in candidates:
        one.exact = exact_signal(analysis, one.entity)
    if any(one.exact >= 1.0 for one in candidates):
        for one in candidates:
            one.exact *= 1.0 if one.exact >= 1.0 else 0.5


# Of what bears the very name that was asked for, beside a better copy: right behind it. A heading called like a
# function came eleventh otherwise, behind everything that only resembles the name.
NAMED_LEAST: Final = 0.5


def _penalties(
    analysis: Analysis, candidates: Sequence[Candidate], waived: Waived, account: Account | None
) -> list[float]:
    """Each candidate's factor. What was asked for by its very name is held back only behind a better copy of it."""
    old = old_folders({one.entity.path for one in candidates})
    files = {(one.entity.path, one.entity.language) for one in candidates}
    of_file = {file: path_penalty(analysis, *file, old, waived) for file in files}
    factors = [
        of_file[one.entity.path, one.entity.language] * (1.0 if one.written else FRAGMENTS.get(one.entity.kind, 1.0))
        for one in candidates
    ]
    named = [index for index, one in enumerate(candidates) if one.exact >= 1.0 or one.pointed]
    best = max((factors[index] for index in named), default=1.0)
    for index in named:
        factors[index] = max(NAMED_LEAST, factors[index] / best)
    if account is not None:
        for one, factor in zip(candidates, factors, strict=True):
            account.factors[one.row] = tuple(_reasons(analysis, one, factor, old, waived))
    return factors


def _reasons(
    analysis: Analysis, one: Candidate, factor: float, old: frozenset[str], waived: Waived
) -> Iterator[Factor]:
    """What the factor of a candidate is the product of."""
    found = [Factor(*each) for each in path_penalties(analysis, one.entity.path, one.entity.language, old, waived)]
    if not one.written and one.entity.kind in FRAGMENTS:
        found.append(Factor(FRAGMENTS[one.entity.kind], f"a {one.entity.kind}, which is seldom a whole answer"))
    before = math.prod(each.factor for each in found)
    yield from found
    if not math.isclose(before, factor):
        yield Factor(factor / before, "asked for by its name or place: held back only behind a better copy of it")


def _saturated(
    candidates: Sequence[Candidate], scores: Sequence[float], decay: float, account: Account | None
) -> list[Candidate]:
    order = sorted(range(len(candidates)), key=lambda index: _place(candidates[index], scores[index]))
    seen: dict[str, int] = defaultdict(int)
    for index in order:
        path = candidates[index].entity.path
        candidates[index].score = scores[index] * decay ** seen[path]
        seen[path] += 1
        if account is not None:
            account.places[candidates[index].row] = (seen[path], decay ** (seen[path] - 1))
    return sorted(candidates, key=lambda one: _place(one, one.score))
