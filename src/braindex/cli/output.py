"""What commands write: UTF-8 whatever the locale, escaped where a terminal could be fooled, coloured on
request.
"""

import contextlib
import errno
import io
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TextIO

from braindex.domain.display import safe
from braindex.domain.errors import BraindexError

_STANDARD: Final = (0, 1, 2)


class OutputFailed(BraindexError):
    def __init__(self, why: str) -> None:
        super().__init__(f"the result could not be written to standard output: {why}")


def prepare_streams() -> None:
    """Standard streams speak UTF-8: an ASCII locale or a stray byte must not end a command.

    Lines of input end in a line feed, as `wc -l` counts them: a carriage return within one is a part of it.
    """
    _reserve_descriptors()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace", newline="\n")


def line(text: str = "") -> None:
    """One line (or block) on standard output, flushed: a reader at the other end of a pipe waits for it.

    Raises:
        BrokenPipeError: the reader is gone.
        OutputFailed: standard output is closed, or its disk is full.
    """
    if sys.stdout is None:
        raise OutputFailed("it is closed")
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except OSError as error:
        raise _output_failure(error) from error


def flush() -> None:
    """What others (argparse) left in standard output's buffer. Raises as `line` does."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        raise _output_failure(error) from error


def note(text: str) -> None:
    """One line for the user on standard error, where it mixes with no result; nobody may be there to read it."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(text + "\n")
            sys.stderr.flush()


def json_line(value: Any) -> None:
    """One JSON value on one line."""
    line(as_json(value))


def as_json(value: Any) -> str:
    """Compact JSON that keeps letters readable and writes what could fool a terminal as JSON escapes.

    The value read back is the same, to the character.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if safe(text) == text:
        return text
    return "".join(one if safe(one) == one else json.dumps(one)[1:-1] for one in text)


@dataclass(frozen=True, slots=True)
class Style:
    """Colours, or nothing where there are none."""

    enabled: bool

    def bold(self, text: str) -> str:
        return self._in("1", text)

    def dim(self, text: str) -> str:
        return self._in("2", text)

    def accent(self, text: str) -> str:
        return self._in("36", text)

    def _in(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.enabled and text else text


def is_terminal(stream: TextIO | None) -> bool:
    """Whether somebody looks at a stream, which is None where it is closed."""
    return stream is not None and not stream.closed and stream.isatty()


def style(stream: TextIO | None, environ: Mapping[str, str]) -> Style:
    """Colours only on a terminal that shows them, and never with NO_COLOR (https://no-color.org)."""
    plain = bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"
    return Style(not plain and is_terminal(stream) and (os.name != "nt" or "WT_SESSION" in environ))


def _output_failure(error: OSError) -> OSError | OutputFailed:
    # Windows reports a reader that has gone as an invalid argument.
    if isinstance(error, BrokenPipeError) or (os.name == "nt" and error.errno == errno.EINVAL):
        return BrokenPipeError()
    return OutputFailed(error.strerror or str(error))


def _reserve_descriptors() -> None:
    """The next file opened would take the number of a closed standard stream, and a library's print would end
    up in a database.
    """
    for number in _STANDARD:
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
