"""What a workspace takes on disk, part by part."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from braindex.domain.results import Workspace
from braindex.services.workspaces import Workspaces

# Of a file, the write-ahead log and what else begins with its name belong to the same part.
_PARTS: Final = (
    ("index", ("index.db",)),
    ("vectors", ("vector_db",)),
    ("memory", ("memory.db",)),
    ("brief", ("brief.",)),
    ("unfinished rebuild", ("rebuilding",)),
)
_REST: Final = "other"


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes on disk by part, in a fixed order; a part that is not there has none."""

    parts: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.parts.values())

    def as_json(self) -> dict[str, Any]:
        return {"total": self.total, "parts": self.parts}


class Footprints:
    """The footprint of any known workspace."""

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces

    def of(self, workspace: Workspace) -> Footprint:
        """Looks at each file once. What is gone meanwhile, or cannot be looked at, takes nothing."""
        folder = self._workspaces.folder(workspace)
        parts = {name: 0 for name, _ in _PARTS} | {_REST: 0}
        for entry in _entries(folder):
            parts[_part(entry.name)] += _size(entry)
        return Footprint(parts)


def _part(name: str) -> str:
    return next((part for part, starts in _PARTS if name.startswith(starts)), _REST)


def _entries(folder: Path | str) -> "Iterable[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def _size(entry: "os.DirEntry[str]") -> int:
    try:
        if entry.is_dir(follow_symlinks=False):
            return sum(map(_size, _entries(entry.path)))
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0
