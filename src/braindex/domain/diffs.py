"""Unified diffs as git writes them: which files changed, and which of their lines a review may point at."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

ChangeKind = Literal["added", "deleted", "modified", "renamed", "copied"]
Range = tuple[int, int]
"""First and last line, counted from 1, both included."""

_HUNK: Final = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(.*)")
_INDEX: Final = re.compile(r"index ([0-9a-f]{4,64})\.\.([0-9a-f]{4,64})(?: ([0-7]{6}))?")
_START: Final = "diff --git "
_NO_NEWLINE: Final = "\\"
_ESCAPED: Final = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPES: Final = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
_QUOTED: Final = r'"(?:[^"\\]|\\.)*+"'
_TWO_QUOTED: Final = re.compile(rf'({_QUOTED}|a/[^"]*) ({_QUOTED}|b/[^"]*)')
_LINK_MODE: Final = "120000"
_SUBMODULE_MODE: Final = "160000"


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that changed, with those around them. `lines` keep their sign: " ", "-", "+", or a backslash for git's
    remark that the line above has no end.
    """

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    section: str = ""
    lines: tuple[str, ...] = ()

    def numbered(self) -> Iterator[tuple[str, int, int, str]]:
        """(sign, line on the old side, line on the new side, text) of each line, without git's remarks.

        On the side that a line is not on, the number is that of the next line there.
        """
        # Of an empty side git names the line before it.
        old, new = self.old_start + (not self.old_count), self.new_start + (not self.new_count)
        for line in self.lines:
            sign = line[:1]
            if sign == _NO_NEWLINE:
                continue
            yield sign, old, new, line[1:]
            old += sign != "+"
            new += sign != "-"


@dataclass(frozen=True, slots=True)
class FileDiff:
    """What happened to one file. Paths are relative to where git was asked, with `/`.

    `path` is that on the new side, of a deleted file that on the old one; `old_path` is "" for a new file. `old_id` and
    `new_id` are git's names of the contents, "" or zeros where there is none. `mode` is git's, such as 100644.
    """

    path: str
    old_path: str = ""
    kind: ChangeKind = "modified"
    binary: bool = False
    old_id: str = ""
    new_id: str = ""
    mode: str = ""
    hunks: tuple[Hunk, ...] = ()

    @property
    def is_text(self) -> bool:
        """Whether it holds text of its own: a link and a submodule only name something else."""
        return not self.binary and self.mode not in {_LINK_MODE, _SUBMODULE_MODE}

    @property
    def added(self) -> tuple[Range, ...]:
        """Lines of the new side that were added."""
        return _ranges([new for one in self.hunks for sign, _, new, _ in one.numbered() if sign == "+"])

    @property
    def removed(self) -> tuple[Range, ...]:
        """Lines of the old side that were removed."""
        return _ranges([old for one in self.hunks for sign, old, _, _ in one.numbered() if sign == "-"])

    @property
    def citable(self) -> tuple[Range, ...]:
        """Lines that a finding may point at: of the new side those that the diff shows, of a deleted file the old."""
        if self.kind == "deleted":
            return self.removed
        return _ranges([new for one in self.hunks for sign, _, new, _ in one.numbered() if sign != "-"])

    def cited(self, line: int, end_line: int) -> Range | None:
        """The lines as far as they may be cited; None where the first may not."""
        here = next((one for one in self.citable if one[0] <= line <= one[1]), None)
        return None if here is None else (line, min(max(line, end_line), here[1]))

    def counts(self) -> tuple[int, int]:
        """How many lines were added and removed."""
        return _count(self.added), _count(self.removed)

    def text(self) -> str:
        """All lines of its hunks, without their signs."""
        return "\n".join(text for one in self.hunks for _, _, _, text in one.numbered())


@dataclass(slots=True)
class _Draft:
    """A file while its header and hunks are read."""

    found: dict[str, Any] = field(default_factory=dict)
    hunks: list[Hunk] = field(default_factory=list)

    def done(self) -> FileDiff | None:
        kind: ChangeKind = self.found.pop("kind", "modified")
        old, new = self.found.pop("old", ""), self.found.pop("new", "")
        path = old if kind == "deleted" else new or old
        if not path:
            return None
        old_path = "" if kind == "added" else old or path
        return FileDiff(path=path, old_path=old_path, kind=kind, hunks=tuple(self.hunks), **self.found)


def parse_diff(text: str) -> tuple[FileDiff, ...]:
    """The files of a diff that `git diff` wrote with the prefixes `a/` and `b/`, in its order.

    Lines end at LF alone, so that a carriage return stays a part of its line. What is no diff is passed over; of a diff
    that ends early, what there is counts.
    """
    lines = text.split("\n")
    files: list[FileDiff | None] = []
    at = 0
    while at < len(lines):
        if not lines[at].startswith(_START):
            at += 1
            continue
        draft = _Draft(dict(zip(("old", "new"), _both(lines[at][len(_START) :]), strict=True)))
        at = _read_file(lines, at + 1, draft)
        files.append(draft.done())
    return tuple(one for one in files if one is not None)


