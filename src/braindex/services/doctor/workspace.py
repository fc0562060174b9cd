"""What belongs to one workspace beside its index: its folder, its settings, its brief, its memory."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from braindex.domain.display import argument
from braindex.domain.health import Check, counted, enumerated, first_of
from braindex.domain.identity import short_id
from braindex.registry.briefs import BriefUnreadable, read_brief
from braindex.registry.checks import MemoryHealth, MemoryLost, StoreAdrift, memory_health
from braindex.registry.failures import StoreDamaged, StoreError
from braindex.registry.memory import MemoryStore
from braindex.registry.memory_file import KEPT_FILE, MEMORY_FILE, kept_mark
from braindex.services.doctor.parts import Subject, unusable

BRIEF: Final = "brief"


def root(subject: Subject) -> Iterator[Check]:
    path = subject.workspace.path
    if os.path.isdir(path):
        readable = os.access(path, os.R_OK | os.X_OK)
        remedy = "" if readable else "give this user the rights to read it"
        detail = path if readable else f"{path} cannot be read by this user"
        yield subject.check("folder", "ok" if readable else "broken", detail, remedy)
        return
    identifier = short_id(subject.workspace.id)
    remedy = (
        f"mount its drive; or, if it moved, `braindex workspaces merge {identifier} NEW`; or, if it is gone, "
        f"`braindex workspaces drop {identifier}`"
    )
    yield subject.check("folder", "note", f"{path} is not there", remedy)


def ignored(subject: Subject) -> Iterator[Check]:
    """What the workspace's `.env`, which a stranger may have written, sets in vain: names, never values."""
    names = subject.installation.parts.settings.ignored(Path(subject.workspace.path))
    if names:
        remedy = "set them in the environment or in your own .env if they are meant for braindex"
        detail = f"its .env sets {enumerated(names, 10)}, which does not count there"
        yield subject.check("settings", "note", detail, remedy)


def brief(subject: Subject) -> Iterator[Check]:
    """brief.md against the hash that brief.json has of it."""
    try:
        found = read_brief(subject.folder)
    except BriefUnreadable as trouble:
        remedy = f"braindex brief --update {argument(subject.workspace.path)}"
        yield subject.check(BRIEF, "broken", str(trouble), remedy)
        return
    if found is None:
        yield subject.check(BRIEF, "ok", "none yet")
    elif found.edited:
        yield subject.check(BRIEF, "ok", "changed by hand since it was locked; it is used as it is")
    else:
        yield subject.check(BRIEF, "ok", f"as it was locked {found.record.locked or 'at an unknown time'}")


def closed(folder: Path) -> str:
    """Why this user cannot look into a workspace's folder; "" where that can be done, and where there is none."""
    try:
        os.listdir(folder)
        os.stat(folder / os.curdir)
    except FileNotFoundError:
        return ""
    except OSError as why:
        return why.strerror or type(why).__name__
    return ""


def out_of_reach(subject: Subject) -> Iterator[Check]:
    """Nothing is said of what cannot be seen: neither that it is missing nor that it is sound."""
    detail = f"{subject.folder} cannot be read by this user: {closed(subject.folder)}"
    remedy = "give this user the rights to the whole data folder, or call braindex as the user whose it is"
    yield subject.check("data", "broken", detail, remedy)


def memory(subject: Subject) -> Iterator[Check]:
    """memory.db is looked at and never changed: nothing can rebuild it."""
    path = subject.folder / MEMORY_FILE
    if not MemoryStore.exists(subject.folder) and not kept_mark(subject.folder):
        return
    try:
        found = memory_health(path, full=subject.full)
    except MemoryLost as lost:
        yield _lost(subject, lost.detail)
    except StoreAdrift as adrift:
        remedy = f"mount what it leads to; or delete the link, then {_instead(subject)}"
        yield subject.check(MEMORY_FILE, "broken", adrift.detail, remedy)
    except StoreDamaged as damage:
        yield _damaged(subject, damage.detail)
    except StoreError as trouble:
        yield unusable(MEMORY_FILE, trouble, subject.workspace.id)
    else:
        yield _looked_at(subject, found)


def _looked_at(subject: Subject, found: MemoryHealth) -> Check:
    if found.problems:
        return _damaged(subject, first_of(found.problems))
    if found.older:
        return subject.check(MEMORY_FILE, "ok", "of an earlier version")
    held = f"{counted(found.notes, 'note')}, {counted(found.episodes, 'episode')}"
    if found.is_another:
        return _lost(subject, f"it holds {held}, and is another than the one that they were first kept in")
    return subject.check(MEMORY_FILE, "ok", held)


def _lost(subject: Subject, detail: str) -> Check:
    mark = argument(str(subject.folder / KEPT_FILE))
    remedy = f"{_instead(subject)}; if there is none, or what is there is meant to be, delete {mark}"
    return subject.check(MEMORY_FILE, "broken", detail, remedy)


def _damaged(subject: Subject, detail: str) -> Check:
    remedy = (
        "notes cannot be rebuilt, so it is left as it is: move it away with its -wal and -shm files, then "
        f"{_instead(subject)}; `sqlite3 {MEMORY_FILE} .recover` may read what is left"
    )
    return subject.check(MEMORY_FILE, "broken", f"it is damaged: {detail}", remedy)


def _instead(subject: Subject) -> str:
    """What may stand in the place of a memory that is lost."""
    copies = sorted(one.name for one in subject.folder.glob(f"{MEMORY_FILE}.before-*"))
    place = argument(str(subject.folder / MEMORY_FILE))
    return f"put a copy at {place} ({enumerated(copies)})" if copies else f"put a backup at {place}"
