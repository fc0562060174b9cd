"""Notes and episodes of a workspace: stored with their vectors, searched exactly, marked when stale."""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Protocol, TypeVar

from braindex.domain.closeness import distances
from braindex.domain.errors import BraindexError
from braindex.domain.memories import (
    About,
    Episode,
    Memory,
    MemoryLabels,
    MemoryType,
    MemoryVector,
    Merged,
    Note,
    fitted_episode,
    new_id,
    now,
    utc_time,
)
from braindex.domain.ports import Passage, Vector
from braindex.domain.ranking import inverse_frequency
from braindex.domain.recall import SAME, WINDOW_DAYS, Recalled, names_in, scored, shared_words, telling_terms, tells
from braindex.domain.results import Workspace
from braindex.domain.secrets import redacted
from braindex.registry.failures import StoreLocked
from braindex.registry.memory import MemoryStore
from braindex.registry.memory_browsing import MemoryFilter
from braindex.registry.memory_episodes import EpisodeFilter
from braindex.registry.memory_file import BUSY_SECONDS, NoMemoryYet

log = logging.getLogger(__name__)
T = TypeVar("T")

OUTCOME: Final = "/outcome"  # behind the model's name: the vectors of what came of an episode, beside what was asked
# How long a search waits for a memory that another process keeps locked: answers and reviews go on without it.
LOOK_SECONDS: Final = 2.0
UNASKED_LOOK_SECONDS: Final = 0.2  # the same for a hook, whose client waits
_EVERY_EPISODE: Final = EpisodeFilter()
_FIRST: Final = datetime(1, 1, 2, tzinfo=UTC)  # a day after the first that there is, for any zone
_MOST_DAYS: Final = 999_999_999  # that a timedelta holds
_BATCH: Final = 200  # memories embedded at once
_MOST_BATCHES: Final = 50  # at one search: an import of more is finished by the next ones
_LONGEST_ASKED: Final = 2_000  # characters of a question that are looked at
_CANDIDATES: Final = 60
_AS_IF: Final = 50  # memories: among fewer, a word that one of them holds is not common because of that
_UNREDACTED: Final = 400_000  # characters of a text that are looked through for secrets before it is cut


class Model(Protocol):
    """What turns a question into a vector."""

    @property
    def model(self) -> str: ...

    def question(self, text: str) -> Vector | None: ...


class PassageModel(Model, Protocol):
    def passages(self, passages: Sequence[Passage]) -> list[Vector | None]: ...


class Folders(Protocol):
    """What is needed of the workspaces: where a workspace's data lies, and that it is known from now on."""

    def folder(self, workspace: Workspace) -> Path: ...
    def register(self, workspace: Workspace) -> None: ...


Staleness = Callable[[Sequence[Note]], dict[str, str]]
"""What has changed of that which notes are about: a line by the id of the note, where something has."""


