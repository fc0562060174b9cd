"""index.db, and the vector index that is made of it: sound by themselves, in step with each other, fit to be used."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from braindex.domain.display import argument
from braindex.domain.errors import BraindexError
from braindex.domain.health import Check
from braindex.registry.checks import IndexHealth, full_text_problem, index_health
from braindex.registry.failures import StoreDamaged, StoreError, file_identity
from braindex.registry.index import INDEX_FILE, IndexStore
from braindex.registry.meta import ScanMarks
from braindex.services.doctor.locks import scanned_now, writers_turn
from braindex.services.doctor.parts import Subject, unusable
from braindex.services.workspaces import IndexSetAside

VECTORS: Final = "vector index"
SCAN: Final = "last scan"
_BUSY: Final = 2.0  # seconds to wait for a question that is at the vector index
_SHOWN: Final = 3  # problems in a line; the first ones say most


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
        remedy = f"braindex scan {argument(subject.workspace.path)}"
        return IndexReport([subject.check(INDEX_FILE, "note", "never scanned", remedy)])
    try:
        health = index_health(path, full=subject.full)
        problem = "; ".join(health.problems[:_SHOWN]) or (full_text(subject) if not health.older else "")
    except StoreDamaged as damage:
        return _damaged(subject, damage.detail, identity)
    except StoreError as trouble:
        return IndexReport([unusable(INDEX_FILE, trouble, subject.workspace.id)])
    if problem:
        return _damaged(subject, problem, identity)
    if health.older:
        detail = "an earlier version of braindex wrote it"
        remedy = "nothing to do: the next scan or question brings it up to date"
        return IndexReport([subject.check(INDEX_FILE, "note", detail, remedy)])
    return _sound(subject, health, identity)


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
    counts = f"{health.files:,} files, {health.entities:,} entities, {health.vectors:,} vectors"
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
    elif marks.state == "failed":
        yield subject.check(SCAN, "broken", f"it failed: {marks.last_error}", again)
    elif marks.state == "interrupted" and _still_interrupted(subject, marks):
        yield subject.check(SCAN, "note", "it was cut off", f"{again}: goes on where it ended")
    else:
        yield subject.check(SCAN, "ok", f"finished {marks.last_scan}")


def _still_interrupted(subject: Subject, marks: ScanMarks) -> bool:
    """Whether the marks are those of before: a scan may have ended between the two looks."""
    with IndexStore.open(subject.folder, create=False) as store:
        return store.scan_marks() == marks


def vectors(subject: Subject) -> Iterator[Check]:
    """Whether the stored vectors are of the model in use, and the vector index holds the very same.

    Raises StoreError, StoreDamaged among them.
    """
    from braindex.services.ingest import fits  # noqa: PLC0415 - brings the parser

    parts = subject.installation.parts
    with IndexStore.open(subject.folder, create=False) as store:
        embedder = parts.embedders.of(subject.workspace)
        if not fits(store, embedder):
            detail = f"made by {store.model()}, and {embedder.model} is in use: questions find by words alone"
            yield subject.check("model", "note", detail, "nothing to do: the next scan makes the index anew")
        if not subject.full or scanned_now(subject.folder):
            return
        try:
            is_kept = store.outbox_kept()
            found = parts.open_dense(subject.folder, store).problems(wait_seconds=_BUSY)
        except StoreError:
            raise
        except BraindexError as busy:
            yield subject.check(VECTORS, "note", f"not compared: {busy}", "run `braindex doctor` again in a minute")
            return
    if found:
        detail = f"it differs from index.db, which answers meanwhile: {'; '.join(found[:_SHOWN])}"
        remedy = f"braindex scan {argument(subject.workspace.path)}: rebuilds it from index.db"
        yield subject.check(VECTORS, "broken", detail, remedy)
    else:
        same, none = "what it holds is what index.db holds", "none: at this size index.db is searched exactly"
        yield subject.check(VECTORS, "ok", same if is_kept else none)


def repaired(subject: Subject, damage: Damage) -> Check:
    """Sets the damaged index aside, which deletes nothing, and leaves an empty one that says why.

    The next scan or question rebuilds it from the source; notes, episodes and the brief are not touched.
    """
    path = subject.folder / INDEX_FILE
    try:
        with subject.installation.parts.workspaces.open_index(subject.workspace):
            raise StoreDamaged(path, damage.detail, "", damage.identity)
    except IndexSetAside as moved:
        remedy = f"braindex scan {argument(subject.workspace.path)}: rebuilds it now"
        return subject.check(INDEX_FILE, "note", str(moved), remedy)
    except BraindexError as trouble:
        return subject.check(INDEX_FILE, "broken", f"it could not be set aside: {trouble}", "try again in a minute")
