"""The known workspaces: found, opened, listed, dropped and merged."""

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar

from filelock import FileLock, Timeout

from braindex.domain.errors import BraindexError, UsageError
from braindex.domain.identity import workspace_id
from braindex.domain.names import one_workspace
from braindex.domain.results import ScanSummary, Workspace, WorkspaceInfo
from braindex.registry.failures import StoreDamaged, StoreError, StoreFailed, StoreTooNew, os_failure
from braindex.registry.index import INDEX_FILE, IndexStore, set_aside
from braindex.registry.index_pool import IndexPool
from braindex.registry.ledger import Ledger
from braindex.registry.memory import ENDED_FILE, MemoryStore
from braindex.registry.workspaces import WORKSPACE_FILE
from braindex.registry.workspaces import Workspaces as Registry
from braindex.services.roots import canonical, checked_root

LOCK_FILE: Final = "write.lock"
DROP_REQUEST: Final = "drop.requested"
DROP_WAIT: Final = 30.0  # seconds for a scan of another process to notice the request and let go
# How the last error begins of an index that was made in the place of a damaged one.
DAMAGED_BEFORE: Final = "the index was damaged"
DAMAGE_WAIT: Final = 2.0  # seconds a question waits for a scan to end, so as to set its damaged index aside
_LAST: Final = frozenset({LOCK_FILE, DROP_REQUEST, ENDED_FILE})  # what goes with the folder itself
_LOGS: Final = ("-wal", "-shm", "-journal")
T = TypeVar("T")


class SameWorkspace(UsageError):
    def __init__(self, path: str) -> None:
        super().__init__(f"{path} cannot be merged into itself; name the old and the new workspace")


class WorkspaceBusy(BraindexError):
    def __init__(self, path: str) -> None:
        super().__init__(
            f"a scan of {path} is running in another process and did not stop in {DROP_WAIT:.0f} seconds; "
            "nothing was dropped; try again when it has ended"
        )


class BeingDropped(BraindexError):
    def __init__(self, path: str) -> None:
        super().__init__(f"{path} is being dropped by another process; try again when that has ended")


class WorkspaceDropped(BraindexError):
    def __init__(self, path: str) -> None:
        super().__init__(f"{path} was dropped while this scan waited for its turn; scan it again to index it anew")


class IndexSetAside(BraindexError):
    """The index turned out to be damaged in the middle of its use; the next one begins with an empty index."""

    def __init__(self, damage: StoreDamaged, moved: Path | None) -> None:
        where = "by another process" if moved is None else f"as {moved.name}"
        super().__init__(
            f"{damage.path} was damaged ({damage.detail}) and was set aside {where}; "
            "the next scan or question rebuilds it"
        )


class IndexDamaged(BraindexError):
    def __init__(self, damage: StoreDamaged) -> None:
        super().__init__(
            f"{damage.path} is damaged ({damage.detail}), and a scan of the workspace is still at work in it; "
            "it is rebuilt when that has ended. Ask again in a moment"
        )


class StillThere(BraindexError):
    def __init__(self, path: str) -> None:
        super().__init__(
            f"{path} is still there, so it has not moved and nothing was merged; `braindex workspaces drop` forgets a "
            "workspace that is no longer wanted"
        )


