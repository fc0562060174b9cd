"""index.db, and the vector index that is made of it: sound by themselves, in step with each other, fit to be used."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from braindex.domain.display import argument
from braindex.domain.errors import BraindexError
from braindex.domain.health import Check, counted, first_of
from braindex.domain.ports import DenseIndex
from braindex.registry.briefs import BRIEF_FILE
from braindex.registry.checks import IndexHealth, StoreAdrift, StoreEmpty, full_text_problem, index_health
from braindex.registry.failures import StoreDamaged, StoreError, file_identity
from braindex.registry.index import INDEX_FILE, IndexStore
from braindex.registry.meta import ScanMarks
from braindex.registry.scan_record import RECORD_FILE
from braindex.services.doctor.locks import scanned_now, writers_turn
from braindex.services.doctor.parts import Subject, unusable
from braindex.services.workspaces import DAMAGED_BEFORE, IndexSetAside

VECTORS: Final = "vector index"
SCAN: Final = "last scan"
_BUSY: Final = 2.0  # seconds to wait for a question that is at the vector index


@dataclass(frozen=True, slots=True)
class Damage:
    """What is wrong with an index.db, and which file it is: only that one may be set aside."""

    detail: str
    identity: tuple[int, int] | None


@dataclass(slots=True)
class IndexReport:
    """What was found. `damage` is there where nothing but a new index helps."""

    checks: list[Check]
    damage: Damage | None = None


def examined(subject: Subject) -> IndexReport:
    """Everything about a workspace's index, read beside whoever uses it. Nothing is made, moved or mended."""
    path = subject.folder / INDEX_FILE
    identity = file_identity(path)
    if identity is None:
        return IndexReport([_adrift(subject) if path.is_symlink() else _missing(subject)])
    try:
        health = index_health(path, full=subject.full)
        problem = first_of(health.problems) or (full_text(subject) if not health.older else "")
    except StoreDamaged as damage:
        said = _empty if isinstance(damage, StoreEmpty) else _damaged
        return said(subject, damage.detail, identity)
    except StoreError as trouble:
        return IndexReport([unusable(INDEX_FILE, trouble, subject.workspace.id)])
    if problem:
        return _damaged(subject, problem, identity)
    return _older(subject) if health.older else _sound(subject, health, identity)


def _older(subject: Subject) -> IndexReport:
    remedy = "nothing to do: the next scan or question brings it up to date"
    return IndexReport([subject.check(INDEX_FILE, "note", "an earlier version of braindex wrote it", remedy)])


def _missing(subject: Subject) -> Check:
    """A workspace that was never scanned, or one that was and lost its index: a brief, the record of a scan or
    registry.db tells.
    """
    again = f"braindex scan {argument(subject.workspace.path)}"
    traces = (subject.folder / name for name in (BRIEF_FILE, RECORD_FILE))
    if scanned_now(subject.folder):
        return subject.check(INDEX_FILE, "ok", "none yet: being scanned now")
    if subject.was_scanned or any(os.path.lexists(one) for one in traces):
        detail = "there is none, though the workspace was scanned: its index was lost"
        return subject.check(INDEX_FILE, "note", detail, f"the next scan or question makes it anew: {again}")
    return subject.check(INDEX_FILE, "note", "never scanned", again)


def _adrift(subject: Subject) -> Check:
    path = subject.folder / INDEX_FILE
    again = f"delete the link {argument(str(path))}, and the next scan makes a new index"
    remedy = f"mount what it leads to; or {again}: braindex scan {argument(subject.workspace.path)}"
    return subject.check(INDEX_FILE, "broken", StoreAdrift(path).detail, remedy)


def _empty(subject: Subject, detail: str, identity: tuple[int, int]) -> IndexReport:
    """An index that was cut off altogether. Whoever makes a new one begins with an empty file for a moment."""
    if scanned_now(subject.folder):
        return IndexReport([subject.check(INDEX_FILE, "ok", "being made now")])
    remedy = f"the next scan or question makes it anew: braindex scan {argument(subject.workspace.path)}"
    found = subject.check(INDEX_FILE, "broken", f"{detail}: what it held was cut off", remedy)
    return IndexReport([found], Damage(detail, identity))


def full_text(subject: Subject) -> str:
    """What FTS5 finds wrong, "" where it was not asked: a scan is at work, or only the cheap checks are made."""
    if not subject.full:
        return ""
    with writers_turn(subject.folder) as alone:
        return full_text_problem(subject.folder / INDEX_FILE) if alone else ""


def _damaged(subject: Subject, detail: str, identity: tuple[int, int] | None) -> IndexReport:
    remedy = (
        f"braindex doctor --repair {argument(subject.workspace.path)}: sets it aside, and the next scan rebuilds it"
    )
    return IndexReport(
        [subject.check(INDEX_FILE, "broken", f"it is damaged: {detail}", remedy)], Damage(detail, identity)
    )


def _sound(subject: Subject, health: IndexHealth, identity: tuple[int, int] | None) -> IndexReport:
    entities = f"{health.entities:,} {'entity' if health.entities == 1 else 'entities'}"
    counts = f"{counted(health.files, 'file')}, {entities}, {counted(health.vectors, 'vector')}"
    shape = f" of {health.dimension} numbers by {health.model}" if health.dimension and health.model else ""
    how = "" if subject.full else " (counted, not read)"
    checks = [subject.check(INDEX_FILE, "ok", f"{counts}{shape}{how}")]
    checks += scan_state(subject, health.marks)
    try:
        checks += vectors(subject)
    except StoreDamaged as damage:  # what only an opener for writing looks at
        return _damaged(subject, damage.detail, identity)
    except StoreError as trouble:
        checks.append(unusable(INDEX_FILE, trouble, subject.workspace.id))
    return IndexReport(checks)