def new_file(path: str, text: str, *, binary: bool = False) -> FileDiff:
    """A file that git does not know yet, as the diff that adds it would show it."""
    lines = text.split("\n")
    ends = not lines[-1]
    shown = [f"+{line}" for line in (lines[:-1] if ends else lines)]
    if not shown or binary:
        return FileDiff(path, kind="added", binary=binary)
    remark = () if ends else (f"{_NO_NEWLINE} No newline at end of file",)
    return FileDiff(path, kind="added", hunks=(Hunk(0, 0, 1, len(shown), lines=(*shown, *remark)),))


def _read_file(lines: Sequence[str], at: int, draft: _Draft) -> int:
    """Reads what follows a file's first line; the number of the line behind it."""
    while at < len(lines) and not lines[at].startswith(_START):
        head = _HUNK.match(lines[at])
        if head is None:
            _read_header(lines[at], draft.found)
            at += 1
        else:
            hunk, at = _read_hunk(lines, at + 1, head)
            draft.hunks.append(hunk)
    return at


def _read_hunk(lines: Sequence[str], at: int, head: re.Match[str]) -> tuple[Hunk, int]:
    """As many lines as its head says: a removed line may read like the beginning of another file."""
    old_count, new_count = int(head[2] or "1"), int(head[4] or "1")
    old, new = old_count, new_count
    taken: list[str] = []
    while at < len(lines) and (old > 0 or new > 0 or lines[at].startswith(_NO_NEWLINE)):
        sign = lines[at][:1]
        if sign not in {" ", "-", "+", _NO_NEWLINE}:
            break
        old -= sign in {" ", "-"}
        new -= sign in {" ", "+"}
        taken.append(lines[at])
        at += 1
    return Hunk(int(head[1]), old_count, int(head[3]), new_count, head[5].strip(), tuple(taken)), at


def _read_header(line: str, found: dict[str, Any]) -> None:
    word, _, rest = line.partition(" ")
    if index := _INDEX.fullmatch(line):
        found["old_id"], found["new_id"] = index[1], index[2]
        found["mode"] = index[3] or found.get("mode", "")
    elif word in {"---", "+++"} and rest.rstrip("\t") != "/dev/null":
        found["old" if word == "---" else "new"] = _unquoted(rest.removesuffix("\t"))[2:]
    elif word in {"rename", "copy"} and rest.startswith(("from ", "to ")):
        side, _, path = rest.partition(" ")
        found["kind"] = "renamed" if word == "rename" else "copied"
        found["old" if side == "from" else "new"] = _unquoted(path)
    elif line.startswith(("new file mode ", "deleted file mode ")):
        found["kind"] = "added" if word == "new" else "deleted"
        found["mode"] = line.rpartition(" ")[2]
    elif line.startswith("new mode "):
        found["mode"] = line.rpartition(" ")[2]
    elif line.startswith(("Binary files ", "GIT binary patch")):
        found["binary"] = True


def _both(rest: str) -> tuple[str, str]:
    """The two paths of a `diff --git` line; ("", "") where only the lines below can tell them apart.

    Both are the same but of a rename, which names them below.
    """
    if '"' in rest:
        two = _TWO_QUOTED.fullmatch(rest)
        return (_unquoted(two[1])[2:], _unquoted(two[2])[2:]) if two else ("", "")
    half = len(rest) // 2
    old, new = rest[:half], rest[half + 1 :]
    same = rest[half : half + 1] == " " and old[:2] == "a/" and new[:2] == "b/" and old[2:] == new[2:]
    return (old[2:], new[2:]) if same else ("", "")


def _unquoted(path: str) -> str:
    """A path as git quotes those with control characters, quotes and backslashes: like a C string, bytes as octal."""
    if len(path) < 2 or not (path.startswith('"') and path.endswith('"')):
        return path

    def plain(match: re.Match[bytes]) -> bytes:
        escaped = match[1]
        return bytes([int(escaped, 8) & 0xFF]) if len(escaped) == 3 else _ESCAPES.get(escaped, escaped)

    return _ESCAPED.sub(plain, path[1:-1].encode("utf-8", "surrogatepass")).decode("utf-8", "replace")


def _ranges(lines: Sequence[int]) -> tuple[Range, ...]:
    """Lines in ascending order, those that follow each other as one range."""
    found: list[Range] = []
    for line in lines:
        if found and found[-1][1] == line - 1:
            found[-1] = (found[-1][0], line)
        elif not found or line > found[-1][1]:
            found.append((line, line))
    return tuple(found)


def _count(ranges: Sequence[Range]) -> int:
    return sum(last - first + 1 for first, last in ranges)
