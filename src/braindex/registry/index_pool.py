"""Open indexes that wait for the next question: opening one takes as long as asking it something."""

import os
import sqlite3
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Final

from braindex.registry.failures import StoreError
from braindex.registry.index import IndexStore

# Elsewhere a file that is open cannot be deleted or moved, by other processes either.
_MAY_STAY_OPEN: Final = os.name == "posix" and sqlite3.threadsafety == 3
_IDLE: Final = 2  # of one workspace: a question, and the look at the disk beside it
_WORKSPACES: Final = 3


class IndexPool:
    """Idle indexes of the workspaces used last. Safe from any thread; each is in one thread's hands at a time.

    One is used again only while its file is what it was: not replaced, not written by anybody outside the write-ahead
    log, its schema the same.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: OrderedDict[Path, list[IndexStore]] = OrderedDict()

    def take(self, folder: Path) -> IndexStore | None:
        """An open index of the workspace, or None where none is idle that can be trusted."""
        while True:
            with self._lock:
                idle = self._idle.get(folder)
                store = idle.pop() if idle else None
            if store is None:
                return None
            try:
                if store.is_untouched():
                    return store
            except StoreError:
                pass  # opened anew it gives its reason
            store.close()

    def give(self, folder: Path, store: IndexStore) -> None:
        """Keeps an index that is in no transaction for the next one who needs it, or closes it."""
        if not _MAY_STAY_OPEN or not store.leave():
            store.close()
            return
        gone: list[IndexStore] = []
        with self._lock:
            idle = self._idle.setdefault(folder, [])
            self._idle.move_to_end(folder)
            (idle if len(idle) < _IDLE else gone).append(store)
            while len(self._idle) > _WORKSPACES:
                gone += self._idle.popitem(last=False)[1]
        for one in gone:
            one.close()

    def forget(self, folder: Path) -> None:
        """Closes what is idle of a workspace, before its folder goes."""
        with self._lock:
            gone = self._idle.pop(folder, [])
        for one in gone:
            one.close()

    def close(self) -> None:
        """Closes everything."""
        for folder in list(self._idle):
            self.forget(folder)