def scan_state(subject: Subject, marks: ScanMarks | None) -> Iterator[Check]:
    """How the last scan went. The marks were read before the lock is looked at: a scan that began since is no fault."""
    again = f"braindex scan {argument(subject.workspace.path)}"
    if scanned_now(subject.folder):
        yield subject.check(SCAN, "ok", "being scanned now: what would race with that was left out")
    elif marks is None or marks.state == "never":
        yield subject.check(SCAN, "note", "no scan of it has finished yet", again)
    elif marks.state == "failed" and _was_set_aside(marks):
        detail = "its index was damaged and was set aside: what is there now is empty until the next scan or question"
        yield subject.check(SCAN, "note", detail, f"{again}: rebuilds it now")
    elif marks.state == "failed":
        yield subject.check(SCAN, "broken", f"it failed: {marks.last_error}", again)
    elif marks.state == "interrupted" and _still_interrupted(subject, marks):
        yield subject.check(SCAN, "note", "it was cut off", f"{again}: goes on where it ended")
    else:
        yield subject.check(SCAN, "ok", f"finished {marks.last_scan}")


def _was_set_aside(marks: ScanMarks) -> bool:
    """Whether no scan has failed, and the mark is the one that an index begins with after a damaged one."""
    return marks.last_scan is None and (marks.last_error or "").startswith(DAMAGED_BEFORE)


def _still_interrupted(subject: Subject, marks: ScanMarks) -> bool:
    """Whether the marks are those of before: a scan may have ended between the two looks."""
    with IndexStore.open(subject.folder, create=False) as store:
        return store.scan_marks() == marks


def vectors(subject: Subject) -> Iterator[Check]:
    """Whether the stored vectors are of the model in use, and what the vector index holds.

    Raises StoreError, StoreDamaged among them.
    """
    from braindex.services.ingest import fits  # noqa: PLC0415 - brings the parser

    parts = subject.installation.parts
    with IndexStore.open(subject.folder, create=False) as store:
        embedder = parts.embedders.of(subject.workspace)
        if not fits(store, embedder):
            detail = f"made by {store.model()}, and {embedder.model} is in use: questions find by words alone"
            yield subject.check("model", "note", detail, "nothing to do: the next scan makes the index anew")
        if not scanned_now(subject.folder):
            yield from _vector_index(subject, parts.open_dense(subject.folder, store))


def _vector_index(subject: Subject, dense: DenseIndex) -> Iterator[Check]:
    """The copy of the vectors that questions are put to, where there is to be one.

    A copy that is not yet where the settings want it is no fault, and a server that is away says nothing of its copy:
    index.db answers meanwhile.
    """
    place, again = dense.place(), f"braindex scan {argument(subject.workspace.path)}"
    server = subject.installation.server
    if not place.is_needed:
        yield subject.check(VECTORS, "ok", "none: at this size index.db is searched exactly")
    elif place.on_server and server is not None and server.is_away:
        what = "not compared, since" if place.is_there else "its vectors are not there yet, and"
        detail = f"{what} the Chroma server cannot be used; index.db answers meanwhile"
        yield subject.check(VECTORS, "note", detail, "see to the Chroma server first, which CHROMA_URL names")
    elif not place.is_there:
        where = "on the Chroma server" if place.on_server else "in a vector index of this machine"
        detail = f"its vectors are not {where} yet, and index.db answers meanwhile"
        yield subject.check(VECTORS, "note", detail, f"nothing has to be done: the next scan puts them there ({again})")
    elif not subject.full:
        return
    else:
        yield _compared(subject, dense, f"{again}: rebuilds it from index.db")


def _compared(subject: Subject, dense: DenseIndex, remedy: str) -> Check:
    """Raises StoreError."""
    try:
        found = dense.problems(wait_seconds=_BUSY)
    except StoreError:
        raise
    except BraindexError as busy:
        return subject.check(VECTORS, "note", f"not compared: {busy}", "run `braindex doctor` again in a minute")
    if not found:
        return subject.check(VECTORS, "ok", "what it holds is what index.db holds")
    detail = f"it differs from index.db, which answers meanwhile: {first_of(found)}"
    return subject.check(VECTORS, "broken", detail, remedy)


def repaired(subject: Subject, damage: Damage) -> Check:
    """Sets the damaged index aside, which deletes nothing, and leaves an empty one that says why.

    The next scan or question rebuilds it from the source; notes, episodes and the brief are not touched.
    """
    path = subject.folder / INDEX_FILE
    try:
        with subject.installation.parts.workspaces.open_index(subject.workspace):
            if file_identity(path) == damage.identity:  # opening it sets aside what shows then
                raise StoreDamaged(path, damage.detail, "", damage.identity)
    except IndexSetAside:
        pass
    except BraindexError as trouble:
        return subject.check(INDEX_FILE, "broken", f"it could not be set aside: {trouble}", "try again in a minute")
    copies = subject.folder.glob(f"{INDEX_FILE}.damaged-*")
    moved = next((one.name for one in copies if file_identity(one) == damage.identity), "")
    where = f"as {moved}" if moved else "by another process"
    detail = f"it was damaged ({damage.detail}) and was set aside {where}; the next scan or question rebuilds it"
    remedy = f"braindex scan {argument(subject.workspace.path)}: rebuilds it now"
    return subject.check(INDEX_FILE, "note", detail, remedy)
