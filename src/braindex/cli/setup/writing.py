"""Reads and writes clients' files: whole, with their mode, and only where they are still what was read."""

import contextlib
import errno
import glob
import os
import stat
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Final

from braindex.cli.setup.plan import ClientFileUnusable, FileChange, NotAFile
from braindex.domain.display import safe_path
from braindex.domain.errors import BraindexError

_PART: Final = ".braindex-part"
_ABANDONED: Final = 60.0  # seconds; a file is written in milliseconds


class ChangedMeanwhile(BraindexError):
    def __init__(self, path: PurePath) -> None:
        super().__init__(
            f"{safe_path(str(path))} was changed by another program meanwhile and was left as it is; what comes before "
            "it is done: repeat the command"
        )


class LeavesProject(BraindexError):
    def __init__(self, path: PurePath, real: str) -> None:
        super().__init__(
            f"{safe_path(str(path))} leads out of the project, to {safe_path(real)}; nothing was written. A project's "
            "files stay inside it: take the link away, or use `--scope user`"
        )


class ClientFileNotWritten(BraindexError):
    def __init__(self, path: PurePath, error: OSError) -> None:
        why = error.strerror or str(error)
        super().__init__(
            f"{safe_path(str(path))} could not be written ({why}) and is as it was; what comes before it is done: "
            "repeat the command when that is mended"
        )


def read_file(path: PurePath) -> bytes | None:
    """The bytes of a file, None where there is none. Raises ClientFileUnusable, NotAFile."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would be waited for
            raise NotAFile(path, "it is no regular file")
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotAFile(path, error.strerror or str(error)) from error
        raise ClientFileUnusable(path, f"it cannot be read ({error.strerror or error})") from error


def check_places(changes: Sequence[FileChange]) -> None:
    """Raises LeavesProject for a project's file that a link takes out of the project."""
    for one in changes:
        real = os.path.realpath(one.path)
        if one.root is not None and not Path(real).is_relative_to(os.path.realpath(one.root)):
            raise LeavesProject(one.path, real)


def write(change: FileChange) -> None:
    """Carries one change out, with the backup that it asks for.

    A link is followed: the file that it leads to is replaced or deleted. Raises ChangedMeanwhile, ClientFileNotWritten.
    """
    if change.action == "keep":
        return
    target = Path(os.path.realpath(change.path))
    for path in (target, Path(change.backup)):
        _sweep(path)
    if change.makes_backup and change.before is not None:
        try:
            _put(Path(change.backup), change.before, like=target)
        except OSError as error:
            raise ClientFileNotWritten(change.backup, error) from error
    try:
        _check_unchanged(change)
        if change.after is None:
            os.unlink(target)
            _remove_empty(Path(change.path).parent, change.root)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            _put(target, change.after, like=target, expected=change)
        if change.drops_backup:
            Path(change.backup).unlink(missing_ok=True)
    except OSError as error:
        raise ClientFileNotWritten(change.path, error) from error


def _check_unchanged(change: FileChange) -> None:
    if read_file(change.path) != change.before:
        raise ChangedMeanwhile(change.path)


def _put(path: Path, content: bytes, *, like: Path, expected: FileChange | None = None) -> None:
    """Replaces a file as a whole, with the mode and owner that `like` has, else as any new file of the user."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=_beginning(path), suffix=_PART)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _take_after(name, like)
        if expected is not None:
            _check_unchanged(expected)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _beginning(path: Path) -> str:
    return f".{path.name[:100]}."


def _sweep(path: Path) -> None:
    """Deletes what a setup that was killed had begun to write: what another one writes now is younger."""
    with contextlib.suppress(OSError):
        for one in path.parent.glob(f"{glob.escape(_beginning(path))}*{_PART}"):
            if time.time() - one.stat().st_mtime > _ABANDONED:
                one.unlink()


def _take_after(name: str, like: Path) -> None:
    try:
        found = os.stat(like)
    except FileNotFoundError:
        os.chmod(name, 0o666 & ~_umask())
        return
    os.chmod(name, stat.S_IMODE(found.st_mode))
    if os.name != "nt" and (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid()):
        with contextlib.suppress(OSError):
            os.chown(name, found.st_uid, found.st_gid)


def _umask() -> int:
    """The mode bits that new files of this process do not get; it can be read only by setting it."""
    found = os.umask(0o077)
    os.umask(found)
    return found


def _remove_empty(folder: Path, root: PurePath | None) -> None:
    """Folders of a project that a deleted file leaves empty go with it, below the root."""
    while root is not None and folder != root and folder.is_relative_to(root):
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
