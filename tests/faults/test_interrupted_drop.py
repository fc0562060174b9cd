"""A drop that is cut off, or asked for while a scan waits or works."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

import braindex.registry
from braindex.domain.results import Workspace
from braindex.registry.failures import StoreError, StoreReadOnly
from braindex.services.scan_turn import turn_of
from braindex.services.workspaces import (
    DROP_REQUEST,
    LOCK_FILE,
    BeingDropped,
    WorkspaceDropped,
    Workspaces,
    drop_requested,
    is_being_scanned,
    remove_locks,
)

SOURCE = str(Path(braindex.registry.__file__).parents[2])
DROP = """
import sys
from pathlib import Path
from braindex.services.workspaces import Workspaces
workspaces = Workspaces(Path(sys.argv[1]))
workspaces.drop(workspaces.find(sys.argv[2]))
"""
NOBODY = 65534


@pytest.fixture
def known(tmp_path: Path) -> Workspaces:
    return Workspaces(tmp_path / "brain")


@pytest.fixture
def workspace(known: Workspaces, tmp_path: Path) -> Workspace:
    (tmp_path / "project").mkdir()
    made = known.open(tmp_path / "project")
    known.register(made)
    with known.open_index(made) as store:
        store.scan_finished("2026-11-01")
    (known.folder(made) / "memory.db").write_bytes(b"notes")
    return made


def dropping(known: Workspaces, workspace: Workspace) -> "subprocess.Popen[bytes]":
    """Another process that asks for a drop, and waits for the writer's lock."""
    child = subprocess.Popen(
        [sys.executable, "-c", DROP, str(known.data_folder), workspace.id],
        env={**os.environ, "PYTHONPATH": SOURCE},
    )
    while not drop_requested(known.folder(workspace)):
        assert child.poll() is None
    return child


def test_a_dropped_workspace_leaves_nothing(known: Workspaces, workspace: Workspace) -> None:
    known.drop(workspace)
    assert known.list() == []
    assert list((known.data_folder / "workspaces").iterdir()) == []
    known.drop(workspace)


def test_a_request_holds_while_the_one_who_asks_waits_and_ends_with_it(known: Workspaces, workspace: Workspace) -> None:
    folder = known.folder(workspace)
    assert not drop_requested(folder)
    with FileLock(folder / LOCK_FILE):
        child = dropping(known, workspace)
        assert drop_requested(folder)
        with pytest.raises(BeingDropped, match="by another process"):
            known.drop(workspace)
        child.kill()
        child.wait()
        assert not drop_requested(folder)
    known.check_registered(workspace)
    with known.open_index(workspace) as store:
        assert store.scan_marks().last_scan == "2026-11-01"
    known.drop(workspace)
    assert not folder.exists()
    assert known.list() == []


def test_a_drop_that_is_interrupted_takes_its_request_back_and_can_be_repeated(
    known: Workspaces, workspace: Workspace
) -> None:
    def interrupted(folder: Path) -> None:
        assert drop_requested(folder)
        raise KeyboardInterrupt

    folder = known.folder(workspace)
    with pytest.raises(KeyboardInterrupt):
        Workspaces(known.data_folder, interrupted).drop(workspace)
    assert not (folder / DROP_REQUEST).exists()
    assert [one.workspace for one in known.list()] == [workspace]
    assert (folder / "memory.db").exists()
    known.drop(workspace)
    assert not folder.exists()


def test_a_drop_that_died_half_way_is_finished_by_the_next(known: Workspaces, workspace: Workspace) -> None:
    folder = known.folder(workspace)
    for one in ("index.db", "workspace.json", "memory.db"):
        (folder / one).unlink()
    (folder / DROP_REQUEST).touch()
    assert not drop_requested(folder)
    assert known.find(workspace.id) == workspace
    known.drop(workspace)
    assert not folder.exists()
    assert known.list() == []


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are POSIX")
def test_what_cannot_be_deleted_is_named_and_the_workspace_stays_known() -> None:
    base = Path(tempfile.mkdtemp())
    (base / "project").mkdir()
    (base / "brain").mkdir()
    if os.geteuid() == 0:
        base.chmod(0o755)
        os.chown(base / "brain", NOBODY, NOBODY)

    def drop() -> None:
        known = Workspaces(base / "brain")
        workspace = known.open(base / "project")
        known.register(workspace)
        folder = known.folder(workspace)
        (folder / "zz").mkdir()
        (folder / "zz" / "kept").touch()
        (folder / "zz").chmod(0o500)
        with pytest.raises(StoreReadOnly, match="zz"):
            known.drop(workspace)
        assert (folder / "workspace.json").exists()
        assert [one.workspace for one in known.list()] == [workspace]

    try:
        assert as_nobody(drop) == 0
    finally:
        shutil.rmtree(base)


def as_nobody(action: Callable[[], None]) -> int:
    """The exit status of a child process that does it without a superuser's rights."""
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            action()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - the child must not go on as a second test run
            traceback.print_exc()
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_scan_that_waited_for_a_drop_learns_that_there_is_nothing_to_scan(
    known: Workspaces, workspace: Workspace
) -> None:
    known.check_registered(workspace)
    known.drop(workspace)
    with pytest.raises(WorkspaceDropped, match="scan it again"):
        known.check_registered(workspace)


def test_a_scan_whose_lock_made_the_folder_of_a_dropped_workspace_again_leaves_none(
    known: Workspaces, workspace: Workspace
) -> None:
    folder = known.folder(workspace)
    known.drop(workspace)
    with pytest.raises(WorkspaceDropped), turn_of(workspace, folder, lambda _: None, threading.Event()):
        known.check_registered(workspace)
    assert not folder.exists()


def test_a_folder_that_holds_more_than_locks_is_none_that_was_dropped(known: Workspaces, workspace: Workspace) -> None:
    remove_locks(known.folder(workspace))
    assert (known.folder(workspace) / "memory.db").exists()


@pytest.mark.parametrize("name", [LOCK_FILE, DROP_REQUEST])
def test_what_stands_in_the_place_of_a_lock_is_a_clear_error_and_nothing_is_dropped(
    name: str, known: Workspaces, workspace: Workspace
) -> None:
    folder = known.folder(workspace)
    (folder / name).mkdir()
    with pytest.raises(StoreError, match=name):
        known.drop(workspace)
    assert not is_being_scanned(folder)
    assert not drop_requested(folder)
    assert (folder / "memory.db").exists()
    assert [one.workspace for one in known.list()] == [workspace]
