"""Settings: frozen, read once from flags, environment and `.env` files, every mistake reported at once."""

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from braindex.domain.errors import UsageError
from braindex.domain.options import WorkspaceOptions


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
    """Every setting, read and checked. `explicit` names those that were set at all; `for_workspace` adds a layer."""

    brain_dir: Path
    brain_workspace: str
    distance_threshold: float
    lexical_rerank: bool
    lexical_rerank_weight: float
    skip_bare_files: tuple[str, ...]
    max_file_bytes: int
    explicit: frozenset[str] = frozenset()

    def for_workspace(self, root: Path) -> "Settings":
        """These settings with the workspace's own `.env` below them: only what a stranger may set counts there.

        A value set by a flag, the environment or the user's `.env` wins. A mistake in the workspace's file is
        passed over, since its author may not be the user.
        """
        found: dict[str, Any] = {}
        local = _read_env(root / ".env")
        for row in SETTINGS:
            text = local.get(row.name) if row.from_workspace else None
            if text is not None and row.name not in self.explicit:
                try:
                    found[row.field] = row.read(text)
                except ValueError:
                    continue
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


def _read_env(path: Path) -> dict[str, str]:
    """The variables of a `.env` file, without interpolation; none when there is no readable file."""
    from dotenv import dotenv_values  # noqa: PLC0415 - only where there is a file to read

    if not path.is_file():
        return {}
    try:
        found = dotenv_values(path, interpolate=False, encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    return {name: value for name, value in found.items() if value is not None}


def _brain_dir(environ: Mapping[str, str], cwd: Path, flags: Mapping[str, str]) -> Path:
    """Flag, environment, else the folder's own `.env` when it names a relative path inside that folder."""
    given = flags.get("BRAIN_DIR") or environ.get("BRAIN_DIR")
    if given:
        return Path(os.path.abspath(cwd / Path(given).expanduser()))
    local = _read_env(cwd / ".env").get("BRAIN_DIR", "")
    if local and not Path(local).is_absolute() and not local.startswith("~"):
        inside = Path(os.path.realpath(cwd / local))
        if inside.is_relative_to(os.path.realpath(cwd)):
            return inside
    return Path(environ.get("HOME") or Path.home()) / ".brain"


def load_settings(environ: Mapping[str, str], cwd: Path, flags: Mapping[str, str] | None = None) -> Settings:
    """Reads every setting: flag, then environment, then `BRAIN_DIR/.env`. An empty value counts as not set.

    Raises InvalidSettings, which names every mistake at once.
    """
    flags = flags or {}
    brain_dir = _brain_dir(environ, cwd, flags)
    layers = (flags, environ, _read_env(brain_dir / ".env"))
    values: dict[str, Any] = {}
    mistakes: list[str] = []
    explicit: set[str] = set()
    for row in SETTINGS:
        text = next((layer[row.name] for layer in layers if layer.get(row.name, "").strip()), None)
        if text is not None:
            explicit.add(row.name)
        try:
            values[row.field] = row.read((row.default if text is None else text).strip())
        except ValueError:
            mistakes.append(f"{row.name} is {text!r}, and has to be {row.expects}")
    if mistakes:
        raise InvalidSettings(mistakes)
    values["brain_dir"] = brain_dir
    return Settings(**values, explicit=frozenset(explicit))
