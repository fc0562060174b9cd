"""Settings: frozen, read once from flags, environment and `.env` files, every mistake reported at once."""

import functools
import io
import math
import os
import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from braindex.domain.display import shortened
from braindex.domain.errors import UsageError
from braindex.domain.options import WorkspaceOptions
from braindex.indexing.opening import Unreadable, is_link, read_file
from braindex.services.resolution import looks_like_project

ENV_FILE: Final = ".env"
DEFAULT_FOLDER: Final = ".brain"
LARGEST_ENV: Final = 65_536  # bytes; what is larger is no settings file
_RACY_NS: Final = 2_000_000_000  # a file touched so recently may change again within one tick of its clock
_MOST_ENTRIES: Final = 10_000  # a checkout's data folder has a few dozen for each workspace
_VERSION_CONTROL: Final = frozenset({".git", ".hg", ".svn", ".jj"})


class InvalidSettings(UsageError):
    """One message for all mistakes, each with its variable's name."""

    def __init__(self, mistakes: list[str]) -> None:
        self.mistakes = mistakes
        super().__init__("invalid settings: " + "; ".join(mistakes))


def _number(*, zero: bool) -> Callable[[str], float]:
    """Reads a finite number above 0, or from 0 on."""

    def read(text: str) -> float:
        value = float(text)
        if not math.isfinite(value) or value < 0 or (value == 0 and not zero):
            raise ValueError
        return value

    return read


def _positive_int(text: str) -> int:
    value = int(text)
    if value <= 0:
        raise ValueError
    return value


def _boolean(text: str) -> bool:
    match text.strip().lower():
        case "true" | "1" | "yes" | "on":
            return True
        case "false" | "0" | "no" | "off":
            return False
    raise ValueError


def _suffixes(text: str) -> tuple[str, ...]:
    parts = [part.strip().lower() for part in text.split(",")]
    return tuple("." + part.lstrip(".") for part in parts if part)


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table: what a variable means, how it is read, and whether a workspace may set it.

    A workspace's `.env` may have been written by a stranger, so only rows with `from_workspace` count there.
    """

    name: str
    field: str
    read: Callable[[str], Any]
    default: str
    expects: str
    help: str
    from_workspace: bool = False


SETTINGS: Final = (
    Setting(
        "BRAIN_DIR", "brain_dir", str, "~/.brain", "a folder",
        "Where braindex keeps everything. A relative path is taken from the folder of the .env that names it.",
    ),
    Setting(
        "BRAIN_WORKSPACE", "brain_workspace", str, "", "a path, an id or a name",
        "The workspace that a call without one means.",
    ),
    Setting(
        "QUERY_DISTANCE_THRESHOLD", "distance_threshold", _number(zero=False), "1.15", "a number above 0",
        "Sources farther from the question than this L2 distance are dropped unless a word of the question matches.",
        from_workspace=True,
    ),
    Setting(
        "ENABLE_LEXICAL_RERANK", "lexical_rerank", _boolean, "false", "true or false",
        "Reorder the sources at the end by 1/distance + keyword hits × LEXICAL_RERANK_WEIGHT.",
        from_workspace=True,
    ),
    Setting(
        "LEXICAL_RERANK_WEIGHT", "lexical_rerank_weight", _number(zero=True), "0.05", "a number, 0 or more",
        "What one keyword hit in a name or docstring is worth in the lexical rerank.",
        from_workspace=True,
    ),
    Setting(
        "SKIP_BARE_FILES", "skip_bare_files", _suffixes, "", "file extensions, separated by commas",
        "Files with these extensions get no entity of their own when nothing is found in them.",
        from_workspace=True,
    ),
    Setting(
        "MAX_FILE_BYTES", "max_file_bytes", _positive_int, "1000000", "a whole number of bytes above 0",
        "Larger files are skipped, with that reason.",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting, read and checked. `explicit` names those that were set at all; `for_workspace` adds a layer.

    `notes` say, a line each, what was found in a `.env` file and does not count.
    """

    brain_dir: Path
    brain_workspace: str
    distance_threshold: float
    lexical_rerank: bool
    lexical_rerank_weight: float
    skip_bare_files: tuple[str, ...]
    max_file_bytes: int
    explicit: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()

    def for_workspace(self, root: Path) -> "Settings":
        """These settings with the workspace's own `.env` below them: only what a stranger may set counts there.

        A value set by a flag, the environment or the user's `.env` wins. A mistake in the workspace's file is
        passed over, since its author may not be the user. While the file stays as it is, this costs one stat.
        """
        harmless = _harmless(_strangers_env(root))
        rows = (row for row in SETTINGS if row.name in harmless and row.name not in self.explicit)
        found = {row.field: row.read(harmless[row.name]) for row in rows}
        return replace(self, **found) if found else self

    def options(self, root: Path) -> WorkspaceOptions:
        """What the use cases need to know of the settings for one workspace."""
        here = self.for_workspace(root)
        return WorkspaceOptions(
            distance_threshold=here.distance_threshold,
            lexical_rerank=here.lexical_rerank,
            lexical_rerank_weight=here.lexical_rerank_weight,
            skip_bare_files=here.skip_bare_files,
            max_file_bytes=here.max_file_bytes,
        )