class Memories:
    """The notes and episodes of any workspace. `passages` is None where nothing may be embedded (a hook): what has no
    vector yet is found by its words then.
    """

    def __init__(self, folders: Folders, model: Model, passages: PassageModel | None) -> None:
        self._folders = folders
        self._model = model
        self._passages = passages

    def add_note(
        self, workspace: Workspace, text: str, category: str = "", author: str = "", about: Sequence[About] = ()
    ) -> tuple[Note, list[Recalled]]:
        """Store a note, secrets redacted; returns it, and the notes that say nearly the same. One of the very same text
        and category is the one that is there already, its ties renewed.

        Raises what `checked_note` and opening the memory raise.
        """
        self._folders.register(workspace)
        text, when = redacted(text.strip()), now()
        with MemoryStore.open(self._folders.folder(workspace)) as store:
            same = next((one for one in store.each_note() if _is_same(one, text, category)), None)
            if same is not None:
                ties = tuple({(one.path, one.qualified_name): one for one in (*same.about, *about)}.values())
                return store.update_note(same.id, updated=when, about=ties), []
            note = Note(new_id(), text, category, author, when, when, tuple(about))
            store.add_note(note)
            self._embed(store)
            near = [one for one in self._near(store, text, "note", None) if one.memory.id != note.id]
        return note, [one for one in near if _say_the_same(one.memory, note)]

    def notes(
        self, workspace: Workspace, *, category: str | None = None, limit: int = 50, offset: int = 0
    ) -> list[Note]:
        """A page of notes, newest first; none where nothing was remembered yet."""
        return self._reading(
            workspace, list[Note](), lambda store: store.notes(category=category, limit=limit, offset=offset)
        )

    def note(self, workspace: Workspace, reference: str) -> Note:
        """A note by its id or how it begins. Raises UnknownMemory, AmbiguousMemory, NotAReference, NoMemoryYet."""
        with MemoryStore.open(self._folders.folder(workspace), create=False) as store:
            return store.note(reference)

    def memory(self, workspace: Workspace, reference: str) -> Memory:
        """A note or an episode by its id or how it begins. Raises as `note` does."""
        with MemoryStore.open(self._folders.folder(workspace), create=False) as store:
            return store.memory(reference)

    def count_notes(self, workspace: Workspace, category: str | None = None) -> int:
        """How many notes there are, of one category (whatever the case) where it is given."""
        found = self._reading(workspace, None, lambda store: store.counts())
        if found is None or category is None:
            return found.notes if found else 0
        wanted = category.strip().casefold()
        return sum(count for name, count in found.categories.items() if name.casefold() == wanted)

    def all_notes(self, workspace: Workspace) -> list[Note]:
        return self._reading(workspace, list[Note](), lambda store: list(store.each_note()))

    def all_episodes(self, workspace: Workspace) -> list[Episode]:
        return self._reading(workspace, list[Episode](), lambda store: list(store.each_episode()))

    def episodes(
        self, workspace: Workspace, narrowed: EpisodeFilter = _EVERY_EPISODE, *, limit: int = 50, offset: int = 0
    ) -> list[Episode]:
        """A page of episodes, newest first; none where nothing was remembered yet. Raises NotAPage, and what a filter
        that cannot be read raises.
        """
        return self._reading(
            workspace, list[Episode](), lambda store: store.episodes(narrowed, limit=limit, offset=offset)
        )

    def count_episodes(self, workspace: Workspace, narrowed: EpisodeFilter = _EVERY_EPISODE) -> int:
        """How many episodes a filter lets through."""
        return self._reading(workspace, 0, lambda store: store.episodes_within(narrowed))

    def counts(self, workspace: Workspace) -> tuple[int, int]:
        """Notes and episodes. Raises StoreLocked soon where another process keeps readers out."""
        found = self._reading(workspace, None, lambda store: store.counts(), LOOK_SECONDS)
        return (found.notes, found.episodes) if found else (0, 0)

    def forget(self, workspace: Workspace, reference: str) -> Note:
        """Delete a note for good. Raises UnknownMemory, AmbiguousMemory, NotAReference."""
        with MemoryStore.open(self._folders.folder(workspace), create=False) as store:
            return store.forget_note(reference)

    def forget_memory(self, workspace: Workspace, memory: Memory) -> bool:
        """Delete a note or an episode for good; false where it is gone already. Raises NoMemoryYet."""
        with MemoryStore.open(self._folders.folder(workspace), create=False) as store:
            if isinstance(memory, Note):
                return bool(store.forget_notes([memory.id]))
            return bool(store.forget_episodes(ids=[memory.id]))

    def take(self, workspace: Workspace, memories: Iterable[Memory]) -> Merged:
        """Take in what was exported; the same again changes nothing, nor does a note whose very text is there."""
        self._folders.register(workspace)
        with MemoryStore.open(self._folders.folder(workspace)) as store:
            known = {_plain(one.text): one for one in store.each_note()}
            found = store.take(one for one in map(clean, memories) if _brings_something(one, known))
            self._embed(store)
            return found

    def record(self, workspace: Workspace, episode: Episode, keep_days: int | None = None) -> bool:
        """Store an episode with its vectors, secrets redacted, cut to the limits; false where it is known already.

        `keep_days` is the limit that the user set, if any: older episodes are deleted then.
        """
        self._folders.register(workspace)
        with MemoryStore.open(self._folders.folder(workspace)) as store:
            added = store.add_episode(fitted_episode(clean_episode(episode)))
            if keep_days is not None:
                store.forget_episodes(before=_earlier(keep_days))
            self._embed(store)
        return added

    def similar(
        self,
        workspace: Workspace,
        text: str,
        limit: int,
        *,
        what: MemoryType | None = None,
        days: int = WINDOW_DAYS,
        kind: str | None = None,
        staleness: Staleness | None = None,
        unasked: bool = False,
        leave_out: Callable[[Memory], bool] = lambda _: False,
    ) -> list[Recalled]:
        """The memories nearest to a text that have enough to do with it, best first, nearly the same ones as one.

        Notes are of any age, episodes of the last `days` days, of one `kind` where it is given. What is `unasked` for,
        in a hook, needs more. What is to `leave_out` stands for no other one either. Raises StoreLocked soon where
        another process keeps readers out.
        """
        asked = text[:_LONGEST_ASKED]

        def look(store: MemoryStore) -> list[Recalled]:
            self._embed_unless_locked(store)
            found = list[Recalled]()
            if what != "episode":
                found += self._near(store, asked, "note", None, unasked=unasked)
            if what != "note":
                near = self._near(store, asked, "episode", _earlier(days), unasked=unasked)
                found += [one for one in near if (tells(one.memory) if kind is None else _is_kind(one.memory, kind))]
            return _best([one for one in found if not leave_out(one.memory)], limit)

        found = self._reading(workspace, list[Recalled](), look, UNASKED_LOOK_SECONDS if unasked else LOOK_SECONDS)
        notes = [one.memory for one in found if isinstance(one.memory, Note) and one.memory.about]
        stale = staleness(notes) if staleness is not None and notes else {}
        return [replace(one, stale=stale.get(one.memory.id, "")) for one in found]

    # Looked after by a person

    def browse(
        self,
        workspace: Workspace,
        narrowed: MemoryFilter,
        *,
        tied: Collection[About] | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> tuple[list[Memory], int]:
        """A page of notes and episodes, newest first, and how many there are in all; see `MemoryStore.browse`."""

        def look(store: MemoryStore) -> tuple[list[Memory], int]:
            with store.snapshot():
                page = store.browse(narrowed, tied=tied, limit=limit, offset=offset)
                return page, store.browsed(narrowed, tied=tied)

        return self._reading(workspace, (list[Memory](), 0), look)

    def labels(self, workspace: Workspace) -> MemoryLabels:
        return self._reading(workspace, MemoryLabels({}, {}, {}), lambda store: store.labels())

    def ties(self, workspace: Workspace) -> list[About]:
        """What notes are tied to and know the state of, each tie once."""
        return self._reading(workspace, list[About](), lambda store: store.ties())

    def of_ids(self, workspace: Workspace, ids: Sequence[str]) -> dict[str, Note]:
        """Notes by id; those that are gone are left out."""

        def look(store: MemoryStore) -> dict[str, Note]:
            return {name: one for name, one in store.of_ids(ids).items() if isinstance(one, Note)}

        return self._reading(workspace, dict[str, Note](), look)

    def note_vectors(self, workspace: Workspace) -> tuple[list[str], bytearray]:
        """The ids of the notes that have a vector, those without one embedded first, and the matrix of the vectors."""

        def look(store: MemoryStore) -> tuple[list[str], bytearray]:
            self._embed_unless_locked(store)
            return store.vectors(self._model.model, what="note")

        return self._reading(workspace, (list[str](), bytearray()), look)

    def edit_note(
        self,
        workspace: Workspace,
        note: Note,
        *,
        text: str | None = None,
        category: str | None = None,
        about: Sequence[About] | None = None,
    ) -> Note:
        """Change what is given of a note as it was read, secrets redacted, and make its vectors anew.

        Raises UnknownMemory where it is gone, NoteChanged, and what `checked_note` does.
        """
        said = None if text is None else redacted(text.strip())
        with MemoryStore.open(self._folders.folder(workspace), create=False) as store:
            changed = store.update_note(note.id, updated=now(), text=said, category=category, about=about, seen=note)
            self._embed(store)
        return changed

    def merge_notes(self, workspace: Workspace, merged: Note, replaced: Sequence[Note]) -> Note:
        """Put a note in place of some, secrets redacted, and make its vectors anew; see `MemoryStore.merge_notes`."""
        merged = replace(merged, text=redacted(merged.text))
        with MemoryStore.open(self._folders.folder(workspace), create=False) as store:
            found = store.merge_notes(merged, replaced)
            self._embed(store)
        return found

    def _near(
        self, store: MemoryStore, text: str, what: MemoryType, since: str | None, *, unasked: bool = False
    ) -> list[Recalled]:
        wanted = telling_terms(text)
        vector = self._model.question(text)
        near = self._distances(store, vector, what, since) if vector is not None else {}
        nearest = sorted(near, key=lambda one: (near[one], one))[:_CANDIDATES]
        lexical = [one for one, _ in store.search_words(wanted, _CANDIDATES, what=what, since=since)] if wanted else []
        memories = store.of_ids(list(dict.fromkeys([*nearest, *lexical])))
        frequencies = store.frequencies(wanted)
        total = max(_AS_IF, len(memories), len(near))

        def weight(term: str) -> float:
            return inverse_frequency(min(frequencies.get(term, 0), total), total)

        found = list[Recalled]()
        rarest, names = inverse_frequency(0, total), names_in(text)
        for one in memories.values():
            score = scored(near.get(one.id), shared_words(wanted, names, weight, rarest, one), unasked=unasked)
            if score is not None:
                found.append(Recalled(one, near.get(one.id), score))
        return sorted(found, key=lambda one: (-one.score, one.memory.id))

    def _distances(self, store: MemoryStore, vector: Vector, what: MemoryType, since: str | None) -> dict[str, float]:
        """The distance of each memory: of an episode the nearer of what was asked and what came of it."""
        found = dict[str, float]()
        for model in (self._model.model, self._model.model + OUTCOME):
            for one, distance in distances(vector, *store.vectors(model, what=what, since=since)):
                found[one] = min(distance, found.get(one, distance))
        return found

    def _embed(self, store: MemoryStore) -> None:
        """Vectors of what has none yet, a bounded number. Where that fails, words still find it."""
        if self._passages is None:
            return
        for suffix in ("", OUTCOME):
            model = self._passages.model + suffix
            for _ in range(_MOST_BATCHES):
                waiting = store.without_vector(model, _BATCH)
                if not waiting:
                    break
                vectors = self._passages.passages([_passage(one.memory, outcome=bool(suffix)) for one in waiting])
                pairs = zip(waiting, vectors, strict=True)
                store.put_vectors(model, [MemoryVector(one.memory.id, one.stamp, vector) for one, vector in pairs])

    def _embed_unless_locked(self, store: MemoryStore) -> None:
        """What is new waits for the next search while another process writes; its words find it."""
        try:
            self._embed(store)
        except StoreLocked as error:
            log.info("what is new in the memory has no vectors yet: %s", error)

    def _reading(
        self, workspace: Workspace, nothing: T, use: Callable[[MemoryStore], T], busy_seconds: float = BUSY_SECONDS
    ) -> T:
        folder = self._folders.folder(workspace)
        if not MemoryStore.exists(folder):
            return nothing
        try:
            with MemoryStore.open(folder, create=False, busy_seconds=busy_seconds) as store:
                return use(store)
        except NoMemoryYet:
            return nothing


def _is_kind(memory: Memory, kind: str) -> bool:
    return isinstance(memory, Episode) and memory.kind == kind


def _best(found: Sequence[Recalled], limit: int) -> list[Recalled]:
    """The best, each standing for the worse ones that say nearly the same in the same words."""
    kept = list[Recalled]()
    for one in sorted(found, key=lambda one: (-one.score, one.memory.id)):
        twin = next((place for place, other in enumerate(kept) if _say_the_same(one.memory, other.memory)), None)
        if twin is None:
            kept.append(one)
        else:
            first, second = kept[twin], one
            newest = first if first.memory.created >= second.memory.created else second
            other = second if newest is first else first
            kept[twin] = replace(
                newest, score=max(first.score, second.score), same=(*newest.same, *other.same, other.memory.id)
            )
    return kept[:limit]


def _say_the_same(one: Memory, other: Memory) -> bool:
    if type(one) is not type(other):
        return False
    mine, theirs = _words(one), _words(other)
    return bool(mine) and len(mine & theirs) >= SAME * len(mine | theirs)


def _words(memory: Memory) -> frozenset[str]:
    text = memory.text if isinstance(memory, Note) else f"{memory.prompt} {memory.summary}"
    return frozenset(telling_terms(text[:_LONGEST_ASKED]))


def _is_same(note: Note, text: str, category: str) -> bool:
    return note.category.casefold() == category.strip().casefold() and _plain(note.text) == _plain(text)


def _brings_something(memory: Memory, known: Mapping[str, Note]) -> bool:
    """Whether a memory is more than a note that is there already, under whatever id."""
    same = known.get(_plain(memory.text)) if isinstance(memory, Note) else None
    if same is None or not isinstance(memory, Note):
        return True
    return memory.id == same.id and (memory.category, memory.about) != (same.category, same.about)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _passage(memory: Memory, *, outcome: bool) -> Passage:
    """What is embedded of a memory. A note has no outcome: nothing is known of an empty text, so none is compared."""
    if isinstance(memory, Note):
        path = memory.about[0].path if memory.about else ""
        return Passage("" if outcome else path, "", "", "", "", "" if outcome else f"{memory.category}\n{memory.text}")
    return Passage("", "", "", "", "", memory.summary if outcome else memory.prompt)


def clean(memory: Memory) -> Memory:
    """The memory with secrets redacted."""
    return replace(memory, text=redacted(memory.text)) if isinstance(memory, Note) else clean_episode(memory)


def clean_episode(memory: Episode) -> Episode:
    """The episode with secrets redacted; of a text beyond any use only the beginning is looked at and kept."""
    prompt, summary = (redacted(text[:_UNREDACTED]) for text in (memory.prompt, memory.summary))
    return replace(memory, prompt=prompt, summary=summary, outcome=redacted(memory.outcome))


def _earlier(days: int) -> str:
    moment = datetime.now(UTC)
    return utc_time(moment - min(timedelta(days=min(days, _MOST_DAYS)), moment - _FIRST))


def quietly(use: Callable[[], T], nothing: T, told: Callable[[BraindexError], None] = lambda _: None) -> T:
    """What `use` returns, or `nothing` where the memory cannot be read: the code still answers. `told` learns why."""
    try:
        return use()
    except BraindexError as error:
        log.warning("the memory could not be searched: %s", error)
        told(error)
        return nothing
