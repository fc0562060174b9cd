"""What a parser does not name still answers questions: the file itself, and runs of code outside any definition."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from braindex.domain.entities import CodeEntity

LONGEST_BLOCK: Final = 50  # lines; a longer run is cut, so that a citation still points at something
_SHORTEST_BLOCK: Final = 2  # lines of substance; a lone statement is found through its file
_HEADER_LINES: Final = 60  # of comments
_LONGEST_DOC: Final = 400  # lines from the top of a file to the end of its docstring
_NAME_LENGTH: Final = 60
_NAMED: Final = 40  # top-level names that a file's passage lists

# Matched against lines of up to a megabyte, while which no other thread runs: a quantifier gives nothing back (`*+`,
# `++`) where what follows could take the same characters, so that the time grows with the length alone.
_IMPORT: Final = re.compile(
    r"^\s*+(import\b|from\s++\S++\s++import\b|export\s++(\*|\{[^}]*+\})\s++from\b|#\s*+include\b|use\s++[\w:\\]"
    r"|@import\b|(const|let|var)\s[\w{},\s$]++=\s*+require\()"
)
_IMPORT_LETTERS: Final = frozenset("ifeuclv")  # that an import may begin with
_QUOTED_DOC: Final = re.compile(r"\A\s*+[rRuUbB]{0,2}+(\"\"\"|''')(?P<text>.*?)\1", re.DOTALL)
_BLOCK_COMMENT: Final = re.compile(r"\A\s*+(?:/\*(?P<c>.*?)\*/|<!--(?P<m>.*?)-->)", re.DOTALL)
_LINE_COMMENT: Final = re.compile(r"^\s*+(#+(?!!)|//+|;+|--)\s?(?P<text>.*)$")
_LEADING: Final = re.compile(
    r"\A(\ufeff|#![^\n]*\n|#[^\n]*\bcoding[:=][^\n]*\n|<!doctype[^>]*>|['\"]use (strict|client|server)['\"];?|\s)++",
    re.IGNORECASE,
)
_STAR: Final = re.compile(r"^[^\S\n]*+\*++ ?", re.MULTILINE)
_DIRECTIVE: Final = re.compile(r"^\s*+(['\"])use \w++\1;?\s*+$")
_COMMENT_BEGINS: Final = re.compile(r"\s*+(/\*|<!--)")
_COMMENT_ENDS: Final = {"/*": "*/", "<!--": "-->"}
_LINE_ENDS: Final = (b"", b"\n", b"\r")  # of a text, which none ends that is empty
_NOISE: Final = re.compile(r"^[\W_]*$")
_NOTICE: Final = re.compile(r"copyright|licen[cs]ed? under|SPDX-License|all rights reserved", re.IGNORECASE)


def leading_comment(text: str) -> str:
    """The first comment, docstring or heading of a file, cleaned; "" when it opens with something else.

    A licence notice says nothing about the file and is passed over; a docstring says more than a comment above it.
    """
    first = ""
    for _ in range(4):
        text = _after_leading(text)
        if doc := _QUOTED_DOC.match(text):
            return doc["text"].strip()
        found, text = _one_comment(text)
        if not found:
            break
        first = first or ("" if _NOTICE.search(found) else found)
    return first


def _after_leading(text: str) -> str:
    return text[match.end() :] if (match := _LEADING.match(text)) else text


def _one_comment(text: str) -> tuple[str, str]:
    match = _BLOCK_COMMENT.match(text)
    if match:
        inside = (match["c"] or "").strip("*").removeprefix("!") or match["m"] or ""
        return _STAR.sub("", inside).strip(), text[match.end() :]
    kept: list[str] = []
    used = 0
    for line in text.splitlines(keepends=True)[:_HEADER_LINES]:
        comment = _LINE_COMMENT.match(line.rstrip("\r\n"))
        if comment is None:
            break
        kept.append(comment["text"])
        used += len(line)
    return "\n".join(kept).strip(), text[used:]


def imports(lines: Sequence[str]) -> list[str]:
    """The import lines of a file, as written, at most the first hundred."""
    return [line.strip() for line in lines if _IMPORT.match(line)][:100]


def file_entity(
    path: str, language: str, lines: Sequence[str], entities: Sequence[CodeEntity], size: int
) -> CodeEntity:
    """The entity of the file itself. It is cited by its header: up to the line before its first definition."""
    name = path.rsplit("/", 1)[-1]
    last = len(lines) or 1
    first_definition = min((one.line for one in entities), default=last + 1)
    end = max(1, min(last, first_definition - 1)) if entities else last
    return CodeEntity(
        path=path, kind="file", name=name, qualified_name=path, parent="", language=language, line=1, end_line=end,
        signature=path, docstring=leading_comment("\n".join(lines[:_LONGEST_DOC])), start=0, end=size,
    )  # fmt: skip


def file_body(lines: Sequence[str], entities: Sequence[CodeEntity], docstring: str) -> str:
    """What the file is known by: its leading comment, its top-level names, its imports; without names, its text."""
    if not entities:
        return "\n".join(lines)
    names = [one.name for one in entities if not one.parent][:_NAMED]
    return "\n".join([docstring, " ".join(names), *imports(lines)])


def _described_lines(lines: Sequence[str]) -> int:
    """How many lines at the top are the file's own description, which its `file` entity carries."""
    text = head = "\n".join(lines[:_LONGEST_DOC])
    for _ in range(4):
        text = _after_leading(text)
        if doc := _QUOTED_DOC.match(text):
            return head[: len(head) - len(text) + doc.end()].count("\n") + 1
        found, text = _one_comment(text)
        if not found:
            break
    return 0


