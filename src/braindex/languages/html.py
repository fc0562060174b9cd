"""HTML: elements people look for, and the scripts and styles inside it (parsed by their own languages)."""

import html
import re
from typing import Final

from braindex.languages.spec import LanguageSpec

_PLAIN_OPENS: Final = re.compile(rb"(?i)<textarea\b[^<>]*>")
_PLAIN_CLOSES: Final = re.compile(rb"(?i)</textarea")
_BLANKED: Final = bytes(byte if byte in b" \t\n\r\f\v" else 0x20 for byte in range(256))
_TAG: Final = re.compile(r"(?s)<!--.*?-->|<[^>]*>?")


def _visible(text: str) -> str:
    """What a reader sees of an element: tags and comments gone, character references resolved, spaces closed up."""
    if "<" in text:
        text = _TAG.sub("", text)
    return " ".join(html.unescape(text).split())


def _without_plain_text(data: bytes) -> bytes:
    """What stands in a text area is text, even where it looks like tags: the grammar does not know that."""
    pieces: list[bytes] = []
    at = 0
    while (opening := _PLAIN_OPENS.search(data, at)) and (closing := _PLAIN_CLOSES.search(data, opening.end())):
        pieces += [data[at : opening.end()], data[opening.end() : closing.start()].translate(_BLANKED)]
        at = closing.start()
    return b"".join([*pieces, data[at:]]) if pieces else data


HTML: Final = LanguageSpec(
    name="html",
    suffixes=(".html", ".htm", ".vue", ".svelte"),
    grammar="tree_sitter_html:language",
    queries=("html",),
    separator=" > ",
    prepare=_without_plain_text,
    clean_name=_visible,
    refers_to=frozenset({"javascript", "jsx", "typescript", "tsx", "css"}),
)
