"""The known workspaces: found, opened, listed, dropped and merged."""

import os
import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from braindex.domain.errors import BraindexError, UsageError
from braindex.domain.identity import workspace_id
from braindex.domain.names import one_workspace
from braindex.domain.results import ScanSummary, Workspace, WorkspaceInfo
from braindex.registry.failures import StoreDamaged
from braindex.registry.index import IndexStore, set_aside
from braindex.registry.workspaces import Workspaces as Registry
from braindex.services.roots import canonical, checked_root

LOCK_FILE: Final = "write.lock"
DROP_REQUEST: Final = "drop.requested"
DROP_WAIT: Final = 30.0  # seconds for a scan of another process to notice the request and let go
_MEMORY_FILE: Final = "memory.db"


class SameWorkspace(UsageError):
    def __init__(self, path: str) -> None:
        super().__init__(f"{path} cannot be merged into itself; name the old and the new workspace")


class WorkspaceBusy(BraindexError):
    def __init__(self, path: str) -> None:
        super().__init__(
            f"a scan of {path} is running in another process and did not stop in {DROP_WAIT:.0f} seconds; "
            "the workspace is no longer listed, and dropping it again removes what is left"
        )


class StillThere(BraindexError):
    def __init__(self, path: str) -> None:
        super().__init__(
            f"{path} is still there, so it has not moved and nothing was merged; `braindex workspaces drop` forgets a "
            "workspace that is no longer wanted"
        )


class MemoryInBoth(BraindexError):
    def __init__(self, old: str, new: str) -> None:
        super().__init__(
            f"both {old} and {new} hold notes of their own, and nothing was moved; export the old ones first"
        )


class Workspaces:
    """The registry of one data folder. Opens its database a call at a time, so any process may do the same."""

    def __init__(self, brain_dir: Path, release: Callable[[Path], None] = lambda _: None) -> None:
        """`release` lets go of what this process holds open in a workspace's folder, before it is deleted."""
        self._brain_dir = brain_dir
        self._release = release

    def _registry(self) -> Registry:
        return Registry.open(self._brain_dir)

    def checked_root(self, path: str | Path) -> Path:
        """The real path of a folder that may be a workspace; raises as `roots.checked_root` does."""
        return checked_root(path)

    def folder(self, workspace: Workspace) -> Path:
        """Where everything of a workspace lies."""
        return self._brain_dir / "workspaces" / workspace.id

    @property
    def data_folder(self) -> Path:
        return self._brain_dir

    def find(self, reference: str) -> Workspace:
        """A known workspace by id, short id, name or path. Raises UnknownWorkspace, AmbiguousWorkspace."""
        path = os.path.expanduser(reference)
        with self._registry() as registry:
            known = registry.get(workspace_id(canonical(path))) if os.path.isdir(path) else None
            return known or one_workspace(reference, registry.find(reference))

    def open(self, path: str | Path) -> Workspace:
        """Any explicit folder. A new one is registered by its first scan, not by being looked at.

        Raises as `checked_root` does.
        """
        root = checked_root(path)
        identifier = workspace_id(canonical(str(root)))
        with self._registry() as registry:
            known = registry.get(identifier)
            if known is not None and known.path == str(root):
                return known
            return Workspace(identifier, root.name, str(root), datetime.now(UTC).isoformat(timespec="seconds"))

    def register(self, workspace: Workspace) -> None:
        """Makes a workspace known; a known one keeps its time of creation."""
        with self._registry() as registry:
            if registry.get(workspace.id) != workspace:
                registry.upsert(workspace)

    def resolve(self, reference: str) -> Workspace:
        """A known workspace, or the existing folder that the reference names."""
        path = os.path.expanduser(reference)
        if os.path.exists(path) or os.sep in reference:
            return self.open(path)
        return self.find(reference)

    def list(self) -> list[WorkspaceInfo]:
        """Every known workspace, by name."""
        with self._registry() as registry:
            return registry.list()

    def parent_of(self, workspace: Workspace) -> Workspace | None:
        """The nearest known workspace whose folder holds this one's."""
        here = Path(workspace.path)
        around = [one.workspace for one in self.list() if Path(one.workspace.path) in here.parents]
        return max(around, key=lambda one: len(one.path), default=None)

    def moved_from(self, workspace: Workspace) -> Workspace | None:
        """The one known workspace of the same name whose folder is gone: most likely this one, before it moved."""
        gone = [one.workspace for one in self.list() if not one.exists and one.workspace.name == workspace.name]
        return gone[0] if len(gone) == 1 and gone[0].id != workspace.id else None

    def drop(self, workspace: Workspace) -> None:
        """Forgets a workspace, notes included: its folder in the data folder goes, the project's files stay.

        A scan that runs in another process is asked to stop. Raises WorkspaceBusy when it does not.
        """
        folder = self.folder(workspace)
        with self._registry() as registry:
            registry.remove(workspace.id)
        if not folder.exists():
            return
        (folder / DROP_REQUEST).touch(mode=0o600)
        try:
            with FileLock(folder / LOCK_FILE, timeout=DROP_WAIT, mode=0o600):
                self._release(folder)
                _empty(folder)
        except Timeout:
            raise WorkspaceBusy(workspace.path) from None
        shutil.rmtree(folder, ignore_errors=True)

    def merge(self, old: Workspace, new: Workspace) -> None:
        """Moves the notes and episodes of a moved folder's old workspace to its new one, and drops the old.

        Raises SameWorkspace, StillThere when the old folder exists, and MemoryInBoth when the new one has notes
        already.
        """
        if old.id == new.id:
            raise SameWorkspace(old.path)
        if os.path.isdir(old.path):
            raise StillThere(old.path)
        self.register(new)
        source, target = self.folder(old) / _MEMORY_FILE, self.folder(new) / _MEMORY_FILE
        if source.exists() and target.exists():
            raise MemoryInBoth(old.path, new.path)
        if source.exists():
            source.replace(target)
        self.drop(old)

    def record_scan(self, workspace: Workspace, summary: ScanSummary, when: str) -> bool:
        """What listings show of the last scan; false when the workspace was dropped meanwhile."""
        with self._registry() as registry:
            return registry.record_scan(workspace.id, summary.files, summary.entities, when)

    def open_index(self, workspace: Workspace) -> IndexStore:
        """The workspace's index. One that is damaged is set aside, since a scan rebuilds it from the source."""
        folder = self.folder(workspace)
        try:
            return IndexStore.open(folder)
        except StoreDamaged as damage:
            set_aside(folder, damage)
            return IndexStore.open(folder)


def _empty(folder: Path) -> None:
    """Deletes what is in a workspace's folder but the lock that is held."""
    for one in folder.iterdir():
        if one.name == LOCK_FILE:
            continue
        if one.is_dir() and not one.is_symlink():
            shutil.rmtree(one)
        else:
            one.unlink(missing_ok=True)


def is_being_scanned(folder: Path) -> bool:
    """Whether any process holds the workspace's writer lock at this moment."""
    if not (folder / LOCK_FILE).exists():
        return False
    lock = FileLock(folder / LOCK_FILE, mode=0o600)
    for _ in range(2):
        try:
            lock.acquire(timeout=0)
        except Timeout:
            time.sleep(0)
        else:
            lock.release()
            return False
    return True
