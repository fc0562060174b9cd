"""Matches of a query → drafts of entities: one a defined node, with its span, and what stands around it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from tree_sitter import Node

from braindex.domain.errors import BraindexError
from braindex.indexing.extract_grammars import Grammar, Pattern
from braindex.indexing.extract_parse import Budget, matches
from braindex.indexing.extract_source import Source

Captures = dict[str, list[Node]]
_DEEPEST_OUTLINE_INDENT: Final = 3  # columns; a heading farther in belongs to a list or a quotation
# In one file: a definition takes about 3 kB of memory until it is stored, and a megabyte of hand-written code has a few
# thousand.
MOST_DEFINITIONS: Final = 50_000


class TooManyDefinitions(BraindexError):
    """A file that is data rather than code."""

    def __init__(self) -> None:
        super().__init__(
            f"more than {MOST_DEFINITIONS:,} definitions: its text is generated. Split it, or name it in .memignore"
        )


@dataclass(slots=True)
class Draft:
    """A definition before it has a parent. Offsets are bytes; `lead` is where what leads up to it ends.

    `reach` is the end of what it encloses: for a heading that of its section, for anything else the end of its span.
    """

    pattern: Pattern
    order: int
    node: Node
    captures: Captures
    start: int
    end: int
    reach: int
    lead: int
    leaf: bool


@dataclass(slots=True)
class _Wrap:
    """A node around one definition (a decorator's, an export) or around a group (`const a = 1, b = 2`)."""

    node: int
    start: int
    end: int
    count: int
    first: int


class Found:
    """What the query found in one tree."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.drafts: dict[int, Draft] = {}
        self.comments: dict[int, int] = {}
        self.decorators: dict[int, int] = {}
        self.docs: dict[int, int] = {}
        self.injections: dict[int, tuple[int, str, Node]] = {}
        self.references: list[tuple[str, Node]] = []
        self._wraps: dict[int, _Wrap] = {}
        self._groups: dict[int, _Wrap] = {}
        self._claimed: set[int] = set()

    def definition(self, order: int, pattern: Pattern, captures: Captures) -> None:
        node = captures[pattern.capture][0]
        key = node.id
        if "span" in captures:
            self._wrap(node, captures["span"][0])
        known = self.drafts.get(key)
        if known is None or order < known.order:
            start = node.start_byte
            self.drafts[key] = Draft(pattern, order, node, captures, start, node.end_byte, 0, start, pattern.leaf)

    def skip(self, _order: int, _pattern: Pattern, captures: Captures) -> None:
        self._claimed.add(captures["skip"][0].id)

    def inject(self, order: int, pattern: Pattern, captures: Captures) -> None:
        node = captures["inject"][0]
        known = self.injections.get(node.id)
        if known is None or order < known[0]:
            self.injections[node.id] = (order, pattern.inject, node)

    def wrapped(self, _order: int, _pattern: Pattern, captures: Captures) -> None:
        self._wrap(captures["wrapped"][0], captures["span"][0])

    def decorator(self, _order: int, _pattern: Pattern, captures: Captures) -> None:
        node = captures["decorator"][0]
        self.decorators[node.end_byte] = node.start_byte

    def comment(self, _order: int, _pattern: Pattern, captures: Captures) -> None:
        node = captures["comment"][0]
        self.comments[self.source.before(node.end_byte)] = node.start_byte

    def doc(self, _order: int, _pattern: Pattern, captures: Captures) -> None:
        node = captures["doc"][0]
        self.docs[node.start_byte] = node.end_byte

    def reference(self, _order: int, pattern: Pattern, captures: Captures) -> None:
        self.references += [(pattern.kind, node) for node in captures[pattern.capture]]

    def _wrap(self, node: Node, span: Node) -> None:
        if node.id in self._wraps:
            return
        start = node.start_byte
        group = self._groups.get(span.id)
        if group is None:
            group = self._groups[span.id] = _Wrap(span.id, span.start_byte, span.end_byte, 0, start)
        group.count += 1
        group.first = min(group.first, start)
        self._wraps[node.id] = group

    def ordered(self) -> list[Draft]:
        """The drafts in source order, outer before inner, their spans final: nested or disjoint."""
        claimed = self._claimed
        for draft in self.drafts.values():
            claimed.update(node.id for node in draft.captures.get("value", ()))
        drafts = [draft for key, draft in self.drafts.items() if key not in claimed]
        for draft in drafts:
            self._widen(draft)
            if self.decorators:
                self._take_decorators(draft)
            draft.end = draft.reach = self._trimmed(draft.end)
        drafts.sort(key=lambda draft: (draft.start, -draft.end, draft.node.start_byte, draft.order))
        _close_sections(drafts, self.source)
        return drafts

    def _trimmed(self, end: int) -> int:
        """Comments and white space that the grammar counts to the end of a block are not part of it, and neither is a
        semicolon that begins a later line: it guards what follows there.
        """
        end = self.source.before(end)
        if self.source.data.startswith(b";", end - 1):
            before = self.source.before(end - 1)
            end = before if self.source.newlines(before, end) else end
        while end in self.comments:
            end = self.source.before(self.comments[end])
        return end

    def _widen(self, draft: Draft) -> None:
        """Climb from the definition to what wraps it alone. The first of a group is led up to by the group."""
        alone = True
        inner, wrap = draft.start, self._wraps.get(draft.node.id)
        while wrap is not None:
            if wrap.count > 1:
                alone = False
                if wrap.first != inner:
                    return
            if alone:
                draft.start, draft.end = wrap.start, wrap.end
            draft.lead = inner = wrap.start
            wrap = self._wraps.get(wrap.node)

    def _take_decorators(self, draft: Draft) -> None:
        """Decorators that stand before a definition, as siblings, belong to its span; comments may lie between."""
        at = draft.lead
        while True:
            at = self.source.before(at)
            if at in self.decorators:
                at = draft.start = draft.lead = self.decorators[at]
            elif at in self.comments:
                at = self.comments[at]
            else:
                return


def _close_sections(drafts: list[Draft], source: Source) -> None:
    """A heading's span ends before the next heading; what it encloses, before the next of its level or above.

    A heading inside something else (a list, a quotation) is a line of that, not a part of the outline.
    """
    size = len(source.data)
    sections: list[Draft] = []
    inside = 0
    for draft in drafts:
        level = draft.pattern.level
        if level is None:
            inside = max(inside, draft.end)
            continue
        indent = source.indent(draft.start)
        if draft.start < inside or indent is None or indent > _DEEPEST_OUTLINE_INDENT:
            draft.leaf = True
            draft.end = draft.reach = draft.captures["name"][0].end_byte
            continue
        start = draft.start - indent
        if sections:
            sections[-1].end = min(sections[-1].end, start)
        while sections and (sections[-1].pattern.level or 0) >= level:
            sections.pop().reach = start
        sections.append(draft)
        draft.end = draft.reach = size


_Take = Callable[[Found, int, Pattern, Captures], None]
_TAKE: Final[dict[str, _Take]] = {
    "definition": Found.definition,
    "skip": Found.skip,
    "inject": Found.inject,
    "wrapped": Found.wrapped,
    "decorator": Found.decorator,
    "doc": Found.doc,
    "comment": Found.comment,
    "reference": Found.reference,
}


def find(grammar: Grammar, roots: Iterable[Node], source: Source, budget: Budget) -> Found:
    """Run a language's query over the trees of a source, which follow one another; raises ParseTimeout."""
    found = Found(source)
    take = [(_TAKE[pattern.role], pattern) for pattern in grammar.patterns]
    for root in roots:
        for order, captures in matches(grammar, root, budget):
            handle, pattern = take[order]
            handle(found, order, pattern, captures)
            if len(found.drafts) > MOST_DEFINITIONS:
                raise TooManyDefinitions
    return found
