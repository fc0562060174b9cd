"""What interrupted work and set-aside files leave behind, with its size. Nothing of it is deleted here."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from braindex.domain.health import Check, enumerated, megabytes
from braindex.services.doctor.parts import Subject

# What is left, by the names it has, and what becomes of it.
_KINDS: Final = (
    ("damaged copies", ("*.damaged-*",), "delete them when nobody wants to look at them"),
    ("copies from before an update", ("*.before-*",), "delete them when the new version does what it should"),
    ("what stood in a brief's place", ("*.set-aside-*",), "delete it when nobody wants it"),
    ("unfinished files", ("*.partial", ".*.json.*", ".*.md.*"), "delete them: a write was cut off"),
)


def size_of(path: Path) -> int:
    """Bytes of a file, or of everything below a folder; 0 for what is gone or cannot be read."""
    total = 0
    for parent, _, files in os.walk(path):
        total += sum(_bytes(Path(parent, name)) for name in files)
    return total or _bytes(path)


def _bytes(path: Path) -> int:
    try:
        return path.lstat().st_size if not path.is_dir() else 0
    except OSError:
        return 0


def leftovers(subject: Subject) -> Iterator[Check]:
    """Files beside the stores that no scan needs. Called while nobody scans the workspace."""
    for what, patterns, remedy in _KINDS:
        found = sorted(one for pattern in patterns for one in subject.folder.glob(pattern))
        if found:
            names, size = enumerated(one.name for one in found), megabytes(sum(map(size_of, found)))
            yield subject.check("leftovers", "note", f"{what}: {names} ({size})", remedy)
    from braindex.services.rebuild import BESIDE  # noqa: PLC0415 - brings the parser

    beside = subject.folder / BESIDE
    if beside.is_dir():
        detail = f"an unfinished rebuild of the index, {BESIDE} ({megabytes(size_of(beside))})"
        yield subject.check("leftovers", "note", detail, "the next scan goes on with it, or clears it away")
