"""Code that is being typed: one bracket left open must not hide what is defined after it.

A grammar gets out of an error where it can, and that may be at the end of the file. What begins in the first column
with `def`, `func` or `export` is a definition of its own whatever stands above it, so a tree with errors is cut there
and each piece is parsed by itself.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from tree_sitter import Node, Point, Range, Tree, TreeCursor

from braindex.indexing.extract_grammars import Grammar
from braindex.indexing.extract_parse import Budget, parse
from braindex.languages import LanguageSpec
from braindex.languages.spec import Restart

# In one file: where more is lost, its text is no code of this language. Looking a place up takes some 20 microseconds.
_MOST_PLACES: Final = 5_000
_PLACES_BETWEEN_CHECKS: Final = 16
_DEEPEST: Final = 100  # nodes around a place that are looked at
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
    cursor = root.walk()
    for count, start in enumerate(starts):
        if count % _PLACES_BETWEEN_CHECKS == 0:
            budget.check()
        above = _downwards(cursor, root, start)
        if not above or not above[0].has_error:
            continue
        if above[0].type in restart.wraps and above[0].start_byte not in known:
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


def _downwards(cursor: TreeCursor, root: Node, at: int) -> list[Node]:
    """What encloses a place, outer before inner, without the root and not deeper than tells anything. From the bottom
    up each step would search the whole tree.
    """
    cursor.reset(root)
    found: list[Node] = []
    while len(found) < _DEEPEST and cursor.goto_first_child_for_byte(at) is not None:
        node = cursor.node
        if node is None or node.start_byte > at:
            break
        found.append(node)
    return found


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
