"""What setting up or removing changes: one row a file, worked out before anything is written."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final, Literal

from braindex.cli.setup.parts import OwnFile, Part, Section, ServerEntry
from braindex.cli.setup.rows import ROWS, At, ClientRow, Scope
from braindex.domain.display import safe_path
from braindex.domain.errors import BraindexError

BACKUP: Final = ".before-braindex"
_MARK: Final = b"\xef\xbb\xbf"

Action = Literal["create", "change", "delete", "restore", "keep"]
Read = Callable[[PurePath], bytes | None]
"""The bytes of a file, None where there is none."""


class ClientFileUnusable(BraindexError):
    def __init__(self, path: PurePath, why: str) -> None:
        super().__init__(f"{safe_path(str(path))} was left as it is, and nothing else was written: {why}")
        self.path, self.why = path, why


class NotAFile(ClientFileUnusable):
    """Something else stands under a file's name: a folder, a pipe, a link that leads to itself."""

    def __init__(self, path: PurePath, what: str) -> None:
        super().__init__(path, f"it cannot be read ({what})")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A client and where it is set up."""

    row: ClientRow
    scope: Scope
    at: At

    @property
    def parts(self) -> Sequence[Part]:
        return self.row.parts(self.at, self.scope)


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file before and after, None where it is not there. `root` is the project that a project's file stays in."""

    path: PurePath
    clients: tuple[str, ...]
    action: Action
    before: bytes | None
    after: bytes | None
    root: PurePath | None = None
    makes_backup: bool = False
    drops_backup: bool = False

    @property
    def backup(self) -> PurePath:
        return backup_of(self.path)


def backup_of(path: PurePath) -> PurePath:
    return path.with_name(path.name + BACKUP)


def set_up(chosen: Sequence[Chosen], read: Read) -> list[FileChange]:
    """The changes that put every part of the clients in its place. Raises ClientFileUnusable."""
    return [_put_in(file, read) for file in _files(chosen) if file.is_wanted()]


def removed(chosen: Sequence[Chosen], read: Read) -> list[FileChange]:
    """The changes that take every part of the clients out. A section that another client still goes by stays."""
    kept = set(_still_used(chosen, read))
    return [change for file in _files(chosen) if file.path not in kept and (change := _taken_out(file, read))]


def is_connected(one: Chosen, read: Read) -> bool:
    """Whether a client has the server's entry in one of its files; what cannot be read has none."""
    return any(_holds(part, read) for part in one.parts if isinstance(part, ServerEntry))


def as_text(path: PurePath, content: bytes | None) -> tuple[str, bytes]:
    """A file's text and its byte order mark. Raises ClientFileUnusable."""
    content = content or b""
    mark = _MARK if content.startswith(_MARK) else b""
    try:
        return content[len(mark) :].decode("utf-8"), mark
    except UnicodeDecodeError as error:
        raise ClientFileUnusable(
            path, f"it is not UTF-8 text (byte {error.start + len(mark)}); save it as UTF-8"
        ) from error


@dataclass(slots=True)
class _File:
    """One file, with all that goes into it."""

    path: PurePath
    root: PurePath | None
    parts: list[Part]
    clients: list[str]

    def is_wanted(self) -> bool:
        """Whether it is written: some are, only where the client's folder is."""
        beside = [part.beside for part in self.parts if isinstance(part, (ServerEntry, OwnFile)) and part.beside]
        return not beside or any(os.path.isdir(one) for one in beside)

    def applied(self, text: str) -> str:
        for part in self.parts:
            text = part.applied(text)
        return text

    def stripped(self, text: str) -> str:
        for part in self.parts:
            text = part.stripped(text)
        return text

    def holds_nothing(self, text: str) -> bool:
        return any(part.holds_nothing(text) for part in self.parts)

    def is_edited(self, text: str) -> bool:
        try:
            return any(part.is_edited(text) for part in self.parts)
        except BraindexError:  # of a shape that ours never has
            return True

    @property
    def own(self) -> OwnFile | None:
        """The part that is the whole file, where it is one of braindex's own."""
        return next((part for part in self.parts if isinstance(part, OwnFile)), None)


