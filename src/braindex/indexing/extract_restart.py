"""Code that is being typed: one bracket left open must not hide what is defined after it.

A grammar gets out of an error where it can, and that may be at the end of the file. What begins in the first column
with `def`, `func` or `export` is a definition of its own whatever stands above it, so a tree with errors is cut there
and each piece is parsed by itself.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from tree_sitter import Node, Point, Range, Tree

from braindex.indexing.extract_grammars import Grammar
from braindex.indexing.extract_parse import Budget, parse
from braindex.languages import LanguageSpec
from braindex.languages.spec import Restart

# In one file: where more is lost, its text is no code of this language. Looking a place up takes some 20 microseconds.
_MOST_PLACES: Final = 5_000
_ERROR: Final = "ERROR"
_NEWLINE: Final = re.compile(rb"\n")


def parse_pieces(grammar: Grammar, spec: LanguageSpec, data: bytes, budget: Budget) -> list[Tree]:
    """The tree of a source; of a broken one the trees of its pieces, in order. Raises ParseTimeout."""
    tree = parse(grammar, data, budget)
    restart = spec.restart
    if restart is None or not tree.root_node.has_error:
        return [tree]
    starts = [match.start() for match in restart.line.finditer(data)]
    if not starts or len(starts) > _MOST_PLACES:
        return [tree]
    lost, quoted = _lost(tree.root_node, starts, restart, budget)
    pieces = _cut(grammar, data, lost, budget) if lost else [tree]
    if quoted and (other := _cut(grammar, data, sorted(lost + quoted), budget)) and _broken(other) <= 1:
        return other
    return pieces


def _lost(root: Node, starts: Sequence[int], restart: Restart, budget: Budget) -> tuple[list[int], list[int]]:
    """Where definitions begin that the tree has somewhere else than at its top; those in strings apart.

    A string that was not closed ends at the beginning of the next one, and from there on what is quoted and what is not
    change places: a definition in a string may be one or not.
    """
    lost: list[int] = []
    quoted: list[int] = []
    known = frozenset(starts)
    for count, start in enumerate(starts):
        if count % 64 == 0:
            budget.check()
        above = list(_upwards(root.descendant_for_byte_range(start, start + 1), root))
        if (
            not above
            or not above[-1].has_error
            or (above[-1].type in restart.wraps and above[-1].start_byte not in known)
        ):
            continue
        if any(one.type in restart.opaque for one in above):
            quoted.append(start)
        elif not _is_at_the_top(above, start, restart):
            lost.append(start)
    return lost, quoted


def _is_at_the_top(above: Sequence[Node], start: int, restart: Restart) -> bool:
    """Whether something that has a name for the grammar begins there, with nothing around it but its wrappers."""
    begun = [one for one in above if one.start_byte == start and one.is_named and one.type != _ERROR]
    return bool(begun) and all(one.start_byte == start or one.type in restart.tops for one in above)


def _upwards(node: Node | None, root: Node) -> Iterator[Node]:
    """A node and what encloses it, without the root."""
    while node is not None and node != root:
        yield node
        node = node.parent


def _cut(grammar: Grammar, data: bytes, places: Sequence[int], budget: Budget) -> list[Tree]:
    lines = [0, *(match.end() for match in _NEWLINE.finditer(data))]
    cuts = [0, *(place for place in places if place), len(data)]
    pieces: list[Tree] = []
    for start, end in pairwise(cuts):
        budget.check()
        pieces.append(parse(grammar, data, budget, Range(_point(lines, start), _point(lines, end), start, end)))
    return pieces


def _point(lines: Sequence[int], at: int) -> Point:
    row = bisect_right(lines, at) - 1
    return Point(row, at - lines[row])


def _broken(pieces: Sequence[Tree]) -> int:
    return sum(piece.root_node.has_error for piece in pieces)
