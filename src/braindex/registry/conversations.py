"""What hooks keep between the moments of a conversation, and the episodes they leave to be stored: files, since a hook
must neither wait for a database's lock nor lose what it was told where it cannot have it.
"""

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from braindex.domain.turns import Conversation, Waiting, conversation_of, waiting_of
from braindex.registry.disk import make_private_folder, write_private

HOOKS_FOLDER: Final = "hooks"
_CONVERSATIONS: Final = "conversations"
_WAITING: Final = "waiting"
_REFUSED: Final = "refused"
_BUSY: Final = ".busy"
_STARTING: Final = "recorder.starting"
_STARTS: Final = 10.0  # seconds after which a recorder that was started and did nothing no longer counts
_ABANDONED: Final = 5.0  # seconds after which the mark of a hook that was killed no longer counts
_LARGEST: Final = 2_000_000  # bytes
MOST_CONVERSATIONS: Final = 1_000  # files; the ones not touched for longest go first
MOST_WAITING: Final = 10_000


class Conversations:
    """The conversations and waiting episodes of one data folder."""

    def __init__(self, brain_dir: Path) -> None:
        self.folder = brain_dir / HOOKS_FOLDER
        self._conversations = self.folder / _CONVERSATIONS
        self._waiting = self.folder / _WAITING

    def of(self, session: str) -> Conversation:
        """What is known of a conversation; one without a name is always new."""
        found = _read(self._path(session)) if session else None
        return conversation_of(found)

    def put(self, session: str, one: Conversation) -> None:
        """Keeps a conversation as it is now. Raises a StoreError."""
        if not session:
            return
        path = self._path(session)
        is_new = not path.exists()
        write_private(path, json.dumps(one.as_json()))
        if is_new:
            _keep_newest(self._conversations, MOST_CONVERSATIONS)

    @contextlib.contextmanager
    def held(self, session: str) -> Iterator[bool]:
        """Whether nobody else is at this conversation, which is then held to the end of the block."""
        if not session:
            yield True
            return
        mark = self._path(session).with_suffix(_BUSY)
        if not _marked(mark, _ABANDONED):
            yield False
            return
        try:
            yield True
        finally:
            with contextlib.suppress(OSError):
                mark.unlink()

    def leave(self, one: Waiting) -> None:
        """Leaves an episode to be stored; the same one again changes nothing. Raises a StoreError."""
        write_private(self._waiting / f"{one.episode.id}.json", json.dumps(one.as_json()))

    def needs_recorder(self) -> bool:
        """Whether whoever left something has to start a process that stores it. Not where one is starting that has not
        looked yet: it will find what was left before this was asked. Raises a StoreError.
        """
        return _marked(self.folder / _STARTING, _STARTS)

    def looks(self) -> None:
        """A process that stores begins to look: what is left from now on needs another."""
        with contextlib.suppress(OSError):
            (self.folder / _STARTING).unlink()

    def has_waiting(self) -> bool:
        return any(_files(self._waiting))

    def waiting(self) -> Iterator[tuple[Path, Waiting]]:
        """What waits, the oldest first. What cannot be read is set aside."""
        for path in sorted(_files(self._waiting), key=_age)[:MOST_WAITING]:
            try:
                yield path, waiting_of(_read(path))
            except (KeyError, TypeError, ValueError):
                self.refuse(path)

    def done(self, path: Path) -> None:
        """What waited in a file is stored."""
        with contextlib.suppress(OSError):
            path.unlink()

    def refuse(self, path: Path) -> None:
        """Sets aside what can never be stored; it is not deleted."""
        with contextlib.suppress(OSError):
            make_private_folder(self.folder / _REFUSED)
            path.replace(self.folder / _REFUSED / path.name)

    def _path(self, session: str) -> Path:
        name = hashlib.blake2b(session.encode("utf-8", "replace"), digest_size=16).hexdigest()
        return self._conversations / f"{name}.json"


def _marked(mark: Path, abandoned: float) -> bool:
    """Whether the mark could be set. One that is older than so many seconds was left behind, and is taken over."""
    make_private_folder(mark.parent)
    with contextlib.suppress(OSError):
        if not -abandoned <= time.time() - mark.stat().st_mtime <= abandoned:  # the clock may have been set back
            mark.unlink()
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    return True


def _files(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            yield from (Path(one.path) for one in entries if one.name.endswith(".json") and one.name[0] != ".")
    except FileNotFoundError:
        return


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # gone meanwhile
        return 0.0


def _read(path: Path) -> Any:
    """What a file holds, None where it is not there or no JSON."""
    try:
        with path.open("rb") as file:
            return json.loads(file.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return None


def _keep_newest(folder: Path, most: int) -> None:
    paths = sorted(_files(folder), key=_age, reverse=True)
    for path in paths[most:]:
        with contextlib.suppress(OSError):
            path.unlink()
