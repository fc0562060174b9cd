"""Where the value of each setting comes from: the places in their order, of which the first that counts wins."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from braindex.config.contradictions import contradictions
from braindex.config.data_folder import BRAIN_DIR, DataFolder, data_folder
from braindex.config.env_files import ENV_FILE, quoted, read_strangers_env, read_users_env
from braindex.config.misspelt import without_effect
from braindex.config.table import SETTINGS, Setting
from braindex.domain.display import shortened
from braindex.domain.hosts import shown_host
from braindex.domain.secrets import redacted

Origin = Literal["flag", "environment", "user", "data folder", "workspace", "default"]
_STRANGERS: Final = frozenset[Origin]({"data folder", "workspace"})
_NOT_SHOWN: Final = "a value that is not shown"


@dataclass(frozen=True, slots=True)
class Place:
    """Where settings are looked for, and what is said there. `file` is the `.env`, None for the first two."""

    origin: Origin
    variables: Mapping[str, str]
    file: Path | None = None

    def text(self, row: Setting) -> str:
        """What is said of a setting; an empty value counts as none."""
        return self.variables.get(row.name, "").strip()

    def refuses(self, row: Setting, text: str) -> str:
        """Why a setting that is said here does not count; "" where it does."""
        if self.origin not in _STRANGERS or row.counts_in_workspace(text):
            return ""
        if row.name == BRAIN_DIR:
            return "it counts in the folder that a command runs in alone"
        if row.is_users_alone(text):
            may = f"but {' or '.join(row.workspace_values)}" if row.workspace_values else "of it"
            return f"this file may be a stranger's, and nothing {may} counts there"
        return f"it has to be {row.expects}"


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A place that says something of a setting, in vain."""

    origin: Origin
    file: Path | None
    why: str


@dataclass(frozen=True, slots=True)
class Found:
    """One setting as it is in force: its text, where that was said, and what else was said of it in vain.

    `value` is what the text means, None where it means nothing: `mistake` says so then.
    """

    setting: Setting
    text: str
    value: Any
    origin: Origin
    file: Path | None = None
    passed_over: tuple[PassedOver, ...] = ()
    mistake: str = ""

    @property
    def is_set(self) -> bool:
        return self.origin != "default"

    @property
    def shown(self) -> str:
        """The value as it may be shown, "" for none: of a secret that there is one, of an address where it leads."""
        if self.setting.secret:
            return "set" if self.text else ""
        if self.setting.is_address and self.text != self.setting.default:
            return _shown_address(str(self.value)) if self.text and not self.mistake else _NOT_SHOWN
        return shortened(redacted(self.text))

    @property
    def said_in(self) -> str:
        """Who says it: the `.env`, or the kind of place."""
        return str(self.file) if self.file is not None else self.origin


@dataclass(frozen=True, slots=True)
class Survey:
    """Every setting, and all that is wrong with them. `notes` and `without_effect` are those of `Settings`."""

    folder: DataFolder
    places: tuple[Place, ...]
    rows: tuple[Found, ...]
    mistakes: tuple[str, ...]
    notes: tuple[str, ...]
    without_effect: tuple[str, ...]

    def rows_for(self, root: Path) -> tuple[Found, ...]:
        """The settings as they are for one workspace, whose `.env` lies below all others."""
        place = Place("workspace", read_strangers_env(root), root / ENV_FILE)
        return tuple(_with(place, row) for row in self.rows)


