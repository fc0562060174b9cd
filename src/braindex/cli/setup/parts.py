"""What setup puts into files: a server's entry, hooks, a section of rules, a file of its own.

Each part can be put into a text and taken out of it. Twice in is once, and out again leaves nothing of it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath, PureWindowsPath
from typing import Any, Final, Literal, Protocol

from braindex.cli.setup.jsonc import newline, parse
from braindex.cli.setup.members import reached, with_handler, with_values, without_handlers, without_member
from braindex.domain.errors import BraindexError

SERVER: Final = "braindex"
BEGIN: Final = "<!-- braindex: begin; `braindex setup` updates and removes what is written here -->"
END: Final = "<!-- braindex: end -->"

_BEGIN: Final = re.compile(r"<!-- braindex: begin\b[^\r\n]*-->")

Purpose = Literal["server", "hooks", "rules"]


class BrokenSection(BraindexError):
    def __init__(self) -> None:
        super().__init__(f"a section of braindex begins in it and does not end; put `{END}` behind it, or take it out")


class NotOurFile(BraindexError):
    def __init__(self) -> None:
        super().__init__("it is there already and was not written by braindex; rename it, then repeat")


class Part(Protocol):
    """One thing in one file. `applied` takes "" for a file that is not there."""

    @property
    def path(self) -> PurePath: ...
    @property
    def purpose(self) -> Purpose: ...
    def applied(self, text: str) -> str: ...
    def stripped(self, text: str) -> str: ...
    def holds_nothing(self, text: str) -> bool: ...
    def is_edited(self, text: str) -> bool:
        """Whether what is ours in a text says more, or other, than is written for one installation or another."""
        ...


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """The server among those of a client's file. Keys that a user or a client added to it stay. With `beside` it is
    written only where that folder is.
    """

    path: PurePath
    key: str
    values: Mapping[str, Any]
    beside: PurePath | None = None
    purpose: Purpose = "server"

    def applied(self, text: str) -> str:
        return with_values(_object(text), (self.key, SERVER), self.values)

    def stripped(self, text: str) -> str:
        return without_member(text, (self.key, SERVER)) if text.strip() else text

    def holds_nothing(self, text: str) -> bool:
        return _is_empty(text)

    def is_edited(self, text: str) -> bool:
        if not text.strip():
            return False
        node, rest = reached(parse(text), (self.key,))
        there = None if rest else node.member(SERVER)
        if there is None:
            return False
        entry = there.node.value
        command = entry.get("command") if isinstance(entry, dict) else None
        is_ours = isinstance(command, str) and PureWindowsPath(command).stem == SERVER  # it splits at / as well
        return not is_ours or set(entry) != set(self.values)


@dataclass(frozen=True, slots=True)
class Hooks:
    """Commands that a client runs at its events. `steps` lead to the object of events; `grouped` are the handlers of a
    client that groups them by what they match. `defaults` are what the file has to say besides.
    """

    path: PurePath
    steps: Sequence[str]
    commands: Mapping[str, str]
    handler: Mapping[str, Any]
    grouped: bool = False
    defaults: Mapping[str, Any] | None = None
    purpose: Purpose = "hooks"

    def applied(self, text: str) -> str:
        text = _object(text)
        there = parse(text)
        for key, value in (self.defaults or {}).items():
            if there.member(key) is None:
                text = with_values(text, (), {key: value})
        for event, command in self.commands.items():
            handler = {**self.handler, "command": command}
            item = {"hooks": [handler]} if self.grouped else handler
            text = with_handler(text, (*self.steps, event), item, _ours(command))
        return text

    def stripped(self, text: str) -> str:
        if not text.strip():
            return text
        for event, command in self.commands.items():
            text = without_handlers(text, (*self.steps, event), _ours(command))
        return text

    def holds_nothing(self, text: str) -> bool:
        return _is_empty(text, self.defaults or {})

    def is_edited(self, text: str) -> bool:
        # With one and the same command in both, what was added to a handler is what is left of the difference.
        return bool(text.strip()) and parse(self.applied(text)).value != parse(self.applied(self.stripped(text))).value


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a Markdown file that belongs to the user."""

    path: PurePath
    body: str
    purpose: Purpose = "rules"

    def applied(self, text: str) -> str:
        line = newline(text)
        block = self._block(line)
        there = _section(text)
        if there is not None:  # a second one, as a merge leaves it, goes
            return text[: there[0]] + block + _without_sections(text[there[1] :], line)
        if not text:
            return block + line
        gap = line if text.endswith(("\n", "\r")) else line * 2
        return text + gap + block + line

    def stripped(self, text: str) -> str:
        return _without_sections(text, newline(text))

    def holds_nothing(self, text: str) -> bool:
        return not text.strip()

    def is_edited(self, text: str) -> bool:
        there = _section(text)
        return there is not None and text[there[0] : there[1]] != self._block(newline(text))

    def _block(self, line: str) -> str:
        return line.join([BEGIN, *self.body.strip("\n").split("\n"), END])


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A whole file of braindex's own; `mark` tells it from one that a user wrote under its name.

    `command` is what of the text differs from one installation to another. With `beside` it is written only where that
    folder is.
    """

    path: PurePath
    text: str
    mark: str
    purpose: Purpose = "rules"
    command: str = ""
    beside: PurePath | None = None

    def is_edited(self, text: str) -> bool:
        if not self.command:
            return text != self.text
        head, _, tail = self.text.partition(self.command)
        between = text[len(head) : len(text) - len(tail)]
        return not (text.startswith(head) and text.endswith(tail) and "\n" not in between)

    def applied(self, text: str) -> str:
        if text and self.mark not in text:
            raise NotOurFile
        return self.text

    def stripped(self, text: str) -> str:
        return "" if self.mark in text else text

    def holds_nothing(self, text: str) -> bool:
        return not text


def _object(text: str) -> str:
    return text if text.strip() else "{}\n"


def _is_empty(text: str, besides: Mapping[str, Any] | None = None) -> bool:
    """Whether a JSON text says nothing, in a comment neither."""
    if not text.strip():
        return True
    node = parse(text)
    written = re.sub(r"\s", "", text)
    return node.value in ({}, dict(besides or {})) and "/*" not in written and "//" not in written


def _ours(command: str) -> re.Pattern[str]:
    """A hook of braindex for that client and event, wherever its command lies."""
    words = command.rpartition(" hook ")[2]
    return re.compile(rf"\bbraindex(?:\.exe)?[\"']?\s+hook\s+{re.escape(words)}\s*$")


def _without_sections(text: str, line: str) -> str:
    """The text without any section and the empty line before each. Raises BrokenSection."""
    while (there := _section(text)) is not None:
        before, after = text[: there[0]], text[there[1] :].removeprefix(line)
        text = (before.removesuffix(line) if before.endswith(line * 2) else before) + after
    return text


def _section(text: str) -> tuple[int, int] | None:
    """Where the section is. Raises BrokenSection."""
    begin = _BEGIN.search(text)
    if begin is None:
        return None
    end = text.find(END, begin.end())
    if end < 0:
        raise BrokenSection
    return begin.start(), end + len(END)
