"""How candidates become an order: small pure signals, weighted by the question's type.

Each signal lies between 0 and 1 for every candidate of a question (divided by its largest value there, negatives
clipped). The weights come from an ablation over labelled questions; docs/retrieval.md says what each is worth.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Final

from braindex.domain.entities import CALLABLE_KINDS, TYPE_KINDS, CodeEntity, EntityHead
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
    soft_name: float
    soft_path: float
    file_stem: float
    name_share: float
    length: float
    callable: float
    type: float
    exact: float
    identifier: float
    written: float
    coherence: float
    saturation: float
    pointed: float = 2.0
    kind: float = 0.3


_PHRASE: Final = Weights(0.7, 0.2, 0.2, 0.4, 0.0, 0.3, 0.2, 0.1, 0.2, 0.0, 0.0, 2.0, 0.3, 2.0, 0.4, 0.8)
WEIGHTS: Final[Mapping[QuestionType, Weights]] = {
    "phrase": _PHRASE,
    "how": _PHRASE,
    "error": _PHRASE,
    "symbol": Weights(0.7, 0.2, 0.2, 0.4, 0.0, 0.3, 0.2, 0.1, 0.2, 0.0, 0.0, 2.0, 0.0, 2.0, 0.4, 0.7),
    "action": Weights(0.9, 0.4, 0.35, 0.0, 0.1, 0.0, 0.0, 0.0, 0.3, 0.8, 0.2, 2.0, 0.3, 2.0, 0.1, 1.0),
    "web": Weights(0.7, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.3, 2.0, 0.0, 1.0),
}

# A value or a run of statements is seldom the answer to a sentence, and there are many of them.
FRAGMENTS: Final[Mapping[str, float]] = {"code-block": 0.7, "variable": 0.7, "constant": 0.7, "property": 0.7}

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
    soft_name: float = 0.0
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


_TEST: Final = re.compile(
    r"(^|/)(tests?|testing|__tests__|specs?|__mocks__|fixtures?|testdata|e2e|cypress)(/|$)"
    r"|(^|/)(test_[^/]*|[^/]*_test|conftest|[^/]*[.-](test|spec)s?)\.[a-z]+$",
    re.IGNORECASE,
)
_EXAMPLE: Final = re.compile(
    r"(^|/)(examples?|samples?|demos?|docs?|documentation|website|benchmarks?|bench|perf|scripts?|tools|playground"
    r"|tutorials?|docs_src)(/|$)",
    re.IGNORECASE,
)
_BUILT: Final = re.compile(
    r"(^|/)(dist|build|out|bundles?|generated|_build|compiled)(/|$)|\.(bundle|generated)\.", re.IGNORECASE
)
_OLD: Final = re.compile(
    r"(^|/)(legacy|compat|deprecated|vendor(ed)?|third_party|_vendor|_internal/packaging|old|extern(al)?)(/|$)",
    re.IGNORECASE,
)
_DECLARATION: Final = re.compile(r"\.(d\.[cm]?ts|pyi)$", re.IGNORECASE)
_PROSE_LANGUAGES: Final = frozenset({"markdown", "html"})
_ASKS: Final[tuple[tuple[re.Pattern[str], float, re.Pattern[str]], ...]] = (
    (
        _TEST,
        0.25,
        re.compile(
            r"\b(tests?|specs?|fixtures?|mocks?)\s+(for|of|that|which|cover\w*|files?|cases?|suites?|functions?|data)\b"
            r"|\b(unit|integration|regression|end-to-end|which|what|the|all|failing|add)\s+(tests?|specs?|fixtures?)\b"
            r"|\b(is|are|was|were|how)\b.*\btested\b|\bfixtures?\b|\bconftest\b",
            re.IGNORECASE,
        ),
    ),
    (
        _EXAMPLE,
        0.25,
        re.compile(
            r"\b(examples?|demos?|samples?|docs?|documentation|benchmarks?|scripts?|tutorials?)\b", re.IGNORECASE
        ),
    ),
    (_BUILT, 0.25, re.compile(r"\b(dist|build|built|bundles?|generated)\b", re.IGNORECASE)),
)
# "mocking requests in tests": the question speaks of tests, but is not one for them: half of what holds them back.
_SPEAKS_OF_TESTS: Final = re.compile(r"\b(tests?|testing|specs?|mock\w*|assert\w*)\b", re.IGNORECASE)
_SPOKEN_OF: Final = 2.0
_ASKS_OLD: Final = re.compile(r"\b(v\d+|legacy|compat\w*|deprecated|vendor\w*|old)\b", re.IGNORECASE)
_ASKS_DECLARATION: Final = re.compile(r"\b(declarations?|typings?|stubs?|d\.ts|pyi)\b", re.IGNORECASE)
_ASKS_PROSE: Final = re.compile(
    r"\b(docs?|documentation|readme|guides?|tutorials?|markdown|html|headings?|sections?|chapters?|changelog"
    r"|release notes|licen[cs]e|page|element|template|installation|install|contributing|usage)\b"
    r"|\bhow (do|can|should|would|to) ?(i|you|we|one)?\b|\bwhat('s| is| has)? (new|changed)\b",
    re.IGNORECASE,
)
_ASKS_CONFIGURATION: Final = re.compile(
    r"\b(config\w*|settings?|dependenc\w+|requires?|requirements?|packages?|versions?|scripts?|npm|yarn|pnpm|pip|poetry|tox"
    r"|makefile|docker\w*|devcontainer|compose|workflows?|actions?|ci|pipeline|pre-commit|lint\w*|ya?ml|toml|json|ini"
    r"|environment|build system|changelog|release[sd]?)\b",
    re.IGNORECASE,
)


_VERSION: Final = re.compile(r"(?:^|/)v(\d{1,3})(?=/)", re.IGNORECASE)
_MIRRORED: Final = 2  # files of equal name, in a versioned folder and beside it, that make it a copy


def old_folders(paths: Collection[str]) -> frozenset[str]:
    """The `v3`-like folders that hold an old version: a higher number stands elsewhere (`v3` beside `v4`), or the
    folder repeats file names of the one it lies in (`pkg/v1/main.py` beside `pkg/main.py`)."""
    versions: dict[str, int] = {}
    mirrored: dict[str, int] = defaultdict(int)
    for path in set(paths):
        match = _VERSION.search(path)
        if match:
            folder = path[: match.end()]
            versions[folder] = int(match[1])
            mirrored[folder] += (path[: match.start()] + path[match.end() :]).lstrip("/") in paths
    newest = max(versions.values(), default=0)
    return frozenset(
        folder for folder, version in versions.items() if version < newest or mirrored[folder] >= _MIRRORED
    )


def _in_old_folder(path: str, old: frozenset[str]) -> bool:
    match = _VERSION.search(path) if old else None
    return match is not None and path[: match.end()] in old


_EVERYTHING: Final = EntityFilter()


@dataclass(frozen=True, slots=True)
class Waived:
    """What a question's own filters ask for, so that it is not held back."""

    prose: bool = False
    configuration: bool = False


