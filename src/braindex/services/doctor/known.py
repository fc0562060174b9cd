"""registry.db, and which workspaces there are: by it, and by the folders that it can be rebuilt from."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from braindex.domain.display import argument
from braindex.domain.health import Check, counted, enumerated, first_of, megabytes
from braindex.domain.identity import short_id, workspace_id
from braindex.domain.names import one_workspace
from braindex.domain.results import Workspace
from braindex.indexing.own_data import OwnFolders
from braindex.registry.checks import RegistryHealth, StoreAdrift, StoreEmpty, described, registry_health
from braindex.registry.failures import StoreDamaged, StoreError, StoreMissing
from braindex.registry.memory_file import KEPT_FILE
from braindex.registry.scan_record import RECORD_FILE
from braindex.registry.workspaces import MIN_SHORT_ID, REGISTRY_FILE, WORKSPACE_FILE
from braindex.services.doctor.leftovers import size_of
from braindex.services.doctor.parts import Installation, unusable
from braindex.services.resolution import names_a_path
from braindex.services.roots import canonical, checked_root
from braindex.services.workspaces import DROP_REQUEST

_REBUILT: Final = (
    "the next command that needs it (`braindex workspaces list`) moves it aside, deletes nothing, and lists the "
    "workspaces anew from their folders"
)

_RIGHTS: Final = "give this user the rights to the data folder"
_REFILLED: Final = (
    "the next command that needs it (`braindex workspaces list`) lists the workspaces anew from their folders; the "
    "token ledger that was in it is lost"
)
# What a drop that was cut off may leave: locks, marks, and news of a scan. Anything else may be a workspace's data.
_NO_DATA: Final = re.compile(
    rf".*\.lock|{re.escape(DROP_REQUEST)}|{re.escape(KEPT_FILE)}|{re.escape(RECORD_FILE)}(\.new)?"
)
_FOLDERS: Final = "workspace folders"


@dataclass(frozen=True, slots=True)
class Known:
    """The workspaces of a data folder, and what is to be said of the list of them. `scanned` are the ids of those that
    were scanned, as far as registry.db knows.
    """

    workspaces: tuple[Workspace, ...] = ()
    checks: tuple[Check, ...] = ()
    scanned: frozenset[str] = frozenset()


def known(here: Installation) -> Known:
    """Every workspace that registry.db or a folder names, by name, then path; nothing is created or healed."""
    try:
        return _known(here)
    except OSError as trouble:  # the data folder is closed to this user, which has a check of its own
        return Known(checks=(Check(REGISTRY_FILE, "broken", f"it cannot be looked at: {trouble}", _RIGHTS),))


def _known(here: Installation) -> Known:
    found, checks = _listed(here)
    listed = None if found is None else {one.id: one for one in found.workspaces}
    by_folder = {one.id: one for one in _folders(here)}
    everything = {**by_folder, **(listed or {})}
    checks += _differences(here, listed, by_folder) + _set_aside(here)
    ordered = sorted(everything.values(), key=lambda one: (one.name, one.path))
    return Known(tuple(ordered), tuple(checks), frozenset() if found is None else found.scanned)


def first_step() -> Check:
    """What to do where nothing is remembered yet."""
    remedy = "scan a project: `braindex scan PATH`; then `braindex setup` connects your IDE's agent to it"
    return Check("workspaces", "note", "none is known yet, so there is nothing to ask about", remedy)


def meant(reference: str, everything: Sequence[Workspace], here: Installation) -> Workspace:
    """The workspace that a text names: a folder (known or not), an id, a short id or a name.

    Raises UnknownWorkspace, AmbiguousWorkspace, and for a folder that is no known workspace and can be none what
    `checked_root` raises, and what `OwnFolders.refuse` does: as every other command.
    """
    path = os.path.expanduser(reference)
    is_folder, real = os.path.isdir(path), os.path.realpath(path) if "\0" not in path else path
    identifier = workspace_id(canonical(path)) if is_folder else reference.lower()
    exact = [one for one in everything if one.id == identifier or one.path in {reference, real}]
    if exact:
        return one_workspace(reference, exact)
    if is_folder or names_a_path(reference) or os.path.exists(path):
        root = checked_root(path)
        OwnFolders((here.brain_dir,)).refuse(str(root))
        return Workspace(identifier, root.name, str(root))
    return one_workspace(reference, [one for one in everything if _may_mean(reference, one)])


def _may_mean(text: str, one: Workspace) -> bool:
    by_id = len(text) >= MIN_SHORT_ID and one.id.startswith(text.lower())
    return by_id or text.casefold() == one.name.casefold()


def _listed(here: Installation) -> tuple[RegistryHealth | None, list[Check]]:
    """What registry.db lists, None where it cannot be read, and how it is."""
    path = here.brain_dir / REGISTRY_FILE
    try:
        found = registry_health(path, full=here.full)
    except StoreMissing:
        detail = "there is none yet" if here.brain_dir.exists() else "no data folder, no workspaces"
        return None, [Check(REGISTRY_FILE, "ok", detail)]
    except StoreDamaged as damage:
        return None, [_unsound(path, damage)]
    except StoreError as trouble:
        return None, [unusable(REGISTRY_FILE, trouble)]
    if found.problems:
        return found, [_damaged(first_of(found.problems))]
    if found.older:
        detail = "an earlier version wrote it"
        return None, [Check(REGISTRY_FILE, "note", detail, "nothing to do: the next command brings it up to date")]
    return found, [Check(REGISTRY_FILE, "ok", counted(len(found.workspaces), "workspace"))]


def _unsound(path: Path, damage: StoreDamaged) -> Check:
    if isinstance(damage, StoreAdrift):
        remedy = f"mount what it leads to; or delete the link {argument(str(path))}, and then {_REFILLED}"
        return Check(REGISTRY_FILE, "broken", damage.detail, remedy)
    if isinstance(damage, StoreEmpty):
        return Check(REGISTRY_FILE, "broken", damage.detail, _REFILLED)
    return _damaged(damage.detail)


def _damaged(detail: str) -> Check:
    return Check(REGISTRY_FILE, "broken", f"it is damaged ({detail})", _REBUILT)


def _folders(here: Installation) -> Iterator[Workspace]:
    for file in sorted(here.workspaces_folder.glob(f"*/{WORKSPACE_FILE}")):
        found = described(file)
        if found is not None and found.id == file.parent.name:
            yield found


def _differences(
    here: Installation, listed: dict[str, Workspace] | None, by_folder: dict[str, Workspace]
) -> list[Check]:
    """Rows without a folder, folders without a row, and folders that do not say whose they are. `listed` is None where
    registry.db cannot say what it lists.
    """
    checks: list[Check] = []
    folders = {one.name for one in here.workspaces_folder.glob("*") if one.is_dir()}
    if gone := sorted(set(listed or ()) - folders):
        detail = f"no data is there of {enumerated(map(short_id, gone))}"
        remedy = "scan them again, or forget them: `braindex workspaces drop ID`"
        checks.append(Check(_FOLDERS, "note", detail, remedy))
    if unlisted := sorted(set(by_folder).difference(listed)) if listed is not None else []:
        detail = f"registry.db does not list {enumerated(by_folder[one].path for one in unlisted)}"
        checks.append(Check(_FOLDERS, "note", detail, "scan these folders: that lists them again"))
    nameless = [one for one in sorted(folders - set(by_folder)) if not _is_withheld(here.workspaces_folder / one)]
    return checks + _nameless(here, listed or {}, nameless)


def _nameless(here: Installation, listed: dict[str, Workspace], unnamed: list[str]) -> list[Check]:
    """Folders without a workspace.json. Whose a folder is that registry.db does not list either, nobody can tell: it
    may be a workspace's that lost both, so that only one without any data is left over for certain.
    """
    checks: list[Check] = []
    unknown = [one for one in unnamed if one not in listed]
    if lost := [listed[one] for one in unnamed if one in listed]:
        detail = f"no {WORKSPACE_FILE} says whose data it is of {enumerated(one.path for one in lost)}"
        remedy = f"braindex scan {argument(lost[0].path)}: writes it anew" + ("; so with the others" * (len(lost) > 1))
        checks.append(Check(_FOLDERS, "note", detail, remedy))
    if unclaimed := [one for one in unknown if _holds_data(here.workspaces_folder / one)]:
        detail = f"neither registry.db nor a {WORKSPACE_FILE} says whose data it is: {_sized(here, unclaimed)}"
        remedy = "scan your projects: the scan of the one that it belongs to takes it up again, notes included"
        checks.append(Check(_FOLDERS, "note", detail, remedy))
    if left := [one for one in unknown if one not in unclaimed]:
        detail = f"left over from a drop, without any data: {_sized(here, left)}"
        checks.append(Check(_FOLDERS, "note", detail, "delete them when nobody scans or drops a workspace"))
    return checks


def _is_withheld(folder: Path) -> bool:
    """Whether a workspace.json may well be there, and this user may not read it: the check of the rights says so."""
    try:
        (folder / WORKSPACE_FILE).open("rb").close()
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def _holds_data(folder: Path) -> bool:
    """Whether anything but locks is in a folder, as far as can be told."""
    try:
        return any(not _NO_DATA.fullmatch(name) for name in os.listdir(folder))
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _sized(here: Installation, names: list[str]) -> str:
    return f"{enumerated(names)} ({megabytes(sum(size_of(here.workspaces_folder / one) for one in names))})"


def _set_aside(here: Installation) -> list[Check]:
    """Registries that were moved away, which nobody deletes: their ledger is in no other file."""
    everything = sorted(here.brain_dir.glob(f"{REGISTRY_FILE}.damaged-*"))
    found = [one for one in everything if not one.name.endswith(("-wal", "-shm"))]
    if not found:
        return []
    detail = f"damaged ones were moved aside: {enumerated(one.name for one in found)}"
    remedy = "they hold the token ledger of their time; delete them when nobody wants it"
    return [Check(REGISTRY_FILE, "note", f"{detail} ({megabytes(sum(map(size_of, found)))})", remedy)]
