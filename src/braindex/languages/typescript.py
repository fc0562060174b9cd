"""TypeScript, and TSX: JavaScript's definitions with types, interfaces, enums, namespaces and signatures."""

import re
from dataclasses import replace
from typing import Final

from braindex.languages.javascript import JAVASCRIPT

_NAMELESS: Final = re.compile(rb"\b(default[ \t]+)abstract(?=[ \t]+class\b[ \t]*(?:\{|extends\b|implements\b))")


def _plain(data: bytes) -> bytes:
    """The grammar wants a name of an abstract class, which a default export need not have."""
    return _NAMELESS.sub(rb"\1        ", data) if b"abstract" in data else data


TYPESCRIPT: Final = replace(
    JAVASCRIPT,
    name="typescript",
    suffixes=(".ts", ".mts", ".cts"),
    grammar="tree_sitter_typescript:language_typescript",
    queries=("ecmascript", "typescript"),
    return_field="return_type",
    never_passed=frozenset({"this"}),
    prepare=_plain,
)

TSX: Final = replace(
    TYPESCRIPT,
    name="tsx",
    suffixes=(".tsx",),
    grammar="tree_sitter_typescript:language_tsx",
    queries=("ecmascript", "typescript", "jsx"),
)
