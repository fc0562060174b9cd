"""Parsing and searching in short steps, so that no file keeps the process to itself: tree-sitter holds the
interpreter's lock while it works, and neither another thread nor a signal's handler runs meanwhile."""

import threading
import time
import warnings
from collections.abc import Iterator
from itertools import count
from typing import Final

from tree_sitter import Node, Parser, QueryCursor, Range, Tree

from braindex.domain.errors import BraindexError
from braindex.indexing.extract_grammars import Grammar

# CPU seconds of a whole file, about five times what dense code takes. A file that needs more has met one of the
# grammars' endless error recoveries, or was made to.
_SECONDS: Final = 2.0
_SECONDS_A_BYTE: Final = 4.0 / 1_000_000

# Parsed without a pause, a text takes two thirds to half of the time that it takes in steps. Code of this size needs
# some 30 ms; one that needs many times more is parsed again in steps.
_AT_ONCE_BYTES: Final = 262_144
_AT_ONCE_SECONDS: Final = 0.25

# The parser looks at its clock after every hundred operations (some 30 microseconds), and one microsecond has always
# passed by then. So a step is a hundred operations on every machine, and a text gives the same tree each time: a parse
# that is cut off after a stretch of time resumes with another of its competing readings of broken code.
_STEP_MICROSECONDS: Final = 1
_STEPS_BETWEEN_CHECKS: Final = 16

# A search cannot resume: what is larger than this is searched level by level, which also keeps deep nesting linear.
_WHOLE_BYTES: Final = 16_384
# Of one call, doubled until the budget is spent: this clock runs while others compute.
_SEARCH_SECONDS: Final = 0.25
_SEARCH_SECONDS_A_BYTE: Final = 1.0 / 1_000_000
_ANY_DEPTH: Final = 0xFFFFFFFF
_NODES_BETWEEN_CHECKS: Final = 256

# What is left open at the end of a file is closed in one step, in a time that is quadratic: 0.3 s for this many.
_MOST_UNCLOSED: Final = 50_000
_OPENING: Final = (b"(", b"[", b"{", b"<")
_CLOSING: Final = (b")", b"]", b"}", b">")

_tools = threading.local()


class ParseTimeout(BraindexError):
    """A file whose structure the parser cannot take in within its time limit."""

    def __init__(self, cause: str) -> None:
        super().__init__(
            f"{cause}: its text is generated, or broken in a way the grammar cannot get out of. Mend it, or name it in "
            ".memignore"
        )


