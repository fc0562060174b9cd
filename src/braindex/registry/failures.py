"""What can go wrong with a store, in words: each names the file and the next safe step."""

import errno
import os
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

from braindex.domain.errors import BraindexError

_NO_SPACE: Final = frozenset({errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)})
_WINDOWS_IN_USE: Final = 32  # ERROR_SHARING_VIOLATION, which Python reports as a lack of permission
_DENIED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


class StoreError(BraindexError):
    """A store could not do what was asked. Nothing was changed: every write is one transaction."""

    def __init__(self, path: Path, message: str) -> None:
        self.path = path
        super().__init__(message)


class StoreDamaged(StoreError):
    """The file is not a database, or parts of it are lost.

    `identity` is the (device, inode) of the damaged file, so that setting it aside cannot hit a fresh one
    that another process has put in its place meanwhile; by default that of the file that is there now.
    """

    def __init__(self, path: Path, detail: str, remedy: str, identity: tuple[int, int] | None = None) -> None:
        self.identity = identity or file_identity(path)
        self.detail = detail
        super().__init__(path, f"{path} is damaged ({detail}). {remedy}")


class StoreTooNew(StoreError):
    def __init__(self, path: Path, version: str) -> None:
        self.version = version
        super().__init__(
            path,
            f"{path} was written by braindex {version}, which is newer than this one; nothing was changed. "
            f"Install braindex {version} or later to use it.",
        )


class StoreLocked(StoreError):
    def __init__(self, path: Path) -> None:
        super().__init__(
            path, f"{path} is in use by another process that did not finish in time. Try again in a moment."
        )


class StoreFull(StoreError):
    def __init__(self, path: Path) -> None:
        super().__init__(
            path, f"no space left to write {path}; nothing was changed. Free some disk space, then try again."
        )


class StoreReadOnly(StoreError):
    def __init__(self, path: Path) -> None:
        super().__init__(path, f"{path} cannot be written by this user. {_permit('write', path)}")


class StoreClosed(StoreReadOnly):
    """Not even to be read."""

    def __init__(self, path: Path) -> None:
        StoreError.__init__(self, path, f"{path} cannot be read by this user. {_permit('read and write', path)}")


def _permit(what: str, path: Path) -> str:
    return (
        f"Give the user {what} permission for {path.parent} and what is in it, or set BRAIN_DIR to a folder of your "
        "own."
    )


class StoreMissing(StoreError):
    def __init__(self, path: Path) -> None:
        super().__init__(path, f"{path} does not exist. Scan the workspace to create it.")


class SearchMissing(StoreError):
    def __init__(self, path: Path) -> None:
        super().__init__(
            path,
            f"this Python's SQLite ({sqlite3.sqlite_version}) was built without FTS5, which full-text "
            "search needs. Use a Python from python.org, your system's packages or uv.",
        )


class StoreFailed(StoreError):
    def __init__(self, path: Path, detail: str) -> None:
        super().__init__(path, f"{path} could not be used: {detail}. Check the disk it lies on and its permissions.")


_NAMED: Final[dict[int, Callable[[Path], StoreError]]] = {
    sqlite3.SQLITE_BUSY: StoreLocked,
    sqlite3.SQLITE_LOCKED: StoreLocked,
    sqlite3.SQLITE_PROTOCOL: StoreLocked,
    sqlite3.SQLITE_FULL: StoreFull,
    sqlite3.SQLITE_IOERR_SHMSIZE: StoreFull,  # the shared-memory file beside the database could not grow
    sqlite3.SQLITE_READONLY: StoreReadOnly,
    sqlite3.SQLITE_PERM: StoreReadOnly,
}
# Text that is not UTF-8 any more, or a schema without a table, a column or a part of the full-text index: SQLite has
# no code for these. Its words for a failure it cannot name ("SQL logic error") come of a full-text index that lost one
# of its tables.
_LOST: Final = re.compile(
    r"Could not decode to UTF-8|no such (?:\w+ )?table|no such column|has no column named|SQL logic error"
    r"|vtable constructor failed|invalid fts5 file format"
)
# A key that is taken or missing was given by what the store itself said before: a damaged one contradicts itself. And
# nothing that is stored is as large as SQLite's limit (1 GB), or of another type than its key.
_DAMAGE: Final = frozenset(
    {
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_TOOBIG,
        sqlite3.SQLITE_MISMATCH,
        sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY,
        sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY,
        sqlite3.SQLITE_CONSTRAINT_ROWID,
        sqlite3.SQLITE_CONSTRAINT_UNIQUE,
    }
)


def file_identity(path: Path) -> tuple[int, int] | None:
    """Device and inode, or None where there is no such file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def os_failure(path: Path, error: OSError) -> StoreError:
    """The named failure for an operating system error on a store's file or folder."""
    if getattr(error, "winerror", None) == _WINDOWS_IN_USE:
        return StoreLocked(path)
    if error.errno in _NO_SPACE:
        return StoreFull(path)
    if error.errno in _DENIED:
        return denied(path)
    return StoreFailed(path, error.strerror or str(error))


def denied(path: Path) -> StoreReadOnly:
    """The failure for what this user has no permission to do with a file or folder."""
    is_closed = not os.access(path, os.R_OK) and (os.path.lexists(path) or not os.access(path.parent, os.X_OK))
    return StoreClosed(path) if is_closed else StoreReadOnly(path)


def sqlite_failure(
    path: Path, error: sqlite3.Error, remedy: str, identity: tuple[int, int] | None = None
) -> StoreError:
    """The named failure for an SQLite error; `remedy` is what to do when the file, which `identity` tells, is damaged.

    Result codes: https://www.sqlite.org/rescode.html. The lowest byte is the primary code.
    """
    extended: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    code = extended & 0xFF
    if _DAMAGE.intersection((code, extended)) or _LOST.search(str(error)):
        return StoreDamaged(path, str(error), remedy, identity)
    if code == sqlite3.SQLITE_CANTOPEN:
        return _cannot_open(path, error)
    named = _NAMED.get(extended, _NAMED.get(code))
    return StoreFailed(path, str(error)) if named is None else named(path)


def _cannot_open(path: Path, error: sqlite3.Error) -> StoreError:
    """SQLite does not say why it could not open a file; most often permission is what is missing."""
    writable = os.access(path.parent, os.W_OK | os.X_OK) and os.access(path, os.R_OK | os.W_OK)
    return StoreFailed(path, str(error)) if writable else denied(path)
