import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from braindex.domain.results import ScanProgress, ScanSummary, Workspace
from braindex.registry.scan_record import ScanRecord, read_record, write_record
from braindex.services import scan_turn
from braindex.services.counts import ScanStopped
from braindex.services.scan_handle import IDLE
from braindex.services.scan_turn import Published, Turn, turn_of
from braindex.services.workspaces import DROP_REQUEST, LOCK_FILE, WorkspaceDropped

WORKSPACE = Workspace("w", "shop", "/shop")
SUMMARY = ScanSummary("w", 8, 90, 8, 0, 0, (), 1.5)
RUNNING = ScanRecord("one", 4242, "", ScanProgress("parsing", 3, 8, 40))
ENDED = ScanRecord("one", 4242, "", ScanProgress("finished", 8, 8, 90), SUMMARY)


class Seen:
    """What a scan reports while it waits; does something at the first report, and lets the lock go at the second."""

    def __init__(self, lock: FileLock, then: Callable[[], object]) -> None:
        self.reports: list[ScanProgress] = []
        self._lock = lock
        self._then = then

    def __call__(self, progress: ScanProgress) -> None:
        self.reports.append(progress)
        if len(self.reports) == 1:
            self._then()
        else:
            self._lock.release()


@pytest.fixture
def lock(tmp_path: Path) -> FileLock:
    return FileLock(tmp_path / LOCK_FILE)


def _turn(tmp_path: Path, lock: FileLock, then: Callable[[], object]) -> tuple[Turn, list[ScanProgress]]:
    seen = Seen(lock, then)
    with lock, turn_of(WORKSPACE, tmp_path, seen, threading.Event()) as turn:
        return turn, seen.reports


def test_a_free_lock_is_taken_at_once_and_no_scan_counts_as_joined(tmp_path: Path, lock: FileLock) -> None:
    write_record(tmp_path, ENDED)
    with turn_of(WORKSPACE, tmp_path, lambda _: None, threading.Event()) as turn:
        assert (turn.before, turn.joined, turn.note(taken_over=True)) == (None, None, ())
        with pytest.raises(TimeoutError):
            lock.acquire(timeout=0)
    lock.acquire(timeout=0)


def test_who_waits_reports_the_others_progress_and_gets_its_summary(tmp_path: Path, lock: FileLock) -> None:
    write_record(tmp_path, RUNNING)
    turn, reports = _turn(tmp_path, lock, lambda: write_record(tmp_path, ENDED))
    assert reports == [RUNNING.progress, ScanProgress("waiting", 8, 8, 90)]
    assert turn.joined == SUMMARY
    assert "joined the scan of another process (4242)" in turn.note(taken_over=False)[0]
    assert "what it left to do" in turn.note(taken_over=True)[0]


def test_a_scan_that_began_and_ended_between_two_looks_was_joined_too(tmp_path: Path, lock: FileLock) -> None:
    turn, reports = _turn(tmp_path, lock, lambda: write_record(tmp_path, ENDED))
    assert reports[0] == IDLE
    assert turn.joined == SUMMARY


def test_a_scan_that_had_ended_before_is_not_joined(tmp_path: Path, lock: FileLock) -> None:
    write_record(tmp_path, ENDED)
    turn, reports = _turn(tmp_path, lock, lambda: None)
    assert reports == [IDLE, IDLE]
    assert turn.before is None


def test_a_scan_that_did_not_end_is_taken_over(tmp_path: Path, lock: FileLock) -> None:
    write_record(tmp_path, RUNNING)
    turn, _ = _turn(tmp_path, lock, lambda: None)
    assert (turn.before, turn.joined) == (RUNNING, None)
    assert "cut short" in turn.note(taken_over=True)[0]


def test_a_stop_ends_the_wait_and_leaves_the_lock_to_its_holder(tmp_path: Path, lock: FileLock) -> None:
    stop = threading.Event()
    with lock:
        with pytest.raises(ScanStopped), turn_of(WORKSPACE, tmp_path, lambda _: stop.set(), stop):
            pytest.fail("there was no turn")
        assert lock.is_locked


def test_who_wants_to_drop_the_workspace_goes_first(tmp_path: Path) -> None:
    seen: list[ScanProgress] = []
    request = FileLock(tmp_path / DROP_REQUEST)

    def report(progress: ScanProgress) -> None:
        seen.append(progress)
        request.release()  # the drop was given up

    with request, turn_of(WORKSPACE, tmp_path, report, threading.Event()) as turn:
        assert turn.before is None
    assert seen == [IDLE]


def test_a_folder_that_is_gone_is_not_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    lock = FileLock(folder / LOCK_FILE)

    def drop(_: ScanProgress) -> None:
        lock.release()
        (folder / LOCK_FILE).unlink()
        folder.rmdir()

    with lock, pytest.raises(WorkspaceDropped), turn_of(WORKSPACE, folder, drop, threading.Event()):
        pytest.fail("there was no turn")
    assert not folder.exists()


def test_progress_is_written_down_seldom_but_for_the_number_of_files_and_the_end(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(scan_turn, "WRITE_EVERY", 3600.0)
    seen: list[ScanProgress] = []
    published = Published(tmp_path, seen.append)
    written = []
    for done in range(3):
        for total in (0, 8)[done > 0 :]:
            published(ScanProgress("parsing", done, total, done))
            record = read_record(tmp_path)
            assert record is not None
            written.append((record.progress.files_done, record.progress.files_total))
    assert written == [(0, 0), (0, 8), (0, 8), (0, 8)]
    assert [one.files_done for one in seen] == [0, 0, 1, 2]
    published.finished(SUMMARY)
    record = read_record(tmp_path)
    assert record is not None
    assert (record.summary, record.progress) == (SUMMARY, ScanProgress("finished", 8, 8, 90))


def test_progress_is_written_down_again_when_its_time_has_come(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(scan_turn, "WRITE_EVERY", 0.0)
    published = Published(tmp_path, lambda _: None)
    published(ScanProgress("parsing", 1, 8, 5))
    published(ScanProgress("parsing", 2, 8, 9))
    record = read_record(tmp_path)
    assert record is not None
    assert record.progress == ScanProgress("parsing", 2, 8, 9)
