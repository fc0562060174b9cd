"""Whether a folder still looks as it did when nothing was behind: by the times of what is in it, without a walk.

A walk lists every folder, judges each name by the ignore rules and compares with the index. A glance asks for the size
and times of each file, and for the time of each folder, which changes with every name that comes or goes in it: a fifth
of the work. So a question can look at the disk each time.
"""

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from braindex.domain.options import WorkspaceOptions
from braindex.indexing.plan import RACY_NS

# Rules from outside the folder (the enclosing repository's, git's own exclude file) are seen by walks alone.
VALID_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Glance:
    """What a walk saw that found nothing behind. `files` are (size, time) by path, `folders` times by path, in
    nanoseconds; `generation` is the index's, `made` in seconds of the monotonic clock.
    """

    root: str
    options: WorkspaceOptions
    generation: int
    files: Mapping[str, tuple[int, int]]
    folders: Mapping[str, int]
    made: float

    def still_holds(self, options: WorkspaceOptions, generation: int) -> bool:
        """Whether nothing has changed since, neither on disk nor in the index."""
        if (self.options, self.generation) != (options, generation):
            return False
        if time.monotonic() - self.made > VALID_SECONDS:
            return False
        return all(_time(path) == seen for path, seen in self.folders.items()) and all(
            _size_and_time(f"{self.root}/{path}") == seen for path, seen in self.files.items()
        )


class Folders:
    """The folders of a walk with their times, each taken before it is listed."""

    def __init__(self) -> None:
        self.times: dict[str, int] = {}

    def __call__(self, path: str) -> None:
        self.times[path] = _time(path)


@dataclass(frozen=True, slots=True)
class Walked:
    """Where and when a walk began: seconds of the monotonic clock, and nanoseconds since the epoch."""

    root: str
    options: WorkspaceOptions
    generation: int
    began: float
    began_ns: int

    def glance(
        self, files: Mapping[str, tuple[int, int]], beside: Iterable[str], folders: Mapping[str, int]
    ) -> Glance | None:
        """What to compare the folder with from now on; None where something is so new that another change might not
        show. `beside` are the paths of files that were left out by what they are now.
        """
        left_out = {path: _size_and_time(f"{self.root}/{path}") for path in beside}
        seen = {**left_out, **files}
        newest = max([0, *(stamp for _, stamp in seen.values()), *folders.values()])
        if self.began_ns - newest < RACY_NS:
            return None
        return Glance(self.root, self.options, self.generation, seen, folders, self.began)


def _time(path: str) -> int:
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return -1


def _size_and_time(path: str) -> tuple[int, int]:
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return -1, -1
    return found.st_size, found.st_mtime_ns
