"""The examination: a table of checks, each with a name, run one after the other whatever the others find."""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from braindex.domain.errors import BraindexError
from braindex.domain.health import Check
from braindex.domain.results import Workspace
from braindex.services.doctor import (
    data_folder,
    engines,
    hooks,
    index,
    known,
    leftovers,
    locks,
    logs,
    machine,
    vector_server,
    workspace,
)
from braindex.services.doctor.parts import AskedServer, DoctorParts, Installation, Subject

log = logging.getLogger(__name__)

_Found = Iterator[Check]


def settings(here: Installation) -> _Found:
    """Which variables are set, by name, and what of the `.env` files does not count."""
    found = here.parts.settings
    names = f"{len(found.set_names)} set: {', '.join(found.set_names)}" if found.set_names else "all as shipped"
    yield Check("settings", "ok", names)
    for note in found.notes:
        yield Check("settings", "note", note, "take it out, or set it where it counts")
    for line in found.without_effect:
        yield Check("settings", "note", line, "correct it, or take it out")


# What needs neither settings nor data.
MACHINE: Final[tuple[tuple[str, Callable[[], _Found]], ...]] = (
    ("Python", machine.python),
    ("packages", machine.packages),
    ("SQLite", machine.sqlite),
    ("grammars", machine.grammars),
)
# In this order: who can read the files is looked at before anything opens, and so tightens, one of them.
INSTALLATION: Final[tuple[tuple[str, Callable[[Installation], _Found]], ...]] = (
    ("settings", settings),
    ("data folder", data_folder.folder),
    ("private files", data_folder.modes),
    ("disk", data_folder.place),
    ("space", data_folder.space),
    ("engines", engines.engines),
    ("embedding", engines.embedding),
    (vector_server.SERVER, vector_server.server),
    ("collections", vector_server.left_collections),
    (hooks.NAME, hooks.left),
    ("logs", logs.last_errors),
)
WORKSPACE: Final[tuple[tuple[str, Callable[[Subject], _Found]], ...]] = (
    ("folder", workspace.root),
    ("settings", workspace.ignored),
)
# What lies in the data folder, where this user may look.
DATA: Final[tuple[tuple[str, Callable[[Subject], _Found]], ...]] = (
    ("brief", workspace.brief),
    ("memory.db", workspace.memory),
)


def machine_checks() -> _Found:
    """What can be said without settings."""
    for name, check in MACHINE:
        yield from _guarded(name, check)


class Doctor:
    """Examines the installation and its data. It never creates a folder, a workspace or an index, and mends nothing
    unless asked to; it works beside servers and scans, and leaves out what would race with them.
    """

    def __init__(self, brain_dir: Path, parts: DoctorParts) -> None:
        self._brain_dir = brain_dir
        self._parts = parts

    def examine(self, reference: str | None = None, *, full: bool = True, repair: bool = False) -> Iterator[Check]:
        """Every finding, as it is found. `reference` names one workspace; without it all known ones are examined.

        Without `full` no page, vector or entry is read one by one. With `repair` a damaged index.db is set aside, so
        that the next scan rebuilds it. Raises what `known.meant` raises, before the first finding.
        """
        server = AskedServer(self._parts.server) if self._parts.server is not None else None
        here = Installation(self._brain_dir, self._parts, full, server)
        listed = known.known(here)
        wanted = listed.workspaces if reference is None else (known.meant(reference, listed.workspaces, here),)
        return self._examined(here, listed, wanted, repair=repair)

    @staticmethod
    def _examined(here: Installation, listed: known.Known, wanted: Sequence[Workspace], *, repair: bool) -> _Found:
        yield from machine_checks()
        for name, check in INSTALLATION:
            yield from _guarded(name, lambda check=check: check(here))  # type: ignore[misc]
        yield from listed.checks
        if not wanted:
            yield known.first_step()
        yield from _guarded("locks", lambda: locks.at_work(here, listed.workspaces))
        for one in wanted:
            subject = Subject(one, here.workspaces_folder / one.id, here, one.id in listed.scanned)
            for found in _workspace(subject, repair=repair):
                yield replace(found, workspace_name=one.name, workspace_path=one.path)


def _workspace(subject: Subject, *, repair: bool) -> _Found:
    for name, check in (*WORKSPACE, *_data(subject, repair=repair)):
        yield from _guarded(name, lambda check=check: check(subject), subject.workspace.id)  # type: ignore[misc]


def _data(subject: Subject, *, repair: bool) -> Iterator[tuple[str, Callable[[Subject], _Found]]]:
    """The checks of a workspace's data: one alone where nothing of it can be looked at."""
    if workspace.closed(subject.folder):
        yield "data", workspace.out_of_reach
        return
    yield from DATA
    yield "index.db", lambda one: _index(one, repair=repair)
    if not locks.scanned_now(subject.folder):
        yield "leftovers", leftovers.leftovers


def _index(subject: Subject, *, repair: bool) -> _Found:
    report = index.examined(subject)
    if repair and report.damage is not None:
        yield index.repaired(subject, report.damage)
    else:
        yield from report.checks


def _guarded(name: str, check: Callable[[], _Found], workspace_id: str = "") -> _Found:
    """The findings of one check; what it fails with becomes a finding, so that it hides no other."""
    try:
        yield from check()
    except (BraindexError, OSError) as trouble:
        yield Check(name, "broken", f"it could not be checked: {trouble}", "see to that, then try again", workspace_id)
    except Exception as fault:  # named fallback: whoever is ill must still hear of everything else
        log.exception("the check %s failed", name)
        detail = f"the check itself failed ({type(fault).__name__})"
        yield Check(name, "broken", detail, "this is a bug: report it with the log", workspace_id)