class Workspaces:
    """The registry of one data folder. Opens its database a call at a time, so any process may do the same."""

    def __init__(self, brain_dir: Path, release: Callable[[Path], None] = lambda _: None) -> None:
        """`release` lets go of what this process holds open in a workspace's folder, before it is deleted."""
        self._brain_dir = brain_dir
        self._release = release
        self._pool = IndexPool()

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
        """Makes a workspace known; a known one keeps its time of creation, and gets a lost `workspace.json` again."""
        with self._registry() as registry:
            if not registry.is_current(workspace):
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

    def is_known(self, workspace: Workspace) -> bool:
        """Whether it was scanned or anything is remembered of it, or a scan of it has begun."""
        if self.has_index(workspace) or MemoryStore.exists(self.folder(workspace)):
            return True
        with self._registry() as registry:
            return registry.get(workspace.id) is not None

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

        A scan that runs in another process is asked to stop. Raises WorkspaceBusy when it does not, and BeingDropped.
        The files go first: that needs no disk space, and a drop that was cut off can be repeated.
        """
        folder = self.folder(workspace)
        with _named_errors(folder):
            is_there = folder.exists()
        if is_there:
            with _drop_request(folder, workspace), _writer_lock(folder, DROP_WAIT, WorkspaceBusy(workspace.path)):
                self._release(folder)
                self._pool.forget(folder)
                with contextlib.suppress(StoreDamaged, StoreTooNew):  # it goes all the same, and nobody stores in it
                    MemoryStore.end(folder)
                _empty(folder)
                self._forget(workspace)
            remove_locks(folder)
        else:
            self._forget(workspace)

    def _forget(self, workspace: Workspace) -> None:
        with self._registry() as registry:
            registry.remove(workspace.id)

    def check_registered(self, workspace: Workspace) -> None:
        """For a scan that has just got the writer lock: raises WorkspaceDropped when whoever had it dropped the
        workspace, which then stays dropped.
        """
        with self._registry() as registry:
            if registry.get(workspace.id) is None:
                raise WorkspaceDropped(workspace.path)
        with contextlib.suppress(StoreDamaged, StoreTooNew):  # whoever opens the memory is told
            MemoryStore.resume(self.folder(workspace))

    def merge(self, old: Workspace, new: Workspace) -> None:
        """Moves the notes, episodes and ledger of a moved folder's old workspace to its new one, and drops the old.

        Both may hold notes: all of them are kept. What was cut off at any moment can be repeated: nothing is deleted
        before it is stored in its new place. Raises SameWorkspace, StillThere when the old folder exists, and a
        StoreError where either memory cannot be used.
        """
        if old.id == new.id:
            raise SameWorkspace(old.path)
        if os.path.isdir(old.path):
            raise StillThere(old.path)
        with _named_errors(self.folder(old)):
            is_remembered = MemoryStore.exists(self.folder(old))
        self.register(new)
        if is_remembered:
            self._merge_memory(self.folder(old), self.folder(new))
        with Ledger.open(self._brain_dir) as ledger:
            ledger.move(old.id, new.id)
        self.drop(old)

    @staticmethod
    def _merge_memory(old: Path, new: Path) -> None:
        """Takes the old memory into the new one, and then what others stored in the old one meanwhile."""
        with MemoryStore.open(new) as memory:
            memory.merge_from(old)
            MemoryStore.end(old)
            memory.merge_from(old)

    def close(self) -> None:
        """Lets go of what waits for the next question."""
        self._pool.close()

    def record_scan(self, workspace: Workspace, summary: ScanSummary, when: str) -> bool:
        """What listings show of the last scan; false when the workspace was dropped meanwhile."""
        with self._registry() as registry:
            return registry.record_scan(workspace.id, summary.files, summary.entities, when)

    def with_index(self, workspace: Workspace, use: Callable[[IndexStore], T], *, writing: bool = False) -> T:
        """What `use` returns of the workspace's index. Every use of an index goes through here.

        An index that turns out to be damaged, whenever that shows, is set aside, and `use` is called once more with an
        empty one, which the next scan fills. `writing` says that the caller holds the writer lock. Raises IndexDamaged
        where a scan holds it, and what `use` raises.
        """
        try:
            with self.open_index(workspace, writing=writing) as store:
                return use(store)
        except IndexSetAside:
            with self.open_index(workspace, writing=writing) as store:
                return use(store)

    @contextlib.contextmanager
    def open_index(self, workspace: Workspace, *, writing: bool = False) -> Iterator[IndexStore]:
        """The workspace's index, open, for what cannot be done twice. See `with_index`.

        Damage that shows at opening is mended by an empty index; what shows later sets the index aside as well and
        raises IndexSetAside.
        """
        folder = self.folder(workspace)
        store = (None if writing else self._pool.take(folder)) or self._opened(folder, writing=writing)
        try:
            yield store
        except StoreDamaged as damage:
            store.close()  # Windows moves no file that is open
            if damage.path != folder / INDEX_FILE:
                raise
            self._pool.forget(folder)
            raise IndexSetAside(damage, _set_aside(folder, damage, writing=writing)) from damage
        except BaseException:
            store.close()
            raise
        if writing:
            store.close()  # the last one out folds the write-ahead log into the file
        else:
            self._pool.give(folder, store)

    def has_index(self, workspace: Workspace) -> bool:
        """Whether there is an index to open. Raises a StoreError where this user may not even look."""
        folder = self.folder(workspace)
        with _named_errors(folder / INDEX_FILE):
            return IndexStore.exists(folder)

    @staticmethod
    def _opened(folder: Path, *, writing: bool) -> IndexStore:
        try:
            return IndexStore.open(folder)
        except StoreDamaged as damage:
            _set_aside(folder, damage, writing=writing)
            return IndexStore.open(folder)


def _set_aside(folder: Path, damage: StoreDamaged, *, writing: bool) -> Path | None:
    """Moves the damaged index, unless another process has done so, and leaves an empty one that says why.

    The writer lock makes it one process at a time, and none while a scan writes.
    """
    lock = contextlib.nullcontext() if writing else _writer_lock(folder, DAMAGE_WAIT, IndexDamaged(damage))
    with lock:
        moved = set_aside(folder, damage)
        if moved is not None:
            with IndexStore.open(folder) as fresh:
                fresh.scan_failed(f"{DAMAGED_BEFORE} ({damage.detail}) and was set aside as {moved.name}")
    return moved


@contextlib.contextmanager
def _writer_lock(folder: Path, wait: float, busy: BraindexError) -> Iterator[None]:
    """The lock of a workspace's one writer; raises `busy` when another has it for longer than `wait` seconds."""
    lock = FileLock(folder / LOCK_FILE, mode=0o600)
    if not acquired(lock, wait):
        raise busy
    try:
        yield
    finally:
        lock.release()


