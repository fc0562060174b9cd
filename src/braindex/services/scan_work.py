"""One scan of one workspace, done by whoever has its turn: the files, then the brief, then the vector index on disk."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from braindex.domain.errors import BraindexError
from braindex.domain.identity import short_id
from braindex.domain.options import WorkspaceOptions
from braindex.domain.ports import Embedder
from braindex.domain.results import ScanProgress, ScanSummary, Workspace
from braindex.registry.failures import StoreDamaged
from braindex.registry.index import IndexStore
from braindex.services.counts import Counts, Progress, ScanStopped
from braindex.services.retrieve import Embedders, OpenDense
from braindex.services.scan_turn import Published, Turn
from braindex.services.workspaces import Workspaces, drop_requested

if TYPE_CHECKING:
    from braindex.services.crew import Crews

log = logging.getLogger(__name__)

SYNC_WAIT: Final = 5.0  # seconds to wait for another process that is at the vector index


@dataclass(frozen=True, slots=True)
class ScanParts:
    """What a scan is made of, chosen by `bootstrap`."""

    embedders: Embedders
    open_dense: OpenDense
    options: Callable[[Path], WorkspaceOptions]
    after_scan: Callable[[Workspace, Path, IndexStore], None] = lambda *_: None
    """What is made of a finished index while the writer's lock is held."""
    crews: "Callable[[], Crews | None]" = lambda: None
    """Who helps to read many files."""


@dataclass(frozen=True, slots=True)
class Job:
    """What one scan is to do. `indexed` is called when every file is in the index.

    With `sync=False` the vector index on disk is left for later; with `brief=False` no brief is made; with
    `afresh=True` the whole index is made anew.
    """

    workspace: Workspace
    root: Path
    report: Progress
    stop: threading.Event
    indexed: Callable[[], None]
    sync: bool = True
    brief: bool = True
    afresh: bool = False


