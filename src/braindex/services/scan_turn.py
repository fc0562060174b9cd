"""Whose turn it is to scan a workspace: one process at a time, and the others share in what it does.

The writer's lock is the operating system's and ends with its holder, so it alone says whether a scan runs. Its holder
writes down how far it is (`registry.scan_record`), and who waits for the lock tells that as its own progress.
"""

import contextlib
import os
import secrets
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from filelock import FileLock

from braindex.domain.results import ScanProgress, ScanSummary, Workspace
from braindex.registry.disk import make_private_folder
from braindex.registry.scan_record import ScanRecord, read_record, write_record
from braindex.services.counts import Progress, ScanStopped
from braindex.services.scan_handle import IDLE
from braindex.services.workspaces import LOCK_FILE, WorkspaceDropped, acquired, drop_requested, remove_locks

LOCK_POLL: Final = 0.1  # seconds between two looks at a lock that another process holds
WRITE_EVERY: Final = 0.25  # seconds between two writings of the record: often enough for a progress bar


@dataclass(frozen=True, slots=True)
class Turn:
    """The writer's lock is held. `before` is the scan of another holder that was waited for, None where none was.

    `before` has a summary when that scan ended well; without one it was cut short, and the work is ours to finish.
    """

    before: ScanRecord | None = None

    @property
    def joined(self) -> ScanSummary | None:
        """What the scan that was waited for did, when it ended well."""
        return None if self.before is None else self.before.summary

    def note(self, *, taken_over: bool) -> tuple[str, ...]:
        """In one line, what the summary owes to the other scan; `taken_over` says that this one did work of its own."""
        if self.before is None:
            return ()
        here = self.before.pid == os.getpid()
        whose = "an earlier scan of this process" if here else f"the scan of another process ({self.before.pid})"
        if self.before.summary is None:
            return (f"{whose} was cut short while this one waited for it, and this one finished the work",)
        if taken_over:
            return (f"{whose} ended while this one waited for it; the numbers are of what it left to do",)
        return (f"joined {whose}: the numbers are of that one",)


@contextlib.contextmanager
def turn_of(workspace: Workspace, folder: Path, report: Progress, stop: threading.Event) -> Iterator[Turn]:
    """The turn to write to a workspace, when its writer's lock is free; released at the end.

    Waits while another scan has it, and reports how far that one is. Raises ScanStopped soon after `stop` is set,
    WorkspaceDropped when the workspace was dropped meanwhile: its folder is not made again, and a StoreError where
    this user cannot write.
    """
    make_private_folder(folder)
    lock = FileLock(folder / LOCK_FILE, mode=0o600)
    before = _acquired(lock, _Waited(workspace, folder), report, stop)
    try:
        yield Turn(before)
    except WorkspaceDropped:
        lock.release()
        remove_locks(folder)  # taking the lock made the folder again
        raise
    finally:
        lock.release()


class _Waited:
    """What was seen of other scans while waiting."""

    def __init__(self, workspace: Workspace, folder: Path) -> None:
        self.folder = folder
        self._path = workspace.path
        self._found = _finished(read_record(folder))  # it ended before we came, so it is none of ours
        self._running: str | None = None

    def check(self) -> None:
        if not self.folder.is_dir():
            raise WorkspaceDropped(self._path)

    def progress(self) -> ScanProgress:
        """How far the scan is that has the lock."""
        record = read_record(self.folder)
        if record is None or (record.summary is not None and record.scan == self._found):
            return IDLE
        if record.summary is not None:  # others who waited are looking whether anything is left to do
            return replace(record.progress, phase=IDLE.phase)
        self._running = record.scan
        return record.progress

    def before(self) -> ScanRecord | None:
        """The scan that ended, well or not, while we waited."""
        record = read_record(self.folder)
        if record is None:
            return None
        if record.summary is None:
            return record if record.scan == self._running else None
        return None if record.scan == self._found else record


def _finished(record: ScanRecord | None) -> str | None:
    return None if record is None or record.summary is None else record.scan


def _acquired(lock: FileLock, waited: _Waited, report: Progress, stop: threading.Event) -> ScanRecord | None:
    """Acquires the lock; returns the scan that was waited for, if any."""
    has_waited = False
    while not _try(lock, waited.folder):
        has_waited = True
        report(waited.progress())
        if stop.wait(LOCK_POLL):
            raise ScanStopped
        waited.check()
    return waited.before() if has_waited else None


def _try(lock: FileLock, folder: Path) -> bool:
    """Whether the lock is ours now. Who wants to drop the workspace goes first."""
    if drop_requested(folder):
        return False
    if not acquired(lock, 0):
        return False
    if drop_requested(folder):
        lock.release()
        return False
    return True


class Published:
    """The progress of a scan that has its turn: reported here, and written down for other processes."""

    def __init__(self, folder: Path, report: Progress) -> None:
        self._folder = folder
        self._report = report
        self._written = 0.0
        started = datetime.now(UTC).isoformat(timespec="seconds")
        self._record = ScanRecord(secrets.token_hex(8), os.getpid(), started, ScanProgress("walking", 0, 0, 0))
        self._write()

    def __call__(self, progress: ScanProgress) -> None:
        # How many files there are is news that does not wait: until then the others have nothing to tell.
        is_news = bool(progress.files_total and not self._record.progress.files_total)
        self._record = replace(self._record, progress=progress)
        if is_news or time.monotonic() - self._written >= WRITE_EVERY:
            self._write()
        self._report(progress)

    def finished(self, summary: ScanSummary) -> None:
        """Written down whatever was written just before: who waits counts on it."""
        progress = ScanProgress("finished", summary.files, summary.files, summary.entities)
        self._record = replace(self._record, progress=progress, summary=summary)
        self._write()

    def _write(self) -> None:
        self._written = time.monotonic()
        write_record(self._folder, self._record)
