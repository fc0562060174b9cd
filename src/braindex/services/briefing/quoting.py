"""Words of the project as a brief may hold them: cut short, on one line, marked as the project's own, never as text
that structures the brief or speaks for it.
"""

import html
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from braindex.domain.display import safe_line, safe_path

_SPACE_TICKS: Final = re.compile(r"`+")
_SECRET_VALUE: Final = re.compile(
    r"(?i)(?<![\w-])([\w-]*(?:token|secret|passw(?:or)?d|api[_-]?key|access[_-]?key|authorization)\s*+[=:]\s*+[\"']?)"
    r"(?:bearer\s++)?[^\s\"'`;&|]++"
)
_USER_INFO: Final = re.compile(r"(?<=[a-z0-9+.-])(://)[^\s/@:]*+:[^\s/@]*+@", re.IGNORECASE)
_LONG_RANDOM: Final = re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z])\w{32,}+")
_REST: Final = "…"

_LINKED: Final = re.compile(r"!?\[((?:[^\[\]]++|\[[^\[\]]*+\])*+)\](?:\([^()]*+(?:\([^()]*+\)[^()]*+)*+\)|\[[^\]]*+\])")
_TAG: Final = re.compile(
    r"<!--.*?(?:-->|\Z)|</?(?:a|b|br|center|code|details|div|em|font|h[1-6]|hr|i|img|kbd|li|nobr|ol|p|picture|pre|samp|small"
    r"|source|span|strong|sub|summary|sup|svg|table|tbody|td|th|thead|tr|u|ul|video)\b[^<>]{0,2000}+>",
    re.DOTALL | re.IGNORECASE,
)
_SHORT_LINK: Final = re.compile(r"\[([^\[\]!]{2,}+)\](?![(\[:])")
_MARK: Final = re.compile(r"\*|(?<!\w)_")
_CLOSING: Final = {
    mark: re.compile(rf"(?<=\S)(?={re.escape(mark)}(?!\w))") for mark in ("***", "**", "*", "___", "__", "_")
}
# A role (what stands before its first colon is no part of it), and a link with its address.
_ROLE: Final = re.compile(
    r"(?<![\w:+-])([\w+-]*+):[\w:+-][\w:+-]++(?<=:)`([^`<]*+)(<[^`>]*+>)?+`|`([^`<]++)<[^`>]++>`_{1,2}+"
)
_SENTENCE: Final = re.compile(r"[.!?][\"')\]]?(?=\s)|[\u3002\uff01\uff1f]")


def redacted(text: str) -> str:
    """Text without what may be a secret: values of tokens and passwords, credentials in URLs, long random words."""
    text = _USER_INFO.sub(r"\1…@", _SECRET_VALUE.sub(r"\1…", text))
    return _LONG_RANDOM.sub(_REST, text)


def code(text: str, limit: int = 90) -> str:
    """Text as an inline code span: a name, a command or a path."""
    shown = _SPACE_TICKS.sub("'", safe_line(redacted(text[: 4 * limit])))
    return f"`{_cut(shown, limit)}`" if shown else "``"


def place(path: str, line: int = 0) -> str:
    """A path, or one of its lines, as an inline code span. A path is shown whole, so that it can be opened."""
    shown = _SPACE_TICKS.sub("'", safe_path(path))
    return f"`{shown}:{line}`" if line else f"`{shown}`"


def without_tags(markup: str) -> str:
    """Markup without comments and HTML tags, every line where it was."""
    return _TAG.sub(lambda match: "\n" * match.group().count("\n"), markup)


def without_elements(markup: str, opening: re.Pattern[str]) -> str:
    """Markup without the elements that `opening` finds (its group 1 is the name), every line where it was.

    One that is never closed stays; its name is not looked for again, so that many of them take no longer than one.
    """
    parts: list[str] = []
    endless: set[str] = set()
    at = read = 0
    while (tag := opening.search(markup, read)) is not None:
        name, read = tag[1].lower(), tag.end()
        end = None if name in endless else re.compile(f"</{name}>", re.IGNORECASE).search(markup, read)
        if end is None:
            endless.add(name)
        else:
            parts += [markup[at : tag.start()], "\n" * markup.count("\n", tag.start(), end.end())]
            at = read = end.end()
    return "".join(parts) + markup[at:]


def plain(markup: str) -> str:
    """Markdown or reStructuredText as a reader sees it: links, images, tags, emphasis and roles resolved."""
    text = html.unescape(_TAG.sub("", markup))
    text = _ROLE.sub(_role_text, text)
    for _ in range(2):  # an image inside a link
        text = _LINKED.sub(r"\1", text)
    text = _SHORT_LINK.sub(r"\1", text)
    return " ".join("\n".join(map(_without_emphasis, text.split("\n"))).split())


def _role_text(match: re.Match[str]) -> str:
    before, text, target, linked = match.groups()
    if linked is not None:
        return linked.rstrip()
    return before + (text.rstrip() if target else text)


def _without_emphasis(line: str) -> str:
    """A line without the marks of emphasis around words.

    The places where a mark can close are found once for all that open: an expression would read on to the end of the
    line from each mark that nothing closes.
    """
    if "*" not in line and "_" not in line:
        return line
    closing = {mark: [one.start() for one in found.finditer(line)] for mark, found in _CLOSING.items() if mark in line}
    parts: list[str] = []
    at = 0
    for opening in _MARK.finditer(line):
        start = opening.start()
        inside = _emphasized(line, start, closing) if start >= at else None
        if inside is not None:
            parts += [line[at:start], line[inside]]
            at = inside.stop + inside.start - start
    return "".join(parts) + line[at:]


def _emphasized(line: str, start: int, closing: Mapping[str, Sequence[int]]) -> slice | None:
    """What a mark at `start` sets off, the longest mark and the nearest end first."""
    for size in (3, 2, 1):
        mark, first = line[start] * size, start + size
        if not line.startswith(mark, start) or first >= len(line) or line[first].isspace():
            continue
        ends = closing[mark]
        place = bisect_right(ends, first)
        if place < len(ends):
            return slice(first, ends[place])
    return None


def quote(text: str, limit: int = 220) -> str:
    """The project's own words in quotation marks: whole sentences up to `limit` characters, else cut at a word."""
    shown = safe_line(redacted(text[: 8 * limit])).replace('"', "'").replace("<", "&lt;").replace("](", "] (")
    shown = _SPACE_TICKS.sub("'", shown).strip()
    if len(shown) > limit:
        ends = [match.end() for match in _SENTENCE.finditer(shown[: limit + 1]) if match.end() > limit // 3]
        shown = shown[: ends[-1]] if ends else _cut(shown, limit)
    return f'"{shown}"'


def listed(items: Iterable[str], most: int, *, total: int = 0) -> str:
    """Items one after the other, those beyond `most` as a count. `total` counts all where fewer are given."""
    items = list(items)
    left = max(total, len(items)) - min(most, len(items))
    return ", ".join(items[:most]) + (f" and {left:,} more" if left > 0 else "")


def counted(number: int, one: str, many: str = "") -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def joined(parts: Sequence[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}" if parts else ""


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    cut = text[:limit]
    at = max(cut.rfind(" "), cut.rfind(","))
    return (cut[:at] if at > limit // 2 else cut).rstrip(" ,;:(") + _REST
