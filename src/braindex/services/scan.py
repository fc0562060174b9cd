"""Scans: in the foreground or in the background, one at a time a workspace, whoever asks."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from braindex.domain.errors import BraindexError
from braindex.domain.identity import short_id
from braindex.domain.options import WorkspaceOptions
from braindex.domain.ports import Embedder
from braindex.domain.results import ScanProgress, ScanStatus, ScanSummary, State, Workspace
from braindex.indexing.own_data import OwnFolders
from braindex.registry.failures import StoreDamaged
from braindex.registry.index import IndexStore
from braindex.services.counts import Counts, Progress, ScanStopped
from braindex.services.retrieve import Embedders, OpenDense
from braindex.services.roots import checked_root
from braindex.services.workspaces import LOCK_FILE, Workspaces, drop_requested, is_being_scanned

log = logging.getLogger(__name__)

LOCK_POLL: Final = 0.1  # seconds between two looks at a lock that another process holds
SYNC_WAIT: Final = 5.0  # seconds to wait for another process that is at the vector index
STOP_WAIT: Final = 0.8  # seconds a stopping process gives its scans to finish their batch
_IDLE: Final = ScanProgress("waiting", 0, 0, 0)


@dataclass(frozen=True, slots=True)
class ScanParts:
    """What a scan is made of, chosen by `bootstrap`."""

    embedders: Embedders
    open_dense: OpenDense
    options: Callable[[Path], WorkspaceOptions]
    after_scan: Callable[[Workspace, Path, IndexStore], None] = lambda *_: None
    """What is made of a finished index while the writer's lock is held."""


class ScanHandle:
    """A scan that runs in the background. Any number of callers may wait for the same one."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self._finished = threading.Event()
        self._indexed = threading.Event()
        self._progress = _IDLE
        self._summary: ScanSummary | None = None
        self._error: BaseException | None = None
        self._started = time.monotonic()

    def report(self, progress: ScanProgress) -> None:
        self._progress = progress

    def progress(self) -> ScanProgress:
        """How far the scan is."""
        return self._progress

    def seconds(self) -> float:
        """How long ago the scan was started."""
        return time.monotonic() - self._started

    def indexed(self) -> None:
        """From here on questions are answered from all files; what is left is the vector index on disk."""
        self._indexed.set()

    def wait_indexed(self, timeout: float) -> bool:
        """Whether every file is in the index, after at most `timeout` seconds. Raises the scan's own error."""
        if self._indexed.wait(timeout) and self._finished.is_set() and self._error is not None:
            raise self._error
        return self._indexed.is_set()

    @property
    def running(self) -> bool:
        return not self._finished.is_set()

    @property
    def failed(self) -> bool:
        return self._error is not None

    def finish(self, summary: ScanSummary | None, error: BaseException | None) -> None:
        self._summary, self._error = summary, error
        self._finished.set()
        self._indexed.set()

    def wait(self, timeout: float | None) -> ScanSummary | None:
        """The summary, or None while the scan still runs after `timeout` seconds. Raises the scan's own error."""
        if not self._finished.wait(timeout):
            return None
        if self._error is not None:
            raise self._error
        return self._summary