def _files(chosen: Iterable[Chosen]) -> list[_File]:
    found: dict[PurePath, _File] = {}
    for one in chosen:
        root = one.at.project if one.scope == "project" else None
        for part in one.parts:
            file = found.setdefault(part.path, _File(part.path, root, [], []))
            file.parts.append(part)
            if one.row.name not in file.clients:
                file.clients.append(one.row.name)
    return list(found.values())


def _put_in(file: _File, read: Read) -> FileChange:
    before = read(file.path)
    text, mark = as_text(file.path, before)
    after = _guarded(file, file.applied, text)
    content = mark + _encoded(file, after)
    if before is not None and after == text:
        return _change(file, "keep", before, before)
    if before is None:
        return _change(file, "create", None, content)
    return _change(file, "change", before, content, makes_backup=_is_to_be_kept(file, text, read))


def _is_to_be_kept(file: _File, text: str, read: Read) -> bool:
    """Whether a file's text is worth a backup: not where it was made by us, or the one before it says the same. What a
    user wrote into a file of our own cannot be told from an older text of ours, so that one always is.
    """
    if (own := file.own) is not None:
        return own.is_edited(text)
    bare = _guarded(file, file.stripped, text)
    if bare == text:
        return True
    return not file.holds_nothing(bare) and _original(file, bare, read) is None


def _taken_out(file: _File, read: Read) -> FileChange | None:
    """None where there is nothing of ours in it."""
    try:
        before = read(file.path)
    except NotAFile:
        return None
    if before is None or b"braindex" not in before:  # what cannot be edited is of no concern where we are not in it
        return None
    text, mark = as_text(file.path, before)
    bare = _guarded(file, file.stripped, text)
    if bare == text:
        return None
    is_edited = file.is_edited(text)  # what somebody added to what is ours is nowhere else
    original = _original(file, bare, read)
    if original is not None:
        return _change(file, "restore", before, original, makes_backup=is_edited, drops_backup=not is_edited)
    if file.own is not None or (file.holds_nothing(bare) and read(backup_of(file.path)) is None):
        return _change(file, "delete", before, None, makes_backup=is_edited)
    makes_backup = not _has_own_of_ours(file, read)
    return _change(file, "change", before, mark + _encoded(file, bare), makes_backup=makes_backup)


def _has_own_of_ours(file: _File, read: Read) -> bool:
    """Whether the backup holds an entry of braindex that a user wrote: nothing else has it any more."""
    content = read(backup_of(file.path))
    try:
        text, _ = as_text(file.path, content)
        return content is not None and file.stripped(text) != text
    except BraindexError:
        return False


def _original(file: _File, bare: str, read: Read) -> bytes | None:
    """The file as it was before us, from its backup: where, but for what is ours, it was not changed since."""
    backup = backup_of(file.path)
    content = read(backup)
    if content is None:
        return None
    try:
        text, _ = as_text(backup, content)
        same = file.stripped(text) == text and file.stripped(file.applied(text)) == bare
    except BraindexError:
        return None
    return content if same else None


def _encoded(file: _File, text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        why = "it would have to name a path that is not UTF-8, which JSON cannot hold"
        raise ClientFileUnusable(file.path, why) from error


def _change(
    file: _File,
    action: Action,
    before: bytes | None,
    after: bytes | None,
    *,
    makes_backup: bool = False,
    drops_backup: bool = False,
) -> FileChange:
    clients = tuple(file.clients)
    return FileChange(file.path, clients, action, before, after, file.root, makes_backup, drops_backup)


def _guarded(file: _File, edit: Callable[[str], str], text: str) -> str:
    try:
        return edit(text)
    except ClientFileUnusable:
        raise
    except BraindexError as error:
        raise ClientFileUnusable(file.path, str(error)) from error


def _still_used(chosen: Sequence[Chosen], read: Read) -> Iterator[PurePath]:
    """Files with a section that a client goes by which is connected and stays so."""
    for scope, at in {one.scope: one.at for one in chosen}.items():
        going = {one.row.name for one in chosen if one.scope == scope}
        for row in ROWS:
            other = Chosen(row, scope, at)
            if row.name not in going and is_connected(other, read):
                yield from (part.path for part in other.parts if isinstance(part, Section))


def _holds(part: Part, read: Read) -> bool:
    try:
        text, _ = as_text(part.path, read(part.path))
        return part.stripped(text) != text
    except BraindexError:
        return False
