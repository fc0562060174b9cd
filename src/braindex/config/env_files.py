"""`.env` files: the user's own, of which every line counts, and a workspace's, which a stranger may have written."""

import functools
import io
import os
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from braindex.domain.display import shortened
from braindex.indexing.opening import Unreadable, is_link, read_file

ENV_FILE: Final = ".env"
LARGEST_ENV: Final = 65_536  # bytes; what is larger is no settings file
_RACY_NS: Final = 2_000_000_000  # a file touched so recently may change again within one tick of its clock


def read_users_env(path: Path, notes: list[str], mistakes: list[str]) -> dict[str, str]:
    """The variables of the user's own file, which may be a link. What cannot be read of it is said."""
    if not os.path.exists(path):  # Path.exists would raise where the folder is closed to this user
        return {}
    try:
        text = _text(read_file(os.path.realpath(path), LARGEST_ENV + 1))
    except Unreadable as why:
        mistakes.append(f"{path} cannot be used: {why}")
    except UnicodeDecodeError:
        mistakes.append(f"{path} cannot be used: it is not UTF-8; save it in that encoding")
    else:
        if text is not None:
            found, broken = _variables(text)
            notes += (f"line {line} of {path} is no NAME=value and does not count" for line in broken)
            return found
        mistakes.append(f"{path} cannot be used: it is larger than {LARGEST_ENV:,} bytes")
    return {}


def read_strangers_env(root: Path) -> Mapping[str, str]:
    """The variables of a workspace's `.env`, whoever wrote it; none where there is no plain, small, readable file.

    A link counts where it stays in the workspace. The text is read again when its time, size or inode changes.
    """
    path = root / ENV_FILE
    try:
        status = path.lstat()
        if is_link(status):
            path = Path(os.path.realpath(path))
            if not path.is_relative_to(os.path.realpath(root)):
                return {}
            status = path.lstat()
    except (OSError, ValueError):
        return {}
    if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_ENV:
        return {}
    if abs(time.time_ns() - status.st_mtime_ns) < _RACY_NS:
        return _parsed_env(str(path))
    return _known_env(str(path), status.st_mtime_ns, status.st_size, status.st_ino)


@functools.lru_cache(maxsize=64)
def _known_env(path: str, *_signature: int) -> Mapping[str, str]:
    return _parsed_env(path)


def _parsed_env(path: str) -> Mapping[str, str]:
    try:
        text = _text(read_file(path, LARGEST_ENV + 1))
    except (Unreadable, UnicodeDecodeError):
        return {}
    return {} if text is None else _variables(text)[0]


def _text(data: bytes) -> str | None:
    """The text of a `.env` file, None if it is too large. Raises UnicodeDecodeError."""
    return None if len(data) > LARGEST_ENV else data.decode("utf-8-sig")


def _variables(text: str) -> tuple[dict[str, str], list[int]]:
    """The variables, without interpolation, and the numbers of the lines that hold none and are no comment."""
    from dotenv.parser import parse_stream  # noqa: PLC0415 - only where there is a file to read

    found: dict[str, str] = {}
    broken: list[int] = []
    for one in parse_stream(io.StringIO(text)):
        if one.error:
            broken.append(one.original.line + _blank_lines(one.original.string))
        elif one.key is not None and one.value is not None:
            found[one.key] = one.value
        elif one.key is not None:  # a name alone, which a shell would take for a command
            broken.append(one.original.line + _blank_lines(one.original.string))
    return found, broken


def _blank_lines(text: str) -> int:
    return text[: len(text) - len(text.lstrip())].count("\n")


def quoted(text: str | None) -> str:
    return repr(shortened(text or ""))