def waived_by(narrowed: EntityFilter) -> Waived:
    """A filter on a language, a kind or a path of prose asks for prose; one on a path asks for what lies there."""
    prose = narrowed.language in {"markdown", "html", "text"} or narrowed.kind in _PROSE_KINDS
    return Waived(prose=prose or narrowed.path is not None, configuration=prose or narrowed.path is not None)


_PROSE_KINDS: Final = frozenset({"heading", "element", "file", "front-matter", "checklist-item", "code-block"})


@dataclass(frozen=True, slots=True)
class _Looks:
    """What a path says of its file. The first three are in the order of `_ASKS`."""

    test: bool
    example: bool
    built: bool
    declaration: bool
    old: bool


@lru_cache(maxsize=20_000)
def _looks(path: str) -> _Looks:
    patterns = (_TEST, _EXAMPLE, _BUILT, _DECLARATION, _OLD)
    return _Looks(*(pattern.search(path) is not None for pattern in patterns))


def is_test(path: str) -> bool:
    """Whether a path is that of a test, by its folders and its name."""
    return _looks(path).test


@dataclass(frozen=True, slots=True)
class _Wants:
    """What a question names, and so does not want to be held back; as `_Looks`."""

    test: bool
    example: bool
    built: bool
    declaration: bool
    old: bool
    prose: bool
    configuration: bool
    speaks_of_tests: bool


