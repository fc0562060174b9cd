"""What is remembered beside the code: notes, which somebody asked to keep, and episodes, which hooks record."""

import hashlib
import re
import unicodedata
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple, TypeVar

from braindex.domain.display import echoed, shortened
from braindex.domain.errors import BraindexError, UsageError
from braindex.domain.periods import in_utc
from braindex.domain.ports import Vector

T = TypeVar("T")
MemoryType = Literal["note", "episode"]
NoteSource = Literal["asked", "imported"]

ID_LENGTH: Final = 16  # hex characters: 64 random bits, so that stores which never met can be merged
MIN_ID_PREFIX: Final = 4
# Limits in characters, and of tuples in items. They keep one memory from crowding out all others; each is far above
# what a person or an agent writes.
MOST_TEXT: Final = 100_000
MOST_CATEGORY: Final = 64
MOST_NAME: Final = 200  # an author, a client, a session, a kind, an outcome, a commit
MOST_PATH: Final = 4_096  # PATH_MAX on Linux
MOST_QUALIFIED_NAME: Final = 4_096
MOST_DIGEST: Final = 128
MOST_ABOUT: Final = 100
MOST_FILES: Final = 1_000
_LISTED_AT_MOST: Final = 10
_ID: Final = re.compile(f"[0-9a-f]{{{ID_LENGTH}}}")
_PREFIX: Final = re.compile(f"[0-9a-f]{{{MIN_ID_PREFIX},{ID_LENGTH}}}")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class TooLong(UsageError):
    def __init__(self, name: str, length: int, limit: int, unit: str = "characters") -> None:
        super().__init__(f"{name} has {length:,} {unit}, and at most {limit:,} can be kept; nothing was stored")


class Missing(UsageError):
    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is empty; nothing was stored")


class NotText(UsageError):
    def __init__(self, name: str, position: int) -> None:
        super().__init__(
            f"{name} is not valid Unicode: character {position + 1} is half of a surrogate pair; nothing was stored"
        )


class NotOneLine(UsageError):
    def __init__(self, name: str, text: str) -> None:
        super().__init__(f"{name} must be one line without control characters, not '{echoed(text)}'")


class NotATime(UsageError):
    def __init__(self, name: str, text: str) -> None:
        super().__init__(f"{name} is not a time in ISO 8601: '{echoed(text)}'; give one such as 2026-11-01T10:00:00Z")


class NotAnId(UsageError):
    def __init__(self, text: str) -> None:
        super().__init__(f"'{echoed(text)}' is no id of a note or an episode: {ID_LENGTH} characters of 0-9 and a-f")


class NotAReference(UsageError):
    def __init__(self, text: str) -> None:
        super().__init__(
            f"'{echoed(text)}' is no id of a note or an episode, nor {MIN_ID_PREFIX} or more characters that one "
            "begins with"
        )


class NotAPage(UsageError):
    def __init__(self, limit: int, offset: int) -> None:
        super().__init__(f"a page needs a limit of 1 or more and an offset of 0 or more, not {limit} and {offset}")


class NotASource(UsageError):
    def __init__(self, text: str) -> None:
        super().__init__(f"the source of a note is 'asked' or 'imported', not '{echoed(text)}'")


class UnknownMemory(BraindexError):
    def __init__(self, what: MemoryType | None, reference: str) -> None:
        called, listed = what or "note or episode", f"the {what}s" if what else "them"
        super().__init__(f"no {called} has the id '{echoed(reference)}'; list {listed} to see their ids")


class AmbiguousMemory(BraindexError):
    def __init__(self, what: MemoryType | None, reference: str, ids: Sequence[str]) -> None:
        listed = ", ".join(ids[:_LISTED_AT_MOST]) + (" and others" if len(ids) > _LISTED_AT_MOST else "")
        called = f"{what}s" if what else "notes or episodes"
        super().__init__(f"'{echoed(reference)}' begins the ids of several {called}: {listed}; give more of the id")


class NoteChanged(BraindexError):
    def __init__(self, identifier: str) -> None:
        super().__init__(
            f"the note {identifier} was changed by somebody else meanwhile, and nothing was stored; look at it as it "
            "is now, and do it again"
        )


