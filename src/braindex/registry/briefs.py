"""`brief.md` and `brief.json`: the locked brief of a workspace, and the record of what it was made of."""

import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, get_args

from braindex.domain.errors import BraindexError
from braindex.domain.usage import EngineName
from braindex.registry.disk import write_private
from braindex.registry.failures import os_failure

BRIEF_FILE: Final = "brief.md"
RECORD_FILE: Final = "brief.json"
# An edited brief may be longer than a made one; beyond this it is not read, but kept whole where it is replaced.
MOST_BYTES: Final = 64_000
# About 80 bytes a file: room for 200,000 of them.
MOST_RECORD_BYTES: Final = 16_000_000
_CHUNK: Final = 1 << 20
# A link leads to a file that is no brief, and O_NONBLOCK keeps a pipe from being waited for. O_BINARY is Windows'.
_READ: Final = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_ENGINES: Final[frozenset[str]] = frozenset(get_args(EngineName))


class BriefUnreadable(BraindexError):
    """What is at a brief's place is none: a link, a folder, a pipe, or a file that may not be read."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(
            f"{path} cannot be read as a brief ({problem}), and questions go without one; `braindex brief --update` "
            "moves it aside and puts a new one in its place"
        )


@dataclass(frozen=True, slots=True)
class Replaced:
    """What the record says of the text that a brief replaces, for as long as that text still stands."""

    engine: EngineName = "none"
    given: bool = False
    kept: bool = False
    edited: bool = False
    locked: str = ""
    entities: int = 0


@dataclass(frozen=True, slots=True)
class BriefRecord:
    """What a brief was made of. `sha256` is of its text; `before` of the one it replaced, "" for the first, and
    `previous` how that one stood.

    `engine` wrote it (`none`: made from the index alone); `given` says that a person or an agent wrote it, `kept` that
    a person asked for one from the index, which no engine then replaces.
    `locked` is a UTC time in ISO 8601. `files` are digests by path, as the index had them; none where they are not
    known. `failed` is the time of the last attempt to have an engine replace it, and `why` what went wrong.
    """

    sha256: str
    engine: EngineName = "none"
    given: bool = False
    kept: bool = False
    locked: str = ""
    entities: int = 0
    files: Mapping[str, str] = field(default_factory=dict)
    before: str = ""
    previous: Replaced | None = None
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


def read_text(folder: Path) -> str:
    """The brief's text alone; "" where there is none. Raises BriefUnreadable."""
    found = _brief_bytes(folder)
    return "" if found is None else found.decode("utf-8", "replace")


def read_brief(folder: Path) -> StoredBrief | None:
    """The brief in a workspace's folder; None where there is none. Raises BriefUnreadable where it is no file that can
    be read. A record that is missing or damaged in any way makes the brief an edited one.
    """
    found = _brief_bytes(folder)
    if found is None:
        return None
    text, digest = found.decode("utf-8", "replace"), hashlib.sha256(found).hexdigest()
    record = _record(folder / RECORD_FILE)
    if record is None:
        return StoredBrief(text, BriefRecord(digest), edited=True)
    if digest != record.sha256 and digest == record.before:
        return _replaced(text, record)
    return StoredBrief(text, record, edited=digest != record.sha256)


def _replaced(text: str, record: BriefRecord) -> StoredBrief:
    """Between the two writes of a new brief the old text still stands: a write cut short, and the old one's record."""
    old = record.previous or Replaced(record.engine, record.given, record.kept, locked=record.locked)
    return StoredBrief(
        text,
        BriefRecord(record.before, old.engine, old.given, old.kept, old.locked, old.entities),
        edited=old.edited,
    )


def write_brief(folder: Path, text: str, record: BriefRecord) -> None:
    """Puts a brief in place of the one that is there, each file as a whole. What is no file is moved aside."""
    try:
        old = read_brief(folder)
    except BriefUnreadable:
        _move_aside(folder / BRIEF_FILE)
        old = None
    before = _brief_bytes(folder)
    record = replace(
        record,
        sha256=digest_of(text),
        before="" if before is None else hashlib.sha256(before).hexdigest(),
        previous=None if old is None else _previous(old),
    )
    write_record(folder, record)
    write_private(folder / BRIEF_FILE, text)


def _previous(old: StoredBrief) -> Replaced:
    one = old.record
    return Replaced(one.engine, one.given, one.kept, old.edited, one.locked, one.entities)


def write_record(folder: Path, record: BriefRecord) -> None:
    """Puts a record in place; without its files where they are more than a reader takes."""
    path = folder / RECORD_FILE
    text = _as_json(record)
    if len(text.encode("utf-8")) > MOST_RECORD_BYTES:
        text = _as_json(replace(record, files={}))
    if not _is_plain(path):
        _move_aside(path)
    write_private(path, text)


