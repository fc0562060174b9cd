"""registry.db, and which workspaces there are: by it, and by the folders that it can be rebuilt from."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from braindex.domain.health import Check, enumerated, megabytes
from braindex.domain.identity import short_id, workspace_id
from braindex.domain.names import one_workspace
from braindex.domain.results import Workspace
from braindex.registry.checks import described, registry_health
from braindex.registry.failures import StoreDamaged, StoreError, StoreMissing
from braindex.registry.workspaces import MIN_SHORT_ID, REGISTRY_FILE, WORKSPACE_FILE
from braindex.services.doctor.leftovers import size_of
from braindex.services.doctor.parts import Installation, unusable
from braindex.services.roots import canonical

_REBUILT: Final = (
    "the next command that needs it (`braindex workspaces list`) moves it aside, deletes nothing, and lists the "
    "workspaces anew from their folders"
)

_RIGHTS: Final = "give this user the rights to the data folder"


@dataclass(frozen=True, slots=True)
class Known:
    """The workspaces of a data folder, and what is to be said of the list of them."""

    workspaces: tuple[Workspace, ...] = ()
    checks: tuple[Check, ...] = ()


def known(here: Installation) -> Known:
    """Every workspace that registry.db or a folder names, by name, then path; nothing is created or healed."""
    try:
        return _known(here)
    except OSError as trouble:  # the data folder is closed to this user, which has a check of its own
        return Known(checks=(Check(REGISTRY_FILE, "broken", f"it cannot be looked at: {trouble}", _RIGHTS),))


def _known(here: Installation) -> Known:
    listed, checks = _listed(here)
    by_folder = {one.id: one for one in _folders(here)}
    everything = {**by_folder, **{one.id: one for one in listed or ()}}
    if listed is not None:
        checks += _differences(here, {one.id for one in listed}, by_folder)
    checks += _set_aside(here)
    ordered = sorted(everything.values(), key=lambda one: (one.name, one.path))
    return Known(tuple(ordered), tuple(checks))


def meant(reference: str, everything: Sequence[Workspace]) -> Workspace:
    """The workspace that a text names: a folder (known or not), an id, a short id or a name.

    Raises UnknownWorkspace, AmbiguousWorkspace.
    """
    path = os.path.expanduser(reference)
    if os.path.isdir(path):
        identifier, real = workspace_id(canonical(path)), os.path.realpath(path)
        return next((one for one in everything if one.id == identifier), Workspace(identifier, Path(real).name, real))
    exact = [one for one in everything if reference == one.path or reference.lower() == one.id]
    return one_workspace(reference, exact or [one for one in everything if _may_mean(reference, one)])


def _may_mean(text: str, one: Workspace) -> bool:
    by_id = len(text) >= MIN_SHORT_ID and one.id.startswith(text.lower())
    return by_id or text.casefold() == one.name.casefold()


def _listed(here: Installation) -> tuple[tuple[Workspace, ...] | None, list[Check]]:
    """What registry.db lists, None where it cannot be read, and how it is."""
    path = here.brain_dir / REGISTRY_FILE
    try:
        found = registry_health(path, full=here.full)
    except StoreMissing:
        detail = "there is none yet" if here.brain_dir.exists() else "no data folder, no workspaces"
        return None, [Check(REGISTRY_FILE, "ok", detail)]
    except StoreDamaged as damage:
        return None, [_damaged(damage.detail)]
    except StoreError as trouble:
        return None, [unusable(REGISTRY_FILE, trouble)]
    if found.problems:
        return found.workspaces, [_damaged("; ".join(found.problems[:3]))]
    if found.older:
        detail = "an earlier version wrote it"
        return None, [Check(REGISTRY_FILE, "note", detail, "nothing to do: the next command brings it up to date")]
    count = len(found.workspaces)
    return found.workspaces, [Check(REGISTRY_FILE, "ok", f"{count:,} workspace{'' if count == 1 else 's'}")]


def _damaged(detail: str) -> Check:
    return Check(REGISTRY_FILE, "broken", f"it is damaged ({detail})", _REBUILT)


def _folders(here: Installation) -> Iterator[Workspace]:
    for file in sorted(here.workspaces_folder.glob(f"*/{WORKSPACE_FILE}")):
        found = described(file)
        if found is not None and found.id == file.parent.name:
            yield found


def _differences(here: Installation, listed: set[str], by_folder: dict[str, Workspace]) -> list[Check]:
    """Rows without a folder, folders without a row, and folders that do not say whose they are."""
    checks: list[Check] = []
    folders = {one.name for one in here.workspaces_folder.glob("*") if one.is_dir()}
    if gone := sorted(listed - folders):
        detail = f"no data is there of {enumerated(map(short_id, gone))}"
        remedy = "scan them again, or forget them: `braindex workspaces drop ID`"
        checks.append(Check("workspace folders", "note", detail, remedy))
    if unlisted := sorted(set(by_folder) - listed):
        detail = f"registry.db does not list {enumerated(by_folder[one].path for one in unlisted)}"
        checks.append(Check("workspace folders", "note", detail, "scan these folders: that lists them again"))
    if unnamed := sorted(folders - set(by_folder)):
        checks += _nameless(here, listed, unnamed)
    return checks


def _nameless(here: Installation, listed: set[str], unnamed: list[str]) -> list[Check]:
    checks: list[Check] = []
    if lost := [one for one in unnamed if one in listed]:
        detail = f"{enumerated(map(short_id, lost))}: no {WORKSPACE_FILE} that says whose data it is"
        checks.append(Check("workspace folders", "note", detail, "scan these workspaces: that writes it anew"))
    if left := [one for one in unnamed if one not in listed]:
        size = sum(size_of(here.workspaces_folder / one) for one in left)
        detail = f"no workspace has {enumerated(left)} ({megabytes(size)}): left over from one that was dropped"
        checks.append(Check("workspace folders", "note", detail, "delete what has no memory.db in it, or keep it"))
    return checks


def _set_aside(here: Installation) -> list[Check]:
    """Registries that were moved away, which nobody deletes: their ledger is in no other file."""
    everything = sorted(here.brain_dir.glob(f"{REGISTRY_FILE}.damaged-*"))
    found = [one for one in everything if not one.name.endswith(("-wal", "-shm"))]
    if not found:
        return []
    detail = f"damaged ones were moved aside: {enumerated(one.name for one in found)}"
    remedy = "they hold the token ledger of their time; delete them when nobody wants it"
    return [Check(REGISTRY_FILE, "note", f"{detail} ({megabytes(sum(map(size_of, found)))})", remedy)]