def survey(environ: Mapping[str, str], cwd: Path, flags: Mapping[str, str]) -> Survey:
    """Reads every setting: flag, then environment, then the `.env` that the user alone writes, then that of a data
    folder which may be a stranger's. Nothing is raised: what is wrong is told.
    """
    folder = data_folder(environ, cwd, flags)
    notes, mistakes = list(folder.notes), list(folder.mistakes)
    users = read_users_env(folder.users_env, notes, mistakes)
    own = folder.path / ENV_FILE
    strangers = {} if folder.is_users else read_strangers_env(folder.path)
    vain = without_effect(users, folder.users_env, is_users=True) + without_effect(strangers, own, is_users=False)
    places = (
        Place("flag", flags),
        Place("environment", environ),
        Place("user", users, folder.users_env),
        *(() if folder.is_users else (Place("data folder", strangers, own),)),
    )
    notes += _uncounted(strangers, folder)
    rows = tuple(_found(row, places, folder) for row in SETTINGS)
    mistakes += (row.mistake for row in rows if row.mistake)
    if not mistakes:
        mistakes += contradictions({row.setting.field: row.value for row in rows})
    return Survey(folder, places, rows, tuple(mistakes), tuple(notes), vain)


def _found(row: Setting, places: tuple[Place, ...], folder: DataFolder) -> Found:
    if row.name == BRAIN_DIR:
        return _data_folder(row, folder, places)
    found = _read(row, row.default, "default")
    for place in places:
        found = _with(place, found)
    return found


def _with(place: Place, found: Found) -> Found:
    """What is in force where one more place is looked at, which lies below those that were."""
    row, text = found.setting, place.text(found.setting)
    known = (found.file, *(one.file for one in found.passed_over))
    if not text or (place.file is not None and place.file in known):
        return found
    why = place.refuses(row, text)
    if not why and not found.is_set:
        return replace(_read(row, text, place.origin, place.file), passed_over=found.passed_over)
    vain = PassedOver(place.origin, place.file, why or _first(found))
    return replace(found, passed_over=(*found.passed_over, vain))


def _first(found: Found) -> str:
    return f"{found.file or f'the {found.origin}'} comes first"


def _read(row: Setting, text: str, origin: Origin, file: Path | None = None) -> Found:
    try:
        return Found(row, text, row.read(text.strip()), origin, file)
    except ValueError:
        withheld = row.secret or row.is_address
        is_not = f"has {_NOT_SHOWN}" if withheld else f"is {quoted(redacted(text))}"
        return Found(row, text, None, origin, file, mistake=f"{row.name} {is_not}, and has to be {row.expects}")


def _data_folder(row: Setting, folder: DataFolder, places: tuple[Place, ...]) -> Found:
    """BRAIN_DIR is found before its own `.env` is read, so that no line of that can name it."""
    in_force = Found(row, str(folder.path), folder.path, folder.origin, folder.said_in)
    vain = list[PassedOver]()
    for place in places:
        if not place.text(row) or place.origin == folder.origin:
            continue
        why = "it is read too late there" if place.file is not None else _first(in_force)
        vain.append(PassedOver(place.origin, place.file, why))
    if folder.refused is not None:
        file, why = folder.refused
        vain.append(PassedOver("workspace", file, why))
    return replace(in_force, passed_over=tuple(vain))


def _shown_address(address: str) -> str:
    """Scheme, host and port: a user name, a path or a query may be a secret."""
    shown = shown_host(address)
    return shown if shown == address.rstrip("/") else f"{shown} (the rest of it is not shown)"


def harmless(variables: Mapping[str, str]) -> dict[str, str]:
    """What a workspace may set, where it is set to something that can be read."""
    texts = ((row, variables.get(row.name, "").strip()) for row in SETTINGS)
    return {row.name: text for row, text in texts if row.counts_in_workspace(text)}


def _uncounted(variables: Mapping[str, str], folder: DataFolder) -> list[str]:
    """One line that names what the `.env` of a data folder sets in vain."""
    texts = ((row, variables.get(row.name, "").strip()) for row in SETTINGS)
    vain = [row.name for row, text in texts if text and row.is_users_alone(text)]
    where = f"{', '.join(vain)} in {folder.path / ENV_FILE}"
    why = "a checkout's data folder may be a stranger's; the environment or"
    return [f"{where} does not count ({why} {folder.users_env} is the place)"] if vain else []
