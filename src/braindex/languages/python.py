"""Python: definitions anywhere, and the names that modules and classes bind."""

import re
from dataclasses import replace
from typing import Final

from braindex.domain.entities import TYPE_KINDS, CodeEntity
from braindex.languages.spec import LanguageSpec, Restart, is_constant_name

_QUOTED: Final = re.compile(r"(?s)([a-zA-Z]*+)(\"\"\"|'''|\"|')((?:[^\\\"']++|\\.|(?!\2)[\"'])*+)(?:\2|\Z)")
_GAP: Final = re.compile(r"[\s\\]*")
_ESCAPE: Final = re.compile(r"(?s)\\(\r?\n|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U000[0-9a-fA-F]{5}|.)")
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "\n": "", "\r\n": "", "\\": "\\", "'": "'", '"': '"'}
_ANNOTATED: Final = re.compile(r"\s*+:\s*+(?:typing\.|t\.|typing_extensions\.)?(Final|TypeAlias)\b")
# With the decorators above it: lines that are indented, close a bracket or are blank go on with one.
_DEFINITION: Final = re.compile(
    rb"(?m)^(?:@[^\n]*\n(?:[ \t)@#][^\n]*\n|\r?\n){0,20})?(?:async[ \t]+)?(?:def|class)[ \t]+[^\W\d]"
)


def _unescaped(match: re.Match[str]) -> str:
    code = match.group(1)
    return chr(int(code[1:], 16)) if len(code) > 2 else _ESCAPED.get(code, match.group())


def _dedented(text: str) -> str:
    first, *rest = text.expandtabs().split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    return "\n".join([first.strip(), *(line[margin:].rstrip() for line in rest)]).strip("\n")


def _string_value(text: str) -> str:
    """The value of a docstring's literal (any prefix, any quotes, adjacent parts joined), dedented as PEP 257 says."""
    if text[:1] in "([{":  # a parenthesised literal
        text = text[1:-1].strip()
    parts: list[str] = []
    at = 0
    while (match := _QUOTED.match(text, at)) is not None:
        prefix, _, value = match.groups()
        if not prefix.isascii() or set(prefix.lower()) & set("fbt"):
            return ""  # a computed string or bytes document nothing
        parts.append(value if "r" in prefix.lower() else _ESCAPE.sub(_unescaped, value))
        at = len(text) if (gap := _GAP.match(text, match.end())) is None else gap.end()
    return _dedented("".join(parts).replace("\r\n", "\n")) if parts else text


def _accessor(entity: CodeEntity) -> str:
    for decorator in entity.decorators:
        last = decorator.partition("(")[0].rpartition(".")[2]
        if last in {"setter", "deleter"}:
            return "setter"
        if last.endswith("property") or last == "getter":
            return "getter"
    return "constructor" if entity.name == "__init__" else "method"


def _refine(entity: CodeEntity) -> CodeEntity | None:
    """Tell accessors from methods, and constants and type aliases from variables."""
    if entity.kind == "method":
        kind = _accessor(entity)
        return entity if kind == "method" else replace(entity, kind=kind)
    if entity.kind != "variable":
        return entity
    annotated = _ANNOTATED.match(entity.signature, len(entity.name))
    if annotated is not None and annotated.group(1) == "TypeAlias":
        return replace(entity, kind="type")
    if annotated is not None or is_constant_name(entity.name):
        return replace(entity, kind="constant")
    return None if entity.parent else entity


PYTHON: Final = LanguageSpec(
    name="python",
    suffixes=(".py", ".pyi", ".pyw"),
    grammar="tree_sitter_python:language",
    queries=("python",),
    body_field="body",
    parameter_fields=("parameters",),
    return_field="return_type",
    type_members={"function": "method"},
    comment_docs=frozenset({"variable", "constant", "type"}),
    uncounted=frozenset({"comment", "keyword_separator", "positional_separator", "line_continuation"}),
    bound=frozenset({"self", "cls", "mcs", "mcls", "metacls", "_self", "_cls", "__self", "__cls"}),
    folder_stems=frozenset({"__init__"}),
    base_kinds=TYPE_KINDS | {"variable", "constant"},
    clean_doc=_string_value,
    restart=Restart(
        _DEFINITION,
        opaque=frozenset({"string", "concatenated_string", "comment"}),
        tops=frozenset({"decorated_definition"}),
    ),
    statements=True,
    refine=_refine,
)
