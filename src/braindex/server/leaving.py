"""The end of a server process: within a second of its client's, whatever its threads are doing."""

import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Final

# A client waits two seconds before it kills; a user should not notice. The services' own stop takes 0.8 s at
# most.
STOP_SECONDS: Final = 0.85
DEADLINE_SECONDS: Final = 0.95
# What a client sent before it closed the input is worked off for so long: a few requests from a script are answered.
BACKLOG_SECONDS: Final = 0.6

INTERRUPTED: Final = 130


def _exit_of(process: int) -> Callable[[], object] | None:
    """A call that returns when another process has ended: by pidfd_open (Linux), by kqueue (macOS)."""
    try:
        if sys.platform == "linux":
            poll = select.poll()
            poll.register(os.pidfd_open(process), select.POLLIN)
            return poll.poll
        if sys.platform == "darwin":
            queue = select.kqueue()
            ended = select.kevent(process, select.KQ_FILTER_PROC, select.KQ_EV_ADD, select.KQ_NOTE_EXIT)
            queue.control([ended], 0)
            return lambda: queue.control(None, 1)
    except OSError:  # it is gone by now, or the system is too old
        return None
    return None


class Leaving:
    """Ends the process. `stop` asks the services to stop; `leave` is `os._exit` outside of tests.

    Interpreter shutdown is skipped on purpose: it waits for threads that wait for input, and what the
    services store survives a kill at any moment.
    """

    def __init__(self, stop: Callable[[], None], leave: Callable[[int], object] = os._exit) -> None:
        self._stop = stop
        self._leave = leave
        self._code = 0

    def within_deadline(self, code: int) -> None:
        """Leaves after the deadline at the latest, should the orderly way get stuck; the last code counts."""
        self._code = code
        timer = threading.Timer(DEADLINE_SECONDS, lambda: self._leave(self._code))
        timer.daemon = True
        timer.start()

    def after_input(self) -> None:
        """Leaves within the deadline from here, where input has ended: what came before is worked off for a while, then
        the services are stopped.
        """
        self.within_deadline(0)
        timer = threading.Timer(BACKLOG_SECONDS, lambda: self.now(0))
        timer.daemon = True
        timer.start()

    def now(self, code: int) -> None:
        """Stops the services within bounds and leaves."""
        self.within_deadline(code)
        stopping = threading.Thread(target=self._stop, name="braindex-stop", daemon=True)
        stopping.start()
        stopping.join(STOP_SECONDS)
        self._leave(code)

    def with_parent(self, parent: int) -> None:
        """Leaves when the process that started this one is gone, also where somebody else keeps the input open, and at
        once where it is gone by now. Waiting for it costs nothing; where the system has no way to wait for a parent
        (Windows), the end of input alone tells.
        """
        waited = _exit_of(parent)
        if os.name != "nt" and os.getppid() != parent:  # it has another parent since that one ended
            self.now(0)
        if waited is None:
            return

        def leave_after() -> None:
            waited()
            self.now(0)

        threading.Thread(target=leave_after, name="braindex-parent", daemon=True).start()

    def on_signals(self) -> None:
        """Leaves on a request to terminate (code 0) and on an interrupt (130), also while input is being
        read.
        """

        def leave(number: int, _frame: FrameType | None) -> None:
            self.now(INTERRUPTED if number == signal.SIGINT else 0)

        for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK"):
            number = getattr(signal, name, None)  # SIGHUP is POSIX, SIGBREAK is Windows
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, leave)