class ScanWork:
    """The work of scans, one at a time a workspace: the caller has the turn."""

    def __init__(self, workspaces: Workspaces, parts: ScanParts) -> None:
        self._workspaces = workspaces
        self._parts = parts

    def do(self, job: Job, store: IndexStore, turn: Turn) -> ScanSummary:
        """Brings the index up to date; called again when it turned out to be damaged.

        Where the scan of another process has just done that, a look at the disk is enough, and the summary is that
        scan's. A brief is made when this job or that scan was to make one.
        """
        started = time.monotonic()
        counts, report, published = Counts(), job.report, None
        took_over = job.afresh or turn.joined is None or not self._is_current(job, store)
        if took_over:
            report = published = Published(self._workspaces.folder(job.workspace), job.report)
            counts = self._ingest(job, store, report)
        job.indexed()
        self._finish(job, store, counts, report)
        summary = self._summary(job, store, counts, time.monotonic() - started)
        if turn.joined is not None and not (counts.added or counts.changed or counts.removed):
            took_over = False
            summary = replace(turn.joined, skipped=store.skipped(), notes=(*turn.joined.notes, *counts.notes))
        if published is not None:
            published.finished(summary)
            self._workspaces.record_scan(job.workspace, summary, now())
        return replace(summary, notes=(*summary.notes, *turn.note(taken_over=took_over)))

    def _is_current(self, job: Job, store: IndexStore) -> bool:
        """Whether the disk holds nothing that the index of this process's model does not."""
        from braindex.services.behind import behind  # noqa: PLC0415 - a server's start needs no walk

        def check_stop() -> None:
            if self._is_stopped(job):
                raise ScanStopped

        options = self._parts.options(job.root)
        return (
            self.fits(job.workspace, store)
            and store.scan_marks().state == "complete"
            and not behind(job.root, store, options, self._workspaces.data_folder, check_stop)
        )

    def fits(self, workspace: Workspace, store: IndexStore) -> bool:
        """False for an index of another model or version: its next scan makes it anew."""
        from braindex.services.ingest import fits  # noqa: PLC0415 - a server's start needs no parser

        return fits(store, self._parts.embedders.of(workspace))

    def _is_stopped(self, job: Job) -> bool:
        return job.stop.is_set() or drop_requested(self._workspaces.folder(job.workspace))

    def _ingest(self, job: Job, store: IndexStore, report: Progress) -> Counts:
        """The files into the index, between its markers, so that a scan that was cut short is known."""
        from braindex.services.ingest import Ingest  # noqa: PLC0415 - a server's start needs no parser
        from braindex.services.rebuild import bring_up_to_date  # noqa: PLC0415 - the same

        folder = self._workspaces.folder(job.workspace)
        options = self._parts.options(job.root)

        def stopped() -> bool:
            return self._is_stopped(job)

        def scan(into: IndexStore, embedder: Embedder, beside: IndexStore | None) -> Counts:
            return Ingest(
                job.root, into, embedder, options,
                own_folder=self._workspaces.data_folder, report=report, should_stop=stopped, beside=beside,
                crews=self._parts.crews(),
            ).run()  # fmt: skip

        embedders = self._parts.embedders
        store.scan_started(now())
        try:
            embedder = embedders.of(job.workspace, stopped)
            counts = bring_up_to_date(folder, store, embedder, embedders.local, scan, afresh=job.afresh)
        except (ScanStopped, StoreDamaged):
            raise
        except BraindexError as error:
            store.scan_failed(str(error))
            raise
        store.scan_finished(now())
        return counts

    def _finish(self, job: Job, store: IndexStore, counts: Counts, report: Progress) -> None:
        """What follows the files. Its failures are notes of a scan that succeeded."""
        if job.brief:
            self._after(job, store, counts)
        if job.sync:
            if counts.seen:
                report(ScanProgress("storing", counts.seen, counts.seen, store.entity_count()))
            self.sync(job.workspace, store, counts, job.stop)

    def _after(self, job: Job, store: IndexStore, counts: Counts) -> None:
        """The brief of a first scan; one that cannot be made costs the brief and not the scan."""
        try:
            self._parts.after_scan(job.workspace, job.root, store)
        except StoreDamaged:
            raise
        except BraindexError as error:
            counts.notes.append(f"the brief could not be made: {error}")
        except Exception:  # a fault in reading one project's manifests or prose; the index is whole
            log.exception("the brief could not be made")
            counts.notes.append("the brief could not be made; the log has the details")

    def sync(self, workspace: Workspace, store: IndexStore, counts: Counts, stop: threading.Event) -> None:
        """The vector index takes in what changed; when it cannot, questions are answered from the index alone."""
        folder = self._workspaces.folder(workspace)
        try:
            self._parts.open_dense(folder, store).sync(wait_seconds=SYNC_WAIT, stop=stop.is_set)
        except StoreDamaged:
            raise
        except BraindexError as error:
            log.warning("the vector index was not brought up to date: %s", error)
            counts.notes.append(f"the vector index is behind and questions do without it: {error}")

    def _summary(self, job: Job, store: IndexStore, counts: Counts, seconds: float) -> ScanSummary:
        totals = store.totals()
        return ScanSummary(
            workspace_id=job.workspace.id,
            files=totals.files,
            entities=totals.entities,
            added=counts.added,
            changed=counts.changed,
            removed=counts.removed,
            skipped=tuple(counts.skipped),
            seconds=seconds,
            notes=(*counts.notes, *self._moved(job.workspace, counts)),
        )

    def _moved(self, workspace: Workspace, counts: Counts) -> tuple[str, ...]:
        """A first scan of a folder that seems to have moved offers to bring its notes along."""
        old = self._workspaces.moved_from(workspace) if counts.added and not counts.changed else None
        if old is None:
            return ()
        merge = f"braindex workspaces merge {short_id(old.id)} {short_id(workspace.id)}"
        return (f"this looks like {old.path}, moved: `{merge}` brings its notes along",)


def now() -> str:
    """UTC, in ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
