"""Edits JSON with comments in place: what an edit does not name stays as it is, byte for byte.

Clients read their files more or less strictly, so that comments and trailing commas are taken everywhere and written
nowhere.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from braindex.domain.errors import BraindexError

DEEPEST: Final = 100  # levels; no client nests ten, and the reader calls itself for each

_BLANK: Final = re.compile(r"(?:[ \t\r\n]|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_WORD: Final = re.compile(r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")
# What may stand behind a comma on its line and belongs to the member before it.
_REMARK: Final = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/[ \t]*(?=[\r\n]))")
_INDENT: Final = re.compile(r"[\r\n]([ \t]*)$")
_COLON: Final = re.compile(r'"[ \t]*:( ?)')
_END: Final = {"{": "}", "[": "]"}


class InvalidJson(BraindexError):
    def __init__(self, text: str, at: int, expected: str) -> None:
        before = text[:at].replace("\r\n", "\n").replace("\r", "\n")
        line, column = before.count("\n") + 1, at - max(text.rfind("\n", 0, at), text.rfind("\r", 0, at))
        super().__init__(f"line {line}, column {column} is no valid JSON: {expected} was expected there")


@dataclass(frozen=True, slots=True)
class Child:
    """A member of an object or an item of an array; `start` is where its key begins, of an item its value.

    `comma` is where the comma behind it is, None where there is none.
    """

    key: str
    start: int
    node: "Node"
    comma: int | None


@dataclass(frozen=True, slots=True)
class Node:
    """A value, and where it stands. `kind` is its first character for `{` and `[`, else ""."""

    kind: str
    start: int
    end: int
    value: Any
    children: Sequence[Child] = ()

    def member(self, key: str) -> Child | None:
        """The member that counts: of several with one key the last."""
        return next((one for one in reversed(self.children) if one.key == key), None)


@lru_cache(maxsize=8)  # one edit asks several times for the same text, which may have megabytes
def parse(text: str) -> Node:
    """The value of a whole text, to be looked at and not to be changed. Raises InvalidJson."""
    node = _Reader(text).value(_skip(text, 0), 0)
    end = _skip(text, node.end)
    if end != len(text):
        raise InvalidJson(text, end, "the end of the file")
    return node


def added(text: str, container: Node, value: Any, key: str = "") -> str:
    """The text with one more member or item, the last one, laid out as those before it are."""
    flat, line = _is_flat(text, container), newline(text)
    blanks = _blanks(text, container) if flat else None
    between, colon = blanks or (line, " ")
    indent = "" if flat else _indent_of(text, container)
    written = f"{json.dumps(key, ensure_ascii=False)}:{colon}" if container.kind == "{" else ""
    written += _rendered(value, blanks, indent=indent, unit=_unit(text), line=line)
    before = between + indent
    if not container.children:
        return _opened(text, container, written if flat else before + written, "" if flat else line)
    last = container.children[-1]
    comma = last.node.end if last.comma is None else last.comma + 1
    remark = None if flat else _REMARK.match(text, comma)
    at = remark.end() if remark else comma
    if last.comma is not None:
        return f"{text[:at]}{before}{written},{text[at:]}"
    return f"{text[:comma]},{text[comma:at]}{before}{written}{text[at:]}"


def replaced(text: str, node: Node, value: Any) -> str:
    """The text with another value in the place of one, laid out as its line is."""
    line_start = max(text.rfind("\n", 0, node.start), text.rfind("\r", 0, node.start)) + 1
    indent = text[line_start : node.start]
    indent = indent[: len(indent) - len(indent.lstrip(" \t"))]
    blanks = _blanks(text, node) if _is_flat(text, node) else None
    written = _rendered(value, blanks, indent=indent, unit=_unit(text), line=newline(text))
    return text[: node.start] + written + text[node.end :]


def without(text: str, container: Node, child: Child) -> str:
    """The text without a member or an item, and without the space before it and one of its commas."""
    at = next(number for number, one in enumerate(container.children) if one is child)
    before = container.children[at - 1] if at else None
    start = len(text[: child.start].rstrip(" \t\r\n"))
    if child.comma is not None and at + 1 < len(container.children):
        following = container.children[at + 1].start
        if start == container.start + 1 and not text[child.comma + 1 : following].strip():
            return text[: child.start] + text[following:]  # the next one takes the place of the first
    if child.comma is not None:
        return text[:start] + text[child.comma + 1 :]
    if before is not None and before.comma is not None:
        comma = before.comma
        return text[:comma] + text[comma + 1 : max(start, comma + 1)] + text[child.node.end :]
    rest = text[child.node.end :]
    if not text[container.start + 1 : start].strip():
        rest = rest.lstrip(" \t\r\n")
    return text[:start] + rest


def newline(text: str) -> str:
    """How the lines of a text end, as its first one does."""
    found = re.search(r"\r\n|\n|\r", text)
    return found.group() if found else "\n"


class _Reader:
    """Reads values, knowing where each begins and ends."""

    def __init__(self, text: str) -> None:
        self._text = text

    def value(self, at: int, depth: int) -> Node:
        first = self._text[at : at + 1]
        if first in _END and depth < DEEPEST:
            return self._container(first, at, depth)
        if first == '"':
            end, value = self._string(at)
            return Node("", at, end, value)
        word = _WORD.match(self._text, at)
        if word is None:
            raise InvalidJson(self._text, at, "a value")
        try:
            return Node("", at, word.end(), json.loads(word.group()))
        except ValueError:  # Python reads no number of more than 4,300 digits
            raise InvalidJson(self._text, at, "a shorter number") from None

    def _container(self, kind: str, start: int, depth: int) -> Node:
        children: list[Child] = []
        at = _skip(self._text, start + 1)
        while self._text[at : at + 1] != _END[kind]:
            if children and children[-1].comma is None:
                raise InvalidJson(self._text, at, f"a comma or {_END[kind]}")
            children.append(self._child(kind, at, depth))
            last = children[-1]
            at = _skip(self._text, last.node.end if last.comma is None else last.comma + 1)
        value = {one.key: one.node.value for one in children} if kind == "{" else [one.node.value for one in children]
        return Node(kind, start, at + 1, value, tuple(children))

    def _child(self, kind: str, start: int, depth: int) -> Child:
        key, at = "", start
        if kind == "{":
            at, key = self._string(start)
            at = _skip(self._text, at)
            if self._text[at : at + 1] != ":":
                raise InvalidJson(self._text, at, "a colon")
            at = _skip(self._text, at + 1)
        node = self.value(at, depth + 1)
        comma = _skip(self._text, node.end)
        return Child(key, start, node, comma if self._text[comma : comma + 1] == "," else None)

    def _string(self, at: int) -> tuple[int, str]:
        found = _STRING.match(self._text, at)
        if found is None:
            raise InvalidJson(self._text, at, "a text in double quotes" if at < len(self._text) else "more")
        written = found.group()
        return found.end(), json.loads(written) if "\\" in written else written[1:-1]


def _skip(text: str, at: int) -> int:
    """Where the next thing is that is neither space nor a comment."""
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _opened(text: str, container: Node, written: str, line: str) -> str:
    """A container that had no child, with one; comments in it stay before it. Without a `line` it stays on its own."""
    inside = text[container.start + 1 : container.end - 1]
    at = container.start + 1 + len(inside.rstrip(" \t\r\n"))
    rest = text[at:]
    if not _has_break(text, at, container.end):
        rest = (line + _outer_indent(text, container) if line else "") + rest.lstrip(" \t")
    return text[:at] + written + rest


def _indent_of(text: str, container: Node) -> str:
    """What the lines of a container's children begin with."""
    for child in reversed(container.children):
        if found := _INDENT.search(text[max(0, child.start - 200) : child.start]):
            return found[1]
    return _outer_indent(text, container) + _unit(text)


