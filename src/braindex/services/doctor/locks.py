"""Who is at work now, by the operating system's locks: they end with the process that holds them."""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from braindex.domain.health import Check, enumerated
from braindex.domain.results import Workspace
from braindex.services.doctor.parts import Installation
from braindex.services.workspaces import DROP_REQUEST, LOCK_FILE, drop_requested, is_being_scanned

# Marks that their writer takes away again: without a lock beside them they were left by a process that died.
_MARKS: Final = ("vector_db.writing", "vector_db.reading")


def held(ask: Callable[[Path], bool], folder: Path) -> bool:
    """Whether a lock is held; not where the folder is closed to this user, who then cannot hold one either."""
    try:
        return ask(folder)
    except OSError:
        return False


def scanned_now(folder: Path) -> bool:
    return held(is_being_scanned, folder)


@contextlib.contextmanager
def writers_turn(folder: Path) -> Iterator[bool]:
    """Whether nobody writes the workspace; if so nobody begins to until the end of the block: a scan waits its turn."""
    lock = FileLock(folder / LOCK_FILE, mode=0o600)
    try:
        lock.acquire(timeout=0)
    except (Timeout, OSError):
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def at_work(here: Installation, everything: Sequence[Workspace]) -> Iterator[Check]:
    """Which workspaces are being scanned or dropped, and what dead processes left."""
    named = [(one, here.workspaces_folder / one.id) for one in everything]
    scanned = [one.name for one, folder in named if scanned_now(folder)]
    dropped = [one.name for one, folder in named if held(drop_requested, folder)]
    stale = [f"{name} of {one.name}" for one, folder in named if one.name not in scanned for name in _stale(folder)]
    now = [f"{what}: {enumerated(names)}" for what, names in (("scanning", scanned), ("dropping", dropped)) if names]
    yield Check("locks", "ok", "; ".join(now) if now else "nobody is scanning or dropping a workspace")
    if stale:
        remedy = "nothing to do: the next scan sees to it"
        yield Check("locks", "note", f"left by a process that ended too early: {enumerated(stale)}", remedy)


def _stale(folder: Path) -> Iterator[str]:
    if os.path.exists(folder / DROP_REQUEST) and not held(drop_requested, folder):
        yield DROP_REQUEST
    yield from (name for name in _MARKS if os.path.exists(folder / name))
