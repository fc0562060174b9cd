"""`brief.versions/`: the briefs that were replaced, a few of them, and `brief.entities`: what the present one knew of.

Both lie beside `brief.md`, in the workspace's folder, so that no rebuild touches them. They are a courtesy: what cannot
be written or read costs a version or a count, and never the brief.
"""

import json
import logging
import os
import re
import struct
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, get_args

from braindex.domain.brief import EntitiesMoved
from braindex.domain.usage import EngineName
from braindex.registry.briefs import MOST_BYTES, StoredBrief, digest_of
from braindex.registry.disk import make_private_folder, write_private
from braindex.registry.failures import StoreError

log = logging.getLogger(__name__)

VERSIONS_FOLDER: Final = "brief.versions"
ENTITIES_FILE: Final = "brief.entities"
MOST_VERSIONS: Final = 20
_NAME: Final = re.compile(r"\d{8}T\d{12}Z-[0-9a-f]{12}")
_LONGEST: Final = 8 * MOST_BYTES  # bytes of a version's file: a brief whose every character is escaped, and some more
_ENGINES: Final[frozenset[str]] = frozenset(get_args(EngineName))
_MARK: Final = struct.Struct("<12s8s")  # an entity's id, of 24 hex digits, and eight bytes of its digest
_HEAD: Final = struct.Struct("<32s")  # the brief's SHA-256
MOST_MARKS: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class BriefVersion:
    """A brief that was replaced. `id` is its own name among them; `locked` and `replaced` are UTC times in ISO 8601."""

    id: str
    text: str
    engine: EngineName
    given: bool
    edited: bool
    locked: str
    replaced: str
    entities: int


def keep_version(folder: Path, old: StoredBrief, when: datetime) -> None:
    """Keeps a brief that is about to be replaced; of more than a few the oldest go. Never raises a StoreError."""
    name = f"{when:%Y%m%dT%H%M%S%f}Z-{digest_of(old.text)[:12]}"
    record, replaced = old.record, when.isoformat(timespec="seconds")
    version = BriefVersion(
        name, old.text, record.engine, record.given, old.edited, record.locked, replaced, record.entities
    )
    place = folder / VERSIONS_FOLDER
    try:
        make_private_folder(place)
        write_private(place / f"{name}.json", json.dumps(asdict(version), sort_keys=True) + "\n")
        for one in _names(place)[MOST_VERSIONS:]:
            with suppress(OSError):
                (place / f"{one}.json").unlink()
    except StoreError as error:
        log.warning("the replaced brief was not kept: %s", error)


def read_versions(folder: Path) -> list[BriefVersion]:
    """The briefs that were replaced, the last one first; what is none is passed over."""
    place = folder / VERSIONS_FOLDER
    found = (_version(place / f"{one}.json", one) for one in _names(place)[:MOST_VERSIONS])
    return [one for one in found if one is not None]


def write_marks(folder: Path, text: str, marks: Iterable[tuple[str, bytes]]) -> None:
    """Notes the entities that a brief was made of: id and digest each. Never raises OSError or a StoreError."""
    path = folder / ENTITIES_FILE
    new = path.with_name(f".{ENTITIES_FILE}.partial")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(_HEAD.pack(bytes.fromhex(digest_of(text))))
            file.writelines(_MARK.pack(bytes.fromhex(one), digest[:8]) for one, digest in marks)
        new.replace(path)
    except (OSError, ValueError, StoreError) as error:
        log.warning("how far the code moves on from this brief will not be known: %s", type(error).__name__)
        with suppress(OSError):
            new.unlink(missing_ok=True)


def moved_since(folder: Path, text: str, marks: Iterable[tuple[str, bytes]]) -> EntitiesMoved | None:
    """How the entities differ from those that a brief was made of; None where that was not noted."""
    then = _marks(folder / ENTITIES_FILE, text)
    if then is None:
        return None
    added = changed = 0
    for one, digest in marks:
        before = then.pop(bytes.fromhex(one), None)
        added += before is None
        changed += before is not None and before != digest[:8].ljust(8, b"\0")
    return EntitiesMoved(added, changed, len(then))


def _marks(path: Path, text: str) -> dict[bytes, bytes] | None:
    try:
        with path.open("rb") as file:
            data = file.read(_HEAD.size + MOST_MARKS * _MARK.size)
    except OSError:
        return None
    if data[: _HEAD.size].hex() != digest_of(text) or (len(data) - _HEAD.size) % _MARK.size:
        return None
    return dict(_MARK.iter_unpack(data[_HEAD.size :]))


def _names(place: Path) -> list[str]:
    """The last one first: a name begins with the time at which the brief was replaced."""
    try:
        names = os.listdir(place)
    except OSError:
        return []
    known = (one.removesuffix(".json") for one in names if one.endswith(".json"))
    return sorted(filter(_NAME.fullmatch, known), reverse=True)


def _version(path: Path, name: str) -> BriefVersion | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            found: Any = json.loads(file.read(_LONGEST))
        version = BriefVersion(**found)
        texts = (version.text, version.locked, version.replaced)
        flags = (version.given, version.edited)
        sound = all(isinstance(one, str) for one in texts) and all(isinstance(one, bool) for one in flags)
        known = version.engine in _ENGINES and isinstance(version.entities, int)
        return replace(version, id=name) if sound and known else None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
