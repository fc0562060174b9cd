"""CSS: rules by their selector, at-rules, keyframes, and the custom properties of a theme."""

import re
from typing import Final

from braindex.domain.entities import CodeEntity
from braindex.languages.spec import LanguageSpec

_STRING_OR_COMMENT: Final = re.compile(rb"(?s)\"[^\"\n]*\"|'[^'\n]*'|/\*.*?(?:\*/|\Z)")
_STATEMENT: Final = re.compile(rb"(?m)^[ \t]*@(?!import|charset|namespace)[\w-][^;{}\n]*;")
_NOT_BLANK: Final = re.compile(rb"\S")
_ASCII: Final = bytes(range(128)) + b"x" * 128
_COMMENT: Final = re.compile(r"(?s)/\*.*?(?:\*/|\Z)")
_NESTED_BEHIND: Final = re.compile(rb"(?<=[\w\]\)*])([ \t]+)&")


def _plain(data: bytes) -> bytes:
    """The grammar knows ASCII names only, few at-rules without a block, no `&` behind another selector, and takes `/*`
    in a string for a comment.
    """
    data = data.translate(_ASCII)
    if b"@" in data:
        data = _STATEMENT.sub(lambda match: _NOT_BLANK.sub(b" ", match.group()), data)
    if b"&" in data:
        data = _NESTED_BEHIND.sub(rb"\1x", data)
    return _STRING_OR_COMMENT.sub(_masked, data) if b"/*" in data else data


def _masked(match: re.Match[bytes]) -> bytes:
    text = match.group()
    return text if text.startswith(b"/*") else text.replace(b"/*", b"xx")


def _selector(text: str) -> str:
    """A selector or an at-rule's prelude as written, comments removed, white space closed up."""
    if "/*" in text:
        text = _COMMENT.sub(" ", text)
    return " ".join(text.split()).replace(" ,", ",")


def _refine(entity: CodeEntity) -> CodeEntity | None:
    """Of declarations only custom properties are definitions."""
    return None if entity.kind == "property" and not entity.name.startswith("--") else entity


CSS: Final = LanguageSpec(
    name="css",
    suffixes=(".css",),
    grammar="tree_sitter_css:language",
    queries=("css",),
    separator=" > ",
    prepare=_plain,
    clean_name=_selector,
    refine=_refine,
)
