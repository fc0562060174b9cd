"""Opens files of a tree that others may be changing: follows no link and reads nothing but regular files."""

import errno
import os
import stat
from pathlib import Path
from typing import Final

# O_NONBLOCK: opening a FIFO would wait for its writer. Flags a platform lacks count as 0.
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
_FILE_FLAGS: Final = (
    os.O_RDONLY
    | _NO_FOLLOW
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_FOLDER_FLAGS: Final = os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_CHUNK: Final = 1 << 20  # what one read allocates
_POINTER_BYTES: Final = 8192
_SHARES: Final = ("\\\\", "//")
_HAS_OPENAT: Final = os.open in os.supports_dir_fd and _NO_FOLLOW != 0


class Unreadable(Exception):
    """Why a file was not read, in words for the list of skipped files. Never leaves the room."""


def explain(error: OSError | ValueError) -> str:
    """What the operating system said, in one line; a ValueError is Python's, about a path it cannot hand over."""
    if isinstance(error, ValueError):
        return "cannot be read: its path is none that the system takes"
    if isinstance(error, FileNotFoundError):
        return "vanished during the scan"
    if error.errno == errno.ELOOP:
        return "became a link during the scan"
    return f"cannot be read: {error.strerror or error}"


def is_link(status: os.stat_result) -> bool:
    """A symbolic link, or on Windows a junction: both lead elsewhere."""
    tag = getattr(status, "st_reparse_tag", 0)
    return stat.S_ISLNK(status.st_mode) or (tag != 0 and tag == getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", 0))


def read_file(path: str, limit: int) -> bytes:
    """At most `limit` bytes of a regular file that is no link itself. Raises Unreadable."""
    try:
        if _NO_FOLLOW == 0 and is_link(os.lstat(path)):
            raise Unreadable("a link, which is not followed")
        return _take(os.open(path, _FILE_FLAGS), limit)
    except (OSError, ValueError) as error:
        raise Unreadable(explain(error)) from error


def read_below(root: str, relative: str, limit: int) -> bytes:
    """At most `limit` bytes of the regular file `relative` (with `/`) below `root`.

    No folder on the way nor the file itself may be a link, even one put there since the walk. Raises
    Unreadable.
    """
    try:
        if _HAS_OPENAT:
            return _take(_open_stepwise(root, relative.split("/")), limit)
        return _read_checked(root, str(Path(root, relative)), limit)
    except (OSError, ValueError) as error:
        raise Unreadable(explain(error)) from error


def _open_stepwise(root: str, parts: list[str]) -> int:
    """Opens each folder inside the one before it, so that no swap in between can lead out of the root."""
    folder = os.open(root, _FOLDER_FLAGS & ~_NO_FOLLOW)
    try:
        for part in parts[:-1]:
            inner = os.open(part, _FOLDER_FLAGS, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(parts[-1], _FILE_FLAGS, dir_fd=folder)
    finally:
        os.close(folder)


def _read_checked(root: str, path: str, limit: int) -> bytes:
    """Without openat: what was opened must be what the path, links resolved, has inside the root."""
    handle = os.open(path, _FILE_FLAGS)
    try:
        inside = not is_link(os.lstat(path)) and _is_inside(root, os.path.realpath(path), handle)
    except OSError:
        os.close(handle)
        raise
    if not inside:
        os.close(handle)
        raise Unreadable("reached through a link")
    return _take(handle, limit)


def _is_inside(root: str, real: str, handle: int) -> bool:
    below = Path(real).is_relative_to(os.path.realpath(root))
    return below and os.path.samestat(os.fstat(handle), os.lstat(real))


def _take(handle: int, limit: int) -> bytes:
    """Reads and closes the handle."""
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise Unreadable("not a regular file")
        parts = []
        while limit > 0 and (part := os.read(handle, min(limit, _CHUNK))):
            parts.append(part)
            limit -= len(part)
        return b"".join(parts)
    finally:
        os.close(handle)


def pointer(path: Path) -> str:
    """The path that a `.git` file or `commondir` holds; "" where there is none that may be followed."""
    try:
        target = read_file(str(path), _POINTER_BYTES).decode("utf-8", "surrogateescape").strip()
    except Unreadable:
        return ""
    # A share on another machine is not asked for because a file says so.
    return "" if target.removeprefix("gitdir:").lstrip().startswith(_SHARES) else target
