"""How far a workspace's scan is, for other processes to read: one small file beside the index.

It is a courtesy: it is written without `fsync`, a full disk or a reader in the way costs nothing but news, and what
cannot be read as a record is none. Whether a scan runs is for the writer's lock to say; the record only says how far.
"""

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from braindex.domain.results import ScanProgress, ScanSummary
from braindex.registry.disk import FILE_MODE

RECORD_FILE: Final = "scan.json"
LONGEST: Final = 65_536  # bytes that are read; a record has a few hundred, and the notes of its summary
_NOTES: Final = 20
_LONGEST_NOTE: Final = 1_000  # characters


@dataclass(frozen=True, slots=True)
class ScanRecord:
    """A scan as other processes see it. `started` is a UTC time in ISO 8601.

    `summary` is there when the scan has ended well. What it skipped is not in it: the index has that.
    """

    scan: str
    pid: int
    started: str
    progress: ScanProgress
    summary: ScanSummary | None = None


def write_record(folder: Path, record: ScanRecord) -> bool:
    """Replaces the record as a whole; false where that was not possible. Never makes the folder, never raises OSError.

    For the holder of the writer's lock alone.
    """
    path = folder / RECORD_FILE
    new = path.with_name(f"{RECORD_FILE}.new")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            json.dump(_as_json(record), file)
        new.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
        return False
    return True


def read_record(folder: Path) -> ScanRecord | None:
    """The record of the last scan, or None where there is none that can be read."""
    try:
        with (folder / RECORD_FILE).open("rb") as file:
            found = json.loads(file.read(LONGEST))
        return _of_json(found)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None


def _as_json(record: ScanRecord) -> dict[str, Any]:
    progress, summary = record.progress, record.summary
    found: dict[str, Any] = {
        "scan": record.scan,
        "pid": record.pid,
        "started": record.started,
        "phase": progress.phase,
        "files_done": progress.files_done,
        "files_total": progress.files_total,
        "entities": progress.entities,
    }
    if summary is not None:
        # A path that is no UTF-8 arrives as lone surrogates, which ASCII-only JSON holds and UTF-8 does not.
        notes = [note[:_LONGEST_NOTE] for note in summary.notes[:_NOTES]]
        found["summary"] = {**summary.as_json(), "skipped": [], "notes": notes}
    return found


def _of_json(found: Any) -> ScanRecord:
    """Raises KeyError, TypeError or ValueError for what is no record."""
    progress = ScanProgress(
        str(found["phase"]), int(found["files_done"]), int(found["files_total"]), int(found["entities"])
    )
    told = found.get("summary")
    summary = None if told is None else _summary_of(told)
    return ScanRecord(str(found["scan"]), int(found["pid"]), str(found["started"]), progress, summary)


def _summary_of(told: Any) -> ScanSummary:
    counts = {name: int(told[name]) for name in ("files", "entities", "added", "changed", "removed")}
    return ScanSummary(
        workspace_id=str(told["workspace_id"]),
        skipped=(),
        seconds=float(told["seconds"]),
        notes=tuple(str(note) for note in told["notes"]),
        **counts,
    )
