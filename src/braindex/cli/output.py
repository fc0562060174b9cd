"""What commands write: UTF-8 whatever the locale, escaped where a terminal could be fooled, coloured on
request.
"""

import io
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TextIO

from braindex.domain.display import safe


def prepare_streams() -> None:
    """Standard streams speak UTF-8: an ASCII locale or a stray byte must not end a command."""
    for stream, errors in (
        (sys.stdout, "backslashreplace"),
        (sys.stderr, "backslashreplace"),
        (sys.stdin, "replace"),
    ):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)


def line(text: str = "") -> None:
    """One line (or block) on standard output, flushed: a reader at the other end of a pipe waits for it."""
    _write(sys.stdout, text)


def note(text: str) -> None:
    """One line for the user on standard error, where it mixes with no result."""
    _write(sys.stderr, text)


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


def style(stream: TextIO, environ: Mapping[str, str]) -> Style:
    """Colours only on a terminal that shows them, and never with NO_COLOR (https://no-color.org)."""
    plain = bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"
    return Style(not plain and stream.isatty() and (os.name != "nt" or "WT_SESSION" in environ))


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text + "\n")
        stream.flush()
    except OSError as error:
        # Windows reports a reader that has gone as an invalid argument.
        if os.name == "nt" and not isinstance(error, BrokenPipeError):
            raise BrokenPipeError from error
        raise
