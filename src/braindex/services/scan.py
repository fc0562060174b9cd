"""Scans: in the foreground or in the background, one at a time a workspace, whoever asks."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from braindex.domain.errors import BraindexError
from braindex.domain.results import ScanProgress, ScanStatus, ScanSummary, Workspace
from braindex.indexing.own_data import OwnFolders
from braindex.registry.index import IndexStore
from braindex.services.counts import Counts, Progress, ScanStopped
from braindex.services.roots import checked_root
from braindex.services.scan_handle import ScanHandle
from braindex.services.scan_state import scan_state
from braindex.services.scan_turn import LOCK_POLL, turn_of
from braindex.services.scan_work import Job, ScanParts, ScanWork
from braindex.services.workspaces import Workspaces, is_being_scanned

__all__ = ["FIRST_SCAN_TIME", "ScanHandle", "ScanParts", "Scans"]

log = logging.getLogger(__name__)

STOP_WAIT: Final = 0.8  # seconds a stopping process gives its scans to finish their batch
FIRST_SCAN_TIME: Final = 6.0  # seconds from a first scan's start in which questions wait; clients give up after ten


class Scans:
    """Starts, joins, watches and stops the scans of this process, and shares in those of others."""

    def __init__(self, workspaces: Workspaces, parts: ScanParts) -> None:
        self._workspaces = workspaces
        self._work = ScanWork(workspaces, parts)
        self._lock = threading.Lock()
        self._handles: dict[str, ScanHandle] = {}
        self._active: list[tuple[threading.Thread, ScanHandle]] = []
        self._as_of: dict[str, float] = {}
        self._listeners: list[Callable[[Workspace], None]] = []
        self._stopped = False

    def on_finished(self, listener: Callable[[Workspace], None]) -> None:
        """Calls `listener` after each background scan that ended well, in the scan's thread."""
        self._listeners.append(listener)

    def run(
        self, workspace: Workspace, on_progress: Progress | None = None, *, sync: bool = True, brief: bool = True
    ) -> ScanSummary:
        """Scans in the calling thread. Raises BraindexError; an interrupt leaves what was stored so far.

        While another process scans the workspace, this waits, reports how far that one is, and returns that one's
        summary when it left nothing to do. With `brief=False` no brief is made.

        `sync=False` is for a question to come: the vector index on disk is left for `sync`, and for the scan of another
        process it waits as long as a first question may and no longer; what is missing then, the answer says.
        """
        if not sync and self._is_elsewhere(workspace):
            return self._beside(workspace, on_progress or (lambda _: None))
        handle = ScanHandle()
        return self._scan(workspace, handle, on_progress or handle.report, sync=sync, brief=brief)

    def _is_elsewhere(self, workspace: Workspace) -> bool:
        return self.running(workspace) is None and is_being_scanned(self._workspaces.folder(workspace))

    def _beside(self, workspace: Workspace, report: Progress) -> ScanSummary:
        """What is there when a question has to be answered, while another process scans: what changed since is for the
        question's own look to find.
        """
        started = time.monotonic()
        if not self._was_scanned(workspace):
            self._wait_for_first(workspace, report)
        totals, skipped = self._workspaces.with_index(workspace, lambda store: (store.totals(), store.skipped()))
        spent = time.monotonic() - started
        return ScanSummary(workspace.id, totals.files, totals.entities, 0, 0, 0, skipped, spent)

    def _wait_for_first(self, workspace: Workspace, report: Progress) -> None:
        """Waits within bounds for the first scan of another process; for one that turns out to be ours to finish, to
        its end. Raises what the scan fails with.
        """
        handle = self.start(workspace)
        while not handle.wait_indexed(LOCK_POLL) and not self._was_scanned(workspace):
            report(handle.progress())
            if not handle.has_begun and handle.seconds() >= FIRST_SCAN_TIME:
                return

    def _was_scanned(self, workspace: Workspace) -> bool:
        return self._workspaces.has_index(workspace) and self._workspaces.with_index(
            workspace, lambda store: store.scan_marks().last_scan is not None
        )

    def sync(self, workspace: Workspace) -> None:
        """Brings the vector index on disk up to date with the stored vectors, if anything waits for that.

        A scan of another process does so at its end, so that this one need not.
        """
        if self._is_elsewhere(workspace):
            return
        self._workspaces.with_index(
            workspace, lambda store: self._work.sync(workspace, store, Counts(), threading.Event())
        )

    def start(self, workspace: Workspace, *, afresh: bool = False) -> ScanHandle:
        """Starts a scan in a daemon thread, or joins the one that runs in this process.

        A scan that is done with the files and at the vector index is not joined: it would miss what changed since.
        `afresh` joins none, waits for its turn, and makes the whole index anew; the old one answers until that is done.
        """
        with self._lock:
            handle = self._handles.get(workspace.id)
            if handle is not None and handle.running and not handle.is_indexed and not afresh:
                return handle
            handle = self._handles[workspace.id] = ScanHandle()
            if self._stopped:
                handle.finish(None, ScanStopped())
                return handle
            thread = threading.Thread(
                target=self._background, args=(workspace, handle, afresh), name=f"scan-{workspace.id[:8]}", daemon=True
            )
            self._active = [one for one in self._active if one[0].is_alive()]
            self._active.append((thread, handle))
            thread.start()
            return handle

    def stop(self) -> None:
        """Asks every running scan to stop and gives them a moment to finish their batch. Nothing starts after it."""
        with self._lock:
            self._stopped = True
            active = list(self._active)
        for _, handle in active:
            handle.stop.set()
        deadline = time.monotonic() + STOP_WAIT
        for thread, _ in active:
            thread.join(max(0.0, deadline - time.monotonic()))

    def running(self, workspace: Workspace) -> ScanHandle | None:
        """The handle of a scan that runs in this process, if any."""
        handle = self._handles.get(workspace.id)
        return handle if handle is not None and handle.running else None

    def _background(self, workspace: Workspace, handle: ScanHandle, afresh: bool) -> None:
        try:
            handle.finish(self._scan(workspace, handle, handle.report, afresh=afresh), None)
        except BraindexError as error:
            handle.finish(None, error)
        except BaseException as error:  # the thread's boundary: whoever waits gets the error
            log.exception("a background scan failed")
            handle.finish(None, error)
        else:
            for listener in self._listeners:
                listener(workspace)

    def _scan(
        self,
        workspace: Workspace,
        handle: ScanHandle,
        report: Progress,
        *,
        sync: bool = True,
        brief: bool = True,
        afresh: bool = False,
    ) -> ScanSummary:
        root = checked_root(workspace.path)
        OwnFolders((self._workspaces.data_folder,)).refuse(str(root))
        self._workspaces.register(workspace)
        with turn_of(workspace, self._workspaces.folder(workspace), report, handle.stop) as turn:
            self._workspaces.check_registered(workspace)
            handle.begins()
            as_of = time.monotonic()

            def indexed() -> None:
                self.mark_current(workspace, as_of)
                handle.indexed()

            job = Job(workspace, root, report, handle.stop, indexed, sync=sync, brief=brief, afresh=afresh)
            summary = self._workspaces.with_index(
                workspace, lambda store: self._work.do(job, store, turn), writing=True
            )
        report(ScanProgress("finished", summary.files, summary.files, summary.entities))
        return summary

    def current_as_of(self, workspace: Workspace) -> float:
        """The moment (`time.monotonic`) whose state of the disk this process knows to be indexed; minus infinity when
        it knows of none.
        """
        return self._as_of.get(workspace.id, float("-inf"))

    def mark_current(self, workspace: Workspace, as_of: float) -> None:
        """A scan or a look that began at that moment left nothing to do."""
        self._as_of[workspace.id] = max(as_of, self.current_as_of(workspace))

    def fits(self, workspace: Workspace, store: IndexStore) -> bool:
        """False for an index of another model or version: its next scan makes it anew."""
        return self._work.fits(workspace, store)

    def status(self, workspace: Workspace) -> ScanStatus:
        """What the workspace holds, and how far a scan of it is, in this process or another."""
        return scan_state(self._workspaces, workspace, self.running(workspace))