@lru_cache(maxsize=64)
def _wants(text: str, waived: Waived) -> _Wants:
    prose = waived.prose or _ASKS_PROSE.search(text) is not None
    test, example, built = (asked.search(text) is not None for _, _, asked in _ASKS)
    return _Wants(
        test=test,
        example=example or prose,
        built=built,
        declaration=_ASKS_DECLARATION.search(text) is not None,
        old=_ASKS_OLD.search(text) is not None,
        prose=prose,
        configuration=prose or waived.configuration or _ASKS_CONFIGURATION.search(text) is not None,
        speaks_of_tests=_SPEAKS_OF_TESTS.search(text) is not None,
    )


def path_penalty(
    analysis: Analysis, path: str, language: str, old: frozenset[str] = frozenset(), waived: Waived = Waived()
) -> float:
    """The factor of a file that is seldom the answer (tests, examples, built copies, declarations, prose, data, old
    versions), 1.0 where the question names the thing. `old` are the `old_folders` around.
    """
    looks, wants = _looks(path), _wants(analysis.whole, waived)
    factor = 1.0
    for (_, penalty, _), is_one, wanted in zip(
        _ASKS, (looks.test, looks.example, looks.built), (wants.test, wants.example, wants.built), strict=True
    ):
        if is_one and not wanted:
            factor *= penalty
    if looks.test and wants.speaks_of_tests and not wants.test:
        factor *= _SPOKEN_OF
    if analysis.type != "web":
        if looks.declaration and not wants.declaration:
            factor *= 0.1
        if language in _PROSE_LANGUAGES and not wants.prose:
            factor *= 0.1
        if language == "text" and not wants.configuration:
            factor *= 0.1
    if (
        analysis.type in {"phrase", "how", "symbol", "error"}
        and not wants.old
        and (looks.old or _in_old_folder(path, old))
    ):
        factor *= 0.2
    return factor


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
        ("soft_name", attrgetter("soft_name"), True),
        ("soft_path", attrgetter("soft_path"), True),
        ("file_stem", in_file_stem, True),
        ("name_share", lambda one: name_share(idf, one.entity.name), True),
        ("length", lambda one: length_signal(one.entity), False),
        ("callable", lambda one: float(one.entity.kind in CALLABLE_KINDS), False),
        ("type", lambda one: float(one.entity.kind in TYPE_KINDS), False),
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
) -> list[Candidate]:
    """All candidates, best first, with their final score. `idf` weighs the question's terms."""
    weights = WEIGHTS[analysis.type]
    _measure_exact(analysis, candidates)
    scores = [0.0] * len(candidates)
    for name, signal, normalise in _signals(analysis, idf):
        weight: float = getattr(weights, name)
        if weight:
            values = [signal(one) for one in candidates]
            for index, value in enumerate(_normalised(values) if normalise else values):
                scores[index] += weight * value
    penalties = _penalties(analysis, candidates, waived_by(narrowed))
    scores = [score * penalty for score, penalty in zip(scores, penalties, strict=True)]
    if weights.coherence:
        files = _coherence(candidates, scores)
        for index, one in enumerate(candidates):
            scores[index] += weights.coherence * files.get(one.entity.path, 0.0) * penalties[index]
    return _saturated(candidates, scores, weights.saturation)


def _measure_exact(analysis: Analysis, candidates: Sequence[Candidate]) -> None:
    """Fills in the exact-name signal; beside the very name, one that differs in case is worth half as much."""
    for one in candidates:
        one.exact = exact_signal(analysis, one.entity)
    if any(one.exact >= 1.0 for one in candidates):
        for one in candidates:
            one.exact *= 1.0 if one.exact >= 1.0 else 0.5


def _penalties(analysis: Analysis, candidates: Sequence[Candidate], waived: Waived) -> list[float]:
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
        factors[index] /= best
    return factors


def _saturated(candidates: Sequence[Candidate], scores: Sequence[float], decay: float) -> list[Candidate]:
    order = sorted(range(len(candidates)), key=lambda index: _place(candidates[index], scores[index]))
    seen: dict[str, int] = defaultdict(int)
    for index in order:
        path = candidates[index].entity.path
        candidates[index].score = scores[index] * decay ** seen[path]
        seen[path] += 1
    return sorted(candidates, key=lambda one: _place(one, one.score))
