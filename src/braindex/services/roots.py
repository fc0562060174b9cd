"""Which folders may be a workspace, and what their one true spelling is."""

import errno
import os
import unicodedata
from pathlib import Path

from braindex.domain.display import echoed
from braindex.domain.errors import BraindexError


class PathMissing(BraindexError):
    def __init__(self, path: str) -> None:
        super().__init__(f"{echoed(path)} does not exist; check the spelling, or mount the drive it is on")


class NotAFolder(BraindexError):
    def __init__(self, path: str) -> None:
        super().__init__(f"{echoed(path)} is a file, and a workspace is a folder; name the folder that holds it")


class FolderUnreadable(BraindexError):
    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{echoed(path)} cannot be read ({why}); check its permissions")


class FolderRefused(BraindexError):
    def __init__(self, path: str, what: str) -> None:
        super().__init__(
            f"{echoed(path)} is {what} and is never indexed as a workspace; name the folder of one project"
        )


class NameNotText(BraindexError):
    def __init__(self, path: str) -> None:
        super().__init__(f"{echoed(path)} has a name that is not UTF-8 text, and cannot be stored; rename the folder")


def is_text(name: str) -> bool:
    """Whether a name can be stored: bytes that are not UTF-8 arrive as lone surrogates, which nothing encodes."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def home_folders() -> frozenset[str]:
    """The home directory in every spelling that this process can know."""
    names = {os.path.expanduser("~"), os.environ.get("HOME", ""), os.environ.get("USERPROFILE", "")}
    return frozenset(os.path.realpath(name) for name in names if name and name != "~")


def folds_case(path: str) -> bool:
    """Whether the file system at a path treats `A` and `a` as one name (macOS and Windows, mostly)."""
    swapped = path.swapcase()
    if swapped == path:
        return False
    try:
        return os.path.samefile(path, swapped)
    except OSError:
        return False


def canonical(path: str) -> str:
    """The spelling that a workspace's id is made of: links resolved, NFC, case folded where the file system does."""
    real = os.path.realpath(path)
    name = unicodedata.normalize("NFC", real)
    return name.casefold() if folds_case(real) else name


def checked_root(path: str | Path) -> Path:
    """The real path of a folder that may be a workspace.

    Raises PathMissing, NotAFolder, FolderUnreadable, NameNotText, or FolderRefused (the home directory, a file
    system's root).
    """
    named = os.fspath(path)
    if not named or "\0" in named:
        raise PathMissing(named or "an empty path")
    if not is_text(named):
        raise NameNotText(named)
    given = os.path.expanduser(named)
    try:
        real = os.path.realpath(given)
    except OSError:  # a relative path, and the working directory is gone
        raise PathMissing(given) from None
    if not is_text(real):
        raise NameNotText(real)
    if not os.path.exists(real):
        raise PathMissing(given)
    if not os.path.isdir(real):
        raise NotAFolder(given)
    if os.path.dirname(real) == real:
        raise FolderRefused(given, "the root of a file system")
    if any(os.path.samefile(real, home) for home in home_folders() if os.path.isdir(home)):
        raise FolderRefused(given, "the home directory")
    try:
        with os.scandir(real) as entries:
            next(entries, None)
    except OSError as error:
        raise FolderUnreadable(given, os.strerror(error.errno or errno.EIO)) from error
    return Path(real)