class Budget:
    """The CPU time that this thread may spend on one file: a busy machine takes nothing off it."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.thread_time() + seconds

    def left(self) -> float:
        """Seconds."""
        return self._end - time.thread_time()

    def check(self, needed: float = 0.0) -> None:
        """Raises ParseTimeout when the time is spent, or not as much is left as is known to be too little."""
        if self.left() < needed:
            raise ParseTimeout(f"parsing took longer than {self.seconds:g} s")


def budget_for(size: int) -> Budget:
    """The budget of a file of this many bytes, which begins now."""
    return Budget(round(_SECONDS + size * _SECONDS_A_BYTE, 1))


def parse(grammar: Grammar, data: bytes, budget: Budget, within: Range | None = None) -> Tree:
    """The tree of a source, or of one range of it; raises ParseTimeout."""
    if within is None and sum(map(data.count, _OPENING)) - sum(map(data.count, _CLOSING)) > _MOST_UNCLOSED:
        raise ParseTimeout(f"over {_MOST_UNCLOSED:,} brackets are never closed")
    size = len(data) if within is None else within.end_byte - within.start_byte
    found = _at_once(grammar, data, budget, within) if size <= _AT_ONCE_BYTES else None
    return found or _in_steps(grammar, data, budget, within)


def _at_once(grammar: Grammar, data: bytes, budget: Budget, within: Range | None) -> Tree | None:
    """The tree, or None where it takes long. The parser's clock runs while others compute: a text that the machine was
    too busy for gets more time.
    """
    seconds = _AT_ONCE_SECONDS
    while True:
        parser = _parser(grammar, seconds)
        parser.included_ranges = [] if within is None else [within]
        started = time.thread_time()
        try:
            return parser.parse(data)
        except ValueError:
            if time.thread_time() - started > _AT_ONCE_SECONDS / 2:
                return None
        finally:
            parser.reset()
        budget.check()
        seconds *= 2


def _in_steps(grammar: Grammar, data: bytes, budget: Budget, within: Range | None) -> Tree:
    parser = _parser(grammar, _STEP_MICROSECONDS / 1_000_000)
    parser.included_ranges = [] if within is None else [within]
    try:
        for step in count(1):
            try:
                return parser.parse(data)
            except ValueError:  # all the package says at the end of a step
                if step % _STEPS_BETWEEN_CHECKS == 0:  # reading the clock takes as long as a tenth of a step
                    budget.check()
        raise AssertionError("unreachable")
    finally:
        parser.reset()  # whatever ended it, an interrupt too: the next text must not resume this one


def matches(grammar: Grammar, root: Node, budget: Budget) -> Iterator[tuple[int, dict[str, list[Node]]]]:
    """Every match of the language's query below a node, as (pattern, captures), outer nodes first.

    Raises ParseTimeout. To be consumed at once: a thread has one cursor a language.
    """
    stack = [root]
    seen = 0
    while stack:
        node = stack.pop()
        size = node.end_byte - node.start_byte
        is_large = size > _WHOLE_BYTES
        seconds = _SEARCH_SECONDS + (round(size * _SEARCH_SECONDS_A_BYTE) if is_large else 0)
        yield from _search(grammar, node, budget, seconds, 0 if is_large else _ANY_DEPTH)
        if is_large:
            stack += children(node)[::-1]
        seen += 1
        if seen % _NODES_BETWEEN_CHECKS == 0:
            budget.check()


def children(node: Node) -> list[Node]:
    """The children of a node. `Node.children` of tree-sitter 0.25.2 crashes where an error's node has counted more than
    there are.
    """
    found: list[Node] = []
    cursor = node.walk()
    is_there = cursor.goto_first_child()
    while is_there and (child := cursor.node) is not None:
        found.append(child)
        is_there = cursor.goto_next_sibling()
    return found


def _search(
    grammar: Grammar, node: Node, budget: Budget, seconds: float, depth: int
) -> list[tuple[int, dict[str, list[Node]]]]:
    """The matches whose outermost node lies at most `depth` levels below the node."""
    while True:
        cursor = _cursor(grammar, depth, seconds)
        started, computed = time.monotonic(), time.thread_time()
        found = cursor.matches(node)
        if time.monotonic() - started < seconds:
            return found
        # The cursor stops without a word at its limit, its list cut short: it needs more than it just had.
        budget.check(time.thread_time() - computed)
        seconds *= 2


def _parser(grammar: Grammar, seconds: float) -> Parser:
    known: dict[tuple[Grammar, float], Parser] = _tools.__dict__.setdefault("parsers", {})
    found = known.get((grammar, seconds))
    if found is None:
        # The replacement that the warning names, progress callbacks, crashes the interpreter in tree-sitter 0.25.2.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            found = known[grammar, seconds] = Parser(grammar.language, timeout_micros=int(seconds * 1_000_000))
    return found


def _cursor(grammar: Grammar, depth: int, seconds: float) -> QueryCursor:
    known: dict[tuple[Grammar, int, float], QueryCursor] = _tools.__dict__.setdefault("cursors", {})
    found = known.get((grammar, depth, seconds))
    if found is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            found = QueryCursor(grammar.query, timeout_micros=int(seconds * 1_000_000))
        found.set_max_start_depth(depth)
        known[grammar, depth, seconds] = found
    return found
