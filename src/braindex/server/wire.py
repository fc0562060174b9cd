"""The protocol's own way out: standard output, out of everybody else's reach."""

import io
import os
import sys
from collections.abc import Callable
from typing import Final, TextIO, cast

from braindex.domain.errors import BraindexError

STDOUT: Final = 1
STDERR: Final = 2


class NoStandardStreams(BraindexError):
    """The process was started without a usable standard input or output."""

    def __init__(self) -> None:
        super().__init__(
            "standard input or output is closed, so no client can be served; start this from an MCP client"
        )


class WireWriter(io.BufferedWriter):
    """Bytes to the client: frames end in a line feed alone, and a client that is gone ends the process.

    The SDK wraps it in a text layer of its own, which writes the platform's line ends; JSON holds no raw
    carriage return, so each one before a line feed is that layer's.
    """

    def __init__(self, descriptor: int, on_gone: Callable[[], None]) -> None:
        super().__init__(cast("io.RawIOBase", io.FileIO(descriptor, "wb", closefd=False)))
        self._on_gone = on_gone

    def write(self, data: object) -> int:
        """Takes all of the bytes, and returns how many it was given."""
        given = bytes(cast("bytes", data))
        try:
            super().write(given.replace(b"\r\n", b"\n"))
        except OSError:
            self._on_gone()
            raise
        return len(given)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError:
            self._on_gone()
            raise


class Wire:
    """A private descriptor for standard output, which nobody else can reach.

    To be made before anything heavy is imported: from then on what libraries print while they are imported,
    extension modules and child processes write to standard output goes to standard error.

    Raises:
        NoStandardStreams: there is no client to speak to.
    """

    def __init__(self) -> None:
        try:
            sys.stdin.fileno()
            sys.stdout.flush()
            self._descriptor = os.dup(STDOUT)
        except (OSError, ValueError, AttributeError) as error:
            raise NoStandardStreams from error
        self._text: TextIO | None = None
        try:
            os.dup2(STDERR, STDOUT)
        except OSError:
            _divert_to_null()
        sys.stdout = sys.stderr

    def hand_over(self, on_gone: Callable[[], None]) -> None:
        """Makes the wire `sys.stdout`, where the SDK looks for it once; `divert` takes it away again."""
        # Kept, since a text layer that is collected closes the writer below it.
        self._text = io.TextIOWrapper(WireWriter(self._descriptor, on_gone), encoding="utf-8", newline="\n")
        sys.stdout = self._text

    def divert(self) -> None:
        """Sends prints to standard error again. The SDK holds the writer by now."""
        sys.stdout = sys.stderr


def _divert_to_null() -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, STDOUT)
    os.close(null)
