"""The commit that a folder stands at, read from git's own files: a hook has no time to start git."""

import os
import re
from pathlib import Path
from typing import Final

from braindex.indexing.opening import pointer

_HASH: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REFERENCE: Final = re.compile(r"ref: (refs/[^\0\n]{1,400})")
_LARGEST: Final = 4_000_000  # bytes of a file of packed references


def commit_of(folder: str) -> str:
    """The hash of the commit that is checked out in the repository around a folder; "" where there is none, or it
    cannot be read.

    https://git-scm.com/docs/gitrepository-layout
    """
    try:
        git = _git_folder(folder)
    except (OSError, ValueError):  # a folder that is closed to this user, or that is no path
        return ""
    return _commit_in(git) if git is not None else ""


def _commit_in(git: Path) -> str:
    head = _text(git / "HEAD")
    if _HASH.fullmatch(head):
        return head
    reference = _REFERENCE.fullmatch(head)
    if reference is None or ".." in reference[1]:
        return ""
    shared = pointer(git / "commondir")
    for place in (git, git / shared) if shared else (git,):
        found = _text(place / reference[1])
        if _HASH.fullmatch(found):
            return found
        packed = re.search(rf"(?m)^({_HASH.pattern}) {re.escape(reference[1])}$", _text(place / "packed-refs"))
        if packed is not None:
            return packed[1]
    return ""


def _git_folder(folder: str) -> Path | None:
    path = Path(os.path.realpath(folder))
    for one in (path, *path.parents):
        git = one / ".git"
        if git.is_dir():
            return git
        if git.is_file():  # of a worktree or a submodule: it names the place
            named = pointer(git).removeprefix("gitdir:").strip()
            return one / named if named else None
    return None


def _text(path: Path) -> str:
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(_LARGEST).decode("utf-8", "replace").strip()
    except (OSError, ValueError):
        return ""