def _as_json(record: BriefRecord) -> str:
    return json.dumps(asdict(record), ensure_ascii=False, sort_keys=True) + "\n"


def keep_edited(folder: Path) -> Path | None:
    """Saves the bytes of a brief of a person's beside the one that is about to replace it; returns where, None where
    there is none. Raises a StoreError.
    """
    digest, path = hashlib.sha256(), folder / BRIEF_FILE
    try:
        with _opened(path) as source:
            descriptor, name = tempfile.mkstemp(dir=folder, prefix=f".{BRIEF_FILE}.")
            try:
                with os.fdopen(descriptor, "wb") as copy:
                    while chunk := source.read(_CHUNK):
                        digest.update(chunk)
                        copy.write(chunk)
                    copy.flush()
                    os.fsync(copy.fileno())
                target = folder / f"brief.edited-{digest.hexdigest()[:12]}.md"
                Path(name).replace(target)
            except BaseException:
                with suppress(OSError):
                    Path(name).unlink()
                raise
    except FileNotFoundError:
        return None
    except OSError as error:
        raise os_failure(path, error) from error
    return target


def _move_aside(path: Path) -> None:
    """Renames what is in the way; a link is moved itself, not what it leads to. Raises a StoreError."""
    count = 1
    while os.path.lexists(target := path.with_name(f"{path.name}.set-aside-{count}")):
        count += 1
    try:
        with suppress(FileNotFoundError):
            path.rename(target)
    except OSError as error:
        raise os_failure(path, error) from error


def _is_plain(path: Path) -> bool:
    """Whether a file can be put in place by a rename: there is nothing yet, or a regular file."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return True


class _NoFile(OSError):
    """Something that is no regular file."""


def _opened(path: Path) -> BinaryIO:
    """A regular file, open to read; never waits. Raises OSError, _NoFile for what is none."""
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise _NoFile(f"it is {_kind(status.st_mode)}")
    descriptor = os.open(path, _READ)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _NoFile("it is no regular file")
    return os.fdopen(descriptor, "rb")


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a link"
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a pipe" if stat.S_ISFIFO(mode) else "no regular file"


def _brief_bytes(folder: Path) -> bytes | None:
    path = folder / BRIEF_FILE
    try:
        with _opened(path) as file:
            return file.read(MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BriefUnreadable(path, error.strerror or str(error)) from error


def _record(path: Path) -> BriefRecord | None:
    """The record, None where there is none that could have been written here."""
    try:
        with _opened(path) as file:
            data = file.read(MOST_RECORD_BYTES + 1)
        if len(data) > MOST_RECORD_BYTES:
            return None
        return _parsed(json.loads(data.decode("utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def _parsed(found: Any) -> BriefRecord:
    """Raises ValueError or TypeError for whatever is of another shape."""
    if not isinstance(found, dict):
        raise TypeError(found)
    files = _checked(found, "files", dict) if "files" in found else {}
    if not all(isinstance(one, str) for one in files.values()):
        raise TypeError(files)
    "\n".join([*files, *files.values()]).encode()  # a lone surrogate could not be written again
    previous = found.get("previous")
    return BriefRecord(
        **_shared(found),
        sha256=_words(found, "sha256"),
        files=files,
        before=_words(found, "before", ""),
        previous=None if previous is None else Replaced(**_shared(previous), edited=_flag(previous, "edited")),
        failed=_time(found, "failed"),
        why=_words(found, "why", ""),
    )


def _shared(found: Any) -> dict[str, Any]:
    """The fields that a record and what it says of the replaced text have in common."""
    engine = _words(found, "engine", "none")
    entities = _checked(found, "entities", int) if "entities" in found else 0
    if engine not in _ENGINES or isinstance(entities, bool) or entities < 0:
        raise ValueError(engine)
    return {
        "engine": engine,
        "given": _flag(found, "given"),
        "kept": _flag(found, "kept"),
        "locked": _time(found, "locked"),
        "entities": entities,
    }


def _checked(found: Any, name: str, kind: type) -> Any:
    if not isinstance(found, dict) or not isinstance(found.get(name), kind):
        raise TypeError(name)
    return found[name]


def _words(found: Any, name: str, default: str | None = None) -> str:
    if default is not None and isinstance(found, dict) and name not in found:
        return default
    words: str = _checked(found, name, str)
    words.encode("utf-8")
    return words


def _flag(found: Any, name: str) -> bool:
    return bool(_checked(found, name, bool)) if name in found else False


def _time(found: Any, name: str) -> str:
    words = _words(found, name, "")
    if words:
        datetime.fromisoformat(words)
    return words
