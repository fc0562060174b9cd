"""The log of a process: a private, rotating file in the data folder, and warnings on standard error.

One place for the server and the commands. Ids, counts and errors only: whoever logs keeps questions, source,
notes and keys at debug level, and debug is never on by itself.
"""

import contextlib
import logging
import os
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final, TextIO, cast

KEPT_LOGS: Final = 10
LARGEST_LOG_BYTES: Final = 1_000_000
# Tracebacks of bugs: the file has them, and standard error gets one line from the error boundary instead.
BUG_LOGGER: Final = "braindex.bug"


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
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
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
        return f"braindex: {record.levelname.lower()}: {record.getMessage()}"


def start(brain_dir: Path, level: int) -> str:
    """Sets up logging for this process; returns the file's path. `level` is for braindex's own records.

    Other libraries are logged from warnings on. The file appears with its first record, so a command that has
    nothing to say leaves none.
    """
    path = brain_dir / f"server-{os.getpid()}.log"
    file = PrivateFileHandler(path)
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    console = ConsoleHandler()
    console.setLevel(logging.WARNING)
    console.setFormatter(OneLineFormatter())
    console.addFilter(lambda record: record.name != BUG_LOGGER)
    root = logging.getLogger()
    for old in [one for one in root.handlers if isinstance(one, PrivateFileHandler | ConsoleHandler)]:
        root.removeHandler(old)
        old.close()
    root.addHandler(file)
    root.addHandler(console)
    root.setLevel(logging.WARNING)
    logging.getLogger("braindex").setLevel(level)
    return str(path)


def remove_old(brain_dir: Path) -> None:
    """Removes the logs of dead processes but the newest ten. One that cannot be removed is left alone."""
    with contextlib.suppress(OSError):
        ours = [path for path in brain_dir.glob("server-*.log*") if _pid(path)]  # anything else is the user's
        logs = sorted(ours, key=lambda path: path.stat().st_mtime, reverse=True)
        for path in logs[KEPT_LOGS:]:
            if not _is_alive(_pid(path)):
                path.unlink(missing_ok=True)


def _pid(path: Path) -> int:
    digits = path.name.removeprefix("server-").split(".", 1)[0]
    return int(digits) if digits.isdecimal() else 0


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
    except OSError:
        return True
    return True
