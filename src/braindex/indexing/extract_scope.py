"""Drafts in source order → entities: who encloses whom, qualified names, and ordinals for equal ones."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from tree_sitter import Node

from braindex.domain.entities import CALLABLE_KINDS, TYPE_KINDS, CodeEntity
from braindex.indexing.extract_matches import Draft, Found
from braindex.indexing.extract_text import (
    LONGEST_NAME,
    LONGEST_SHOWN,
    comment_text,
    name_text,
    one_line,
    parameter_count,
    shortened,
    signature,
    without_closing,
)
from braindex.languages import LanguageSpec

# Thousands of definitions inside each other would make names of quadratic size: outer parts are then left out.
_LONGEST_QUALIFIER: Final = 400
_LONGEST_VALUE: Final = 200  # characters of a declaration that has no body: a variable with what it is set to
_LONGEST_DECORATOR: Final = 500  # bytes


@dataclass(frozen=True, slots=True)
class _Scope:
    """An entity that encloses what comes next."""

    start: int
    end: int
    name: str
    qualified: str
    kind: str


@dataclass(frozen=True, slots=True)
class _Parts:
    """The nodes of a definition's parts, where it has them."""

    body: Node | None
    params: Node | None
    returns: Node | None


def _parts(draft: Draft, spec: LanguageSpec) -> _Parts:
    captures = draft.captures
    body = captures["body"][0] if "body" in captures else None
    if not spec.body_field:
        return _Parts(body, None, None)
    holder = captures["value"][0] if "value" in captures else draft.node
    body = body or holder.child_by_field_name(spec.body_field)
    params = next((node for name in spec.parameter_fields if (node := holder.child_by_field_name(name))), None)
    returns = holder.child_by_field_name(spec.return_field) if params is not None and spec.return_field else None
    return _Parts(body, params, returns)


@dataclass(slots=True)
class Numbering:
    """Ordinals of one file: how often a (kind, qualified name) was seen."""

    seen: Counter[tuple[str, str]] = field(default_factory=Counter)

    def next(self, kind: str, qualified: str) -> int:
        key = (kind, qualified)
        ordinal = self.seen[key]
        self.seen[key] = ordinal + 1
        return ordinal