def load_settings(environ: Mapping[str, str], cwd: Path, flags: Mapping[str, str] | None = None) -> Settings:
    """Reads every setting: flag, then environment, then `BRAIN_DIR/.env`. An empty value counts as not set.

    A BRAIN_DIR that the user did not name by an absolute path may have come with a checkout, its `.env` included:
    of that file only what a workspace may set counts, and the user's own file is `~/.brain/.env`.

    Raises InvalidSettings, which names every mistake at once.
    """
    flags = flags or {}
    folder = _data_folder(environ, cwd, flags)
    notes, mistakes = list(folder.notes), list(folder.mistakes)
    users = _users_env(folder.users_env, notes, mistakes)
    strangers = {} if folder.is_users else _strangers_env(folder.path)
    notes += _uncounted(strangers, folder)
    layers = (flags, environ, users, _harmless(strangers))
    values: dict[str, Any] = {}
    explicit: set[str] = set()
    for row in SETTINGS:
        text = next((layer[row.name] for layer in layers if layer.get(row.name, "").strip()), None)
        if text is not None:
            explicit.add(row.name)
        try:
            values[row.field] = row.read((row.default if text is None else text).strip())
        except ValueError:
            mistakes.append(f"{row.name} is {_quoted(text)}, and has to be {row.expects}")
    if mistakes:
        raise InvalidSettings(mistakes)
    values["brain_dir"] = folder.path
    return Settings(**values, explicit=frozenset(explicit), notes=tuple(notes))


@dataclass(frozen=True, slots=True)
class _DataFolder:
    """BRAIN_DIR. `users_env` is the `.env` that the user alone writes; `is_users` says that it is BRAIN_DIR's."""

    path: Path
    users_env: Path
    mistakes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_users(self) -> bool:
        return self.users_env.parent == self.path


def _data_folder(environ: Mapping[str, str], cwd: Path, flags: Mapping[str, str]) -> _DataFolder:
    """Flag, environment, else the working directory's own `.env` when it names a folder inside that directory."""
    default = _home(environ) / DEFAULT_FOLDER
    given = next((one for layer in (flags, environ) if (one := layer.get("BRAIN_DIR", "").strip())), "")
    if given:
        return _named_by_user(given, environ, cwd, default)
    local = _strangers_env(cwd).get("BRAIN_DIR", "").strip()
    notes: tuple[str, ...] = ()
    if local and not _same_place(cwd, local, default):
        why = _refused_to_checkout(cwd, local)
        if why is None:
            return _DataFolder(Path(os.path.realpath(cwd / local)), default / ENV_FILE)
        said = f"BRAIN_DIR is {_quoted(local)} in {cwd / ENV_FILE}, which does not count ({why}); {default} is used"
        notes = (said,)
    unusable = _unusable(default)
    mistakes = (f"{default} {unusable}: move it away, or set BRAIN_DIR to a folder of its own",) if unusable else ()
    return _DataFolder(default, default / ENV_FILE, mistakes, notes)


