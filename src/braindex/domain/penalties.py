"""Files that are seldom the answer: what holds them back, and what a question says to have them after all."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from braindex.domain.question import Analysis
from braindex.domain.units import EntityFilter

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
_SAID: Final = (
    "a test, which the question does not ask for",
    "an example, documentation or a script, which the question does not ask for",
    "a built copy, which the question does not ask for",
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
    factor = 1.0
    for one, _ in path_penalties(analysis, path, language, old, waived):
        factor *= one
    return factor


def path_penalties(
    analysis: Analysis, path: str, language: str, old: frozenset[str], waived: Waived
) -> Iterator[tuple[float, str]]:
    """The factors that `path_penalty` is the product of, each with its reason in words."""
    looks, wants = _looks(path), _wants(analysis.whole, waived)
    for (_, penalty, _), is_one, wanted, said in zip(
        _ASKS, (looks.test, looks.example, looks.built), (wants.test, wants.example, wants.built), _SAID, strict=True
    ):
        if is_one and not wanted:
            yield penalty, said
    if looks.test and wants.speaks_of_tests and not wants.test:
        yield _SPOKEN_OF, "the question speaks of tests, without asking for them"
    if analysis.type != "web":
        if looks.declaration and not wants.declaration:
            yield 0.1, "a declaration file, which the question does not ask for"
        if language in _PROSE_LANGUAGES and not wants.prose:
            yield 0.1, "prose, which the question does not ask for"
        if language == "text" and not wants.configuration:
            yield 0.1, "a text or settings file, which the question does not ask for"
    if (
        analysis.type in {"phrase", "how", "symbol", "error"}
        and not wants.old
        and (looks.old or _in_old_folder(path, old))
    ):
        yield 0.2, "an old or vendored copy, which the question does not ask for"