@dataclass(frozen=True, slots=True)
class About:
    """What a note is tied to: a file or folder, or with `qualified_name` an entity of a file.

    `path` is relative to the workspace root, with `/`, in NFC. `digest` is hexadecimal: that of the file's bytes or of
    the entity when the note was made, "" where it was not known. The code has moved on when it has another one now.
    """

    path: str
    qualified_name: str = ""
    digest: str = ""

    @property
    def written(self) -> str:
        """As a person writes it: `path`, or `path::name`."""
        return f"{self.path}::{self.qualified_name}" if self.qualified_name else self.path

    def as_json(self) -> dict[str, Any]:
        return {"path": self.path, "qualified_name": self.qualified_name or None, "digest": self.digest or None}


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a person or an agent asked braindex to remember.

    `category` is any one line, "" for none; it means nothing to the index, also where it equals a kind of entity.
    `author` is the name of the client that asked. `created` and `updated` are UTC times in ISO 8601.
    """

    id: str
    text: str
    category: str = ""
    author: str = ""
    created: str = ""
    updated: str = ""
    about: tuple[About, ...] = ()
    source: NoteSource = "asked"

    def as_json(self) -> dict[str, Any]:
        """The note as listings and exports show it."""
        return {
            "id": self.id,
            "text": self.text,
            "category": self.category or None,
            "author": self.author or None,
            "created": self.created,
            "updated": self.updated,
            "about": [one.as_json() for one in self.about],
            "source": self.source,
        }


@dataclass(frozen=True, slots=True)
class Episode:
    """What an agent did in one turn, as a hook recorded it.

    `kind` is a word such as turn, review or task. `prompt` is what was asked, `summary` what came of it in prose,
    `outcome` in a word (a verdict, a state). `files` are paths as in `About`; `commit` is the revision worked on.
    `created` is a UTC time in ISO 8601.
    """

    id: str
    kind: str
    client: str = ""
    session: str = ""
    created: str = ""
    prompt: str = ""
    summary: str = ""
    outcome: str = ""
    files: tuple[str, ...] = ()
    commit: str = ""

    def as_json(self) -> dict[str, Any]:
        """The episode as listings and exports show it."""
        return {
            "id": self.id,
            "kind": self.kind,
            "client": self.client or None,
            "session": self.session or None,
            "created": self.created,
            "prompt": self.prompt,
            "summary": self.summary,
            "outcome": self.outcome or None,
            "files": list(self.files),
            "commit": self.commit or None,
        }


Memory = Note | Episode


def episode_of(found: dict[str, Any]) -> Episode:
    """The episode that `Episode.as_json` wrote, or somebody by hand. Raises KeyError without an id, a kind or a time,
    and TypeError for what is no text.
    """
    names = ("client", "session", "prompt", "summary", "outcome", "commit")
    return Episode(
        id=text_value(found["id"]),
        kind=text_value(found["kind"]),
        created=text_value(found["created"]),
        files=tuple(map(text_value, found.get("files") or ())),
        **{name: text_value(found.get(name) or "") for name in names},
    )


def text_value(value: Any) -> str:
    """A value of JSON that has to be a text. Raises TypeError."""
    if not isinstance(value, str):
        raise TypeError(f"{echoed(str(value))} is no text")
    return value


@dataclass(frozen=True, slots=True)
class MemoryCounts:
    """How much is remembered. `categories` counts notes, the most frequent first; "" is those without one."""

    notes: int
    episodes: int
    categories: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MemoryLabels:
    """What memories can be told apart by, with counts: categories of notes ("" is none), kinds of episodes, clients."""

    categories: dict[str, int]
    kinds: dict[str, int]
    clients: dict[str, int]


@dataclass(frozen=True, slots=True)
class Merged:
    """How many notes and episodes a merge brought that were not there, or not as new."""

    notes: int
    episodes: int


class Unembedded(NamedTuple):
    """A memory that has no vector of a model yet. `stamp` says which state of it this is."""

    memory: Memory
    stamp: int


class MemoryVector(NamedTuple):
    """The vector of a memory in the state that `stamp` names; None where the model knows no word of it."""

    id: str
    stamp: int
    vector: Vector | None


def new_id() -> str:
    """A random id, which a memory keeps through export, import and merge."""
    return uuid.uuid4().hex[:ID_LENGTH]


def derived_id(*parts: str) -> str:
    """The id that the same parts always give, for what may be recorded twice."""
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=ID_LENGTH // 2).hexdigest()


def utc_time(when: datetime) -> str:
    """A moment as it is stored: UTC, ISO 8601, microseconds, in one width, so that times sort as text."""
    return in_utc(when).isoformat(timespec="microseconds").replace("+00:00", "Z")


def now() -> str:
    return utc_time(datetime.now(UTC))


def checked_id(text: str) -> str:
    """An id as it is. Raises NotAnId."""
    if not _ID.fullmatch(text):
        raise NotAnId(text)
    return text


def checked_reference(text: str) -> str:
    """An id or the beginning of one, as it is compared. Raises NotAReference."""
    found = text.strip().lower()
    if not _PREFIX.fullmatch(found):
        raise NotAReference(text)
    return found


def checked_time(name: str, text: str) -> str:
    """A time in ISO 8601 as it is stored. Raises NotATime."""
    try:
        return utc_time(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        raise NotATime(name, text) from None


def checked_page(limit: int, offset: int) -> None:
    """Raises NotAPage."""
    if limit < 1 or offset < 0:
        raise NotAPage(limit, offset)


def checked_note(note: Note) -> Note:
    """The note as it is stored: times in UTC and one width, paths in NFC, nothing tied to twice.

    Raises TooLong, Missing, NotText, NotOneLine, NotATime, NotAnId, NotASource.
    """
    if note.source not in ("asked", "imported"):
        raise NotASource(note.source)
    about = tuple(dict.fromkeys(map(checked_about, _counted("what a note is about", note.about, MOST_ABOUT))))
    return replace(
        note,
        id=checked_id(note.id),
        text=_present("the text of a note", _checked("the text of a note", note.text, MOST_TEXT)),
        category=checked_category(note.category),
        author=_line("the author of a note", note.author, MOST_NAME),
        created=checked_time("the creation of a note", note.created),
        updated=checked_time("the update of a note", note.updated),
        about=about,
    )


def checked_category(text: str) -> str:
    """A category as it is stored. Raises TooLong, NotText, NotOneLine."""
    return _line("the category of a note", text, MOST_CATEGORY)


def checked_about(one: About) -> About:
    """Paths are compared in NFC, as the index holds them. Raises TooLong, Missing, NotText."""
    return About(
        checked_path("the path that a note is about", one.path),
        _checked("the entity that a note is about", one.qualified_name, MOST_QUALIFIED_NAME),
        _line("the digest of what a note is about", one.digest, MOST_DIGEST),
    )


def checked_path(name: str, path: str) -> str:
    """A path below the root as it is compared: NFC, no `/` at its end. Raises TooLong, Missing, NotText."""
    return _present(name, _checked(name, _nfc(path).rstrip("/"), MOST_PATH))


def checked_episode(one: Episode) -> Episode:
    """The episode as it is stored: its time in UTC and one width, paths in NFC, each once.

    Raises what `checked_note` raises.
    """
    files = _counted("the files of an episode", one.files, MOST_FILES)
    return replace(
        one,
        id=checked_id(one.id),
        kind=_present("the kind of an episode", _line("the kind of an episode", one.kind, MOST_NAME)),
        client=_line("the client of an episode", one.client, MOST_NAME),
        session=_line("the session of an episode", one.session, MOST_NAME),
        created=checked_time("the time of an episode", one.created),
        prompt=_checked("the prompt of an episode", one.prompt, MOST_TEXT),
        summary=_checked("the summary of an episode", one.summary, MOST_TEXT),
        outcome=_line("the outcome of an episode", one.outcome, MOST_NAME),
        files=tuple(dict.fromkeys(checked_path("a file of an episode", path) for path in files)),
        commit=_line("the commit of an episode", one.commit, MOST_NAME),
    )


def fitted_episode(one: Episode) -> Episode:
    """The episode cut to the limits, for a hook that nobody watches: of a long text the middle is left out, of many
    files the last, and what is not valid Unicode becomes U+FFFD. Ids and times are not mended.
    """
    return replace(
        one,
        kind=_fitted_line(one.kind) or "turn",
        client=_fitted_line(one.client),
        session=_fitted_line(one.session),
        prompt=shortened(_whole(one.prompt), MOST_TEXT),
        summary=shortened(_whole(one.summary), MOST_TEXT),
        outcome=_fitted_line(one.outcome),
        files=tuple(path for path in map(_whole, one.files) if _is_path(path))[:MOST_FILES],
        commit=_fitted_line(one.commit),
    )


def _is_path(path: str) -> bool:
    kept = _nfc(path).rstrip("/")
    return bool(kept.strip()) and len(kept) <= MOST_PATH


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _whole(text: str) -> str:
    """Text in which every lone surrogate, which UTF-8 cannot encode, is U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _fitted_line(text: str) -> str:
    return shortened(" ".join(_CONTROL.sub(" ", _whole(text)).split()), MOST_NAME)


def _checked(name: str, text: str, limit: int) -> str:
    if len(text) > limit:
        raise TooLong(name, len(text), limit)
    broken = _SURROGATE.search(text)
    if broken is not None:
        raise NotText(name, broken.start())
    return text


def _present(name: str, text: str) -> str:
    if not text.strip():
        raise Missing(name)
    return text


def _line(name: str, text: str, limit: int) -> str:
    found = _checked(name, text.strip(), limit)
    if _CONTROL.search(found):
        raise NotOneLine(name, text)
    return found


def _counted(name: str, items: tuple[T, ...], limit: int) -> tuple[T, ...]:
    if len(items) > limit:
        raise TooLong(name, len(items), limit, "items")
    return items
