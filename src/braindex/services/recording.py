"""After a turn of an agent's loop: what hooks left is stored, in the background."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

from filelock import FileLock

from braindex.domain.errors import BraindexError
from braindex.domain.memories import Episode, NotAnId, NotATime
from braindex.domain.options import WorkspaceOptions
from braindex.domain.results import Workspace
from braindex.domain.turns import Waiting
from braindex.indexing.walk import Found, WalkRules, walk
from braindex.registry.conversations import Conversations
from braindex.services.loop import UnknownFolder, place_of
from braindex.services.memories import Memories
from braindex.services.resolution import NoWorkspace, PathRefused, SeveralRoots
from braindex.services.roots import FolderRefused, NameNotText, NotAFolder
from braindex.services.workspaces import Workspaces, acquired

log = logging.getLogger(__name__)

_LOCK: Final = "recorder.lock"
_MOST_FILES: Final = 50  # that an episode names as touched
# Where no workspace can be, now or later. A folder that is gone may come back, as may a registry that is locked.
_NOWHERE: Final = (UnknownFolder, NoWorkspace, SeveralRoots, PathRefused, FolderRefused, NotAFolder, NameNotText)
_UNFIT: Final = (NotAnId, NotATime)


class Recorder:
    """Stores what hooks left, one process at a time."""

    def __init__(
        self,
        workspaces: Workspaces,
        memories: Memories,
        conversations: Conversations,
        options: Callable[[Path], WorkspaceOptions],
        *,
        keep_days: int | None = None,
        named: str = "",
    ) -> None:
        self._workspaces = workspaces
        self._memories = memories
        self._conversations = conversations
        self._options = options
        self._keep_days = keep_days
        self._named = named

    def record(self, workspace: Workspace, episode: Episode) -> bool:
        """Stores an episode at once; false where it is known already. Raises what `Memories.record` raises."""
        return self._memories.record(workspace, episode, self._keep_days)

    def drain(self) -> int:
        """Stores all that waits; how many were new. 0 at once where another process is at it."""
        self._conversations.recorder_started()
        self._conversations.tidy()
        stored = 0
        lock = FileLock(self._conversations.folder / _LOCK, mode=0o600)
        tried: set[Path] = set()
        while (left := self._left(tried)) and acquired(lock, 0):
            try:
                for path, one in self._conversations.waiting():
                    if path not in tried:
                        tried.add(path)
                        stored += self._store(path, one)
                tried |= left  # what could not be read is set aside, or stays where it is
            finally:
                lock.release()  # and look again: what came in between found the lock taken
        return stored

    def _left(self, tried: set[Path]) -> set[Path]:
        return set(self._conversations.files_waiting()) - tried

    def _store(self, path: Path, one: Waiting) -> bool:
        """Whether the episode was new. Whatever goes wrong with one must not keep the others waiting."""
        try:
            added = self._stored(one)
        except _NOWHERE as error:
            if self._conversations.first_time(str(error)):
                log.warning("what is done in a folder of %s is not kept: %s", one.episode.client, error)
            added = False
        except _UNFIT as error:
            log.warning("an episode of %s is none, and is set aside: %s", one.episode.client, error)
            self._conversations.refuse(path)
            return False
        except BraindexError as error:
            log.warning("an episode could not be stored yet: %s", error)
            return False
        except Exception:
            log.exception("an episode could not be stored yet")
            return False
        self._conversations.done(path)
        return added

    def _stored(self, one: Waiting) -> bool:
        workspace = place_of(one, self._workspaces, self._named)
        episode = replace(one.episode, files=one.episode.files or tuple(self._touched(workspace, one)))
        return self.record(workspace, episode)

    def _touched(self, workspace: Workspace, one: Waiting) -> Iterator[str]:
        """Files of the workspace that were written between the turn's prompt and its end, the last ones first."""
        if not one.began:
            return
        options = self._options(Path(workspace.path))
        rules = WalkRules(max_file_bytes=options.max_file_bytes, own_folders=(self._workspaces.data_folder,))
        began, end = one.began, datetime.fromisoformat(one.episode.created).timestamp()
        found = [
            row
            for row in walk(Path(workspace.path), rules)
            if isinstance(row, Found) and began <= row.mtime_ns / 1e9 <= end
        ]
        yield from (row.path for row in sorted(found, key=lambda row: -row.mtime_ns)[:_MOST_FILES])
