"""What each entity of a file refers to: the names it calls, imports and derives from."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tree_sitter import Node

from braindex.domain.entities import CodeEntity
from braindex.domain.references import Reference
from braindex.indexing.extract_source import Source

Place = tuple[int, str, str]  # byte offset, kind, name

LONGEST_NAME: Final = 100  # characters; what is longer is no name that anyone asks for
MOST_NAMES: Final = 300  # different ones of an entity: more are a table of data
_LONGEST_TEXT: Final = 4 * LONGEST_NAME  # bytes
_QUOTES: Final = "'\"`"


def places(found: Iterable[tuple[str, Node]], source: Source) -> Iterator[Place]:
    """The references among the matches of a query, as (kind, the name's node)."""
    data, base = source.data, source.base
    for kind, node in found:
        start = node.start_byte
        name = bare_name(data[start : min(node.end_byte, start + _LONGEST_TEXT)].decode("utf-8", "replace"))
        if name:
            yield base + start, kind, name


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
