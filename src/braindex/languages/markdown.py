"""Markdown: headings as an outline, front matter, task lists and fenced code."""

import re
from collections.abc import Iterator
from typing import Final

from braindex.languages.spec import LanguageSpec

_LONGEST: Final = 500  # characters of a heading that are looked at
_ESCAPED: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_TICKS: Final = re.compile(r"`+")
_LINK: Final = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\]]*\])")
_AUTOLINK: Final = re.compile(r"<((?:https?|mailto):[^<>\s]++|[^<>\s@]++@[^<>\s]++)>")
_TAG: Final = re.compile(r"</?[A-Za-z][^>]*>|<!--.*?-->")
_MARKS: Final = "*_~"
# Each mark looks for its other half up to the end: a heading of hundreds of marks, which is none, would take long.
_MOST_MARKS: Final = 60
_ATTRIBUTES: Final = re.compile(r"\s*\{[#.:/][^}]*\}\s*$")
_EMPHASIS: Final = re.compile(r"(?<!\\)(\*{1,3}|~~|(?<!\w)_{1,3})(?=\S)(.+?)(?<=[^\s\\])\1(?!\w)")


def _plain(text: str) -> str:
    """The text a reader sees of a heading: marks of code, links, emphasis, HTML and attributes removed."""
    text = " ".join(text[:_LONGEST].split())
    pieces: list[str] = []
    at = 0
    for start, inner_start, inner_end, end in _code_spans(text):  # what stands in code is shown as it is
        pieces += [_marked(text[at:start]), text[inner_start:inner_end].strip()]
        at = end
    pieces.append(_marked(text[at:]))
    return " ".join(_ATTRIBUTES.sub("", "".join(pieces)).split()) or text


def _code_spans(text: str) -> Iterator[tuple[int, int, int, int]]:
    """(start, start of the code, end of the code, end) of each code span: it ends at as many ticks as it began with."""
    runs = [match.span() for match in _TICKS.finditer(text)]
    index = 0
    while index < len(runs):
        start, inner_start = runs[index]
        width = inner_start - start
        closing = next((at for at in range(index + 1, len(runs)) if runs[at][1] - runs[at][0] == width), None)
        if closing is not None:
            yield start, inner_start, *runs[closing]
            index = closing
        index += 1


def _marked(text: str) -> str:
    if "[" in text:
        for _ in range(2):  # an image inside a link
            text = _LINK.sub(r"\1", text)
    if "<" in text:
        text = _TAG.sub("", _AUTOLINK.sub(r"\1", text))
    if 1 < sum(map(text.count, _MARKS)) <= _MOST_MARKS:
        text = _EMPHASIS.sub(r"\2", text)
    return _ESCAPED.sub(r"\1", text) if "\\" in text else text


MARKDOWN: Final = LanguageSpec(
    name="markdown",
    suffixes=(".md", ".markdown", ".mdx"),
    grammar="tree_sitter_markdown:language",
    queries=("markdown",),
    separator=" > ",
    comment_docs=frozenset(),
    clean_name=_plain,
)