def _named_by_user(given: str, environ: Mapping[str, str], cwd: Path, default: Path) -> _DataFolder:
    """A relative path, or a project's own folder, is wherever the user works: its `.env` may be a stranger's."""
    text = _expanded(given, environ)
    path = Path(os.path.abspath(cwd / text))
    why = "names the home of an unknown user" if text.startswith("~") else _unusable(path)
    mistakes = (f"BRAIN_DIR is {_quoted(given)}, which {why}: name a folder of its own",) if why else ()
    is_users = path == default or (Path(text).is_absolute() and not looks_like_project(path))
    return _DataFolder(path, (path if is_users else default) / ENV_FILE, mistakes)


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


def _users_env(path: Path, notes: list[str], mistakes: list[str]) -> dict[str, str]:
    """The variables of the user's own file, which may be a link. What cannot be read of it is said."""
    if not os.path.exists(path):  # Path.exists would raise where the folder is closed to this user
        return {}
    try:
        text = _text(read_file(os.path.realpath(path), LARGEST_ENV + 1))
    except Unreadable as why:
        mistakes.append(f"{path} cannot be used: {why}")
    except UnicodeDecodeError:
        mistakes.append(f"{path} cannot be used: it is not UTF-8; save it in that encoding")
    else:
        if text is not None:
            found, broken = _variables(text)
            notes += (f"line {line} of {path} is no NAME=value and does not count" for line in broken)
            return found
        mistakes.append(f"{path} cannot be used: it is larger than {LARGEST_ENV:,} bytes")
    return {}


def _strangers_env(root: Path) -> Mapping[str, str]:
    """The variables of a workspace's `.env`, whoever wrote it; none where there is no plain, small, readable file.

    A link counts where it stays in the workspace. The text is read again when its time, size or inode changes.
    """
    path = root / ENV_FILE
    try:
        status = path.lstat()
        if is_link(status):
            path = Path(os.path.realpath(path))
            if not path.is_relative_to(os.path.realpath(root)):
                return {}
            status = path.lstat()
    except (OSError, ValueError):
        return {}
    if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_ENV:
        return {}
    if abs(time.time_ns() - status.st_mtime_ns) < _RACY_NS:
        return _read_strangers_env(str(path))
    return _known_env(str(path), status.st_mtime_ns, status.st_size, status.st_ino)


@functools.lru_cache(maxsize=64)
def _known_env(path: str, *_signature: int) -> Mapping[str, str]:
    return _read_strangers_env(path)


def _read_strangers_env(path: str) -> Mapping[str, str]:
    try:
        text = _text(read_file(path, LARGEST_ENV + 1))
    except (Unreadable, UnicodeDecodeError):
        return {}
    return {} if text is None else _variables(text)[0]


def _text(data: bytes) -> str | None:
    """The text of a `.env` file, None if it is too large. Raises UnicodeDecodeError."""
    return None if len(data) > LARGEST_ENV else data.decode("utf-8-sig")


def _variables(text: str) -> tuple[dict[str, str], list[int]]:
    """The variables, without interpolation, and the numbers of the lines that hold none and are no comment."""
    from dotenv.parser import parse_stream  # noqa: PLC0415 - only where there is a file to read

    found: dict[str, str] = {}
    broken: list[int] = []
    for one in parse_stream(io.StringIO(text)):
        if one.error:
            said = one.original.string
            broken.append(one.original.line + said[: len(said) - len(said.lstrip())].count("\n"))
        elif one.key is not None and one.value is not None:
            found[one.key] = one.value
    return found, broken


def _harmless(variables: Mapping[str, str]) -> dict[str, str]:
    """What a workspace may set, where it is set to something that can be read."""
    found: dict[str, str] = {}
    for row in SETTINGS:
        text = variables.get(row.name, "").strip()
        if text and row.from_workspace:
            try:
                row.read(text)
            except ValueError:
                continue
            found[row.name] = text
    return found


def _uncounted(variables: Mapping[str, str], folder: _DataFolder) -> list[str]:
    """One line that names what the `.env` of a data folder sets in vain."""
    vain = [row.name for row in SETTINGS if variables.get(row.name, "").strip() and not row.from_workspace]
    where = f"{', '.join(vain)} in {folder.path / ENV_FILE}"
    why = "a checkout's data folder may be a stranger's; the environment or"
    return [f"{where} does not count ({why} {folder.users_env} is the place)"] if vain else []


def _quoted(text: str | None) -> str:
    return repr(shortened(text or ""))
