"""Private files and folders: nothing that braindex stores is readable by other users."""

import contextlib
import os
import re
import stat
import tempfile
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from braindex.registry.failures import StoreDamaged, StoreReadOnly, denied, file_identity, os_failure

FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600
_OWN_NAME: Final = ".brain"
_REGISTRY: Final = "registry.db"
_WORKSPACES: Final = "workspaces"
_WORKSPACE_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# What a data folder may hold: the registry with its side files and copies, logs, the user's settings.
_OWN_ENTRIES: Final = re.compile(r"registry\.db.*|workspaces|hooks|server-[0-9]+\.log(?:\.[0-9]+)?|\.env", re.DOTALL)
# In this order: whoever opens the place in between must not have the log of a fresh database moved away.
_SIDE_FILES: Final = ("-wal", "-shm", "")
_ASIDE_SECONDS: Final = 10.0  # for another process to move the same file

# Closing any descriptor of a database file drops all POSIX locks that this process holds on it, SQLite's
# among them (https://www.sqlite.org/howtocorrupt.html, 2.2). So a file is created and closed before anyone
# here can open it.
_creating = threading.Lock()


def make_private_folder(folder: Path) -> None:
    """Create a folder and its missing parents with mode 0700; tighten one of braindex's that is open to others.

    Raises a StoreError that says why it cannot be created. Tightening never fails.
    """
    try:
        missing = [folder]
        while not missing[-1].exists() and missing[-1].parent != missing[-1]:
            missing.append(missing[-1].parent)
        for one in reversed(missing):
            if not one.is_dir():
                one.mkdir(mode=FOLDER_MODE, exist_ok=True)
    except OSError as error:
        raise os_failure(folder, error) from error
    if os.name == "posix":
        _tighten_folder(folder)


def _tighten_folder(folder: Path) -> None:
    """Closes a data folder, or a workspace's folder in one and the folder above it."""
    above = folder.parent
    if above.name == _WORKSPACES and _WORKSPACE_ID.fullmatch(folder.name) and os.path.exists(above.parent / _REGISTRY):
        _tighten(above, FOLDER_MODE)
        _tighten(folder, FOLDER_MODE)
    elif _is_open(folder.stat) and _is_a_data_folder(folder):
        _tighten(folder.resolve(), FOLDER_MODE)


def _is_a_data_folder(folder: Path) -> bool:
    """Whether nothing but braindex's data is in a folder. A home directory, a project or /tmp must stay open.

    An empty folder was given to braindex to fill. `.brain` is braindex's whatever else was put there.
    """
    if folder.name == _OWN_NAME:
        return True
    try:
        with os.scandir(folder) as entries:
            return not folder.is_mount() and all(_OWN_ENTRIES.fullmatch(one.name) for one in entries)
    except OSError:
        return False


def make_private_file(path: Path) -> None:
    """Create an empty file with mode 0600 where none is; tighten one that other users can read."""
    try:
        with _creating:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, FILE_MODE))
    except FileExistsError:
        if os.name == "posix":
            _tighten(path, FILE_MODE)
    except OSError as error:
        raise os_failure(path, error) from error


def _tighten(path: Path, mode: int) -> None:
    """Takes others' rights to a file or folder of this user's own; what a link leads to is left alone."""
    with contextlib.suppress(OSError):  # gone, or a file system without modes: opening it will tell
        if _is_open(path.lstat):
            path.chmod(mode)


def _is_open(status: Callable[[], os.stat_result]) -> bool:
    """Whether others have rights to what belongs to this user, is no link, and was not made to be shared."""
    try:
        found = status()
    except OSError:
        return False
    if stat.S_ISLNK(found.st_mode) or found.st_mode & (stat.S_ISVTX | stat.S_ISGID | stat.S_ISUID):
        return False
    return found.st_mode & 0o077 != 0 and found.st_uid == os.geteuid()


def unwritable(path: Path) -> StoreReadOnly | None:
    """The error that writing a file would end in for want of permission, told without a try; None where nothing speaks
    against it. A database needs its folder as well, for its log.
    """
    places = [one for one in (path.parent, path) if os.path.exists(one)]
    return None if all(os.access(one, os.W_OK) for one in places) else denied(path)


def write_private(path: Path, text: str) -> None:
    """Replace a file as a whole: readers see the old text or the new one, never a part of it."""
    make_private_folder(path.parent)
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        raise os_failure(path, error) from error


def set_aside(path: Path, damage: StoreDamaged | None = None) -> Path | None:
    """Move a damaged database away, its write-ahead log with it; nothing is deleted.

    Returns where it is now, or None where there is nothing to move: no file, or (with `damage`) not the
    damaged file any more, because another process has set it aside already. Raises StoreReadOnly where it
    cannot be moved.
    """
    lock = FileLock(path.with_name(f"{path.name}.aside.lock"), timeout=_ASIDE_SECONDS, mode=FILE_MODE)
    try:
        with lock:  # between the look and the move another process may have made a fresh one
            return _moved_aside(path, damage)
    except Timeout:  # whoever has it moves the file
        return None
    except OSError as error:
        raise os_failure(path, error) from error
    finally:
        with contextlib.suppress(OSError):  # Windows deletes no file that another process waits for
            Path(lock.lock_file).unlink(missing_ok=True)


def _moved_aside(path: Path, damage: StoreDamaged | None) -> Path | None:
    if not path.exists() or (damage is not None and file_identity(path) != damage.identity):
        return None
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    target = path.with_name(f"{path.name}.damaged-{stamp}")
    count = 1
    while target.exists():
        count += 1
        target = path.with_name(f"{path.name}.damaged-{stamp}-{count}")
    for side in _SIDE_FILES:
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + side).replace(target.with_name(target.name + side))
    return target
