"""`brief.md` and `brief.json`: the locked brief of a workspace, and the record of what it was made of."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from braindex.domain.usage import EngineName
from braindex.registry.disk import write_private
from braindex.registry.failures import os_failure

BRIEF_FILE: Final = "brief.md"
RECORD_FILE: Final = "brief.json"
# An edited brief may be longer than a made one; a file beyond this is no brief.
MOST_BYTES: Final = 64_000


@dataclass(frozen=True, slots=True)
class BriefRecord:
    """What a brief was made of. `sha256` is of its text; `before` of the one it replaced, "" for the first.

    `engine` wrote it (`none`: made from the index alone); `given` says that a person or an agent wrote it, `kept` that
    a person asked for one from the index, which no engine then replaces.
    `locked` is a UTC time in ISO 8601. `files` are digests by path, as the index had them. `failed` is the time of the
    last attempt to have an engine replace it, and `why` what went wrong.
    """

    sha256: str
    engine: EngineName = "none"
    given: bool = False
    kept: bool = False
    locked: str = ""
    entities: int = 0
    files: Mapping[str, str] = field(default_factory=dict)
    before: str = ""
    failed: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class StoredBrief:
    """A brief as it is on disk. `edited`: someone changed `brief.md` by hand since it was locked."""

    text: str
    record: BriefRecord
    edited: bool


def digest_of(text: str) -> str:
    """SHA-256 of a brief's UTF-8 bytes, in hex."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def read_brief(folder: Path) -> StoredBrief | None:
    """The brief in a workspace's folder; None where there is none. Raises a StoreError where it cannot be read."""
    text = _text(folder / BRIEF_FILE)
    if text is None:
        return None
    record = _record(folder / RECORD_FILE)
    if record is None:
        return StoredBrief(text, BriefRecord(digest_of(text)), edited=True)
    # Between the two writes of a new brief the old text still stands: that is a write cut short, not an edit.
    return StoredBrief(text, record, edited=digest_of(text) not in {record.sha256, record.before})


def write_brief(folder: Path, text: str, record: BriefRecord) -> None:
    """Puts a brief in place of the one that is there, each file as a whole."""
    old = _text(folder / BRIEF_FILE)
    record = replace(record, sha256=digest_of(text), before="" if old is None else digest_of(old))
    write_record(folder, record)
    write_private(folder / BRIEF_FILE, text)


def write_record(folder: Path, record: BriefRecord) -> None:
    write_private(folder / RECORD_FILE, json.dumps(asdict(record), ensure_ascii=False, sort_keys=True) + "\n")


def keep_edited(folder: Path, text: str) -> Path:
    """Saves a hand-edited text beside the brief that is about to replace it; returns where."""
    target = folder / f"brief.edited-{digest_of(text)[:12]}.md"
    if not target.exists():
        write_private(target, text)
    return target


def _text(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise os_failure(path, error) from error


def _record(path: Path) -> BriefRecord | None:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        known = {name: found[name] for name in BriefRecord.__slots__ if name in found}
        return BriefRecord(**known)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise os_failure(path, error) from error
    except (ValueError, TypeError, KeyError):
        return None
