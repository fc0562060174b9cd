"""Processes that read files for a large scan, so that parsing and encoding take every core.

Each reads chunk after chunk of files and ends with its input, so with this process, however that ends. What kills one
(a grammar's crash, the system's killer of memory) costs at most the file it was at.
"""

import contextlib
import logging
import os
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from braindex.domain.ports import Embedder
from braindex.domain.results import Skipped
from braindex.registry.migrations import running_version
from braindex.services import frames
from braindex.services.reading import Outcome, Reader, Task

log = logging.getLogger(__name__)

# A process takes about half a second of CPU time to start, in which one alone reads this much.
LARGE_BYTES: Final = 2_000_000
MOST: Final = 4  # beyond these the one that writes is what everything waits for
_AHEAD: Final = 2  # chunks a process, done or to do: it never waits for the one that writes, and memory is bounded
_LOOK_EVERY: Final = 0.1  # seconds between two looks whether the scan is to stop
_SILENT: Final = 120.0  # seconds without an answer, after which a process hangs: the longest chunk takes some ten
_END_SECONDS: Final = 1.0
# A signal to the scan's process group (Ctrl-C, a supervisor's SIGTERM) is for the scan to answer, which ends them.
_OWN_GROUP: Final = 0 if os.name == "posix" else None
# On Windows the same, and no console for each.
_FLAGS: Final[int] = getattr(subprocess, "CREATE_NO_WINDOW", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)

Chunk = list[Task]


@dataclass(frozen=True, slots=True)
class Crews:
    """How reading processes are started.

    `command` runs one, `most` is how many a scan may have, and `embedder` is whose vectors they make.
    """

    command: tuple[str, ...]
    most: int
    embedder: Embedder
    large_bytes: int = LARGE_BYTES

    def for_files(self, reader: Reader, size: int) -> "Crew | None":
        """A crew to read `size` bytes of files, or None where reading them here is as fast."""
        count = min(self.most, 1 + size // self.large_bytes)
        return Crew(self.command, reader, count) if count > 1 else None


def cores() -> int:
    """The processors that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Crew:
    """Some processes that read for one scan. Use as a context manager: they end with it."""

    def __init__(self, command: Sequence[str], reader: Reader, count: int) -> None:
        self._jobs: queue.SimpleQueue[tuple[Chunk, Future[list[Outcome]]] | None] = queue.SimpleQueue()
        self.members = [_Member(command, reader) for _ in range(count)]
        self._threads = [
            threading.Thread(target=self._serve, args=(one,), name="crew", daemon=True) for one in self.members
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for _member in self.members:
            self._jobs.put(None)
        for member in self.members:
            member.end()
        for thread in self._threads:
            thread.join(_END_SECONDS)

    def read(self, chunks: Iterable[Chunk], check: Callable[[], None]) -> Iterator[list[Outcome]]:
        """The outcomes of each chunk, in order. `check` is called while it waits, and may raise."""
        waiting: deque[Future[list[Outcome]]] = deque()
        for chunk in chunks:
            future: Future[list[Outcome]] = Future()
            self._jobs.put((chunk, future))
            waiting.append(future)
            if len(waiting) > len(self.members) * _AHEAD:
                yield _result(waiting.popleft(), check)
        while waiting:
            yield _result(waiting.popleft(), check)

    def _serve(self, member: "_Member") -> None:
        while (job := self._jobs.get()) is not None:
            chunk, future = job
            try:
                future.set_result(member.read(chunk))
            except BaseException as error:  # noqa: BLE001 - the thread's boundary: whoever waits gets the error
                future.set_exception(error)


def _result(future: "Future[list[Outcome]]", check: Callable[[], None]) -> list[Outcome]:
    while True:
        check()
        with contextlib.suppress(TimeoutError):
            return future.result(_LOOK_EVERY)


class _Gone(Exception):
    """The process ended, or gave no answer."""


class _Member:
    """One process and what it is asked, a chunk at a time. Where none can be started, its work is done here."""

    def __init__(self, command: Sequence[str], reader: Reader) -> None:
        self._command = command
        self._reader = reader
        self._process: subprocess.Popen[bytes] | None = None
        self._usable = True
        self._ended = threading.Event()

    @property
    def process_id(self) -> int | None:
        """Of the process, while there is one."""
        process = self._process
        return None if process is None else process.pid

    def read(self, chunk: Chunk) -> list[Outcome]:
        """One outcome a task, in order, whatever becomes of the process."""
        try:
            return self._asked(chunk)
        except _Gone:
            if not self._ended.is_set():  # else the scan was stopped, and this ended it
                log.warning("a reading process ended in the middle of %d files", len(chunk))
        return [self._alone(task) for task in chunk]

    def end(self) -> None:
        """Ends the process, at whatever it is."""
        self._ended.set()
        self._forget()

    def _alone(self, task: Task) -> Outcome:
        try:
            return self._asked([task])[0]
        except _Gone:
            path = task.found.path
            reason = "reading it ended the process that did: a parser crashed on it, or the memory was used up"
            return Outcome(path, b"", skipped=Skipped(path, reason, again=True))

    def _asked(self, chunk: Chunk) -> list[Outcome]:
        if self._ended.is_set():
            raise _Gone
        process = self._process or self._started()
        if process is None:
            return self._reader.read(chunk)
        answer = self._conversation(process, frames.packed_tasks(chunk))
        return frames.unpacked(answer)

    def _conversation(self, process: "subprocess.Popen[bytes]", value: Any) -> Any:
        watch = threading.Timer(_SILENT, process.kill)
        watch.daemon = True
        watch.start()
        try:
            if process.stdin is None or process.stdout is None:
                raise _Gone
            frames.write(process.stdin, value)
            return frames.read(process.stdout)
        except (OSError, ValueError, frames.PipeClosed):  # ValueError: closed by `end`, in another thread
            self._forget()
            raise _Gone from None
        finally:
            watch.cancel()

    def _started(self) -> "subprocess.Popen[bytes] | None":
        """A process that has said that it is ready; None where none can be had, which is tried once."""
        if not self._usable:
            return None
        self._usable = False
        try:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=_environment(),
                creationflags=_FLAGS, process_group=_OWN_GROUP,
            )  # fmt: skip
            reader = self._reader
            hello = frames.greeting(running_version(), reader.root, reader.options, embeds=reader.embeds)
            if self._conversation(self._process, hello) == running_version():
                self._usable = True
                return self._process
        except (OSError, _Gone):
            pass
        self._forget()
        if not self._ended.is_set():
            log.warning("no reading process could be started: %s reads by itself", threading.current_thread().name)
        return None

    def _forget(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # what it has not read is lost with it
                if pipe is not None:
                    pipe.close()


def _environment() -> dict[str, str]:
    """The child runs this very braindex, wherever it was loaded from."""
    here = str(Path(__file__).parents[2])
    others = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([here, others] if others else [here])}
