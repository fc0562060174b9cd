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
from braindex.services.looks import Look, Looks
from braindex.services.scan import FIRST_SCAN_TIME, ScanHandle, Scans
from braindex.services.workspaces import Workspaces

LOOK_SHARE: Final = 20.0  # a long look may cost a twentieth of the time: the next waits 20 times as long as it took …
LOOK_EVERY: Final = 2.0  # … and at most so many seconds
QUICK_LOOK: Final = 0.01  # CPU seconds: some 3,000 files. So much a look may take of every question
LOOK_TIME: Final = 0.1  # seconds a question waits for the look; a longer one goes on by itself
TAKE_IN_TIME: Final = 1.0  # seconds a question waits for changes to be indexed
REBUILD_EVERY: Final = 30.0  # seconds between the starts of two attempts to make an index anew, when they fail
_STEP: Final = 0.1  # seconds between two looks whether another process has finished the first scan
_STILL_LOOKING: Final = "the folder is still being looked through for changes: the newest edits may be missing"


class Freshness:
    """Keeps answers at most as old as the disk, without watching it: an idle process does nothing.

    Nothing here waits for the writer's lock: scans and looks are in threads of their own, and waited for within bounds.
    """

    def __init__(self, workspaces: Workspaces, scans: Scans, options: Callable[[Path], WorkspaceOptions]) -> None:
        self.looks = Looks(workspaces, options)
        self._scans = scans
        self._rebuilds: dict[str, ScanHandle] = {}
        self._lock = threading.Lock()

    def take_in(self, workspace: Workspace, root: Path, store: IndexStore) -> str:  # noqa: ARG002 - the root is known to be there
        """Brings the workspace up to date as far as time allows; says in one line what is still behind, else "".

        Starts the first scan of a workspace that never had one, or joins that of another process, and raises its error.
        """
        asked = time.monotonic()
        if store.scan_marks().last_scan is None:
            line = self._first_scan(workspace, store)
            if line or self._scans.current_as_of(workspace) >= asked:
                return line
        elif not self._scans.fits(workspace, store):
            return self._rebuild(workspace)
        return self._changes(workspace, asked)

    def _first_scan(self, workspace: Workspace, store: IndexStore) -> str:
        handle = self._scans.start(workspace)
        try:
            while True:
                left = max(0.0, FIRST_SCAN_TIME - handle.seconds())
                # Another process that has finished the files may be at the vector index for long.
                if handle.wait_indexed(min(_STEP, left)) or store.scan_marks().last_scan is not None:
                    return ""
                if left <= _STEP:
                    return _first(handle.progress())
        except EngineFailed as failure:
            if not store.entity_count():
                raise
            return f"the first scan could not be finished: {failure}"

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

    def _changes(self, workspace: Workspace, asked: float) -> str:
        """Takes in what changed since the last scan."""
        deadline = time.monotonic() + TAKE_IN_TIME
        look_time = LOOK_TIME
        running = self._scans.running(workspace)
        if running is not None and running.has_begun and not running.is_indexed:
            behind = _waited(running, deadline, "")
            if behind or self._scans.current_as_of(workspace) >= asked:
                return behind
            look_time = max(LOOK_TIME, deadline - time.monotonic())
        elif asked - self._scans.current_as_of(workspace) < self._pause(workspace):
            return ""
        look = self._look(workspace, look_time)
        if not look.done.is_set():
            return _STILL_LOOKING
        if not look.behind or look.scan is None:
            return ""
        return _waited(look.scan, deadline, look.behind.words)

    def _pause(self, workspace: Workspace) -> float:
        """Seconds between two looks: none where a look is quick, so that an edit is seen at once."""
        look = self.looks.last(workspace)
        return 0.0 if look is None or look.cost <= QUICK_LOOK else min(LOOK_EVERY, LOOK_SHARE * look.cost)

    def _look(self, workspace: Workspace, wait: float) -> Look:
        """A look at the disk as it is now, done or not after a short wait, and the scan of what it found."""

        def take_up(look: Look) -> None:
            self._take_up(workspace, look)

        asked = time.monotonic()
        look = self.looks.begun(workspace, take_up)
        look.done.wait(wait)
        if look.done.is_set() and look.began < asked and not look.behind:  # it may have passed by what changed since
            look = self.looks.begun(workspace, take_up)
            look.done.wait(max(0.0, asked + wait - time.monotonic()))
        if look.done.is_set():
            take_up(look)
        return look

    def _take_up(self, workspace: Workspace, look: Look) -> None:
        """Starts the scan of what a look found, once; also where files that have to be read make looks long."""
        with self._lock:
            if look.behind is None or look.scan is not None:
                return
            if look.behind or (look.behind.unsettled and look.seconds > LOOK_TIME):
                look.scan = self._scans.start(workspace)
            if not look.behind:
                self._scans.mark_current(workspace, look.began)


def _waited(scan: ScanHandle, deadline: float, words: str) -> str:
    """What is behind when the scan was waited for until the deadline, else ""."""
    try:
        if scan.wait_indexed(max(0.0, deadline - time.monotonic())):
            return ""
    except BraindexError as error:
        return f"changes since the last scan could not be taken in: {error}"
    done = _done(scan.progress())
    if words:
        return f"{words}: being taken in ({done}); ask again for the newest"
    return f"changes are being taken in ({done}); ask again for the newest"


def _done(progress: ScanProgress) -> str:
    return f"{progress.files_done} of {progress.files_total or '?'} files"


def _first(progress: ScanProgress) -> str:
    return f"the first scan is running: {_done(progress)} are searched; ask again for the rest"


def _anew(progress: ScanProgress) -> str:
    return f"the index is being made anew ({_done(progress)}); until then the old one answers"
