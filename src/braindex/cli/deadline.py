"""Work whose answer somebody waits for, but only so long: in a process of its own, so that nothing it does, not even a
long call in C, holds up this one; where processes cannot be copied (Windows), in a thread, which ends with this one.
"""

import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Final

GOES_ON: Final = 15  # seconds that work which must come to its end has for that
THREAD_GOES_ON: Final = 3  # the same in a thread: it cannot outlive this process, and somebody waits for that

Work = Callable[[], bytes]
"""Returns its answer, which is not empty, and raises nothing."""


def answer_within(seconds: float, work: Work, *, must_end: bool = False) -> bytes | None:
    """The answer, or None after so many seconds. Work that is not over by then is ended, or where it must come to its
    end goes on unwatched, for at most GOES_ON seconds; in a thread it is waited for, at most THREAD_GOES_ON seconds,
    and its answer is late all the same. Nothing but the caller writes to standard output: what the work prints goes
    nowhere. Whoever calls this leaves by `os._exit`.
    """
    if hasattr(os, "fork"):
        reading, writing = os.pipe()
        try:
            child = os.fork()
        except OSError:  # no more processes
            os.close(reading)
            os.close(writing)
        else:
            if child == 0:
                _work(work, writing, GOES_ON if must_end else int(seconds) + 2, alone=must_end)
            os.close(writing)
            said = _answer(reading, seconds)
            if said is None and not must_end:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            return said
    return _in_a_thread(seconds, work, THREAD_GOES_ON if must_end else 0)


def _work(work: Work, writing: int, seconds: int, *, alone: bool) -> None:
    """Never returns: what is above in the stack belongs to the other process."""
    try:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)  # whoever reads it waits until nobody has it any more
        os.dup2(null, 2)
        signal.alarm(seconds)
        if alone:
            os.setsid()  # a client that ends all that its hook has started does not mean this
        os.write(writing, work())
    finally:
        os._exit(0)


def _answer(reading: int, seconds: float) -> bytes | None:
    said, end = b"", time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0 and select.select([reading], [], [], left)[0]:
        part = os.read(reading, 65_536)
        if not part:
            return said
        said += part
    return None


def _in_a_thread(seconds: float, work: Work, goes_on: float) -> bytes | None:
    """The same where processes cannot be copied. What the thread is at when this process leaves is cut off, as by a
    kill: whatever is kept has to be written as a whole.
    """
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for good: the thread may go on
    answer: list[bytes] = []
    worker = threading.Thread(target=lambda: answer.append(work()), daemon=True)
    worker.start()
    worker.join(seconds)
    said = answer[0] if answer else None
    if said is None and goes_on > seconds:
        worker.join(goes_on - seconds)
    return said
