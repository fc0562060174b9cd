"""What the checks look at, and what they need from the adapters."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from braindex.domain.errors import BraindexError
from braindex.domain.health import Check, Health
from braindex.domain.results import Workspace
from braindex.registry.checks import StoreNoFile
from braindex.registry.failures import StoreError, StoreLocked, StoreTooNew
from braindex.registry.workspaces import WORKSPACES_FOLDER
from braindex.services.retrieve import Embedders, OpenDense
from braindex.services.workspaces import Workspaces


@dataclass(frozen=True, slots=True)
class Probe:
    """A provider that the settings name, and how to ask it which models it has: never a call that is paid for.

    `models` are (variable, model); `where` is the provider as it may be shown. `stays_here` says that nothing that is
    sent to it leaves this machine. `complete` says that a model is not there when it is not in the list; others may
    know more than they list. `list_models` raises EngineFailed within two seconds.
    """

    name: str
    where: str
    models: tuple[tuple[str, str], ...]
    list_models: Callable[[], Sequence[str]]
    stays_here: bool = False
    complete: bool = False
    on_missing: str = ""


@dataclass(frozen=True, slots=True)
class VectorServer:
    """The Chroma server that the settings name, as it may be shown: without headers, user names and paths.

    `version` asks it, and whether it has the tenant and database. Raises a BraindexError that says what is wrong,
    within a few seconds.
    """

    where: str
    version: Callable[[], str]


@dataclass(frozen=True, slots=True)
class LeftCollections:
    """How many collections of earlier indexes nobody has deleted yet on one server, as it may be shown."""

    where: str
    count: int


class AskedServer:
    """What a Chroma server answers, asked when that is first wanted and once an examination: one that hangs is waited
    for once, however many workspaces have their vectors there.
    """

    def __init__(self, server: VectorServer) -> None:
        self.where = server.where
        self._server = server

    @functools.cached_property
    def answer(self) -> tuple[str, str]:
        """(its version, "") or ("", what is wrong with it)."""
        try:
            return self._server.version(), ""
        except BraindexError as failure:
            return "", str(failure)

    @property
    def is_away(self) -> bool:
        return bool(self.answer[1])


@dataclass(frozen=True, slots=True)
class SettingsFound:
    """What the settings say, without a value: names may be shown, keys and addresses never.

    `ignored` names the variables that the `.env` of a workspace sets in vain; `without_effect` says, a line each, what
    nothing reads in braindex's own.
    """

    set_names: tuple[str, ...]
    notes: tuple[str, ...]
    ignored: Callable[[Path], Sequence[str]]
    local_mode: bool = False
    without_effect: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DoctorParts:
    """What an examination needs, chosen by `bootstrap`."""

    workspaces: Workspaces
    embedders: Embedders
    open_dense: OpenDense
    settings: SettingsFound
    engines: tuple[Probe, ...] = ()
    embedding: Probe | None = None
    """Who embeds, where it is not the bundled model."""
    server: VectorServer | None = None
    """Who keeps the vectors, where CHROMA_URL names a server."""
    left_collections: Callable[[], Sequence[LeftCollections]] = tuple


@dataclass(frozen=True, slots=True)
class Installation:
    """What is examined. `full` reads every page and vector; without it the cheap checks are made alone."""

    brain_dir: Path
    parts: DoctorParts
    full: bool = True
    server: AskedServer | None = None

    @property
    def workspaces_folder(self) -> Path:
        return self.brain_dir / WORKSPACES_FOLDER


@dataclass(frozen=True, slots=True)
class Subject:
    """One workspace under examination: whose it is, and where its data lies. `was_scanned` is what registry.db says."""

    workspace: Workspace
    folder: Path
    installation: Installation
    was_scanned: bool = False

    @property
    def full(self) -> bool:
        return self.installation.full

    def check(self, name: str, state: Health, detail: str, remedy: str = "") -> Check:
        return Check(name, state, detail, remedy, self.workspace.id)


def unusable(name: str, trouble: StoreError, workspace_id: str = "") -> Check:
    """The finding for a store that cannot be looked into, for another reason than damage."""
    if isinstance(trouble, StoreLocked):
        return Check(name, "note", str(trouble), "run `braindex doctor` again in a minute", workspace_id)
    if isinstance(trouble, StoreTooNew):
        return Check(name, "broken", str(trouble), f"install braindex {trouble.version} or later", workspace_id)
    if isinstance(trouble, StoreNoFile):
        return Check(name, "broken", str(trouble), "move it away: a database is a file", workspace_id)
    remedy = "see to the rights to the data folder and to its disk"
    return Check(name, "broken", str(trouble), remedy, workspace_id)
