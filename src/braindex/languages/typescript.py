"""TypeScript, and TSX: JavaScript's definitions with types, interfaces, enums, namespaces and signatures."""

from dataclasses import replace
from typing import Final

from braindex.languages.javascript import JAVASCRIPT

TYPESCRIPT: Final = replace(
    JAVASCRIPT,
    name="typescript",
    suffixes=(".ts", ".mts", ".cts"),
    grammar="tree_sitter_typescript:language_typescript",
    queries=("ecmascript", "typescript"),
    return_field="return_type",
    never_passed=frozenset({"this"}),
)

TSX: Final = replace(
    TYPESCRIPT,
    name="tsx",
    suffixes=(".tsx",),
    grammar="tree_sitter_typescript:language_tsx",
    queries=("ecmascript", "typescript", "jsx"),
)
