"""Bytes of a source file → its entities. One engine: what differs between languages is their row and their query."""

import logging
import os
from dataclasses import dataclass
from typing import Final

from tree_sitter import Node, Range

from braindex.domain.entities import CodeEntity
from braindex.domain.references import Reference
from braindex.indexing.extract_grammars import GrammarUnavailable, grammar_of
from braindex.indexing.extract_matches import MOST_DEFINITIONS, Found, TooManyDefinitions, find
from braindex.indexing.extract_parse import ParseTimeout, budget_for, parse
from braindex.indexing.extract_references import Place, owned, places
from braindex.indexing.extract_restart import parse_pieces
from braindex.indexing.extract_scope import EntityBuilder, Numbering
from braindex.indexing.extract_source import Source
from braindex.languages import LANGUAGES, LanguageSpec, language_for

__all__ = ["GrammarUnavailable", "ParseTimeout", "TooManyDefinitions", "extract_entities", "language_of"]

_log: Final = logging.getLogger(__name__)


def language_of(path: str) -> str | None:
    """The name of the language that a file's suffix stands for, or None."""
    spec = language_for(path)
    return None if spec is None else spec.name


def extract_entities(path: str | os.PathLike[str], source: str | bytes) -> list[CodeEntity]:
    """Every definition, element, rule or section of a file, in source order; [] for an unknown suffix.

    `path` is what the entities carry (with `/`) and what tells the language. Bytes are read as UTF-8, a byte order
    mark is passed over, and what is not UTF-8 becomes U+FFFD. Lines end at LF, CR LF and a lone CR.

    Raises GrammarUnavailable when the language cannot be parsed here, ParseTimeout when parsing takes more CPU time
    than a file of its size may (2 s, and 4 s a megabyte), and TooManyDefinitions.
    """
    return extract(path, source, referring=False).entities


@dataclass(frozen=True, slots=True)
class Extracted:
    """What is in a file: its entities in source order, what each of them refers to, and what the file refers to outside
    all of them.
    """

    entities: list[CodeEntity]
    references: list[tuple[Reference, ...]]
    outside: tuple[Reference, ...] = ()


def extract(path: str | os.PathLike[str], source: str | bytes, *, referring: bool = True) -> Extracted:
    """As `extract_entities`, and unless `referring` is off with what the entities refer to."""
    name = os.fspath(path)
    spec = language_for(name)
    if spec is None:
        return Extracted([], [])
    return _Extraction(name.replace(os.sep, "/"), Source(source), referring=referring).run(spec)


class _Extraction:
    """One file: its own language first, then those written inside it."""

    def __init__(self, path: str, source: Source, *, referring: bool) -> None:
        self._path = path
        self._source = source
        self._numbering = Numbering()
        self._budget = budget_for(len(self._source.data))
        self._prepared: dict[str, bytes] = {}
        self._referring = referring
        self._places: list[Place] = []

    def run(self, spec: LanguageSpec) -> Extracted:
        found = self._find(spec, None)
        entities = EntityBuilder(self._path, spec, found, self._numbering).build()
        for _, name, node in sorted(found.injections.values(), key=lambda one: one[2].start_byte):
            entities += self._injected(name, node)
            if len(entities) > MOST_DEFINITIONS:
                raise TooManyDefinitions
        entities.sort(key=lambda entity: (entity.start, -entity.end))
        outside, references = owned(self._places, entities, self._source)
        return Extracted(entities, references, outside)

    def _find(self, spec: LanguageSpec, within: Range | None) -> Found:
        grammar = grammar_of(spec)
        data = self._prepared.get(spec.name)
        if data is None:  # once a language: a page may have thousands of scripts
            data = self._prepared[spec.name] = spec.prepare(self._source.valid)
        if within is None:
            trees = parse_pieces(grammar, spec, data, self._budget)
        else:
            trees = [parse(grammar, data, self._budget, within)]
        found = find(grammar, [tree.root_node for tree in trees], self._source, self._budget)
        if self._referring:
            self._places += places(found, self._source, spec)
        return found

    def _injected(self, name: str, node: Node) -> list[CodeEntity]:
        """The entities of another language inside a node; an unusable grammar costs only these."""
        spec = next((one for one in LANGUAGES if one.name == name), None)
        if spec is None:
            return []
        self._budget.check()
        try:
            found = self._find(spec, node.range)
        except GrammarUnavailable as error:
            _log.warning("%s: %s", self._path, error)
            return []
        return EntityBuilder(self._path, spec, found, self._numbering).build()
