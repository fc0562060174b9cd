"""The atomic unit of the memory: one definition, element, rule or section."""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

KINDS: Final = frozenset(
    {
        "function", "method", "constructor", "getter", "setter", "class", "interface", "type", "enum",
        "namespace", "variable", "constant", "property", "element", "heading", "rule", "keyframes", "at-rule",
        "front-matter", "checklist-item", "code-block", "file", "note", "episode",
    }
)  # fmt: skip

CALLABLE_KINDS: Final = frozenset({"function", "method", "constructor", "getter", "setter"})
TYPE_KINDS: Final = frozenset({"class", "interface", "type", "enum"})


@dataclass(frozen=True, slots=True)
class CodeEntity:
    """One definition, element, rule or section of a source file.

    `path` is relative to the workspace root with `/`. `line` and `end_line` count from 1, inclusive; `line` is the
    line of the definition itself (`def`, `class`, the declaration), not of its decorators. `parent` is the bare
    name of the enclosing entity, or "" at the top level. `param_count` is None where the kind takes no parameters;
    a method's bound `self` or `cls` is not counted. `start` and `end` are byte offsets into the UTF-8 source of the
    whole span, decorators and `export` included. `ordinal` tells equal qualified names of one kind in one file
    apart (overloads, property setters, if/else twins): 0 for the first in source order.
    """

    path: str
    kind: str
    name: str
    qualified_name: str
    parent: str
    language: str
    line: int
    end_line: int
    signature: str
    return_type: str | None = None
    param_count: int | None = None
    decorators: tuple[str, ...] = ()
    docstring: str = ""
    ordinal: int = 0
    start: int = 0
    end: int = 0

    @property
    def has_docstring(self) -> bool:
        return bool(self.docstring)

    def as_json(self) -> dict[str, Any]:
        """The entity as `braindex entities --json` prints it."""
        return {
            "path": self.path,
            "kind": self.kind,
            "name": self.name,
            "qualified_name": self.qualified_name,
            "parent": self.parent,
            "language": self.language,
            "line": self.line,
            "end_line": self.end_line,
            "signature": self.signature,
            "return_type": self.return_type,
            "param_count": self.param_count,
            "decorators": list(self.decorators),
            "has_docstring": self.has_docstring,
            "docstring": self.docstring,
        }


class EntityHead(NamedTuple):
    """What an entity is ranked by: the columns of `CodeEntity` that are short, and its id. Made by the hundred."""

    id: str
    path: str
    kind: str
    name: str
    qualified_name: str
    parent: str
    language: str
    line: int
    end_line: int
