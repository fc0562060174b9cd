"""What stands in a relation to an entity: by name, so that two things of one name cannot be told apart."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from braindex.domain.citations import citation
from braindex.domain.display import safe_line

RELATIONS: Final[Mapping[str, str]] = {
    "callers": "called by",
    "calls": "calls",
    "bases": "derives from",
    "derived": "derived by",
    "members": "members",
    "importers": "imported by",
}
# What is said where nothing stands in a relation that was asked for.
_NONE: Final[Mapping[str, str]] = {
    "": "nothing in this workspace refers to it, or is referred to by it, by name",
    "callers": "nothing in this workspace calls it by name",
    "calls": "it calls nothing of this workspace by name",
    "bases": "it derives from nothing",
    "derived": "nothing in this workspace derives from it by name",
    "members": "it has no members",
    "importers": "nothing in this workspace imports it by name",
}
_NAME: Final = r"[`'\"“‘]*(?P<name>[\w.$#:/@-]+?)(?:\(\))?[`'\"”’]*"
_THE: Final = r"(?:the )?(?:(?:function|method|class|interface|component|module|file) )?"
_END: Final = rf"{_THE}{_NAME} ?\??$"
_WHO: Final = r"^(?:who|what|which \w+) "
_LIST: Final = r"^(?:the |all |find |list |show )*"
_OF: Final = " (?:of|for|to|on) "
_IS_USED: Final = rf"^where(?:'s| is| are) {_THE}{_NAME} (?:called|used|invoked|instantiated) ?\??$"
_USES: Final = rf"^what does {_THE}{_NAME} (?:call|use|invoke) ?\??$"
_DERIVES: Final = "(?:extends|inherits from|inherits|implements|subclasses|derives from) "
_BASES: Final = "(?:base class|base classes|superclass|superclasses|bases|parents?)"
# Each is matched against the whole question, white space folded.
_ASKED: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE), relation)
    for pattern, relation in (
        (f"{_WHO}(?:calls|uses|invokes|instantiates) {_END}", "callers"),
        (f"{_LIST}(?:callers|usages|uses|call sites|callsites){_OF}{_END}", "callers"),
        (_IS_USED, "callers"),
        (_USES, "calls"),
        (f"{_LIST}(?:callees|dependencies){_OF}{_END}", "calls"),
        (f"{_WHO}{_DERIVES}{_END}", "derived"),
        (f"{_LIST}(?:subclasses|implementations|implementers|children){_OF}{_END}", "derived"),
        (f"{_LIST}{_BASES}{_OF}{_END}", "bases"),
        (f"{_LIST}(?:members|methods){_OF}{_END}", "members"),
        (f"{_WHO}imports {_END}", "importers"),
        (f"{_LIST}importers{_OF}{_END}", "importers"),
    )
)
MOST_LINKS: Final = 20  # of one relation that are shown, unless another limit is asked for
_LONGEST: Final = 200  # characters of a question that is no more than that


@dataclass(frozen=True, slots=True)
class Link:
    """One end of a relation. `line` is where it refers or is referred to, else where it is defined.

    `path` is "" for a name that nothing in the workspace has. `others` counts the entities of the same name: which of
    them is meant, a name does not tell.
    """

    name: str
    kind: str = ""
    path: str = ""
    line: int = 0
    others: int = 0

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"name": self.name, "kind": self.kind or None}
        found |= {"path": self.path or None, "line": self.line or None}
        return found | ({"others": self.others} if self.others else {})


@dataclass(frozen=True, slots=True)
class Related:
    """An entity with what is related to it, by the words of `RELATIONS`; relations without an entry are left out.

    `left_out` counts the links beyond the limit, by relation. `asked` is the relation where only one was looked for.
    `also` are other definitions of the name of which the same is true.
    """

    id: str
    name: str
    kind: str
    path: str
    line: int
    end_line: int
    links: Mapping[str, tuple[Link, ...]]
    left_out: Mapping[str, int] = field(default_factory=dict)
    asked: str = ""
    also: tuple[Link, ...] = ()

    def as_json(self) -> dict[str, Any]:
        also = {"also": [one.as_json() for one in self.also]} if self.also else {}
        return {
            "id": self.id,
            "name": self.name,
            "kind": self.kind,
            "path": self.path,
            "line": self.line,
            "end_line": self.end_line,
            "matched_by": "name",
            "related": {relation: [one.as_json() for one in links] for relation, links in self.links.items()},
            "left_out": dict(self.left_out),
            **also,
        }


@dataclass(frozen=True, slots=True)
class Relatives:
    """What is related to the definitions of one name: at most a few of them, first those of which there is anything to
    say.

    `definitions` counts all that have the name; `example` is a longer name that means fewer of them, and one that is
    not shown, "" where there is none. `coverage` says in one line what of the workspace is not covered, else "".
    """

    found: tuple[Related, ...]
    definitions: int
    example: str = ""
    coverage: str = ""

    def as_json(self) -> dict[str, Any]:
        """The first definition, with the others beside it."""
        first, *more = (one.as_json() for one in self.found)
        return first | {"definitions": self.definitions, "more": more}


def relatives_lines(relatives: Relatives) -> list[str]:
    """Blocks of text, one a definition with a blank line between, and a line for the definitions that are not shown."""
    blocks = [related_lines(one) for one in relatives.found]
    rest = relatives.definitions - sum(1 + len(one.also) for one in relatives.found)
    if rest > 0:
        said = f"… and {rest:,} more {'definition' if rest == 1 else 'definitions'} of this name"
        narrower = f"; a class or a file before it means fewer: `{safe_line(relatives.example)}`"
        blocks.append([said + narrower if relatives.example else said])
    return [line for block in blocks for line in ("", *block)][1:]


def related_lines(found: Related) -> list[str]:
    """A block of text: the entity's citation, and under each relation a citation a line."""
    lines = [citation(found.name, found.path, found.line, None)]
    lines += [citation(one.name, one.path, one.line, None) for one in found.also]
    for relation, links in found.links.items():
        lines.append(f"{RELATIONS[relation]}, by name:")
        lines += [f"  {_link(one)}" for one in links]
        if relation in found.left_out:
            lines.append(f"  … and {found.left_out[relation]:,} more")
    return lines if found.links else [*lines, _NONE[found.asked]]


def _link(link: Link) -> str:
    if not link.path:
        return f"`{safe_line(link.name)}` (not in this workspace)"
    others = f" (one of {link.others + 1} of this name)" if link.others else ""
    return citation(link.name, link.path, link.line, None) + others


def asked_relation(question: str) -> tuple[str, str] | None:
    """The relation and the name that a question asks for ("who calls parse_date", "subclasses of Field"), or None."""
    text = " ".join(unicodedata.normalize("NFC", question[: _LONGEST + 1]).split())
    if len(text) > _LONGEST:
        return None
    for pattern, relation in _ASKED:
        match = pattern.match(text)
        if match is not None:
            return relation, match["name"]
    return None
