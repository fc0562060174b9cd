"""Notes on purpose: what a person or an agent asks to remember, tied to code, listed, forgotten, exported."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from braindex.domain.display import echoed
from braindex.domain.errors import UsageError
from braindex.domain.memories import About, Memory, Merged, Note, derived_id, episode_of, new_id, now, text_value
from braindex.domain.options import WorkspaceOptions
from braindex.domain.recall import Recalled, text_of
from braindex.domain.results import Workspace
from braindex.registry.index import IndexStore
from braindex.services.freshness import Freshness
from braindex.services.memories import Memories
from braindex.services.roots import checked_root
from braindex.services.ties import Ties
from braindex.services.workspaces import Workspaces

T = TypeVar("T")
_HEADING: Final = "## "
_ABOUT: Final = "About: "


class NotAnExport(UsageError):
    def __init__(self, line: int, why: str) -> None:
        super().__init__(
            f"line {line} is no note or episode of an export ({why}); nothing was taken in. An import reads the JSON "
            "Lines that `braindex note export` writes, or Markdown with a `## ` heading over each note"
        )


@dataclass(frozen=True, slots=True)
class Saved:
    """A note as it is stored now. `known`: it was there already, word for word. `similar` say nearly the same."""

    note: Note
    known: bool
    similar: tuple[Recalled, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "note": self.note.as_json(),
            "known": self.known,
            "similar": [{"id": one.memory.id, "text": text_of(one.memory)} for one in self.similar],
        }


@dataclass(frozen=True, slots=True)
class Listed:
    """A note, and in a line what it is about and has changed since, else ""."""

    note: Note
    stale: str = ""

    def as_json(self) -> dict[str, Any]:
        return {**self.note.as_json(), "stale": self.stale or None}


class Notes:
    """The notes of any known workspace."""

    def __init__(
        self,
        workspaces: Workspaces,
        freshness: Freshness,
        memories: Memories,
        options: Callable[[Path], WorkspaceOptions],
    ) -> None:
        self._workspaces = workspaces
        self._freshness = freshness
        self._memories = memories
        self._options = options

    def save(
        self, workspace: Workspace, text: str, category: str = "", author: str = "", about: Sequence[str] = ()
    ) -> Saved:
        """Remember a text; secrets in it are redacted. `about` are paths, `path:line`, `path::name` or names of
        entities, whose code the note remembers by a hash.

        Raises NothingTiedTo, TiedToMany, what `checked_note` does, and what opening the workspace or its memory raises.
        """
        ties = self._tied(workspace, about) if about else ()
        before = now()
        note, similar = self._memories.add_note(workspace, text, category, author, ties)
        return Saved(note, note.created < before, tuple(similar))

    def list(
        self, workspace: Workspace, *, category: str | None = None, limit: int = 50, offset: int = 0
    ) -> list[Listed]:
        """A page of notes, newest first, each with what has changed of that which it is about."""
        notes = self._memories.notes(workspace, category=category, limit=limit, offset=offset)
        stale = self._stale(workspace, notes)
        return [Listed(note, stale.get(note.id, "")) for note in notes]

    def stale(self, workspace: Workspace, note: Note) -> str:
        """In a line what a note is about and has changed since, else ""."""
        return self._stale(workspace, [note]).get(note.id, "")

    def count(self, workspace: Workspace, category: str | None = None) -> int:
        """How many notes there are, of one category where it is given."""
        return self._memories.count_notes(workspace, category)

    def forget(self, workspace: Workspace, reference: str) -> Note:
        """Delete a note for good. Raises UnknownMemory, AmbiguousMemory, NotAReference, NoMemoryYet."""
        return self._memories.forget(workspace, reference)

    def take(self, workspace: Workspace, text: str) -> Merged:
        """Take in an export: JSON Lines, or Markdown. The same again changes nothing. Raises NotAnExport, with nothing
        taken in, and what `checked_note` and `checked_episode` raise.
        """
        return self._memories.take(workspace, list(imported(text)))

    def exported(self, workspace: Workspace, *, markdown: bool, episodes: bool) -> Iterator[str]:
        """The lines of an export: a JSON object each, or Markdown for people."""
        memories: list[Memory] = list(self._memories.all_notes(workspace))
        memories += self._memories.all_episodes(workspace) if episodes else []
        if markdown:
            yield from _as_markdown(workspace, memories)
            return
        for one in memories:
            what = "note" if isinstance(one, Note) else "episode"
            yield json.dumps({"type": what, **one.as_json()}, ensure_ascii=False)

    def _stale(self, workspace: Workspace, notes: Sequence[Note]) -> dict[str, str]:
        if not any(note.about for note in notes):
            return {}
        return self._with_ties(workspace, lambda ties: ties.stale(notes))

    def _tied(self, workspace: Workspace, about: Sequence[str]) -> tuple[About, ...]:
        return self._with_ties(workspace, lambda ties: ties.about(about))

    def _with_ties(self, workspace: Workspace, use: "Callable[[Ties], T]") -> T:
        """What `use` returns of the ties over an index that follows the disk."""
        root = checked_root(workspace.path)

        def look(store: IndexStore) -> T:
            self._freshness.take_in(workspace, root, store)
            return use(Ties(store, root, self._options(root)))

        return self._workspaces.with_index(workspace, look)


def imported(text: str) -> Iterator[Memory]:
    """The notes and episodes of an export. Raises NotAnExport."""
    first = text.lstrip("\ufeff \t\r\n")
    if not first:
        return
    if first[0] != "{":
        yield from _from_markdown(text)
        return
    for number, line in enumerate(text.lstrip("\ufeff").split("\n"), start=1):
        if line.strip():
            yield _from_json(number, line)


def _from_json(number: int, line: str) -> Memory:
    try:
        found = json.loads(line)
        if found.get("type") == "episode":
            return episode_of(found)
        if found.get("type", "note") != "note":
            raise NotAnExport(number, f"its type is {echoed(str(found['type']))!r}")
        return _note(found)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise NotAnExport(number, echoed(f"{type(error).__name__}: {error}")) from error


def _note(found: dict[str, Any]) -> Note:
    when = found.get("created") or now()
    about = tuple(
        About(one["path"], one.get("qualified_name") or "", one.get("digest") or "") for one in found.get("about") or ()
    )
    return Note(
        found.get("id") or new_id(),
        text_value(found["text"]),
        text_value(found.get("category") or ""),
        text_value(found.get("author") or ""),
        text_value(when),
        text_value(found.get("updated") or when),
        about,
        "asked" if found.get("source") == "asked" else "imported",
    )


def _as_markdown(workspace: Workspace, memories: Iterable[Memory]) -> Iterator[str]:
    yield f"# Notes of {workspace.name}"
    for one in memories:
        yield ""
        if isinstance(one, Note):
            yield f"{_HEADING}{one.created[:10]} {one.category}".rstrip()
            about = ", ".join(tie.written for tie in one.about)
            yield from ["", *([_ABOUT + about, ""] if about else []), _nested(one.text)]
        else:
            yield from [f"{_HEADING}{one.created[:10]} {one.kind} by {one.client}", "", _nested(one.prompt), ""]
            yield _nested(one.summary)


def _nested(text: str) -> str:
    """A text below a heading: its own headings of that level go one deeper, so that an import does not split it."""
    return "\n".join(f"#{line}" if line.startswith(_HEADING) else line for line in text.strip().split("\n"))


def _from_markdown(text: str) -> Iterator[Note]:
    """A note for each `## ` heading: what stands below it, or the heading itself where nothing does."""
    when = now()
    for heading, body in _sections(text):
        about, said = _about(body.strip())
        said, category = (said, _category(heading)) if said else (heading, "")
        if said:
            yield Note(derived_id("markdown", said), said, category, "", when, when, about, "imported")


def _about(body: str) -> tuple[tuple[About, ...], str]:
    """What the first line of a note says that it is about, and the rest."""
    first, _, rest = body.partition("\n")
    if not first.startswith(_ABOUT):
        return (), body
    parts = (one.strip().partition("::") for one in first[len(_ABOUT) :].split(","))
    return tuple(About(path, name) for path, _, name in parts if path), rest.strip()


def _sections(text: str) -> Iterator[tuple[str, str]]:
    heading, body, fenced = "", list[str](), False
    for line in text.lstrip("\ufeff").splitlines():
        fenced ^= line.lstrip().startswith("```")
        if line.startswith(_HEADING) and not fenced:
            yield heading, "\n".join(body)
            heading, body = line[len(_HEADING) :].strip(), []
        elif heading or not line.startswith("# "):
            body.append(line)
    yield heading, "\n".join(body)


def _category(heading: str) -> str:
    """A heading without the day that an export puts before it, cut to what a category may have."""
    first, _, rest = heading.partition(" ")
    words = rest if len(first) == 10 and first.replace("-", "").isdecimal() else heading
    return words.strip()[:64]
