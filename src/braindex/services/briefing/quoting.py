"""Words of the project as a brief may hold them: cut short, on one line, marked as the project's own, never as text
that structures the brief or speaks for it.
"""

import html
import re
from collections.abc import Iterable, Sequence
from typing import Final

from braindex.domain.display import safe_line, safe_path

_SPACE_TICKS: Final = re.compile(r"`+")
_SECRET_VALUE: Final = re.compile(
    r"(?i)\b([\w-]*(?:token|secret|passw(?:or)?d|api[_-]?key|access[_-]?key|authorization)\s*[=:]\s*[\"']?)"
    r"(?:bearer\s+)?[^\s\"'`;&|]+"
)
_USER_INFO: Final = re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^\s/@:]*:[^\s/@]*@", re.IGNORECASE)
_LONG_RANDOM: Final = re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z])\w{32,}\b")
_REST: Final = "…"

_LINKED: Final = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\](?:\([^()\s]*(?:\([^()]*\)[^()]*)*[^()]*\)|\[[^\]]*\])")
_TAG: Final = re.compile(
    r"<!--.*?(?:-->|\Z)|</?(?:a|b|br|center|code|details|div|em|font|h[1-6]|hr|i|img|kbd|li|nobr|ol|p|picture|pre|samp|small"
    r"|source|span|strong|sub|summary|sup|svg|table|tbody|td|th|thead|tr|u|ul|video)\b[^<>]{0,2000}>",
    re.DOTALL | re.IGNORECASE,
)
_SHORT_LINK: Final = re.compile(r"\[([^\[\]!]{2,})\](?![(\[:])")
_EMPHASIS: Final = re.compile(r"(\*{1,3}|(?<!\w)_{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)")
_ROLE: Final = re.compile(r":[\w:+-]+:`([^`<]*?)(?:\s*<[^`>]*>)?`|`([^`<]+?)\s*<[^`>]+>`_{1,2}")
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


def plain(markup: str) -> str:
    """Markdown or reStructuredText as a reader sees it: links, images, tags, emphasis and roles resolved."""
    text = html.unescape(_TAG.sub("", markup))
    text = _ROLE.sub(lambda match: match.group(1) or match.group(2), text)
    for _ in range(2):  # an image inside a link
        text = _LINKED.sub(r"\1", text)
    text = _SHORT_LINK.sub(r"\1", text)
    return " ".join(_EMPHASIS.sub(r"\2", text).split())


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