class EntityBuilder:
    """Turns the drafts of one tree into entities."""

    def __init__(self, path: str, spec: LanguageSpec, found: Found, numbering: Numbering) -> None:
        self._path = path
        self._spec = spec
        self._found = found
        self._source = found.source
        self._numbering = numbering
        self._comments = sorted((start, end) for end, start in found.comments.items())
        self._decorators = sorted((start, end) for end, start in found.decorators.items())
        self._decorated = frozenset(found.decorators.values())
        self._scopes: list[_Scope] = []

    def build(self) -> list[CodeEntity]:
        """The entities in source order."""
        entities: list[CodeEntity] = []
        for draft in self._found.ordered():
            scope = self._enter(draft)
            entity = self._entity(draft, scope)
            if entity is not None:
                entities.append(entity)
                if not draft.leaf:
                    self._scopes.append(
                        _Scope(draft.start, draft.reach, entity.name, entity.qualified_name, entity.kind)
                    )
        return entities

    def _enter(self, draft: Draft) -> _Scope | None:
        """The scope that a draft lies in, with its span kept inside it."""
        scopes = self._scopes
        own = draft.node.start_byte
        while scopes and (scopes[-1].end <= own or (scopes[-1].start, scopes[-1].end) == (draft.start, draft.reach)):
            if draft.start < scopes[-1].end <= own:  # in broken code, what leads up to it may lie in something else
                draft.start = own
            scopes.pop()
        if not scopes:
            return None
        draft.end = min(draft.end, scopes[-1].end)
        draft.reach = min(draft.reach, scopes[-1].end)
        return scopes[-1]

    def _entity(self, draft: Draft, scope: _Scope | None) -> CodeEntity | None:
        spec, source = self._spec, self._source
        parts = _parts(draft, spec)
        head, line_at, decorators = self._head(draft)
        heading = self._signature(draft, head, parts.body)
        name = self._name(draft, heading)
        if not name:
            return None
        parent, qualified = self._place(draft, scope, name)
        kind = draft.pattern.kind
        if scope is not None and scope.kind in TYPE_KINDS:
            kind = spec.type_members.get(kind, kind)
        end = max(draft.end, line_at + 1)
        entity = CodeEntity(
            path=self._path,
            kind=kind,
            name=name,
            qualified_name=qualified,
            parent=parent,
            language=spec.name,
            line=source.line(line_at),
            end_line=source.line(end - 1),
            signature=heading,
            return_type=self._returns(parts.returns),
            param_count=self._parameters(parts.params, kind),
            decorators=decorators,
            docstring=self._doc(draft, parts.body, kind),
            start=source.base + draft.start,
            end=source.base + end,
        )
        refined = entity if spec.refine is None else spec.refine(entity)
        return None if refined is None else self._numbered(refined)

    def _numbered(self, entity: CodeEntity) -> CodeEntity:
        ordinal = self._numbering.next(entity.kind, entity.qualified_name)
        return replace(entity, ordinal=ordinal) if ordinal else entity

    def _head(self, draft: Draft) -> tuple[int, int, tuple[str, ...]]:
        """Where the signature starts, the offset whose line is the definition's, and the decorators before both."""
        own = draft.node.start_byte
        if not self._decorators or (draft.start == own and own not in self._decorated):
            return draft.start, own, ()
        named = draft.captures.get("name")
        limit = named[0].start_byte if named else own
        first = bisect_left(self._decorators, (draft.start, 0))
        mine = [one for one in self._decorators[first : bisect_left(self._decorators, (limit, 0))] if one[1] <= limit]
        if not mine:
            return draft.start, own, ()
        after = self._source.after(max(end for _, end in mine))
        texts = (one_line(self._source.text(start, min(end, start + _LONGEST_DECORATOR))) for start, end in mine)
        return after, max(after, own), tuple(text.removeprefix("@") for text in texts)

    def _signature(self, draft: Draft, head: int, body: Node | None) -> str:
        captures = draft.captures
        if draft.pattern.level is not None:
            return signature(self._source, draft.node.start_byte, captures["name"][0].end_byte, ())
        if (whole := captures.get("signature")) is not None:
            return signature(self._source, whole[0].start_byte, whole[0].end_byte, ())
        stop = captures["stop"][0] if "stop" in captures else body
        end = draft.end if stop is None else stop.start_byte
        text = signature(self._source, head, end, self._comments_in(head, end))
        return shortened(text.rstrip("; \t"), _LONGEST_VALUE) if stop is None else text

    def _name(self, draft: Draft, heading: str) -> str:
        pattern = draft.pattern
        if pattern.name is not None:
            return pattern.name
        node = draft.captures.get("name")
        text = heading if node is None else name_text(self._source, node[0].start_byte, node[0].end_byte)
        cleaned = self._spec.clean_name(without_closing(text, pattern.closing) if pattern.closing else text)
        return shortened(pattern.prefix + cleaned, LONGEST_NAME) if cleaned else ""

    def _place(self, draft: Draft, scope: _Scope | None, name: str) -> tuple[str, str]:
        """The parent's bare name and the qualified name; an owner that is written out counts for the scope."""
        spec = self._spec
        owner = draft.captures.get("owner")
        if owner is not None:
            text = name_text(self._source, owner[0].start_byte, owner[0].end_byte)
            parts = [part.strip() for part in text.split(spec.separator)]
            parts = [part for part in parts if part not in spec.plain_owners]
            if parts and parts[0] not in spec.self_owners:
                return parts[-1], spec.separator.join([*parts, name])
        if scope is None:
            return "", name
        qualifier = scope.qualified
        if len(qualifier) > _LONGEST_QUALIFIER:
            qualifier = "…" + scope.name
        return scope.name, qualifier + spec.separator + name

    def _returns(self, node: Node | None) -> str | None:
        if node is None:
            return None
        start, end = node.start_byte, node.end_byte
        return signature(self._source, start, end, self._comments_in(start, end)).lstrip(": ")

    def _comments_in(self, start: int, end: int) -> Sequence[tuple[int, int]]:
        """Of a long range only the comments in what is shown of it."""
        if not self._comments:
            return ()
        first = bisect_left(self._comments, (start, 0))
        return self._comments[first : bisect_left(self._comments, (min(end, start + LONGEST_SHOWN), 0))]

    def _parameters(self, node: Node | None, kind: str) -> int | None:
        if node is None:
            return 0 if kind in CALLABLE_KINDS else None
        return parameter_count(node, self._source, self._spec, is_method=kind != "function")

    def _doc(self, draft: Draft, body: Node | None, kind: str) -> str:
        if body is not None and (end := self._found.docs.get(body.start_byte)) is not None:
            return self._spec.clean_doc(self._source.text(body.start_byte, end))
        if self._spec.comment_docs is not None and kind not in self._spec.comment_docs:
            return ""
        return self._leading_comment(draft.start) or self._leading_comment(draft.lead)

    def _leading_comment(self, at: int) -> str:
        """The comments directly above an offset, each on lines of its own, no blank line between."""
        source = self._source
        texts: list[str] = []
        while (start := self._found.comments.get(end := source.before(at))) is not None:
            if source.newlines(end, at) > 1 or source.indent(start) is None:
                break
            texts.append(source.text(start, end))
            at = start
        return comment_text(texts[::-1]) if texts else ""
