"""The data folder: whether it is there and can be written, who else can read it, where it lies, and its space."""

import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from braindex.domain.display import argument
from braindex.domain.health import Check, Health, enumerated, megabytes
from braindex.registry.conversations import HOOKS_FOLDER
from braindex.services.doctor.parts import Installation
from braindex.services.doctor.place import elsewhere
from braindex.services.workspaces import is_being_scanned

NAME: Final = "data folder"
SCARCE: Final = 500_000_000  # bytes; a first scan of a large repository takes about as many
EXHAUSTED: Final = 20_000_000  # bytes; the write-ahead logs of one scan
_OWN: Final = re.compile(r"registry\.db.*|server-[0-9]+\.log(?:\.[0-9]+)?|\.env", re.DOTALL)
_PASS: Final = stat.S_IXGRP | stat.S_IXOTH
_VECTORS: Final = "vector_db"  # whose files get their mode when a scan has written them


def folder(here: Installation) -> Iterator[Check]:
    """Where everything is kept. A folder that is not there yet is none of doctor's to make."""
    path = here.brain_dir
    if not os.path.lexists(path):
        yield _to_be_made(path)
    elif not path.is_dir():
        yield Check(NAME, "broken", f"{path} is no folder", "move it away, or set BRAIN_DIR to a folder")
    elif not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        yield Check(NAME, "broken", f"{path} cannot be read and written by this user", _rights(path))
    else:
        yield Check(NAME, "ok", f"{path}, writable")


def _rights(path: Path) -> str:
    """How this user gets the rights to the data folder: by a command, where it is this user's."""
    own = "give this user the rights to it"
    if os.name == "posix" and path.stat().st_uid == os.geteuid():
        own = f"chmod -R u+rwX {argument(str(path))}, unless its disk is mounted read-only"
    return f"{own}; or set BRAIN_DIR to a folder of your own"


def _to_be_made(path: Path) -> Check:
    above = next((one for one in path.parents if one.exists()), None)
    if above is None or not os.access(above, os.W_OK | os.X_OK):
        return Check(
            NAME,
            "broken",
            f"{path} does not exist and cannot be made: {above or path} cannot be written by this user",
            "set BRAIN_DIR to a folder of your own",
        )
    return Check(NAME, "note", f"{path} does not exist yet", "nothing to do: the first scan makes it")


def modes(here: Installation) -> Iterator[Check]:
    """Whether another user of this machine can reach what is stored: through every folder from the data folder down.

    braindex makes folders 0700 and files 0600. A file with other rights in a folder that is closed is out of reach.
    """
    if os.name != "posix" or not here.brain_dir.is_dir():
        return
    unread = list[str]()
    reached = [
        f"{os.path.relpath(path, here.brain_dir)} ({stat.S_IMODE(mode):04o})"
        for path, mode in reachable(_own_entries(here, unread))
    ]
    if reached:
        remedy = f"chmod -R go-rwx {argument(str(here.brain_dir))}"
        detail = f"other users have rights to {len(reached)} of what is stored: {enumerated(reached)}"
        yield Check("private files", "broken", detail, remedy)
    if unread:
        what = f"{enumerated(os.path.relpath(one, here.brain_dir) for one in unread)} cannot be read by this user"
        yield Check("private files", "broken", what, "give this user the rights to the whole data folder")
    if not reached and not unread:
        yield Check("private files", "ok", "nothing that is stored can be read by other users")


def reachable(entries: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """Of (path, mode) those that the group or others can read or write, each after the folder that it is in.

    Who passes through a folder needs its x; of the first entry nobody is kept from passing to it.
    """
    passing: dict[str, int] = {}
    for path, mode in entries:
        through = passing.get(os.path.dirname(path), _PASS) if passing else _PASS
        passing[path] = mode & through if stat.S_ISDIR(mode) else 0
        if mode & (through << 2 | through << 1) and not stat.S_ISLNK(mode):
            yield path, mode


def _own_entries(here: Installation, unread: list[str]) -> Iterator[tuple[str, int]]:
    """Everything that braindex keeps, each with its mode; what goes away meanwhile is passed over."""
    top = here.brain_dir
    yield str(top), top.stat().st_mode  # which may be a link
    try:
        names = sorted(os.listdir(top))
    except OSError:
        unread.append(str(top))
        return
    for name in names:
        if _OWN.fullmatch(name):
            yield from _with_mode(top / name)

    def closed(why: OSError) -> None:
        if not isinstance(why, FileNotFoundError):  # there are none yet, or it was dropped meanwhile
            unread.append(str(why.filename))

    for below in (here.workspaces_folder, top / HOOKS_FOLDER):
        for parent, folders, files in os.walk(below, onerror=closed):
            if _VECTORS in folders and _is_scanned(Path(parent)):
                folders.remove(_VECTORS)
            yield from _with_mode(Path(parent))
            for name in files:
                yield from _with_mode(Path(parent, name))


def _with_mode(path: Path) -> Iterator[tuple[str, int]]:
    try:
        yield str(path), path.lstat().st_mode
    except OSError:
        return


def _is_scanned(folder: Path) -> bool:
    try:
        return is_being_scanned(folder)
    except OSError:
        return False


def place(here: Installation) -> Iterator[Check]:
    found = elsewhere(here.brain_dir)
    if found:
        remedy = (
            "move it to a disk of this machine and set BRAIN_DIR to where it is then (docs/data-folder.md): locks and "
            "databases fail on others, and what two machines write is lost"
        )
        yield Check("disk", "note", f"{here.brain_dir} lies on {found}", remedy)
    else:
        yield Check("disk", "ok", "the data folder lies on a disk of this machine, as far as can be told")


def space(here: Installation) -> Iterator[Check]:
    there = next((one for one in (here.brain_dir, *here.brain_dir.parents) if one.exists()), None)
    if there is None:
        return
    free = shutil.disk_usage(there).free
    remedy = "" if free >= SCARCE else f"free some space on the disk of {there}"
    state: Health = "broken" if free < EXHAUSTED else "note" if free < SCARCE else "ok"
    yield Check("space", state, f"{megabytes(free)} free", remedy)
