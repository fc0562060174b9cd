"""What each entity of a file refers to: the names it calls, imports and derives from."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final

from tree_sitter import Node

from braindex.domain.entities import CALLABLE_KINDS, CodeEntity
from braindex.domain.references import Reference
from braindex.indexing.extract_matches import Found
from braindex.indexing.extract_source import Source
from braindex.languages import LanguageSpec

Place = tuple[int, str, str]  # byte offset, kind, name

LONGEST_NAME: Final = 100  # characters; what is longer is no name that anyone asks for
MOST_NAMES: Final = 300  # different ones of an entity: more are a table of data
_LONGEST_TEXT: Final = 4 * LONGEST_NAME  # bytes
_QUOTES: Final = "'\"`"
_WORD: Final = re.compile(rb"[\w$]+")


def places(found: Found, source: Source, spec: LanguageSpec) -> Iterator[Place]:
    """The references among the matches of a query. What derives from a parameter of a function around it refers to
    nothing that has a name.
    """
    data, base = source.data, source.base
    unknown = _given_bases(found, source, spec)
    names: dict[bytes, str] = {}  # of a file's references, most are the same few
    for kind, node in found.references:
        start = node.start_byte
        if kind == "base" and start in unknown:
            continue
        text = data[start : min(node.end_byte, start + _LONGEST_TEXT)]
        name = names.get(text)
        if name is None:
            name = names[text] = bare_name(text.decode("utf-8", "replace"))
        if name:
            yield base + start, kind, name


def _given_bases(found: Found, source: Source, spec: LanguageSpec) -> frozenset[int]:
    """The offsets of base classes whose name is a parameter of a function that they stand in."""
    bases = sorted((node.start_byte, node.end_byte) for kind, node in found.references if kind == "base")
    given: set[int] = set()
    for draft in found.drafts.values() if bases and spec.parameter_fields else ():
        node = draft.node
        first = bisect_left(bases, (node.start_byte, 0))
        last = bisect_left(bases, (node.end_byte, 0), first)
        if first < last and draft.pattern.kind in CALLABLE_KINDS:
            names = _parameter_names(draft.captures.get("value", [node])[0], source, spec)
            given.update(start for start, end in bases[first:last] if source.data[start:end] in names)
    return frozenset(given)


def _parameter_names(function: Node, source: Source, spec: LanguageSpec) -> set[bytes]:
    params = next((node for name in spec.parameter_fields if (node := function.child_by_field_name(name))), None)
    each = [] if params is None else params.named_children or [params]
    return {match.group() for node in each if (match := _WORD.match(source.data, node.start_byte)) is not None}


def bare_name(text: str) -> str:
    """`c` of `a.b.c`, `layer` of `'./router/layer.js'`, "" where nothing is left or it is too long."""
    if not text:  # a name that the parser put in where the source lacks one
        return ""
    if text[0] in _QUOTES:
        text = text.strip(_QUOTES).replace("\\", "/").rstrip("/").rpartition("/")[2]
        text = text.partition(".")[0] if text.strip(".") else ""
    elif "." in text:
        text = text.rpartition(".")[2]
    text = "".join(text.split())
    return text if len(text) <= LONGEST_NAME else ""


def owned(
    found: Sequence[Place], entities: Sequence[CodeEntity], source: Source
) -> tuple[tuple[Reference, ...], list[tuple[Reference, ...]]]:
    """The references that lie in no entity, and those of each entity: of the innermost, each name once a kind.

    `entities` are in source order, outer before inner.
    """
    outside: dict[tuple[str, str], int] = {}
    inside: list[dict[tuple[str, str], int]] = [{} for _ in entities]
    stack: list[int] = []
    at = 0
    for offset, kind, name in sorted(found):
        while at < len(entities) and entities[at].start <= offset:
            while stack and entities[stack[-1]].end <= entities[at].start:
                stack.pop()
            stack.append(at)
            at += 1
        while stack and entities[stack[-1]].end <= offset:
            stack.pop()
        names = inside[stack[-1]] if stack else outside
        if len(names) < MOST_NAMES:
            names.setdefault((kind, name), offset)
    return _rows(outside, source), [_rows(names, source) for names in inside]


def _rows(names: dict[tuple[str, str], int], source: Source) -> tuple[Reference, ...]:
    base = source.base
    return tuple((kind, name, source.line(offset - base)) for (kind, name), offset in names.items())
