"""Grammars and their queries, loaded at first use and kept: a parser and a cursor for each thread and language."""

import importlib
import re
import threading
import time
import warnings
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final, cast

from tree_sitter import Language, Node, Parser, Query, QueryCursor, QueryError, Range, Tree

from braindex.domain.entities import KINDS
from braindex.domain.errors import BraindexError
from braindex.languages import LanguageSpec

# Far above what a file of a few megabytes takes (about a second), below what a user would take for a hang. A small
# file that takes seconds has met one of the grammars' endless error recoveries: a question must not wait for that.
PARSE_SECONDS: Final = 10.0
_SMALL_SECONDS: Final = 3.0
_SMALL_BYTES: Final = 100_000

# The closed vocabulary of the query files. A pattern's role is the first of these that it captures.
_ROLES: Final = ("definition", "skip", "inject", "wrapped", "decorator", "doc", "comment")
_PARTS: Final = frozenset({"name", "owner", "body", "stop", "signature", "value", "span"})
_SETTINGS: Final = frozenset({"name", "prefix", "level", "leaf", "inject"})
_CAPTURE: Final = re.compile(r"@([\w.-]+)")
_NOT_CODE: Final = re.compile(r';[^\n]*|"(?:[^"\\\n]|\\.)*"')


class GrammarUnavailable(BraindexError):
    """A language that cannot be parsed in this installation; the others are not touched by it."""

    def __init__(self, language: str, cause: str) -> None:
        self.language = language
        super().__init__(
            f"the {language} grammar cannot be used: {cause}. Its files are left out; reinstalling braindex brings "
            "the grammar versions it was written for"
        )


class ParseTimeout(BraindexError):
    """A file whose structure the parser cannot take in within its time limit."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"parsing took longer than {seconds:g} s: its text is generated, or broken in a way the grammar cannot "
            "get out of. Mend it, or name it in .memignore"
        )


@dataclass(frozen=True, slots=True)
class Pattern:
    """What one pattern of a query means. `capture` is the capture that its role is about."""

    role: str
    capture: str
    kind: str = ""
    name: str | None = None
    prefix: str = ""
    level: int | None = None
    leaf: bool = False
    inject: str = ""


class Grammar:
    """One language's grammar and its compiled query. Compiled once, kept for the life of the process.

    `seconds` bounds the parse of a file, and again the search in its tree; a small file gets less.
    """

    def __init__(self, language: Language, query: Query, patterns: tuple[Pattern, ...], seconds: float) -> None:
        self.language = language
        self.query = query
        self.patterns = patterns
        self._seconds = seconds

    def limit(self, size: int) -> float:
        """The seconds that a file of this many bytes may take."""
        return min(self._seconds, _SMALL_SECONDS) if size <= _SMALL_BYTES else self._seconds


_grammars: dict[str, Grammar] = {}
_loading: Final = threading.Lock()
_tools = threading.local()


def grammar_of(spec: LanguageSpec) -> Grammar:
    """The loaded grammar of a language; raises GrammarUnavailable."""
    found = _grammars.get(spec.name)
    if found is None:
        with _loading:
            found = _grammars.get(spec.name)
            if found is None:
                found = _grammars[spec.name] = load(spec)
    return found


def load(spec: LanguageSpec, seconds: float = PARSE_SECONDS) -> Grammar:
    """Import the grammar, compile the query and check its vocabulary; raises GrammarUnavailable."""
    try:
        module, _, function = spec.grammar.partition(":")
        language = Language(getattr(importlib.import_module(module), function)())
        text = query_text(spec)
        query = Query(language, text)
        return Grammar(language, query, _patterns(query, text), seconds)
    except (ImportError, AttributeError, OSError, QueryError, ValueError, TypeError) as error:
        raise GrammarUnavailable(spec.name, str(error) or type(error).__name__) from error


def query_text(spec: LanguageSpec) -> str:
    """The query files of a language, one after the other."""
    folder = resources.files("braindex.languages").joinpath("queries")
    return "\n".join(folder.joinpath(f"{stem}.scm").read_text(encoding="utf-8") for stem in spec.queries)


def _patterns(query: Query, text: str) -> tuple[Pattern, ...]:
    # The package types pattern_count as a method; at run time it is an int.
    count = int(cast("Any", query.pattern_count))
    data = text.encode("utf-8")
    return tuple(
        _pattern(
            data[query.start_byte_for_pattern(index) : query.end_byte_for_pattern(index)].decode("utf-8"),
            query.pattern_settings(index),
        )
        for index in range(count)
    )


def _pattern(text: str, settings: dict[str, str | None]) -> Pattern:
    captures = {name for name in _CAPTURE.findall(_NOT_CODE.sub("", text)) if not name.startswith("_")}
    leads = sorted(captures - _PARTS, key=lambda name: _rank(name.partition(".")[0]))
    if not leads or (len(leads) > 1 and leads[0].partition(".")[0] == leads[1].partition(".")[0]):
        raise ValueError(f"a pattern must have one role, this has {leads or 'none'}: {text.strip()[:80]}")
    role, _, kind = leads[0].partition(".")
    unknown = [name for name in leads if name.partition(".")[0] not in _ROLES] + sorted(settings.keys() - _SETTINGS)
    if unknown or (role == "definition" and kind not in KINDS):
        raise ValueError(f"unknown words in a query: {unknown or [leads[0]]}")
    level = settings.get("level")
    return Pattern(
        role, leads[0], kind, settings.get("name"), settings.get("prefix") or "",
        None if level is None else int(level), "leaf" in settings, settings.get("inject") or "",
    )  # fmt: skip


def _rank(role: str) -> int:
    return _ROLES.index(role) if role in _ROLES else len(_ROLES)


def _thread_tools(grammar: Grammar, seconds: float) -> tuple[Parser, QueryCursor]:
    """This thread's parser and cursor with a time limit: neither may be used by two threads at once."""
    known: dict[tuple[Grammar, float], tuple[Parser, QueryCursor]] = _tools.__dict__.setdefault("known", {})
    found = known.get((grammar, seconds))
    if found is None:
        limit = int(seconds * 1_000_000)
        # The replacement that the warning names, progress callbacks, crashes the interpreter in tree-sitter 0.25.2.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            found = known[grammar, seconds] = (
                Parser(grammar.language, timeout_micros=limit),
                QueryCursor(grammar.query, timeout_micros=limit),
            )
    return found


def parse(grammar: Grammar, data: bytes, within: Range | None = None) -> Tree:
    """The tree of a source, or of one range of it; raises ParseTimeout."""
    seconds = grammar.limit(len(data))
    parser, _ = _thread_tools(grammar, seconds)
    parser.included_ranges = [] if within is None else [within]
    try:
        return parser.parse(data)
    except ValueError as error:  # all the package says when the time limit is reached
        parser.reset()
        raise ParseTimeout(seconds) from error


def matches(grammar: Grammar, root: Node) -> list[tuple[int, dict[str, list[Node]]]]:
    """Every match of the language's query below a node, as (pattern, captures); raises ParseTimeout."""
    seconds = grammar.limit(root.end_byte)
    _, cursor = _thread_tools(grammar, seconds)
    started = time.monotonic()
    found = cursor.matches(root)
    if time.monotonic() - started >= seconds:  # the cursor stops without a word, its list cut short
        raise ParseTimeout(seconds)
    return found
