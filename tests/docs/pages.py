"""The repository's Markdown pages, taken apart: headings, links, blocks of code, and the command lines in them."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
DOCS: Final = ROOT / "docs"

_FENCE: Final = re.compile(r"^( *)(`{3,}|~{3,})([^\n`]*)\n(.*?)^ *\2[`~]*[ ]*$", re.MULTILINE | re.DOTALL)
_SPAN: Final = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_LINK: Final = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^()\s<>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_REFERENCE: Final = re.compile(r"^ {0,3}\[[^\]]+\]:\s+(\S+)", re.MULTILINE)
_TAG: Final = re.compile(r"<(?:a|img|source)\b[^>]*?\b(?:href|src|srcset)=\"([^\"]+)\"")
_HEADING: Final = re.compile(r"^#{1,6} +(.+?)(?: +#+)?$", re.MULTILINE)
_SHELLS: Final = frozenset({"", "sh", "bash", "shell", "console", "text", "yaml"})

# What stands for a value of the user's in a command line.
_VALUES: Final = {
    "COMMAND": "status", "CLIENT": "pi", "N": "8", "WHEN": "today", "DATE": "2026-11-01", "WHAT": "day",
    "VERDICT": "comment",
}  # fmt: skip


@dataclass(frozen=True)
class Block:
    """A fenced block of code."""

    language: str
    text: str


@dataclass(frozen=True)
class Page:
    path: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def blocks(self) -> list[Block]:
        return [Block(one[3].strip().split(" ")[0], one[4]) for one in _FENCE.finditer(self.text)]

    @cached_property
    def prose(self) -> str:
        """The text without its blocks of code."""
        return _FENCE.sub("", self.text)

    @cached_property
    def spans(self) -> list[str]:
        """What stands in prose between backquotes."""
        return [" ".join(one[2].split()) for one in _SPAN.finditer(self.prose)]

    @cached_property
    def links(self) -> list[str]:
        bare = _SPAN.sub("`", self.prose)
        return [*_LINK.findall(bare), *_REFERENCE.findall(bare), *_TAG.findall(bare)]

    @cached_property
    def anchors(self) -> set[str]:
        """As GitHub makes them: of equal ones the second gets `-1` behind it."""
        seen: dict[str, int] = {}
        found = set()
        for heading in _HEADING.findall(self.prose):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
            anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            count = seen[anchor] = seen.get(anchor, -1) + 1
            found.add(f"{anchor}-{count}" if count else anchor)
        return found

    def braindex_lines(self) -> Iterator[tuple[str, list[str]]]:
        """(as it stands, the arguments of braindex) of every command line, in blocks and in prose, with and without what
        may be left out.
        """
        for line in self._command_lines():
            for variant in _variants(line):
                for arguments in _calls(variant):
                    yield line, arguments

    def _command_lines(self) -> Iterator[str]:
        for block in self.blocks:
            if block.language in _SHELLS:
                # Two blanks end a command: what follows says what it does.
                lines = block.text.replace("\\\n", " ").splitlines()
                yield from (_before_description(one.strip()) for one in lines if "braindex" in one)
        yield from (one for one in self.spans if one.startswith("braindex ") and "|" not in one.split("[")[0])


def pages() -> list[Page]:
    """Every page of the repository; samples of the parser's tests are none."""
    folders = (ROOT, DOCS, ROOT / "training")
    return [Page(path) for folder in folders for path in sorted(folder.glob("*.md"))]


def guides() -> list[Page]:
    """What a user reads: the README and the pages in docs/."""
    return [one for one in pages() if one.path.parent == DOCS or one.path.name == "README.md"]


def page(name: str) -> Page:
    return Page(ROOT / name)


def _before_description(line: str) -> str:
    quoted = ""
    for at, character in enumerate(line):
        if character in "\"'":
            quoted = "" if quoted == character else quoted or character
        if not quoted and line[at : at + 2] == "  ":
            return line[:at]
    return line


def _variants(line: str) -> Iterator[str]:
    """A line without what stands in brackets, and with each of it alone; each of several words for one place."""
    line = line.replace("…", "")
    optional = re.findall(r"\[([^\[\]]*)\]", line)
    bare = re.sub(r"\s*\[[^\[\]]*\]", "", line)
    yield from _choices(bare)
    for one in optional:
        for choice in one.split(" | "):
            with_it = line.replace(f"[{one}]", choice, 1)
            yield from _choices(re.sub(r"\s*\[[^\[\]]*\]", "", with_it))


def _choices(line: str) -> Iterator[str]:
    """`text|markdown` is either; a bar between blanks is a pipe."""
    found = re.search(r"(?<![\w-])([\w-]+(?:\|[\w-]+)+)(?![\w-])", line)
    if not found:
        yield line
        return
    for one in found[1].split("|"):
        yield from _choices(line[: found.start()] + one + line[found.end() :])


def _calls(line: str) -> Iterator[list[str]]:
    """The arguments of every call of braindex in a line of a shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.commenters = "#"
    command: list[str] = []
    redirected = False
    for token in [*lexer, ";"]:
        if token and set(token) <= set("();<>|&"):
            redirected = set(token) <= set("<>")
            if not redirected:
                yield from _arguments(command)
                command = []
        elif redirected:
            redirected = False
        else:
            command.append(token)


def _arguments(command: list[str]) -> Iterator[list[str]]:
    names = [at for at, word in enumerate(command) if word == "braindex" or word.endswith("/bin/braindex")]
    # Before it may stand what a shell or a client's own command line has: `KEY=value`, `- run:`, `claude mcp add x --`.
    if names:
        yield [_VALUES.get(word, word) for word in command[names[-1] + 1 :]]
