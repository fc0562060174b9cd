"""Work whose answer somebody waits for, but only so long: in a process of its own, so that nothing it does, not even a
long call in C, holds up this one.
"""

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable
from typing import Final

GOES_ON: Final = 15  # seconds that work which must come to its end has for that

Work = Callable[[], bytes]
"""Returns its answer, which is not empty, and raises nothing."""


def answer_within(seconds: float, work: Work, *, must_end: bool = False) -> bytes | None:
    """The answer, or None after so many seconds. Work that is not over by then is ended, or where it must come to its
    end goes on unwatched, for at most GOES_ON seconds. Whoever calls this leaves by `os._exit`.
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
    return _in_a_thread(seconds, work)


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


def _in_a_thread(seconds: float, work: Work) -> bytes | None:
    """The same where processes cannot be copied."""
    answer: list[bytes] = []
    worker = threading.Thread(target=lambda: answer.append(work()), daemon=True)
    worker.start()
    worker.join(seconds)
    return answer[0] if answer else None
