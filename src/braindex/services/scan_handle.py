"""A scan in the background, as whoever waits for it sees it."""

import threading
import time
from typing import Final

from braindex.domain.results import ScanProgress, ScanSummary

IDLE: Final = ScanProgress("waiting", 0, 0, 0)


class ScanHandle:
    """A scan that runs in the background. Any number of callers may wait for the same one."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self._finished = threading.Event()
        self._indexed = threading.Event()
        self._began = threading.Event()
        self._progress = IDLE
        self._summary: ScanSummary | None = None
        self._error: BaseException | None = None
        self._started = time.monotonic()

    def report(self, progress: ScanProgress) -> None:
        self._progress = progress

    def progress(self) -> ScanProgress:
        """How far the scan is; while it waits for that of another process, how far that one is."""
        return self._progress

    def seconds(self) -> float:
        """How long ago the scan was started."""
        return time.monotonic() - self._started

    def begins(self) -> None:
        """Its turn has come: from here on it looks at the disk by itself."""
        self._began.set()

    @property
    def has_begun(self) -> bool:
        """False while it waits for the scan of another process."""
        return self._began.is_set()

    def indexed(self) -> None:
        """From here on questions are answered from all files; what is left is the vector index on disk."""
        self._indexed.set()

    @property
    def is_indexed(self) -> bool:
        return self._indexed.is_set()

    def wait_indexed(self, timeout: float) -> bool:
        """Whether every file is in the index, after at most `timeout` seconds. Raises the scan's own error."""
        if self._indexed.wait(timeout) and self._finished.is_set() and self._error is not None:
            raise self._error
        return self._indexed.is_set()

    @property
    def running(self) -> bool:
        return not self._finished.is_set()

    @property
    def failed(self) -> bool:
        return self._error is not None

    def finish(self, summary: ScanSummary | None, error: BaseException | None) -> None:
        self._summary, self._error = summary, error
        self._finished.set()
        self._indexed.set()

    def wait(self, timeout: float | None) -> ScanSummary | None:
        """The summary, or None while the scan still runs after `timeout` seconds. Raises the scan's own error."""
        if not self._finished.wait(timeout):
            return None
        if self._error is not None:
            raise self._error
        return self._summary
