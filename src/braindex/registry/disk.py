"""Private files and folders: nothing that braindex stores is readable by other users."""

import contextlib
import os
import tempfile
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from braindex.registry.failures import StoreDamaged, file_identity, os_failure

FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600
_SIDE_FILES: Final = ("", "-wal", "-shm")

# Closing any descriptor of a database file drops all POSIX locks that this process holds on it, SQLite's
# among them (https://www.sqlite.org/howtocorrupt.html, 2.2). So a file is created and closed before anyone
# here can open it.
_creating = threading.Lock()


def make_private_folder(folder: Path) -> None:
    """Create a folder and its missing parents with mode 0700. Raises a StoreError that says why it cannot."""
    missing = [folder]
    while not missing[-1].exists() and missing[-1].parent != missing[-1]:
        missing.append(missing[-1].parent)
    try:
        for one in reversed(missing):
            if not one.is_dir():
                one.mkdir(mode=FOLDER_MODE, exist_ok=True)
    except OSError as error:
        raise os_failure(folder, error) from error


def make_private_file(path: Path) -> None:
    """Create an empty file with mode 0600 where none is; tighten one that other users can read."""
    try:
        with _creating:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, FILE_MODE))
    except FileExistsError:
        _tighten(path)
    except OSError as error:
        raise os_failure(path, error) from error


def _tighten(path: Path) -> None:
    if os.name == "posix":
        with contextlib.suppress(OSError):  # another user's file, or gone: opening it will tell
            if path.stat().st_mode & 0o077:
                path.chmod(FILE_MODE)


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
    if not path.exists() or (damage is not None and file_identity(path) != damage.identity):
        return None
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    target = path.with_name(f"{path.name}.damaged-{stamp}")
    count = 1
    while target.exists():
        count += 1
        target = path.with_name(f"{path.name}.damaged-{stamp}-{count}")
    try:
        for side in _SIDE_FILES:
            with contextlib.suppress(FileNotFoundError):
                path.with_name(path.name + side).replace(target.with_name(target.name + side))
    except OSError as error:
        raise os_failure(path, error) from error
    return target
