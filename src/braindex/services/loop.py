"""Around the agent's loop: recall before a turn, record after it, without anyone deciding to."""

import logging
import os
import time
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
from braindex.domain.turns import Conversation, Told, Waiting
from braindex.indexing.walk import Found, WalkRules, walk
from braindex.registry.conversations import Conversations
from braindex.registry.memory import MemoryStore
from braindex.services.endings import kept
from braindex.services.memories import Memories
from braindex.services.recalling import Context, Recalling
from braindex.services.resolution import (
    NoWorkspace,
    PathRefused,
    SeveralRoots,
    Surroundings,
    default_workspace,
    home_directory,
)
from braindex.services.revision import commit_of
from braindex.services.roots import FolderRefused, NameNotText, NotAFolder
from braindex.services.workspaces import Workspaces, acquired

log = logging.getLogger(__name__)

_LOCK: Final = "recorder.lock"
_MOST_FILES: Final = 50  # that an episode names as touched
# Where no workspace can be, now or later. A folder that is gone may come back, as may a registry that is locked.
_NOWHERE: Final = (NoWorkspace, SeveralRoots, PathRefused, FolderRefused, NotAFolder, NameNotText)
_UNFIT: Final = (NotAnId, NotATime)


def place_of(told: Told | Waiting, workspaces: Workspaces, named: str = "") -> Workspace:
    """The workspace that a hook's folders mean; `named` is the user's own choice (BRAIN_WORKSPACE).

    Raises what resolving a workspace raises.
    """
    cwd = Path(told.cwd or next(iter(told.roots), os.sep))  # whose process this is says nothing of where a turn was
    around = Surroundings(cwd, home_directory(), (("BRAIN_WORKSPACE", named),), tuple(map(Path, told.roots)))
    return default_workspace(around, workspaces)


class Loop:
    """What happens at each moment of a conversation. Cheap enough for a process that lives for one moment."""

    def __init__(
        self, workspaces: Workspaces, recalling: Recalling, conversations: Conversations, named: str = ""
    ) -> None:
        self._workspaces = workspaces
        self._recalling = recalling
        self._conversations = conversations
        self._named = named

    def before(self, told: Told, *, injects: bool, at_prompts: bool) -> str:
        """The context block for this moment, "" for none; the prompt is kept for the end of the turn.

        `injects`: the client takes context at this moment; `at_prompts`: it takes some with every prompt.
        """
        with self._conversations.held(told.session) as mine:
            if not mine:  # another hook tells of the same moment
                return ""
            known, when = self._conversations.of(told.session), time.time()
            if told.moment == "prompt":
                prompt = kept(told.prompt)
                if known.has_just_asked(prompt, when):
                    return ""
                known = known.asked(prompt, when, commit_of(told.cwd) if told.cwd else "")
                self._conversations.put(told.session, known)  # whatever becomes of the rest
            found = self._context(told, known, at_prompts=at_prompts) if injects else Context()
            if found.text:
                known = replace(known.seen(found.ids), briefed=known.briefed or found.has_brief)
                self._conversations.put(told.session, known)
            return found.text

    def _context(self, told: Told, known: Conversation, *, at_prompts: bool) -> Context:
        workspace = self._known_place(told)
        if workspace is None:
            return Context()
        if told.moment == "start":
            if known.briefed:
                return Context()
            return (
                self._recalling.context(workspace, "") if at_prompts else self._recalling.latest(workspace, known.told)
            )
        if not told.prompt.strip():
            return Context()
        with_brief = bool(told.session) and not known.briefed
        return self._recalling.context(workspace, told.prompt, known.told, told.session, brief=with_brief)

    def _known_place(self, told: Told) -> Workspace | None:
        """The workspace, where braindex knows anything of it: a hook makes none."""
        if not (self._workspaces.data_folder / "registry.db").exists():
            return None
        try:
            found = place_of(told, self._workspaces, self._named)
        except BraindexError as error:
            log.info("no workspace for a hook of %s: %s", told.client, error)
            return None
        is_known = self._workspaces.has_index(found) or MemoryStore.exists(self._workspaces.folder(found))
        return found if is_known else None


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
        while self._left(tried) and acquired(lock, 0):
            try:
                for path, one in self._conversations.waiting():
                    if path not in tried:
                        tried.add(path)
                        stored += self._store(path, one)
            finally:
                lock.release()  # and look again: what came in between found the lock taken
        return stored

    def _left(self, tried: set[Path]) -> bool:
        return any(path not in tried for path, _ in self._conversations.waiting())

    def _store(self, path: Path, one: Waiting) -> bool:
        """Whether the episode was new. Whatever goes wrong with one must not keep the others waiting."""
        try:
            added = self._stored(one)
        except _NOWHERE as error:
            log.warning("an episode of %s belongs to no workspace, and is not kept: %s", one.episode.client, error)
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
