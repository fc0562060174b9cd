"""BRAIN_DIR: where it is, whose `.env` counts there, and which places can hold no data folder."""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from braindex.config.env_files import ENV_FILE, quoted, read_strangers_env
from braindex.indexing.opening import is_link
from braindex.services.resolution import looks_like_project

BRAIN_DIR: Final = "BRAIN_DIR"
DEFAULT_FOLDER: Final = ".brain"
_MOST_ENTRIES: Final = 10_000  # a checkout's data folder has a few dozen for each workspace
_VERSION_CONTROL: Final = frozenset({".git", ".hg", ".svn", ".jj"})


@dataclass(frozen=True, slots=True)
class DataFolder:
    """BRAIN_DIR. `users_env` is the `.env` that the user alone writes; `is_users` says that it is BRAIN_DIR's.

    `origin` is who named it, `said_in` the `.env` of a folder where that did; `refused` is such a file that names one
    in vain, and why.
    """

    path: Path
    users_env: Path
    mistakes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    origin: Literal["flag", "environment", "workspace", "default"] = "default"
    said_in: Path | None = None
    refused: tuple[Path, str] | None = None

    @property
    def is_users(self) -> bool:
        return self.users_env.parent == self.path


def data_folder(environ: Mapping[str, str], cwd: Path, flags: Mapping[str, str]) -> DataFolder:
    """Flag, environment, else the working directory's own `.env` when it names a folder inside that directory."""
    default = _home(environ) / DEFAULT_FOLDER
    flag, given = (layer.get(BRAIN_DIR, "").strip() for layer in (flags, environ))
    local = read_strangers_env(cwd).get(BRAIN_DIR, "").strip()
    if flag or given:
        found = _named_by_user(flag or given, environ, cwd, default)
        who: Literal["flag", "environment"] = "flag" if flag else "environment"
        return replace(found, origin=who, refused=(cwd / ENV_FILE, f"the {who} comes first") if local else None)
    if not local or _same_place(cwd, local, default):
        return _by_default(default)
    why = _refused_to_checkout(cwd, local)
    if why is None:
        path = Path(os.path.realpath(cwd / local))
        return DataFolder(path, default / ENV_FILE, origin="workspace", said_in=cwd / ENV_FILE)
    said = f"BRAIN_DIR is {quoted(local)} in {cwd / ENV_FILE}, which does not count ({why}); {default} is used"
    return replace(_by_default(default), notes=(said,), refused=(cwd / ENV_FILE, why))


def _by_default(default: Path) -> DataFolder:
    unusable = _unusable(default)
    mistakes = (f"{default} {unusable}: move it away, or set BRAIN_DIR to a folder of its own",) if unusable else ()
    return DataFolder(default, default / ENV_FILE, mistakes)


def _named_by_user(given: str, environ: Mapping[str, str], cwd: Path, default: Path) -> DataFolder:
    """A relative path, or a project's own folder, is wherever the user works: its `.env` may be a stranger's."""
    text = _expanded(given, environ)
    path = Path(os.path.abspath(cwd / text))
    why = "names the home of an unknown user" if text.startswith("~") else _unusable(path)
    mistakes = (f"BRAIN_DIR is {quoted(given)}, which {why}: name a folder of its own",) if why else ()
    is_users = path == default or (Path(text).is_absolute() and not looks_like_project(path))
    return DataFolder(path, (path if is_users else default) / ENV_FILE, mistakes)


def _home(environ: Mapping[str, str]) -> Path:
    return Path(os.path.abspath(environ.get("HOME") or os.path.expanduser("~")))


def _expanded(text: str, environ: Mapping[str, str]) -> str:
    if text == "~" or text.startswith(("~/", "~" + os.sep)):
        return str(_home(environ)) + text[1:]
    return os.path.expanduser(text)


def _same_place(cwd: Path, local: str, default: Path) -> bool:
    """Whether the `.env` of the home directory names what serves anyway."""
    return "\0" not in local and os.path.realpath(cwd / local) == os.path.realpath(default)


def _unusable(path: Path) -> str | None:
    """Why a path can hold no data folder, whoever named it."""
    if _VERSION_CONTROL & {part.lower() for part in path.parts}:
        return "lies in a version control's own data"
    for one in (path, *path.parents):
        try:
            status = one.stat()
        except OSError:  # not there yet, or closed to this user: creating it will tell
            continue
        return None if stat.S_ISDIR(status.st_mode) else "is a file" if one == path else f"lies below a file, {one}"
    return None


def _refused_to_checkout(cwd: Path, local: str) -> str | None:
    """Why a checkout, which may be a stranger's, cannot have its data folder there."""
    parts = Path(local).parts
    if "\0" in local or Path(local).anchor or local.startswith("~") or ".." in parts:
        return "only a relative path to a folder inside that directory does"
    if not parts:
        return "it names that directory itself; `BRAIN_DIR=.brain` keeps the data in a folder of its own"
    top = Path(os.path.realpath(cwd))
    steps = [top.joinpath(*parts[: depth + 1]) for depth in range(len(parts))]
    if any(_leads_elsewhere(one) for one in steps):
        return "it is reached through a link"
    if not Path(os.path.realpath(steps[-1])).is_relative_to(top):
        return "it leads out of that directory"
    why = _unusable(steps[-1])
    if why:
        return f"it {why}"
    return "it holds a link or a device" if _holds_traps(steps[-1]) else None


def _leads_elsewhere(path: Path) -> bool:
    try:
        return is_link(path.lstat())
    except OSError:
        return False


def _holds_traps(folder: Path) -> bool:
    """Whether anything in a folder is neither a file nor a folder.

    braindex makes no links, and a database or log that is one would be written to wherever it leads.
    """
    waiting, seen = [str(folder)], 0
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for one in entries:
                    seen += 1
                    mode = one.stat(follow_symlinks=False)
                    if is_link(mode) or not (stat.S_ISREG(mode.st_mode) or stat.S_ISDIR(mode.st_mode)):
                        return True
                    if stat.S_ISDIR(mode.st_mode):
                        waiting.append(one.path)
        except OSError:  # not there yet, or closed: opening it will tell
            continue
        if seen > _MOST_ENTRIES:
            return True
    return False