class Scans:
    """Starts, joins, watches and stops the scans of this process."""

    def __init__(self, workspaces: Workspaces, parts: ScanParts) -> None:
        self._workspaces = workspaces
        self._parts = parts
        self._lock = threading.Lock()
        self._handles: dict[str, ScanHandle] = {}
        self._threads: list[threading.Thread] = []
        self._last: dict[str, float] = {}
        self._listeners: list[Callable[[Workspace], None]] = []
        self._stopped = False

    def on_finished(self, listener: Callable[[Workspace], None]) -> None:
        """Calls `listener` after each background scan that ended well, in the scan's thread."""
        self._listeners.append(listener)

    def run(
        self, workspace: Workspace, on_progress: Progress | None = None, *, sync: bool = True, brief: bool = True
    ) -> ScanSummary:
        """Scans in the calling thread. Raises BraindexError; an interrupt leaves what was stored so far.

        With `sync=False` the vector index on disk is left for `sync`, so that a question need not wait for it. With
        `brief=False` no brief is made.
        """
        handle = ScanHandle()
        return self._scan(workspace, handle, on_progress or handle.report, sync=sync, brief=brief)

    def sync(self, workspace: Workspace) -> None:
        """Brings the vector index on disk up to date with the stored vectors, if anything waits for that."""
        folder = self._workspaces.folder(workspace)
        self._workspaces.with_index(workspace, lambda store: self._sync(folder, store, Counts(), threading.Event()))

    def start(self, workspace: Workspace) -> ScanHandle:
        """Starts a scan in a daemon thread, or joins the one that runs in this process."""
        with self._lock:
            handle = self._handles.get(workspace.id)
            if handle is not None and handle.running:
                return handle
            handle = self._handles[workspace.id] = ScanHandle()
            if self._stopped:
                handle.finish(None, ScanStopped())
                return handle
            thread = threading.Thread(
                target=self._background, args=(workspace, handle), name=f"scan-{workspace.id[:8]}", daemon=True
            )
            self._threads = [one for one in self._threads if one.is_alive()] + [thread]
            thread.start()
            return handle

    def stop(self) -> None:
        """Asks every running scan to stop and gives them a moment to finish their batch. Nothing starts after it."""
        with self._lock:
            self._stopped = True
            threads, handles = list(self._threads), list(self._handles.values())
        for handle in handles:
            handle.stop.set()
        deadline = time.monotonic() + STOP_WAIT
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def running(self, workspace: Workspace) -> ScanHandle | None:
        """The handle of a scan that runs in this process, if any."""
        handle = self._handles.get(workspace.id)
        return handle if handle is not None and handle.running else None

    def _background(self, workspace: Workspace, handle: ScanHandle) -> None:
        try:
            handle.finish(self._scan(workspace, handle, handle.report), None)
        except BraindexError as error:
            handle.finish(None, error)
        except BaseException as error:  # the thread's boundary: whoever waits gets the error
            log.exception("a background scan failed")
            handle.finish(None, error)
        else:
            for listener in self._listeners:
                listener(workspace)

    def _scan(
        self, workspace: Workspace, handle: ScanHandle, report: Progress, *, sync: bool = True, brief: bool = True
    ) -> ScanSummary:
        root = checked_root(workspace.path)
        OwnFolders((self._workspaces.data_folder,)).refuse(str(root))
        self._workspaces.register(workspace)
        with writer_lock(self._workspaces.folder(workspace), report, handle.stop):
            self._workspaces.check_registered(workspace)
            summary = self._workspaces.with_index(
                workspace,
                lambda store: self._fill(workspace, root, store, handle, report, sync=sync, brief=brief),
                writing=True,
            )
        report(ScanProgress("finished", summary.files, summary.files, summary.entities))
        return summary

    def _fill(
        self,
        workspace: Workspace,
        root: Path,
        store: IndexStore,
        handle: ScanHandle,
        report: Progress,
        *,
        sync: bool,
        brief: bool,
    ) -> ScanSummary:
        """The scan itself, under the writer lock; called again when the index turned out to be damaged."""
        started = time.monotonic()
        folder = self._workspaces.folder(workspace)
        counts = self._ingest(workspace, root, store, report, handle.stop)
        self._last[workspace.id] = time.monotonic()
        handle.indexed()
        if brief:
            self._after(workspace, root, store, counts)
        if sync:
            report(ScanProgress("storing", counts.seen, counts.seen, store.entity_count()))
            self._sync(folder, store, counts, handle.stop)
        summary = _summary(workspace, store, counts, time.monotonic() - started, self._moved(workspace, counts))
        self._workspaces.record_scan(workspace, summary, _now())
        return summary

    def _ingest(
        self, workspace: Workspace, root: Path, store: IndexStore, report: Progress, stop: threading.Event
    ) -> Counts:
        """The files into the index, between its markers, so that a scan that was cut short is known."""
        from braindex.services.ingest import Ingest  # noqa: PLC0415 - a server's start needs no parser
        from braindex.services.rebuild import bring_up_to_date  # noqa: PLC0415 - the same

        folder = self._workspaces.folder(workspace)
        options = self._parts.options(root)

        def stopped() -> bool:
            return stop.is_set() or drop_requested(folder)

        def scan(into: IndexStore, embedder: Embedder, beside: IndexStore | None) -> Counts:
            return Ingest(
                root, into, embedder, options,
                own_folder=self._workspaces.data_folder, report=report, should_stop=stopped, beside=beside,
            ).run()  # fmt: skip

        embedders = self._parts.embedders
        store.scan_started(_now())
        try:
            counts = bring_up_to_date(folder, store, embedders.of(workspace, stopped), embedders.local, scan)
        except (ScanStopped, StoreDamaged):
            raise
        except BraindexError as error:
            store.scan_failed(str(error))
            raise
        store.scan_finished(_now())
        return counts

    def _after(self, workspace: Workspace, root: Path, store: IndexStore, counts: Counts) -> None:
        """The brief of a first scan; one that cannot be made costs the brief and not the scan."""
        try:
            self._parts.after_scan(workspace, root, store)
        except StoreDamaged:
            raise
        except BraindexError as error:
            counts.notes.append(f"the brief could not be made: {error}")
        except Exception:  # a fault in reading one project's manifests or prose; the index is whole
            log.exception("the brief could not be made")
            counts.notes.append("the brief could not be made; the log has the details")

    def _sync(self, folder: Path, store: IndexStore, counts: Counts, stop: threading.Event) -> None:
        """The vector index takes in what changed; when it cannot, questions are answered from the index alone."""
        try:
            self._parts.open_dense(folder, store).sync(wait_seconds=SYNC_WAIT, stop=stop.is_set)
        except StoreDamaged:
            raise
        except BraindexError as error:
            log.warning("the vector index was not brought up to date: %s", error)
            counts.notes.append(f"the vector index is behind and questions do without it: {error}")

    def seconds_since(self, workspace: Workspace) -> float:
        """How long ago this process last brought the workspace up to date; infinity when it never did."""
        return time.monotonic() - self._last.get(workspace.id, float("-inf"))

    def _moved(self, workspace: Workspace, counts: Counts) -> tuple[str, ...]:
        """A first scan of a folder that seems to have moved offers to bring its notes along."""
        old = self._workspaces.moved_from(workspace) if counts.added and not counts.changed else None
        if old is None:
            return ()
        merge = f"braindex workspaces merge {short_id(old.id)} {short_id(workspace.id)}"
        return (f"this looks like {old.path}, moved: `{merge}` brings its notes along",)

    def fits(self, workspace: Workspace, store: IndexStore) -> bool:
        """False for an index of another model or version: its next scan makes it anew."""
        from braindex.services.ingest import fits  # noqa: PLC0415 - a server's start needs no parser

        return fits(store, self._parts.embedders.of(workspace))

    def mark_current(self, workspace: Workspace) -> None:
        """A look at the disk found nothing to do."""
        self._last[workspace.id] = time.monotonic()

    def status(self, workspace: Workspace) -> ScanStatus:
        """What the workspace holds, and how far a scan of it is, in this process or another."""
        handle = self.running(workspace)
        if not IndexStore.exists(self._workspaces.folder(workspace)):
            state: State = "running" if handle else "never"
            parent = self._workspaces.parent_of(workspace)
            progress = handle.progress() if handle else None
            return ScanStatus(workspace, state, 0, 0, complete=False, progress=progress, known_parent=parent)
        marks, totals, skipped = self._workspaces.with_index(
            workspace, lambda store: (store.scan_marks(), store.totals(), store.skipped())
        )
        running = handle is not None or (
            marks.state == "interrupted" and is_being_scanned(self._workspaces.folder(workspace))
        )
        return ScanStatus(
            workspace=workspace,
            state="running" if running else marks.state,
            files=totals.files,
            entities=totals.entities,
            complete=marks.last_scan is not None,
            skipped=skipped,
            progress=handle.progress() if handle else None,
            last_scan=marks.last_scan,
            last_error=marks.last_error,
            known_parent=self._workspaces.parent_of(workspace),
            languages=totals.languages,
            kinds=totals.kinds,
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def writer_lock(folder: Path, report: Progress, stop: threading.Event) -> FileLock:
    """The lock of the workspace's one writer, acquired; it dies with its holder. Waits while another scan runs."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK_FILE, mode=0o600)
    while True:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            report(_IDLE)
            if stop.wait(LOCK_POLL):
                raise ScanStopped from None
        else:
            return lock


def _summary(
    workspace: Workspace, store: IndexStore, counts: Counts, seconds: float, notes: tuple[str, ...]
) -> ScanSummary:
    totals = store.totals()
    return ScanSummary(
        workspace_id=workspace.id,
        files=totals.files,
        entities=totals.entities,
        added=counts.added,
        changed=counts.changed,
        removed=counts.removed,
        skipped=tuple(counts.skipped),
        seconds=seconds,
        notes=(*counts.notes, *notes),
    )
