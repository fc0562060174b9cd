"""The log of a process: a private, rotating file in the data folder, and warnings on standard error.

One place for the server and the commands. Ids, counts and errors only: whoever logs keeps questions, source,
notes and keys at debug level, and debug is never on by itself.
"""

import contextlib
import logging
import os
import re
import stat
import sys
from collections.abc import Iterator
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final, TextIO, cast

from braindex.domain.display import safe_line

KEPT_LOGS: Final = 10
LARGEST_LOG_BYTES: Final = 1_000_000
# Tracebacks of bugs: the file has them, and standard error gets one line from the error boundary instead.
BUG_LOGGER: Final = "braindex.bug"
# `server-<pid>.log`, and what rotating it leaves. No system has process ids of more digits.
_LOG_NAME: Final = re.compile(r"server-([1-9][0-9]{0,9})\.log(?:\.[0-9]+)?")
# A link by a log's name leads to a file that is none, and O_NONBLOCK keeps a pipe from being waited for.
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class PrivateFileHandler(RotatingFileHandler):
    """A rotating file that only its owner can read, created with its first record."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            path,
            maxBytes=LARGEST_LOG_BYTES,
            backupCount=1,
            encoding="utf-8",
            errors="backslashreplace",
            delay=True,
        )

    def _open(self) -> TextIO:  # type: ignore[override]
        path = Path(self.baseFilename)
        for folder in (*reversed(path.parent.parents), path.parent):
            if not os.path.exists(folder):
                folder.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _NO_FOLLOW, 0o600)
        if os.name == "posix":  # of a process with the same id, long ago
            os.fchmod(descriptor, 0o600)
        return cast("TextIO", open(descriptor, self.mode, encoding=self.encoding, errors=self.errors))

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """A log that cannot be written must not fill standard error with tracebacks of its own."""


class ConsoleHandler(logging.StreamHandler[TextIO]):
    """Warnings on whatever standard error is at the moment."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)


class OneLineFormatter(logging.Formatter):
    """`braindex: warning: …` without a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        return f"braindex: {record.levelname.lower()}: {safe_line(record.getMessage())}"


def start(brain_dir: Path, level: int) -> str:
    """Sets up logging for this process; returns the file's path. `level` is for braindex's own records.

    Other libraries are logged from warnings on. The file appears with its first record, so a command that has
    nothing to say leaves none.
    """
    path = brain_dir / f"server-{os.getpid()}.log"
    file = PrivateFileHandler(path)
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    _log_to(file, _console())
    logging.getLogger("braindex").setLevel(level)
    return str(path)


def start_hook_log(brain_dir: Path, *, console: bool = False) -> None:
    """Sets up logging for a hook, and for what stores that which hooks left: warnings go to one file for all of them,
    and never to the client; to standard error as well where there is a `console`.
    """
    file = PrivateFileHandler(brain_dir / "hooks" / "hooks.log")
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    _log_to(file, *([_console()] if console else []))


def _console() -> ConsoleHandler:
    console = ConsoleHandler()
    console.setLevel(logging.WARNING)
    console.setFormatter(OneLineFormatter())
    console.addFilter(lambda record: record.name != BUG_LOGGER)
    return console


def _log_to(*handlers: logging.Handler) -> None:
    """These, in place of the ones that were set up here before."""
    root = logging.getLogger()
    for old in [one for one in root.handlers if isinstance(one, PrivateFileHandler | ConsoleHandler)]:
        root.removeHandler(old)
        old.close()
    for one in handlers:
        root.addHandler(one)
    root.setLevel(logging.WARNING)


def remove_old(brain_dir: Path) -> None:
    """Removes the logs of dead processes but the newest ten. One that cannot be removed is left alone.

    Only files whose whole name is a log's are braindex's; anything else in the folder is the user's.
    """
    for _, pid, path in sorted(_logs(brain_dir), reverse=True)[KEPT_LOGS:]:
        if not _is_alive(pid):
            with contextlib.suppress(OSError):
                Path(path).unlink()


def _logs(brain_dir: Path) -> Iterator[tuple[int, int, str]]:
    """Time of the last change, process and path of each log. Links and folders of such a name are none."""
    with contextlib.suppress(OSError), os.scandir(brain_dir) as entries:
        for one in entries:
            named = _LOG_NAME.fullmatch(one.name)
            if named is None:
                continue
            with contextlib.suppress(OSError):  # another process removed it
                status = one.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    yield status.st_mtime_ns, int(named[1]), one.path


def _is_alive(pid: int) -> bool:
    """Whether a process may still write its log.

    Windows is asked by the removal itself: a file that is open cannot be removed there (and signal 0 would
    kill).
    """
    if pid <= 0 or sys.platform == "win32":
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
