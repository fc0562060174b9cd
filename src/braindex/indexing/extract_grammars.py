"""Grammars and their queries, loaded at first use and kept."""

import importlib
import re
import threading
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final, cast

from tree_sitter import Language, Query, QueryError

from braindex.domain.entities import KINDS
from braindex.domain.errors import BraindexError
from braindex.domain.references import REFERENCE_KINDS
from braindex.languages import LanguageSpec

# The closed vocabulary of the query files. A pattern's role is the first of these that it captures.
_ROLES: Final = ("definition", "skip", "inject", "wrapped", "decorator", "doc", "comment", "reference")
_KINDS: Final = {"definition": KINDS, "reference": REFERENCE_KINDS}
_PARTS: Final = frozenset({"name", "owner", "body", "stop", "signature", "value", "span"})
_SETTINGS: Final = frozenset({"name", "prefix", "closing", "level", "leaf", "inject"})
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


@dataclass(frozen=True, slots=True)
class Pattern:
    """What one pattern of a query means. `capture` is the capture that its role is about.

    `prefix` goes before the name; a run of the character `closing` at the name's end, after a space, is no part of it.
    """

    role: str
    capture: str
    kind: str = ""
    name: str | None = None
    prefix: str = ""
    closing: str = ""
    level: int | None = None
    leaf: bool = False
    inject: str = ""


class Grammar:
    """One language's grammar and its compiled query. Compiled once, kept for the life of the process."""

    def __init__(self, language: Language, query: Query, patterns: tuple[Pattern, ...]) -> None:
        self.language = language
        self.query = query
        self.patterns = patterns


_grammars: dict[str, Grammar] = {}
_loading: Final = threading.Lock()


def grammar_of(spec: LanguageSpec) -> Grammar:
    """The loaded grammar of a language; raises GrammarUnavailable."""
    found = _grammars.get(spec.name)
    if found is None:
        with _loading:
            found = _grammars.get(spec.name)
            if found is None:
                found = _grammars[spec.name] = load(spec)
    return found


def load(spec: LanguageSpec) -> Grammar:
    """Import the grammar, compile the query and check its vocabulary; raises GrammarUnavailable."""
    try:
        module, _, function = spec.grammar.partition(":")
        language = Language(getattr(importlib.import_module(module), function)())
        text = query_text(spec)
        query = Query(language, text)
        return Grammar(language, query, _patterns(query, text))
    except (ImportError, AttributeError, OSError, QueryError, ValueError, TypeError) as error:
        if isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):  # which came while a query was compiled
            raise KeyboardInterrupt from None
        raise GrammarUnavailable(spec.name, str(error) or type(error).__name__) from error


def query_text(spec: LanguageSpec) -> str:
    """The query files of a language, one after the other."""
    folder = resources.files("braindex.languages").joinpath("queries")
    return "\n".join(folder.joinpath(f"{stem}.scm").read_text(encoding="utf-8") for stem in spec.queries)


def _patterns(query: Query, text: str) -> tuple[Pattern, ...]:
    # The package types pattern_count as a method; at run time it is an int.
    count = int(cast("Any", query.pattern_count))
    data = text.encode("utf-8")
    if not all(query.is_pattern_rooted(index) for index in range(count)):
        raise ValueError("a pattern must have one outermost node: a large tree is searched node by node")
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
    kinds = _KINDS.get(role)
    if unknown or (kinds is not None and kind not in kinds):
        raise ValueError(f"unknown words in a query: {unknown or [leads[0]]}")
    level = settings.get("level")
    return Pattern(
        role, leads[0], kind, settings.get("name"), settings.get("prefix") or "",
        settings.get("closing") or "", None if level is None else int(level), "leaf" in settings,
        settings.get("inject") or "",
    )  # fmt: skip


def _rank(role: str) -> int:
    return _ROLES.index(role) if role in _ROLES else len(_ROLES)
