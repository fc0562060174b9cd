"""The words of a definition: its signature on one line, its parameters counted, its comment without the marks."""

import re
from collections.abc import Collection
from typing import Final

from tree_sitter import Node

from braindex.indexing.extract_parse import children
from braindex.indexing.extract_source import Source
from braindex.languages import LanguageSpec

LONGEST_SIGNATURE: Final = 1000  # characters; more is a literal or generated code, and no one reads it in a list
LONGEST_NAME: Final = 500  # characters; selectors and headings are cut there
_UTF8_WIDEST: Final = 4  # bytes a character at most
LONGEST_SHOWN: Final = LONGEST_SIGNATURE * _UTF8_WIDEST  # bytes of a range that a signature is made of

_OPENING: Final = "([{<"
_CLOSING: Final = ")]}>"
_STAR: Final = re.compile(r"(?m)^[ \t]*\*+(?!/)[ \t]?")
_LINE_MARK: Final = re.compile(r"(?://+|#+|--+|;+)[!:/<]?[ \t]?")
_WORD: Final = re.compile(r"\w")
_FIRST_WORD: Final = re.compile(rb"[\w$]+")


def without_closing(text: str, sign: str) -> str:
    """Text without a run of a character at its end, which a space sets apart; what is nothing else stays."""
    bare = text.rstrip().rstrip(sign)
    return bare.rstrip() if bare[-1:].isspace() and bare.strip() else text


def one_line(text: str) -> str:
    """Text as written, its line ends and the indentation around them closed up; other white space is kept."""
    if "\n" not in text:
        return text.strip()
    pieces: list[str] = []
    last = ""
    for line in text.split("\n"):
        piece = line.strip().removesuffix("\\").rstrip()
        if not piece:
            continue
        if piece[0] in _CLOSING:
            if last == ",":
                pieces[-1] = pieces[-1][:-1]
        elif pieces and last not in _OPENING:
            pieces.append(" ")
        pieces.append(piece)
        last = piece[-1]
    return "".join(pieces)


def shortened(text: str, limit: int) -> str:
    """Text of at most `limit` characters, an ellipsis marking a cut."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def signature(source: Source, start: int, stop: int, comments: Collection[tuple[int, int]]) -> str:
    """The text of a range on one line, comments left out, at most LONGEST_SIGNATURE characters."""
    is_cut = stop > start + LONGEST_SHOWN  # indentation counts here, and is closed up below
    stop = min(stop, start + LONGEST_SHOWN)
    mark = "…" if is_cut else ""
    if not comments:
        return shortened(one_line(source.text(start, stop)) + mark, LONGEST_SIGNATURE)
    pieces: list[str] = []
    for comment_start, comment_end in comments:
        if start <= comment_start < stop:
            pieces.append(source.text(start, comment_start).rstrip(" \t"))
            start = comment_end
    pieces.append(source.text(start, stop) if start < stop else "")
    return shortened(one_line("".join(pieces)) + mark, LONGEST_SIGNATURE)


def name_text(source: Source, start: int, end: int) -> str:
    """The text of a name, at most four times LONGEST_NAME bytes of it."""
    return source.text(start, min(end, start + LONGEST_NAME * _UTF8_WIDEST))


def parameter_count(params: Node, source: Source, spec: LanguageSpec, *, is_method: bool) -> int:
    """Parameters a caller can pass, without one that the call itself supplies."""
    data = source.data
    if not data.startswith((b"(", b"[", b"<", b"|"), params.start_byte):
        return 1  # one bare name, as before an arrow
    named = [node for node in children(params) if node.is_named] if params.has_error else params.named_children
    counted = [node for node in named if node.type not in spec.uncounted]
    if spec.parameter_names:
        return sum(len(node.children_by_field_name(spec.parameter_names)) or 1 for node in counted)
    led_by = [node for node in named if node.type != "comment"][:1]
    unpassed = spec.never_passed | spec.bound if is_method else spec.never_passed
    if counted and unpassed and counted[:1] == led_by:  # behind a lone `*` nothing is bound
        word = _FIRST_WORD.match(data, counted[0].start_byte)
        if word is not None and word.group().decode("utf-8", "replace") in unpassed:
            return len(counted) - 1
    return len(counted)


def comment_text(comments: list[str]) -> str:
    """What adjacent comments say: marks, ornaments and ruled lines removed, lines kept, dedented."""
    lines = [line.rstrip() for comment in comments for line in _unmarked(comment).split("\n")]
    lines = ["" if line and not _WORD.search(line) else line for line in lines]
    margin = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
    return "\n".join(line[margin:] for line in lines).strip()


def _unmarked(comment: str) -> str:
    comment = comment.replace("\r\n", "\n").strip()
    if comment.startswith("/*"):
        first, _, rest = comment[2:].removesuffix("/").strip("*").partition("\n")
        body = _STAR.sub("", rest)
        return f"{_indent_of(body)}{first.removeprefix('!').strip()}\n{body}"
    if comment.startswith("<!--"):
        return comment[4:].removesuffix(">").strip("-").strip()
    mark = _LINE_MARK.match(comment)
    return comment if mark is None else comment[mark.end() :]


def _indent_of(text: str) -> str:
    """The white space before the first line that has any words: a block's first line is written beside its mark."""
    for line in text.split("\n"):
        if line.strip():
            return line[: len(line) - len(line.lstrip())]
    return ""