def _outer_indent(text: str, container: Node) -> str:
    line_start = max(text.rfind("\n", 0, container.start), text.rfind("\r", 0, container.start)) + 1
    line = text[line_start : container.start]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """One step of indentation: that of the first line that has any."""
    found = re.search(r"[\r\n]([ \t]+)[\"\[{]", text)
    if found is None:
        return "  "
    return "\t" if found[1].startswith("\t") else found[1][:8]


def _is_flat(text: str, container: Node) -> bool:
    """Whether a container without a line break stays on its line. An empty one is opened, as clients lay theirs out,
    but inside of a text that is one line, or of a list of them.
    """
    if _has_break(text, container.start, container.end):
        return False
    return bool(container.children) or (container.start > 0 and not _has_break(text.strip(), 0, len(text)))


def _blanks(text: str, container: Node) -> tuple[str, str]:
    """What stands behind commas and colons on one line: behind the first ones there, " " where there are none."""
    found = _COLON.search(text, container.start) or _COLON.search(text)
    colon = " " if found is None else found[1]
    comma = container.children[0].comma if len(container.children) > 1 else None
    return colon if comma is None else (" " if text[comma + 1] in " \t" else ""), colon


def _rendered(value: Any, blanks: tuple[str, str] | None, *, indent: str, unit: str, line: str) -> str:
    """A value on one line with these blanks behind commas and colons, or on several."""
    if blanks is not None:
        return json.dumps(value, ensure_ascii=False, separators=(f",{blanks[0]}", f":{blanks[1]}"))
    return line.join(_lines(json.dumps(value, ensure_ascii=False, indent=unit), indent))


def _lines(written: str, indent: str) -> Iterator[str]:
    first, *rest = written.split("\n")
    yield first
    for one in rest:
        yield indent + one


def _has_break(text: str, start: int, end: int) -> bool:
    return "\n" in text[start:end] or "\r" in text[start:end]
