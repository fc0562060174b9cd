"""Looks at the disk for what changed since the last scan, in the background and shared by whoever wants one."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from braindex.domain.errors import BraindexError
from braindex.domain.options import WorkspaceOptions
from braindex.domain.results import Workspace
from braindex.registry.index import IndexStore
from braindex.services.scan_handle import ScanHandle
from braindex.services.workspaces import Workspaces

if TYPE_CHECKING:
    from braindex.services.behind import Behind

OptionsOf = Callable[[Path], WorkspaceOptions]


class Look:
    """One look for changes: under way until `done`, then `behind` is what it found, None when it could not look."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.seconds = 0.0
        self.cost = 0.0  # CPU seconds: a busy machine makes no look dearer
        self.done = threading.Event()
        self.behind: Behind | None = None
        self.error = ""
        self.when_done: Callable[[Look], None] | None = None
        self.scan: ScanHandle | None = None  # that takes in what was found


class Looks:
    """The looks of this process, one at a time a workspace, each in a daemon thread of its own."""

    def __init__(self, workspaces: Workspaces, options: OptionsOf) -> None:
        self._workspaces = workspaces
        self._options = options
        self._last: dict[str, Look] = {}
        self._seen: dict[str, Behind] = {}
        self._lock = threading.Lock()

    def last(self, workspace: Workspace) -> Look | None:
        return self._last.get(workspace.id)

    def begun(self, workspace: Workspace, when_done: Callable[[Look], None] | None = None) -> Look:
        """A look that is under way: the one that is, or a new one. `when_done` is called in its thread before it counts
        as done, unless it has ended by now.
        """
        with self._lock:
            look = self._last.get(workspace.id)
            if look is None or look.done.is_set():
                look = self._last[workspace.id] = Look()
                look.when_done = when_done
                name = f"look-{workspace.id[:8]}"
                threading.Thread(target=self._run, args=(look, workspace), name=name, daemon=True).start()
            elif when_done is not None:
                look.when_done = when_done
            return look

    def _run(self, look: Look, workspace: Workspace) -> None:
        cost = time.thread_time()
        try:
            options = self._options(Path(workspace.path))
            look.behind = self._workspaces.with_index(workspace, lambda store: self._looked(workspace, store, options))
            look.seconds, look.cost = time.monotonic() - look.began, time.thread_time() - cost
            if look.when_done is not None:
                look.when_done(look)
        except BraindexError as error:  # the folder is gone or unreadable: verifying the citations will show it
            look.error = str(error)
        finally:
            look.done.set()

    def _looked(self, workspace: Workspace, store: IndexStore, options: WorkspaceOptions) -> "Behind":
        """What is behind: by a glance where the last look found nothing, else by a walk."""
        from braindex.services.behind import behind  # noqa: PLC0415 - a server's start needs no walk

        last = self._seen.get(workspace.id)
        if last is not None and last.glance is not None and last.glance.still_holds(options, store.generation()):
            return last
        found = self._seen[workspace.id] = behind(Path(workspace.path), store, options, self._workspaces.data_folder)
        return found
