"""The client's lines on their way in: read, checked, and passed on or answered at once."""

import io
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

CHUNK_BYTES: Final = 1 << 16
# Far above what any client sends; a line without an end must not fill the memory.
LONGEST_LINE: Final = 32 << 20
# So much may wait to be worked off. From then on the client waits, and its end is seen late.
BYTES_WAITING: Final = 32 << 20
# So many answers may wait for a client that does not read. From then on its input waits too.
REPLIES_WAITING: Final = 10_000


@dataclass(frozen=True, slots=True)
class Checked:
    """One line's worth: messages to pass on, and answers to send back, each without its line end."""

    passed: tuple[bytes, ...] = ()
    replies: tuple[bytes, ...] = ()


class Source(Protocol):
    """Where bytes come from; none are the end of input."""

    def read(self, size: int, /) -> bytes | None: ...


# Judges a line without its end, or None for one that was too long to keep.
Check = Callable[[bytes | None], Checked]


class ReadAhead:
    """A client's bytes, taken from it as soon as they come, by a thread of its own: what waits to be worked off must
    not hide that the client has gone. `on_end` is called at the end of input, which a broken stream is too.
    """

    def __init__(self, source: io.RawIOBase, on_end: Callable[[], object], most: int = BYTES_WAITING) -> None:
        self._source = source
        self._on_end = on_end
        self._most = most
        self._waiting = bytearray()
        self._changed = threading.Condition()
        self._ended = False
        threading.Thread(target=self._run, name="braindex-input", daemon=True).start()

    def read(self, size: int) -> bytes:
        """Up to so many bytes, at least one; waits for them. No bytes are the end of input."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ended)
            taken = bytes(self._waiting[:size])
            del self._waiting[:size]
            self._changed.notify_all()
            return taken

    def _run(self) -> None:
        while chunk := self._next():
            with self._changed:
                self._waiting += chunk
                self._changed.notify_all()
                self._changed.wait_for(lambda: len(self._waiting) < self._most)
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._on_end()

    def _next(self) -> bytes:
        try:
            return self._source.read(CHUNK_BYTES) or b""
        except OSError:
            return b""


class LineReader(io.RawIOBase):
    """Standard input as the protocol's library reads it: only lines that hold one message, each with its end.

    `check` says what is passed on of a line, and `reply` takes the answer to what is not. A line of more than
    `longest` bytes is not kept. There is no descriptor to be found here, so that nobody reads past the checks.
    """

    def __init__(
        self, source: Source, check: Check, reply: Callable[[bytes], object], longest: int = LONGEST_LINE
    ) -> None:
        super().__init__()
        self._source = source
        self._check = check
        self._reply = reply
        self._longest = longest
        self._line = bytearray()
        self._dropping = False
        self._ready = bytearray()
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        """Fills the target with what is ready; waits for input until something is. 0 is the end of input."""
        while not self._ready and not self._ended:
            self._read_on()
        taken = min(len(target), len(self._ready))
        target[:taken] = self._ready[:taken]
        del self._ready[:taken]
        return taken

    def _read_on(self) -> None:
        chunk = self._source.read(CHUNK_BYTES)
        if not chunk:
            self._ended = True
            self._end_line(b"")  # a last line may lack its end
            return
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            self._end_line(part)
        self._keep(rest)

    def _keep(self, part: bytes) -> None:
        if len(self._line) + len(part) > self._longest:
            self._dropping = True
            self._line.clear()
        elif not self._dropping:
            self._line += part

    def _end_line(self, part: bytes) -> None:
        self._keep(part)
        found = self._check(None if self._dropping else bytes(self._line))
        self._line.clear()
        self._dropping = False
        for passed in found.passed:
            self._ready += passed + b"\n"
        for reply in found.replies:
            self._reply(reply)


class Replies:
    """Answers that the reader gives, written by a thread of their own: a client that does not read its answers
    must not keep the reader from seeing the end of input.
    """

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._waiting: queue.Queue[bytes] = queue.Queue(REPLIES_WAITING)
        self._thread: threading.Thread | None = None

    def put(self, line: bytes) -> None:
        """Takes an answer; to be called by one thread only."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="braindex-replies", daemon=True)
            self._thread.start()
        self._waiting.put(line)

    def drain(self, seconds: float) -> bool:
        """Whether everything is written, after at most so many seconds."""
        with self._waiting.all_tasks_done:
            return self._waiting.all_tasks_done.wait_for(lambda: not self._waiting.unfinished_tasks, seconds)

    def _run(self) -> None:
        while True:
            line = self._waiting.get()
            try:
                self._write(line)
            except OSError:
                return  # the client is gone, which the writer has told
            finally:
                self._waiting.task_done()
