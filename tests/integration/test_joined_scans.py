"""Several processes want one workspace scanned: one does it, and the others share in it."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from tests.conftest import ask
from tests.fakes.first_scan import SOURCE, FirstScan, many_files

from braindex.bootstrap import App, build_app
from braindex.config import load_settings
from braindex.domain.results import Workspace
from braindex.registry.scan_record import read_record
from braindex.services import freshness
from braindex.services.counts import ScanStopped
from braindex.services.scan import ScanHandle
from braindex.services.threads import begun
from braindex.services.workspaces import LOCK_FILE, WorkspaceDropped, drop_requested

HUNG = 120  # seconds after which a scan counts as hung; nothing is expected to come near it
NUMBERS = ("files", "entities", "added", "changed", "removed")


@pytest.fixture
def root(make_project) -> Path:
    project: Path = make_project(many_files())
    for file in project.iterdir():
        os.utime(file, (1_700_000_000, 1_700_000_000))
    return project


@pytest.fixture
def workspace(app: App, root: Path) -> Workspace:
    return app.workspaces.open(root)


@pytest.fixture
def first(brain: Path, root: Path) -> Iterator[FirstScan]:
    with FirstScan(brain, root) as scan:
        yield scan


def until(condition: Callable[[], bool], handle: ScanHandle) -> None:
    """Waits for what another process or thread does while a scan waits."""
    while not condition():
        assert handle.wait(0.01) is None


def waiting(app: App, workspace: Workspace, first: FirstScan) -> ScanHandle:
    """A scan of this process that has found the other at work."""
    handle = app.scans.start(workspace)
    until(lambda: handle.progress().files_total == first.total, handle)
    return handle


def test_a_second_process_tells_how_far_the_first_is_and_returns_its_summary(app, workspace, first) -> None:
    handle = waiting(app, workspace, first)
    assert handle.progress().files_done <= first.done
    assert not handle.has_begun
    first.go_on()
    summary = handle.wait(HUNG)
    assert summary is not None
    done = first.summary()
    assert {name: summary.as_json()[name] for name in NUMBERS} == {name: done[name] for name in NUMBERS}
    assert summary.notes[-1].startswith(f"joined the scan of another process ({first.process.pid})")
    assert app.status.of(workspace).freshness == "current"


def test_the_status_in_any_process_is_how_far_the_scan_of_another_is(app, workspace, first) -> None:
    status = app.status.of(workspace)
    assert (status.state, status.complete) == ("running", False)
    assert status.as_json()["files_total"] == first.total
    assert status.freshness.startswith("the first scan is running: ")
    assert f"of {first.total} files" in status.freshness
    assert app.scans.running(workspace) is None


def test_a_question_during_the_first_scan_of_another_process_answers_from_what_is_done(
    app, workspace, first, monkeypatch
) -> None:
    monkeypatch.setattr(freshness, "FIRST_SCAN_TIME", 0.3)
    answer = ask(app, workspace, "function_1")
    assert answer.sources
    assert answer.coverage.startswith("the first scan is running: ")
    assert f"of {first.total} files are searched" in answer.coverage
    first.go_on()
    assert first.summary()["files"] == first.total
    monkeypatch.setattr(freshness, "FIRST_SCAN_TIME", HUNG)
    assert ask(app, workspace, "function_119").sources[0].name == "function_119"


def test_a_question_does_not_wait_for_others_where_nothing_is_behind(app, workspace, monkeypatch) -> None:
    monkeypatch.setattr(freshness, "TAKE_IN_TIME", HUNG)
    monkeypatch.setattr(freshness, "LOOK_TIME", HUNG)
    app.scans.run(workspace)
    with FileLock(app.workspaces.folder(workspace) / LOCK_FILE):
        handle = app.scans.start(workspace)
        assert ask(app, workspace, "function_1").coverage == ""
        assert not handle.has_begun
        app.scans.stop()


def test_a_first_question_does_not_wait_for_the_vector_index_of_another_process(app, workspace, monkeypatch) -> None:
    monkeypatch.setattr(freshness, "FIRST_SCAN_TIME", HUNG)
    monkeypatch.setattr(freshness, "TAKE_IN_TIME", 0.0)
    app.workspaces.register(workspace)
    with FileLock(app.workspaces.folder(workspace) / LOCK_FILE):
        asking = begun(lambda: ask(app, workspace, "function_1"))
        while app.scans.running(workspace) is None:
            assert not asking.done()
        with app.workspaces.open_index(workspace) as store:
            store.scan_finished("2026-11-01T10:00:00+00:00")
        assert "first scan" not in asking.result(HUNG).coverage
        app.scans.stop()


def test_a_killed_scan_is_not_running_and_says_what_it_left(app, workspace, first) -> None:
    first.kill()
    status = app.status.of(workspace)
    assert (status.state, status.progress) == ("interrupted", None)
    assert status.freshness == (
        f"an earlier scan was cut short: {status.files} of {first.total} files are indexed; "
        "the next scan or question goes on from there"
    )
    assert 0 < status.files < first.total
    assert app.scans.run(workspace).files == first.total
    assert app.status.of(workspace).freshness == "current"


def test_who_waits_takes_over_when_the_first_is_killed(app, workspace, first) -> None:
    handle = waiting(app, workspace, first)
    first.kill()
    summary = handle.wait(HUNG)
    assert summary is not None
    assert summary.files == first.total
    assert 0 < summary.added < first.total
    assert "was cut short while this one waited" in summary.notes[-1]


def test_what_changed_after_the_first_had_looked_is_taken_in_by_who_waited(app, workspace, root, first) -> None:
    handle = waiting(app, workspace, first)
    (root / "late.py").write_text("def too_late():\n    pass\n")
    first.go_on()
    summary = handle.wait(HUNG)
    assert summary is not None
    assert (summary.added, summary.changed, summary.files) == (1, 0, first.total + 1)
    assert "the numbers are of what it left to do" in summary.notes[-1]


def test_of_many_who_wait_nobody_scans_again(app, brain, tmp_path, workspace, first) -> None:
    apps = [build_app(load_settings({"BRAIN_DIR": str(brain)}, tmp_path)) for _ in range(8)]
    handles = [waiting(one, workspace, first) for one in apps]
    record = read_record(app.workspaces.folder(workspace))
    first.go_on()
    for handle in handles:
        summary = handle.wait(HUNG)
        assert summary is not None
        assert summary.added == first.total
    after = read_record(app.workspaces.folder(workspace))
    assert record is not None
    assert after is not None
    assert (after.scan, after.pid) == (record.scan, first.process.pid)
    for one in apps:
        one.close()


def test_a_brief_is_made_when_anyone_who_shares_the_scan_wants_one(app, brain, root, workspace) -> None:
    with FirstScan(brain, root, brief=False) as first:
        handle = waiting(app, workspace, first)
        first.go_on()
        assert handle.wait(HUNG) is not None
    assert app.briefs.state(workspace) is not None


def test_a_workspace_that_is_dropped_while_a_scan_waits_stays_dropped(app, workspace, first) -> None:
    handle = waiting(app, workspace, first)
    folder = app.workspaces.folder(workspace)
    dropping = threading.Thread(target=app.workspaces.drop, args=(workspace,))
    dropping.start()
    until(lambda: drop_requested(folder), handle)
    first.go_on()
    dropping.join(HUNG)
    assert first.summary() == {"error": "ScanStopped"}
    with pytest.raises(WorkspaceDropped):
        handle.wait(HUNG)
    assert app.workspaces.list() == []
    assert not folder.exists()


def test_a_scan_that_waits_leaves_as_soon_as_it_is_stopped(app, workspace) -> None:
    app.workspaces.register(workspace)
    with FileLock(app.workspaces.folder(workspace) / LOCK_FILE):
        handle = app.scans.start(workspace)
        app.scans.stop()
        with pytest.raises(ScanStopped):
            handle.wait(HUNG)
        (thread,) = [one for one in app.scans._active if one[1] is handle]
        assert thread[0].daemon
        thread[0].join(HUNG)


WAIT = """
import sys
from pathlib import Path
from braindex.bootstrap import build_app
from braindex.config import load_settings
app = build_app(load_settings({"BRAIN_DIR": sys.argv[1]}, Path.cwd()))
app.scans.run(app.workspaces.open(sys.argv[2]), lambda progress: print(progress.phase, flush=True))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_an_interrupt_ends_the_wait_for_another_process(app, brain, root, workspace) -> None:
    app.workspaces.register(workspace)
    with (
        FileLock(app.workspaces.folder(workspace) / LOCK_FILE),
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(WAIT), str(brain), str(root)],
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as child,
    ):
        assert child.stdout is not None
        assert child.stdout.readline() == "waiting\n"
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=HUNG)
    assert "KeyboardInterrupt" in err


def test_what_is_left_by_a_killed_scan_is_never_told_as_the_progress_of_a_later_one(app, workspace, first) -> None:
    first.kill()
    handle = app.scans.start(workspace)
    assert handle.wait(HUNG) is not None
    record = read_record(app.workspaces.folder(workspace))
    assert record is not None
    assert record.summary is not None
    assert record.pid == os.getpid()
