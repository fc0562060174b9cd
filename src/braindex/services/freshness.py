"""Before a question is answered, what changed on disk is looked for and taken in, within bounds."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from braindex.domain.engines import EngineFailed
from braindex.domain.errors import BraindexError
from braindex.domain.options import WorkspaceOptions
from braindex.domain.results import ScanProgress, Workspace
from braindex.registry.index import IndexStore
from braindex.services.scan import ScanHandle, Scans
from braindex.services.workspaces import Workspaces

LOOK_SHARE: Final = 20.0  # a look may cost a twentieth of the time: the next waits 20 times as long as it took …
LOOK_EVERY: Final = 2.0  # … and at most so many seconds
LOOK_TIME: Final = 0.1  # seconds a question waits for the look; a longer one goes on by itself
TAKE_IN_TIME: Final = 1.0  # seconds a question waits for changes to be indexed
FIRST_SCAN_TIME: Final = 6.0  # seconds from a first scan's start in which questions wait; clients give up after ten
REBUILD_EVERY: Final = 30.0  # seconds between the starts of two attempts to make an index anew, when they fail
_STILL_LOOKING: Final = "the folder is still being looked through for changes: the newest edits may be missing"


class Freshness:
    """Keeps answers at most as old as the disk, without watching it: an idle process does nothing."""

    def __init__(self, workspaces: Workspaces, scans: Scans, options: Callable[[Path], WorkspaceOptions]) -> None:
        self._workspaces = workspaces
        self._scans = scans
        self._options = options
        self._rebuilds: dict[str, ScanHandle] = {}
        self._looking: dict[str, _Look] = {}
        self._lock = threading.Lock()

    def take_in(self, workspace: Workspace, root: Path, store: IndexStore) -> str:
        """Brings the workspace up to date as far as time allows; says in one line what is still behind, else "".

        Starts the first scan of a workspace that never had one, and raises its error.
        """
        if store.scan_marks().last_scan is None:
            return self._first_scan(workspace, store)
        if not self._scans.fits(workspace, store):
            return self._rebuild(workspace)
        running = self._scans.running(workspace)
        if running is None and self._scans.seconds_since(workspace) >= self._pause(workspace):
            look = self._look(workspace, root)
            if not look.done.is_set():
                return _STILL_LOOKING
            running = look.scan
        if running is None:
            return ""
        try:
            return "" if running.wait_indexed(TAKE_IN_TIME) else _later(running.progress())
        except BraindexError as error:
            return f"changes since the last scan could not be taken in: {error}"

    def _first_scan(self, workspace: Workspace, store: IndexStore) -> str:
        handle = self._scans.start(workspace)
        try:
            indexed = handle.wait_indexed(max(0.0, FIRST_SCAN_TIME - handle.seconds()))
        except EngineFailed as failure:
            if not store.entity_count():
                raise
            return f"the first scan could not be finished: {failure}"
        return "" if indexed else _first(handle.progress())

    def _rebuild(self, workspace: Workspace) -> str:
        """Has an index of another model or version made anew; it answers until then. One that failed waits a while."""
        handle = self._rebuilds.get(workspace.id)
        if handle is None or not (handle.running or (handle.failed and handle.seconds() < REBUILD_EVERY)):
            handle = self._rebuilds[workspace.id] = self._scans.start(workspace)
        try:
            indexed = handle.wait_indexed(max(0.0, FIRST_SCAN_TIME - handle.seconds()))
        except BraindexError as error:
            return f"the index was made by another model or version and could not be made anew: {error}"
        return "" if indexed else _anew(handle.progress())

    def _pause(self, workspace: Workspace) -> float:
        """Seconds between two looks: next to nothing for a small project, so that an edit is seen at once."""
        look = self._looking.get(workspace.id)
        return 0.0 if look is None else min(LOOK_EVERY, LOOK_SHARE * look.seconds)

    def _look(self, workspace: Workspace, root: Path) -> "_Look":
        """A look at the disk that began just now or is under way, done or not after a short wait."""
        with self._lock:
            look = self._looking.get(workspace.id)
            if look is None or look.done.is_set():
                look = self._looking[workspace.id] = _Look()
                threading.Thread(
                    target=self._run_look, args=(look, workspace, root), name=f"look-{workspace.id[:8]}", daemon=True
                ).start()
        look.done.wait(LOOK_TIME)
        return look

    def _run_look(self, look: "_Look", workspace: Workspace, root: Path) -> None:
        started = time.monotonic()
        try:
            behind = self._is_behind(workspace, root)
            look.seconds = time.monotonic() - started
            if behind:
                look.scan = self._scans.start(workspace)
            else:
                self._scans.mark_current(workspace)
        except BraindexError:
            look.scan = None  # the folder is gone or unreadable: verifying the citations will show it
        finally:
            look.done.set()

    def _is_behind(self, workspace: Workspace, root: Path) -> bool:
        """Whether any file appeared, changed or went since the last scan, judged by stat alone."""
        from braindex.services.survey import known_files, survey  # noqa: PLC0415 - a server's start needs no walk

        options = self._options(root)
        known = self._workspaces.with_index(workspace, lambda store: known_files(store, options))
        return survey(root, known, options, self._workspaces.data_folder).is_behind


class _Look:
    """One look for changes, and the scan it led to."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.scan: ScanHandle | None = None
        self.seconds = LOOK_EVERY / LOOK_SHARE


def _done(progress: ScanProgress) -> str:
    return f"{progress.files_done} of {progress.files_total or '?'} files"


def _first(progress: ScanProgress) -> str:
    return f"the first scan is running: {_done(progress)} are searched; ask again for the rest"


def _anew(progress: ScanProgress) -> str:
    return f"the index is being made anew ({_done(progress)}); until then the old one answers"


def _later(progress: ScanProgress) -> str:
    return f"changes are being taken in ({_done(progress)}); ask again for the newest"
