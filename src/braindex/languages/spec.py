"""What makes one language different from another, as data."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from braindex.domain.entities import TYPE_KINDS, CodeEntity


def _as_written(text: str) -> str:
    return text


def _as_stored(data: bytes) -> bytes:
    return data


@dataclass(frozen=True, slots=True)
class Restart:
    """Where a definition begins at the top of a file, whatever stands above it.

    `line` matches from the start of such a line. `opaque` are the node types in which it may stand as text, `tops`
    those around one definition (its decorators, an export), `wraps` those at the top of a file that may hold
    definitions in the first column.
    """

    line: re.Pattern[bytes]
    opaque: frozenset[str]
    tops: frozenset[str] = frozenset()
    wraps: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class LanguageSpec:
    """One language: where its grammar is, which queries find its definitions, and how their text is read.

    `suffixes` are lower case, with the dot. `grammar` is `module:function` of the package that brings it; it is
    imported at first use. `queries` are file stems in `queries/`; of several patterns that match one node, the
    first counts. `separator` joins the parts of a qualified name.

    `body_field`, `parameter_fields` and `return_field` are the fields of a definition's node, or of the function that
    is its value, that hold these parts; a query may capture them where the grammar names no field.
    `parameter_names` is the field of a parameter's node that holds its names, where one node declares several.
    `type_members` renames the kind of an entity directly inside a class or interface (function → method).
    `comment_docs` are the kinds whose leading comment is their documentation, None for all. `uncounted` are the node
    types in a parameter list that are no parameters; `bound` the names of a method's first parameter that callers do
    not pass, `never_passed` those that nobody passes to a function either. `plain_owners` are parts of an owner's name
    that say nothing about it (`prototype`); `self_owners` are owners that mean the enclosing entity (`this`).

    `refers_to` are the other languages whose entities its references may mean. `base_kinds` are the kinds of entity
    that a type can derive from. `module` says what is imported as one, and may hold members of its types outside them:
    a file, or all files of a folder; a file whose stem is among `folder_stems` stands for its folder.

    `restart` says where broken code is cut, so that one open bracket hides nothing that is defined after it.

    `statements` says that code outside any definition means something: it is kept in blocks.

    `prepare(data)` gives the bytes to parse where the grammar stumbles over what it need not see: other bytes, but as
    many, with every line end in its place. `clean_name(text)` and `clean_doc(text)` turn source text into what a
    reader sees. `refine(entity)` may change one entity, or drop it with None, knowing only that entity.
    """

    name: str
    suffixes: tuple[str, ...]
    grammar: str
    queries: tuple[str, ...]
    separator: str = "."
    body_field: str = ""
    parameter_fields: tuple[str, ...] = ()
    parameter_names: str = ""
    return_field: str = ""
    type_members: Mapping[str, str] = field(default_factory=dict)
    comment_docs: frozenset[str] | None = None
    uncounted: frozenset[str] = frozenset()
    bound: frozenset[str] = frozenset()
    never_passed: frozenset[str] = frozenset()
    plain_owners: frozenset[str] = frozenset()
    self_owners: frozenset[str] = frozenset()
    refers_to: frozenset[str] = frozenset()
    base_kinds: frozenset[str] = TYPE_KINDS
    module: Literal["file", "folder"] = "file"
    folder_stems: frozenset[str] = frozenset()
    prepare: Callable[[bytes], bytes] = _as_stored
    restart: Restart | None = None
    statements: bool = False
    clean_name: Callable[[str], str] = _as_written
    clean_doc: Callable[[str], str] = _as_written
    refine: Callable[[CodeEntity], CodeEntity | None] | None = None


def is_constant_name(name: str) -> bool:
    """Whether a variable's name is written the way constants are: `MAX_SIZE`, `_TOKEN`, `K`."""
    return name.isupper()
