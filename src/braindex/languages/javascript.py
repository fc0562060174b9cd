"""JavaScript, with JSX: declarations, functions bound to names, classes, object members."""

import re
from dataclasses import replace
from typing import Final

from braindex.domain.entities import TYPE_KINDS, CodeEntity
from braindex.languages.spec import LanguageSpec, Restart, is_constant_name

# Not variables: where code is not indented, these stand in functions.
_DEFINITION: Final = re.compile(
    rb"(?m)^(?:export\b|(?:async[ \t]+)?function\b|(?:abstract[ \t]+)?class[ \t]"
    rb"|(?:declare[ \t]+)?(?:interface|enum)[ \t])"
)


def refine(entity: CodeEntity) -> CodeEntity | None:
    """Tell constructors from methods, and constants from variables."""
    if entity.kind == "method" and entity.name == "constructor":
        return replace(entity, kind="constructor")
    if entity.kind == "variable" and is_constant_name(entity.name):
        return replace(entity, kind="constant")
    return entity


def unquoted(text: str) -> str:
    """A member's name without the quotes that some names need."""
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] and text[0] in "'\"`" else text


JAVASCRIPT: Final = LanguageSpec(
    name="javascript",
    suffixes=(".js", ".mjs", ".cjs"),
    grammar="tree_sitter_javascript:language",
    queries=("ecmascript", "javascript", "jsx"),
    body_field="body",
    parameter_fields=("parameters", "parameter"),
    uncounted=frozenset({"comment"}),
    plain_owners=frozenset({"prototype"}),
    self_owners=frozenset({"this", "self"}),
    # A page or a component can be imported, and so can a style sheet.
    refers_to=frozenset({"javascript", "jsx", "typescript", "tsx", "html", "css"}),
    folder_stems=frozenset({"index"}),
    base_kinds=TYPE_KINDS | {"function", "variable", "constant"},
    clean_name=unquoted,
    restart=Restart(
        _DEFINITION,
        opaque=frozenset({"template_string", "comment"}),
        tops=frozenset({"export_statement"}),
        wraps=frozenset({"expression_statement", "ambient_declaration", "internal_module", "module"}),
    ),
    statements=True,
    refine=refine,
)

JSX: Final = replace(JAVASCRIPT, name="jsx", suffixes=(".jsx",))
