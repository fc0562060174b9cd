"""Work that takes longer than a page may: begun by one request, watched by others."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Final

from braindex.services.threads import begun

MOST_KEPT: Final = 50  # ended works whose outcome somebody may still come for

Cancelled = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Work:
    """Something that was begun. `left` asks it to stop, where it can."""

    future: "Future[Any]"
    started: float
    left: threading.Event = field(default_factory=threading.Event)

    @property
    def running(self) -> bool:
        return not self.future.done()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started


class Works:
    """The works of one dashboard, one at a time under a key: whoever asks for the same joins it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._works: dict[str, Work] = {}

    def begin(self, key: str, call: Callable[[Cancelled], Any]) -> Work:
        """Begins `call`, which is given a flag that says when to stop, unless a work with this key is running."""
        with self._lock:
            known = self._works.get(key)
            if known is not None and known.running:
                return known
            left = threading.Event()
            work = Work(begun(lambda: call(left.is_set)), time.monotonic(), left)
            self._works.pop(key, None)
            self._works[key] = work
            for one in [name for name, each in self._works.items() if not each.running][:-MOST_KEPT]:
                del self._works[one]
            return work

    def get(self, key: str) -> Work | None:
        with self._lock:
            return self._works.get(key)

    def forget(self, key: str) -> None:
        """Once its outcome was shown."""
        with self._lock:
            self._works.pop(key, None)

    def stop(self) -> None:
        """Asks all that runs to stop."""
        with self._lock:
            for work in self._works.values():
                work.left.set()
