"""What setup finds on this machine: the command's path, the project, and the clients that were used."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from braindex.cli.setup.rows import BARE, ROWS, ClientRow, Machine, Platform
from braindex.domain.display import echoed
from braindex.domain.errors import BraindexError
from braindex.services.resolution import home_directory, looks_like_project

_NAMES: Final = ("braindex", "braindex.exe")


class CommandNotFound(BraindexError):
    def __init__(self) -> None:
        super().__init__(
            "a user's files name the command's absolute path, and no `braindex` was found beside this Python or on "
            "PATH; install it (`pip install braindex`), or use `--scope project`"
        )


class NoHome(BraindexError):
    def __init__(self, named: str | None) -> None:
        why = "" if named is None else f" (HOME is {echoed(named)!r}, which is no absolute path)"
        super().__init__(f"there is no home directory, where clients have their files{why}; set HOME")


def this_machine(environ: Mapping[str, str]) -> Machine:
    """Raises NoHome, also where HOME is blank or relative: clients would not look where that leads."""
    home = home_directory()
    named = environ.get("HOME") if os.name == "posix" else None
    if home is None or not home.is_absolute() or (named is not None and not os.path.isabs(named)):
        raise NoHome(named)
    platforms: dict[str, Platform] = {"darwin": "darwin", "win32": "win32"}
    return Machine(platforms.get(sys.platform, "linux"), environ, home)


def clients_found(machine: Machine) -> Sequence[ClientRow]:
    """The clients that have left a sign of themselves."""
    return [row for row in ROWS if any(os.path.exists(sign) for sign in row.signs(machine))]


def project_root(cwd: Path | None, home: Path) -> Path | None:
    """The project that holds the working directory: the nearest folder below the home directory that looks like one,
    else the working directory itself. None in the home directory and at the top, which are no project.
    """
    if cwd is None or _is_fence(cwd, home):
        return None
    if not cwd.is_relative_to(os.path.realpath(home)):
        return cwd
    inside = (one for one in (cwd, *cwd.parents) if one.is_relative_to(os.path.realpath(home)))
    return next((one for one in inside if not _is_fence(one, home) and looks_like_project(one)), cwd)


def command_path(environ: Mapping[str, str], started: str, python: str) -> str:
    """The absolute path of the `braindex` that was `started`, else that beside `python`, else that on PATH.

    Links are kept as they are: an upgrade moves what they lead to. Raises CommandNotFound.
    """
    here = os.path.abspath(started)
    beside = os.path.dirname(os.path.abspath(python))
    places = [here, f"{here}.exe", *(os.path.join(beside, name) for name in _NAMES)]
    for place in places:
        if os.path.basename(place).lower() in _NAMES and os.path.isfile(place) and os.access(place, os.X_OK):
            return place
    found = on_path(environ)
    if found is None:
        raise CommandNotFound
    return os.path.abspath(found)


def on_path(environ: Mapping[str, str]) -> str | None:
    """The `braindex` that a client finds which has this PATH."""
    return shutil.which(BARE, path=environ.get("PATH", ""))


def _is_fence(folder: Path, home: Path) -> bool:
    return folder.parent == folder or os.path.realpath(folder) == os.path.realpath(home)
