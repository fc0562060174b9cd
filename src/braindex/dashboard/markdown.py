"""The little Markdown that briefs and notes are written in, as blocks a template can show. Links stay text: what is
shown here may be a stranger's, and nothing of it leads anywhere.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from markupsafe import Markup, escape

from braindex.domain.display import safe

Kind = Literal["heading", "paragraph", "list", "code"]

_HEADING: Final = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*")
_ITEM: Final = re.compile(r"([ \t]*)(?:[-*+]|[0-9]{1,9}[.)])[ \t]+(.*)")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_INLINE: Final = re.compile(r"(`+)(?P<code>.+?)\1|\*\*(?P<bold>[^*\n]+)\*\*")
_EMPTY: Final = Markup("")
DEEPEST: Final = 4  # levels of a list; deeper items are shown at this one


@dataclass(frozen=True, slots=True)
class Item:
    depth: int
    text: Markup


@dataclass(frozen=True, slots=True)
class Block:
    """One block. `level` is a heading's, from 1; `items` are a list's; `text` is everything else's."""

    kind: Kind
    text: Markup = _EMPTY
    level: int = 0
    items: tuple[Item, ...] = ()


def blocks(text: str) -> list[Block]:
    """The blocks of a text, in order."""
    lines = text.replace("\r\n", "\n").split("\n")
    return list(_read(lines))


def _read(lines: list[str]) -> Iterator[Block]:
    at = 0
    while at < len(lines):
        line = lines[at]
        if fence := _FENCE.match(line):
            end = next((n for n in range(at + 1, len(lines)) if lines[n].strip().startswith(fence[1])), len(lines))
            yield Block("code", escape(safe("\n".join(lines[at + 1 : end]))))
            at = end + 1
        elif heading := _HEADING.fullmatch(line):
            yield Block("heading", inline(heading[2]), level=len(heading[1]))
            at += 1
        elif not line.strip():
            at += 1
        else:
            end = next((n for n in range(at + 1, len(lines)) if _ends(lines[at], lines[n])), len(lines))
            yield _list(lines[at:end]) if _ITEM.fullmatch(line) else _paragraph(lines[at:end])
            at = end


def _ends(first: str, line: str) -> bool:
    """Whether a line is no part of the paragraph or list that the first one began."""
    if not line.strip() or _FENCE.match(line) or _HEADING.fullmatch(line):
        return True
    return bool(_ITEM.fullmatch(line)) and not _ITEM.fullmatch(first)


def _paragraph(lines: list[str]) -> Block:
    return Block("paragraph", inline("\n".join(line.strip() for line in lines)))


def _list(lines: list[str]) -> Block:
    found: list[tuple[int, str]] = []
    for line in lines:
        item = _ITEM.fullmatch(line)
        if item is not None:
            depth = len(item[1].replace("\t", "    ")) // 2
            found.append((min(depth, DEEPEST), item[2]))
        else:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
    return Block("list", items=tuple(Item(depth, inline(text)) for depth, text in found))


def inline(text: str) -> Markup:
    """One run of text with its code and what is bold; all else is shown as it is written."""
    parts, at = [], 0
    for match in _INLINE.finditer(text):
        parts.append(_plain(text[at : match.start()]))
        if match["code"] is not None:
            parts.append(Markup("<code>{}</code>").format(safe(match["code"].strip())))
        else:
            parts.append(Markup("<strong>{}</strong>").format(_plain(match["bold"])))
        at = match.end()
    return Markup("").join([*parts, _plain(text[at:])])


def _plain(text: str) -> Markup:
    """`&lt;` is how a brief writes an angle bracket; it is shown as one, and stays text."""
    return escape(safe(html.unescape(text)))
