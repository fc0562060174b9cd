"""The protocol's own way in and out: standard input and output, out of everybody else's reach."""

import io
import os
import sys
import threading
from collections.abc import Callable
from typing import Final, TextIO, cast

from braindex.domain.errors import BraindexError
from braindex.server.intake import Check, LineReader, ReadAhead, Replies

STDIN: Final = 0
STDOUT: Final = 1
STDERR: Final = 2

FINISH_SECONDS: Final = 0.2


class NoStandardStreams(BraindexError):
    """The process was started without a usable standard input or output."""

    def __init__(self) -> None:
        super().__init__(
            "standard input or output is closed, so no client can be served; start this from an MCP client"
        )


class WireWriter(io.BufferedWriter):
    """Bytes to the client: whole lines that end in a line feed alone; a client that is gone ends the process.

    The SDK wraps it in a text layer of its own, which writes the platform's line ends; JSON holds no raw
    carriage return, so each one before a line feed is that layer's. A line is held back until its end has come,
    so that lines of two threads never mix.
    """

    def __init__(self, descriptor: int, on_gone: Callable[[], None]) -> None:
        super().__init__(cast("io.RawIOBase", io.FileIO(descriptor, "wb", closefd=False)))
        self._on_gone = on_gone
        self._whole_lines = threading.Lock()
        self._begun = b""

    def write(self, data: object) -> int:
        """Takes all of the bytes, and returns how many it was given. To be called by one thread only."""
        given = bytes(cast("bytes", data))
        whole, end, rest = (self._begun + given).rpartition(b"\n")
        self._begun = rest
        self._guarded(lambda: super(WireWriter, self).write((whole + end).replace(b"\r\n", b"\n")))
        return len(given)

    def write_line(self, line: bytes) -> None:
        """Writes a whole line, given without its end, at once. Any thread may."""
        self._guarded(lambda: super(WireWriter, self).write(line + b"\n"))
        self.flush()

    def flush(self) -> None:
        self._guarded(super().flush)

    def _guarded(self, write: Callable[[], object]) -> None:
        try:
            with self._whole_lines:
                write()
        except OSError:
            self._on_gone()
            raise


class Wire:
    """Private descriptors for standard input and output, which nobody else can reach.

    To be made before anything heavy is imported: from then on what libraries print while they are imported,
    extension modules and child processes write to standard output goes to standard error, and they read nothing.

    Raises:
        NoStandardStreams: there is no client to speak to.
    """

    def __init__(self) -> None:
        try:
            sys.stdin.fileno()
            sys.stdout.flush()
            self._input = _private(STDIN)
            self._output = _private(STDOUT)
        except (OSError, ValueError, AttributeError) as error:
            raise NoStandardStreams from error
        _open_errors()
        os.dup2(STDERR, STDOUT)
        _point_at_null(STDIN, os.O_RDONLY)
        self._stdin = sys.stdin
        self._kept: tuple[TextIO, ...] = ()
        self._replies: Replies | None = None
        sys.stdout = sys.stderr

    def hand_over(self, check: Check, *, on_end: Callable[[], object], on_gone: Callable[[], None]) -> None:
        """Makes the wire `sys.stdin` and `sys.stdout`, where the SDK looks for it once; `divert` takes it away.

        `check` judges each line of the client's; `on_end` is called at the end of input, before all of it is worked
        off, and `on_gone` when the client cannot be written to.
        """
        writer = WireWriter(self._output, on_gone)
        self._replies = Replies(writer.write_line)
        source = cast("io.RawIOBase", io.FileIO(self._input, "rb", closefd=False))
        reader = io.BufferedReader(LineReader(ReadAhead(source, on_end), check, self._replies.put))
        sys.stdin = io.TextIOWrapper(reader, encoding="utf-8", newline="\n")
        sys.stdout = io.TextIOWrapper(writer, encoding="utf-8", newline="\n")
        # Kept, since a text layer that is collected closes what is below it.
        self._kept = (sys.stdin, sys.stdout)

    def divert(self) -> None:
        """Sends prints to standard error again, and reads to the end of input. The SDK holds the wire by now."""
        sys.stdin = self._stdin
        sys.stdout = sys.stderr

    def finish(self) -> None:
        """Waits for the answers that the reader gave, within bounds: a client that does not read has none."""
        if self._replies is not None:
            self._replies.drain(FINISH_SECONDS)


def _private(descriptor: int) -> int:
    """A duplicate outside of the standard range: where standard error is closed, the first free number is its."""
    copy = os.dup(descriptor)
    if copy > STDERR:
        return copy
    try:
        return _private(descriptor)
    finally:
        os.close(copy)


def _open_errors() -> None:
    """Makes sure that standard error is open: the next file opened would take its number, and get what is meant
    for it.
    """
    try:
        os.fstat(STDERR)
    except OSError:
        _point_at_null(STDERR, os.O_WRONLY)


def _point_at_null(descriptor: int, mode: int) -> None:
    null = os.open(os.devnull, mode)
    if null != descriptor:
        os.dup2(null, descriptor)
        os.close(null)
