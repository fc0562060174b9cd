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
from braindex.registry.failures import os_failure

HOOKS_FOLDER: Final = "hooks"
_CONVERSATIONS: Final = "conversations"
_WAITING: Final = "waiting"
_REFUSED: Final = "refused"
_BUSY: Final = ".busy"
_STARTING: Final = "recorder.starting"
_ABANDONED: Final = 5.0  # seconds after which the mark of a hook that was killed no longer counts
_STARTS_WITHIN: Final = 60.0  # seconds that a process has to start in, however busy the machine is
_SAID: Final = "said"
_SAID_AGAIN: Final = 30 * 86_400.0  # seconds after which what was told to the user once may be told again
_LEFT_OVER: Final = 3_600.0  # seconds after which what a killed process was writing is nobody's
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

    def wants_recorder(self) -> bool:
        """Whether a process has to be started that stores what waits: none is about to look already."""
        return _marked(self.folder / _STARTING, _STARTS_WITHIN)

    def recorder_started(self) -> None:
        """Said by a process before it looks at what waits, and where none could be started: what is left from now on
        needs another one.
        """
        with contextlib.suppress(OSError):
            (self.folder / _STARTING).unlink()

    def tidy(self) -> None:
        """Removes what killed processes left half written, and marks that no longer count."""
        for folder in (self._conversations, self._waiting):
            with contextlib.suppress(OSError), os.scandir(folder) as entries:
                for one in entries:
                    path = Path(one.path)
                    if (one.name.startswith(".") or path.suffix == _BUSY) and _is_older(path, _LEFT_OVER):
                        path.unlink()
        with contextlib.suppress(OSError), os.scandir(self.folder / _SAID) as entries:
            for one in entries:
                if _is_older(Path(one.path), _SAID_AGAIN):
                    Path(one.path).unlink()

    def first_time(self, what: str) -> bool:
        """Whether this was not said to the user within a month; from now on it was. Raises a StoreError."""
        return _marked(self.folder / _SAID / _digest(what), _SAID_AGAIN)

    def has_waiting(self) -> bool:
        return any(_files(self._waiting))

    def files_waiting(self) -> list[Path]:
        """The files of what waits, the oldest first."""
        return sorted(_files(self._waiting), key=_age)[:MOST_WAITING]

    def waiting(self) -> Iterator[tuple[Path, Waiting]]:
        """What waits, the oldest first. What cannot be read is set aside."""
        for path in self.files_waiting():
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
        return self._conversations / f"{_digest(session)}.json"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _marked(mark: Path, seconds: float) -> bool:
    """Whether the mark could be set. One that is older was left behind by a process that was killed: it is taken over.

    Raises a StoreError.
    """
    make_private_folder(mark.parent)
    with contextlib.suppress(OSError):
        if _is_older(mark, seconds):
            mark.unlink()
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    except OSError as error:
        raise os_failure(mark, error) from error
    return True


def _is_older(path: Path, seconds: float) -> bool:
    """Of a time that is still to come as well: the clock was set back. Raises OSError."""
    return abs(time.time() - path.stat().st_mtime) > seconds


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