def _covered(entities: Sequence[CodeEntity], count: int, offsets: Sequence[int]) -> bytearray:
    """Which lines lie in a definition, its decorators included. One with a parent may stand outside of it, as what is
    assigned to a prototype does.
    """
    covered = bytearray(count + 2)
    for one in entities:
        first = min(one.line, bisect_right(offsets, one.start, hi=count))
        length = min(one.end_line, count) - first + 1
        covered[first : first + length] = b"\x01" * length
    return covered


def _in_comments(lines: Sequence[str], data: bytes) -> bytearray:
    """Which lines lie in a block comment that begins a line: they say something, and do nothing."""
    found = bytearray(len(lines) + 1)
    if b"/*" not in data and b"<!--" not in data:
        return found
    end, began = "", 0
    for number, line in enumerate(lines, start=1):
        begins = not end and _COMMENT_BEGINS.match(line)
        end = _COMMENT_ENDS[begins[1]] if begins else end
        if end:
            _, closed, rest = line[begins.end() if begins else 0 :].partition(end)
            found[number] = not rest.strip()
            began = number if begins else began
            end = "" if closed else end
    if end:  # it is never closed: a line of a string, which only looks like the beginning of a comment
        found[began:] = bytes(len(found) - began)
    return found


def _runs(lines: Sequence[str], covered: bytearray) -> list[tuple[int, int]]:
    """Line ranges (from 1, inclusive) without definitions, trimmed of blank ends, cut at 50 lines."""
    runs: list[tuple[int, int]] = []
    start = 0
    for number in range(1, len(lines) + 2):
        inside = number <= len(lines) and not covered[number]
        if inside and not start:
            start = number
        if start and (not inside or number - start >= LONGEST_BLOCK):
            runs.append((start, number - 1))
            start = number if inside else 0
    return runs


def _trimmed(lines: Sequence[str], start: int, end: int) -> tuple[int, int]:
    while start <= end and _NOISE.match(lines[start - 1]):
        start += 1
    while end >= start and not lines[end - 1].strip():
        end -= 1
    return start, end


def _substance(line: str) -> bool:
    text = line.lstrip()
    if text[:1].isalnum():  # most lines: of all these only an import begins so
        return text[0] not in _IMPORT_LETTERS or _IMPORT.match(text) is None
    return not (_NOISE.match(text) or _IMPORT.match(text) or _LINE_COMMENT.match(text) or _DIRECTIVE.match(text))


def _block_name(line: str) -> str:
    """A line of substance as a name: cut at a word's end."""
    text = line.strip()
    return text if len(text) <= _NAME_LENGTH else text[:_NAME_LENGTH].rsplit(" ", 1)[0] + "…"


def _line_starts(data: bytes) -> list[int]:
    """The byte offset of every line, the one after the last line end too, and the length."""
    starts = list(accumulate(map(len, data.splitlines(keepends=True)), initial=0))
    return [*starts, len(data)] if data[-1:] in _LINE_ENDS else starts


def code_blocks(
    path: str, language: str, lines: Sequence[str], entities: Sequence[CodeEntity], data: bytes
) -> list[CodeEntity]:
    """Runs of code outside any definition, at most 50 lines each, named by their first line of substance."""
    offsets = _line_starts(data)
    seen: dict[str, int] = {}
    blocks: list[CodeEntity] = []
    covered = _covered(entities, len(lines), offsets)
    commented = _in_comments(lines, data)
    described = _described_lines(lines)
    covered[1 : described + 1] = b"\x01" * described
    for first, last in _runs(lines, covered):
        start, end = _trimmed(lines, first, last)
        solid = [lines[at - 1] for at in range(start, end + 1) if not commented[at] and _substance(lines[at - 1])]
        if len(solid) < _SHORTEST_BLOCK:
            continue
        name = _block_name(solid[0])
        ordinal = seen[name] = seen.get(name, -1) + 1
        blocks.append(
            CodeEntity(
                path=path, kind="code-block", name=name, qualified_name=name, parent="", language=language, line=start,
                end_line=end, signature=name, ordinal=ordinal, start=offsets[start - 1], end=offsets[end],
            )
        )  # fmt: skip
    return blocks
