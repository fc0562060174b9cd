"""One writer of a workspace's vector index at a time, across threads and processes."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from braindex.vectors.backing import VectorIndexBusy, VectorIndexUnavailable, never

_POLL: Final = 0.05  # seconds between two looks at whether to go on waiting


class Turns:
    """The turns at the index that a lock file stands for. One object a process and index.

    The lock is the operating system's: it ends with the process that holds it.
    """

    def __init__(self, folder: Path, lock: Path, index: Path) -> None:
        self._folder = folder
        self._lock = lock
        self._index = index
        self._mutex = threading.Lock()

    @contextlib.contextmanager
    def taken(self, wait_seconds: float, stop: Callable[[], bool] = never) -> Iterator[None]:
        """Alone inside. Raises VectorIndexBusy after `wait_seconds`, or when `stop` turns true while it waits."""
        if not self._folder.is_dir():
            raise VectorIndexUnavailable(self._folder, "the folder does not exist")
        deadline = time.monotonic() + wait_seconds
        self._patiently(lambda seconds: self._mutex.acquire(timeout=seconds), deadline, stop)
        try:
            lock = FileLock(self._lock, mode=0o600)
            self._patiently(lambda seconds: self._acquired(lock, seconds), deadline, stop)
            try:
                yield
            finally:
                lock.release()
        finally:
            self._mutex.release()

    @contextlib.contextmanager
    def alone_in_process(self, wait_seconds: float) -> Iterator[bool]:
        """Whether no other thread of this process is inside, which holds as long as this lasts."""
        got = self._mutex.acquire(timeout=wait_seconds)
        try:
            yield got
        finally:
            if got:
                self._mutex.release()

    def _acquired(self, lock: FileLock, seconds: float) -> bool:
        try:
            lock.acquire(timeout=seconds)
        except Timeout:
            return False
        except OSError as error:
            raise VectorIndexUnavailable(self._index, str(error)) from error
        return True

    def _patiently(self, acquire: Callable[[float], bool], deadline: float, stop: Callable[[], bool]) -> None:
        if acquire(0):
            return
        while (left := deadline - time.monotonic()) > 0 and not stop():
            if acquire(min(left, _POLL)):
                return
        raise VectorIndexBusy(self._index)
