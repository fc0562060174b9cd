"""The file of a workspace's memory: how it is opened, and how one that was lost is told from one that never was."""

import contextlib
from pathlib import Path
from typing import Final

from braindex.registry.database import Database
from braindex.registry.disk import write_private
from braindex.registry.failures import StoreDamaged, StoreError, StoreFailed, StoreFull, StoreReadOnly
from braindex.registry.memory_tables import MIGRATIONS
from braindex.registry.migrations import check_store, open_store

MEMORY_FILE: Final = "memory.db"
# A note that somebody asked to keep must not fail because others write: twice what an index waits.
BUSY_SECONDS: Final = 30.0
# Beside it: the mark of the memory that something was first kept in, which has it too, so that one which was lost and
# began anew is told from one in which nothing was ever kept.
KEPT_FILE: Final = "memory.kept"
_SMALLEST_PAGE: Final = 512  # https://www.sqlite.org/fileformat2.html#pages
_LARGEST_MARK: Final = 100  # bytes


class NoMemoryYet(StoreError):
    def __init__(self, path: Path) -> None:
        super().__init__(path, f"{path} does not exist: nothing has been remembered of this workspace yet.")


def opened(folder: Path, *, create: bool, busy_seconds: float = BUSY_SECONDS) -> Database:
    path = folder / MEMORY_FILE
    remedy = _remedy(path)
    _look_first(path, remedy, create=create, busy_seconds=busy_seconds)
    return open_store(path, MIGRATIONS, remedy=remedy, keep_copy=True, busy_seconds=busy_seconds)


def _look_first(path: Path, remedy: str, *, create: bool, busy_seconds: float) -> None:
    """Raises for a file that must stay as it is before anything opens it for writing."""
    log = path.with_name(f"{path.name}-wal")
    if size_of(log) and not size_of(path):  # in this order: a file is written before its log is
        raise StoreDamaged(path, f"it is gone or empty, while its write-ahead log {log.name} is not", remedy)
    if path.is_file() and not size_of(path) and kept_mark(path.parent):
        raise StoreDamaged(path, "it is empty, though notes or episodes were kept in it", remedy)
    if path.is_symlink() and not path.exists():
        raise StoreDamaged(path, "it is a link that leads nowhere", remedy)
    if not path.exists() and not create:
        raise NoMemoryYet(path)
    if 0 < size_of(path) < _SMALLEST_PAGE:  # SQLite takes it for empty and writes over it
        raise StoreDamaged(path, f"it has only {size_of(path)} bytes", remedy)
    if size_of(path):
        with contextlib.suppress(StoreFull, StoreReadOnly, StoreFailed):  # opening it says so, or can do without
            check_store(path, MIGRATIONS, remedy=remedy, busy_seconds=busy_seconds)


def size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _remedy(path: Path) -> str:
    """What to do with a damaged memory: only its owner can decide, so nothing is moved or deleted."""
    copies = sorted(one.name for one in path.parent.glob(f"{path.name}.before-*") if one.suffix != ".partial")
    kept = f"put a copy from before an upgrade in its place ({', '.join(copies)})" if copies else "put a backup there"
    return (
        "Notes and episodes cannot be rebuilt, so it was left as it is. Move it away together with its -wal and -shm "
        f"files, then {kept}, or delete {KEPT_FILE} as well to begin with an empty memory; `sqlite3 {path.name} "
        ".recover` may read what is left."
    )


def kept_mark(folder: Path) -> str:
    """The mark of the memory in which something was first kept in a workspace's folder; "" for none."""
    try:
        with (folder / KEPT_FILE).open("rb") as file:
            return file.read(_LARGEST_MARK).decode("ascii", "replace").strip()
    except OSError:
        return ""


def keep_mark(folder: Path, mark: str) -> None:
    """Notes the mark, unless that of another memory is there: that one's loss is still to be told. A mark that cannot
    be written is no reason to refuse a note, and a folder that was dropped meanwhile stays dropped.
    """
    if not kept_mark(folder) and folder.is_dir():
        with contextlib.suppress(StoreError):
            write_private(folder / KEPT_FILE, f"{mark}\n")