def acquired(lock: FileLock, wait: float) -> bool:
    """Whether a lock was had within `wait` seconds. Raises a StoreError where its file cannot be made or written: for
    want of permission or of space, or on a file system that has no locks.
    """
    path = Path(lock.lock_file)
    try:
        lock.acquire(timeout=wait)
    except Timeout:
        return False
    except NotImplementedError as error:
        raise StoreFailed(path, "the file system has no locks") from error
    except OSError as error:
        raise os_failure(path, error) from error
    return True


@contextlib.contextmanager
def _drop_request(folder: Path, workspace: Workspace) -> Iterator[None]:
    """Asks whoever scans the workspace to stop. The request is a lock: it ends with the process that made it."""
    request = folder / DROP_REQUEST
    lock = FileLock(request, mode=0o600)
    if not acquired(lock, 1.0):  # a scan that looks whether there is a request has it for a moment
        raise BeingDropped(workspace.path)
    try:
        yield
    finally:
        lock.release()
        with contextlib.suppress(OSError):  # Windows deletes no file that another process looks at
            request.unlink(missing_ok=True)


def remove_locks(folder: Path) -> None:
    """Deletes the folder of a workspace that was dropped, where nothing but locks that nobody holds is left in it."""
    with contextlib.suppress(OSError):
        if {one.name for one in folder.iterdir()} <= _LAST:
            for name in _LAST:
                (folder / name).unlink(missing_ok=True)
            folder.rmdir()


def drop_requested(folder: Path) -> bool:
    """Whether a process waits at this moment for a scan to let go of the workspace, so as to drop it."""
    return _is_locked(folder / DROP_REQUEST)


def is_being_scanned(folder: Path) -> bool:
    """Whether any process holds the workspace's writer lock at this moment."""
    return _is_locked(folder / LOCK_FILE)


def _is_locked(path: Path) -> bool:
    """A lock that this user may not take is none that anything of this user's waits for."""
    if not os.path.exists(path):
        return False
    lock = FileLock(path, mode=0o600)
    try:
        for _ in range(2):
            if acquired(lock, 0):
                lock.release()
                return False
            time.sleep(0)
    except StoreError:
        return False
    return True


def _empty(folder: Path) -> None:
    """Deletes what is in a workspace's folder but the locks that are held; what tells whose it was goes last.

    A database goes before its log: without the log it would be one of an earlier moment. Raises a StoreError that names
    what cannot be deleted.
    """
    with _named_errors(folder):
        found = [one for one in folder.iterdir() if one.name not in _LAST]
    for one in sorted(found, key=lambda one: (one.name == WORKSPACE_FILE, one.name.endswith(_LOGS))):
        with _named_errors(one):
            if one.is_dir() and not one.is_symlink():
                shutil.rmtree(one)
            else:
                one.unlink(missing_ok=True)


@contextlib.contextmanager
def _named_errors(path: Path) -> Iterator[None]:
    """What the operating system refuses, as a StoreError about `path`."""
    try:
        yield
    except OSError as error:
        raise os_failure(path, error) from error
