"""braindex's own data is never indexed: known by where it lies, and by what it looks like.

The second finds a data folder of another time or user in the tree, whose briefs and notes are no source.
"""

import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from braindex.domain.errors import BraindexError
from braindex.indexing.opening import Unreadable, read_file

REASON: Final = "never indexed: braindex's own data"

# What a data folder is made of, beside the workspace's files where the two are one folder.
_REGISTRY: Final = "registry.db"
_WORKSPACES: Final = "workspaces"
_ENTRIES: Final = re.compile(r"registry\.db.*|workspaces|server-[0-9]+\.log(?:\.[0-9]+)?", re.DOTALL)
_SQLITE: Final = b"SQLite format 3\0"  # https://www.sqlite.org/fileformat.html, 1.3
# Inode numbers come with a listing but on Windows, where each costs a call.
_INODES_ARE_FREE: Final = os.name == "posix"


class RootIsOwnData(BraindexError):
    def __init__(self, root: str) -> None:
        super().__init__(f"{root} is braindex's own data and is never indexed; name the folder of a project")


class OwnFolders:
    """The data folders a walk may come across, under whatever spelling."""

    def __init__(self, folders: Iterable[Path]) -> None:
        real = [os.path.realpath(one) for one in folders]
        self._paths = frozenset(os.path.normcase(one) for one in real)
        self._inodes = frozenset(found for one in real if (found := _identity(one)))
        self._numbers = frozenset(inode for _, inode in self._inodes)

    def refuse(self, root: str) -> None:
        """Raises RootIsOwnData for a root in a data folder's part that holds nothing but braindex's data."""
        for one in (Path(root), *Path(root).parents):
            if one.name == _WORKSPACES and self.is_one(str(one.parent)):
                raise RootIsOwnData(root)

    def is_one(self, folder: str) -> bool:
        return os.path.normcase(folder) in self._paths or _identity(folder) in self._inodes

    def holds(self, entry: os.DirEntry[str]) -> bool:
        """Whether an entry that is a folder is one of these; costs a stat only where that is likely."""
        if os.path.normcase(entry.path) in self._paths:
            return True
        return _INODES_ARE_FREE and entry.inode() in self._numbers and _identity(entry.path) in self._inodes


def is_own_entry(name: str) -> bool:
    """Whether an entry of a data folder is braindex's: the rest of such a folder may be a project."""
    return _ENTRIES.fullmatch(name) is not None


def looks_own(folder: str, names: Iterable[str]) -> bool:
    """Whether a folder with these entries is a data folder: it has a registry and the workspaces' folder."""
    if not {_REGISTRY, _WORKSPACES}.issubset(names):
        return False
    try:
        is_registry = read_file(str(Path(folder, _REGISTRY)), len(_SQLITE)) == _SQLITE
        return is_registry and stat.S_ISDIR(Path(folder, _WORKSPACES).lstat().st_mode)
    except (Unreadable, OSError):
        return False


def _identity(folder: str) -> tuple[int, int] | None:
    try:
        found = Path(folder).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
