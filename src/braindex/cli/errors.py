"""The command line's one error boundary: what a failure prints, and the exit code it ends with."""

import io
import logging
import os
import sys
from collections.abc import Callable
from typing import Final

from braindex.cli.output import OutputFailed, flush, note
from braindex.domain.display import safe_line, shortened
from braindex.domain.errors import BraindexError, UsageError

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
BUG: Final = 3
INTERRUPTED: Final = 130

LONGEST_MESSAGE: Final = 3000  # characters; a longer one repeats what somebody forgot to cut


def guarded(run: Callable[[], int]) -> int:
    """The exit code of a command; one line on standard error says what went wrong."""
    try:
        code = run()
        flush()
    except BrokenPipeError:
        # The reader (a pager, `head`) has what it wanted.
        _silence_stdout()
        return DONE
    except KeyboardInterrupt:
        note("braindex: interrupted")
        return INTERRUPTED
    except UsageError as error:
        return _told(str(error), USAGE)
    except BraindexError as error:
        if isinstance(error, OutputFailed):
            _silence_stdout()
        return _told(str(error), FAILED)
    except Exception as error:  # noqa: BLE001 - the boundary: one line, and a traceback in the log
        return _bug(error)
    return code


def _told(message: str, code: int) -> int:
    note(f"braindex: {shortened(safe_line(message), LONGEST_MESSAGE)}")
    return code


def _bug(error: Exception) -> int:
    from braindex.cli.logs import BUG_LOGGER  # noqa: PLC0415 - what goes well needs no log's file

    logging.getLogger(BUG_LOGGER).error("unexpected failure", exc_info=error)
    log = _log_file()
    where = f"the traceback is in {log}" if log else "there is no log to hold its traceback"
    return _told(f"this is a bug: {type(error).__name__}: {error}; {where}", BUG)


def _log_file() -> str:
    """The log's path if a log was begun and holds something."""
    from braindex.cli.logs import PrivateFileHandler  # noqa: PLC0415 - as above

    files = [one.baseFilename for one in logging.getLogger().handlers if isinstance(one, PrivateFileHandler)]
    return next((path for path in files if os.path.exists(path)), "")


def _silence_stdout() -> None:
    """The interpreter flushes standard output once more at exit, which would complain again."""
    if sys.stdout is None:
        return
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = io.StringIO()
    finally:
        os.close(null)
