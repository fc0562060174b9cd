"""`MemoryStore`: the notes and episodes of one workspace, which nothing can rebuild."""

import contextlib
import os
import secrets
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Self

from braindex.domain.errors import BraindexError, UsageError
from braindex.domain.memories import (
    About,
    Episode,
    Memory,
    MemoryCounts,
    MemoryLabels,
    MemoryType,
    MemoryVector,
    Merged,
    Note,
    NoteChanged,
    Unembedded,
    checked_about,
    checked_category,
    checked_episode,
    checked_note,
    checked_page,
    checked_time,
)
from braindex.registry.database import Closing, Database
from braindex.registry.disk import make_private_file
from braindex.registry.failures import StoreError, file_identity
from braindex.registry.memory_browsing import MemoryFilter
from braindex.registry.memory_episodes import EpisodeFilter
from braindex.registry.memory_file import BUSY_SECONDS, MEMORY_FILE, NoMemoryYet, keep_mark, opened, size_of
from braindex.registry.memory_tables import MemoryTables
from braindex.registry.meta import GENERATION

ENDED_FILE: Final = "memory.ended"  # beside it: says that nothing may be stored there, also where it is gone already
PAGE: Final = 50
_ENDED: Final = "ended"
_MARK: Final = "mark"
_EVERY_EPISODE: Final = EpisodeFilter()
_EVERY_MEMORY: Final = MemoryFilter()


class MemoryEnded(StoreError):
    def __init__(self, path: Path) -> None:
        super().__init__(
            path,
            f"the memory in {path} was dropped or merged into another workspace, and nothing was stored. Store it in "
            "that workspace; if the drop or merge was interrupted, repeat it, or scan this workspace to go on with it.",
        )


class MemoryWithoutHome(StoreError):
    def __init__(self, folder: Path) -> None:
        super().__init__(
            folder,
            f"{folder} does not exist: the workspace was dropped, merged into another, or never scanned. Nothing was "
            "stored; scan the workspace first.",
        )


class ForgetWhat(UsageError):
    def __init__(self) -> None:
        super().__init__("name the episodes to forget, either by their ids or by the time before which they are")


class MergedIntoItself(BraindexError):
    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} cannot be merged into itself; nothing was changed")


class MemoryStore(Closing):
    """The memory of one workspace, open. Use as a context manager; an open store belongs to its thread.

    Any number of processes may read and write at once; readers never wait. Every change is one transaction, and on
    disk when the call returns: neither a killed process nor a power cut undoes it. A file that is damaged, of another
    application or of a newer version is left as it is. Every method may raise a `StoreError`.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tables = MemoryTables(database)
        self._file = file_identity(database.path)

    @classmethod
    def open(cls, folder: Path, *, create: bool = True, busy_seconds: float = BUSY_SECONDS) -> Self:
        """Open the memory in a workspace's folder, created and migrated as needed; before a migration it is copied.

        Raises MemoryWithoutHome where the folder is gone, MemoryEnded where the workspace was dropped or merged into
        another, or with `create=False` NoMemoryYet where there is none; StoreDamaged, whose message says what can be
        done, StoreTooNew, StoreLocked, StoreReadOnly and StoreFull.
        """
        if not folder.is_dir():
            raise MemoryWithoutHome(folder) if create else NoMemoryYet(folder / MEMORY_FILE)
        if create and (folder / ENDED_FILE).exists():
            raise MemoryEnded(folder / MEMORY_FILE)
        database = opened(folder, create=create, busy_seconds=busy_seconds)
        try:
            database.sync_each_commit()
            store = cls(database)
            store.generation()
        except BaseException:
            database.close()
            raise
        return store

    @staticmethod
    def exists(folder: Path) -> bool:
        """Whether there is a memory, in whatever state: a log without its file and a link that leads nowhere count."""
        path = folder / MEMORY_FILE
        return os.path.lexists(path) or size_of(path.with_name(f"{path.name}-wal")) > 0

    @staticmethod
    def end(folder: Path) -> None:
        """Refuse changes from here on, in every process and for good, before the file is deleted: what somebody stores
        after the last look would go with it. A store that is open sees the mark in the file, one that is opened later
        the mark beside it. `resume` takes both back. Raises what opening the memory raises.
        """
        make_private_file(folder / ENDED_FILE)
        if not MemoryStore.exists(folder):
            return
        with opened(folder, create=False) as database, database.transaction():
            MemoryTables(database).meta.set(_ENDED, 1)

    @staticmethod
    def resume(folder: Path) -> None:
        """Takes `end` back, for a workspace that is scanned again. The caller holds the writer lock."""
        mark = folder / ENDED_FILE
        if not mark.exists():
            return
        if MemoryStore.exists(folder):
            with opened(folder, create=False) as database, database.transaction():
                MemoryTables(database).meta.forget(_ENDED)
        mark.unlink(missing_ok=True)

    def close(self) -> None:
        self._database.close()

    def snapshot(self) -> AbstractContextManager[None]:
        """Everything read inside comes from one moment. Not for writing."""
        return self._database.snapshot()

    def problems(self) -> list[str]:
        """What a structural check finds wrong; empty when the memory is sound."""
        return self._database.problems()

    def generation(self) -> int:
        """Moves at each change, in any process. Raises StoreDamaged where it is lost."""
        return self._tables.generation()

    def mark(self) -> str:
        """What tells this memory from every other one; "" where nothing was kept in it yet."""
        return str(self._tables.meta.get(_MARK) or "")

    def counts(self) -> MemoryCounts:
        tables = self._tables
        with self.snapshot():
            return MemoryCounts(tables.rows.count("note"), tables.rows.count("episode"), tables.notes.categories())

    def of_ids(self, ids: Sequence[str]) -> dict[str, Memory]:
        """Notes and episodes by id, in the order of `ids`; unknown ids are left out."""
        with self.snapshot():
            rows = self._tables.rows.of_ids(ids, "note") | self._tables.rows.of_ids(ids, "episode")
            found = self._tables.of_rows(list(rows.values()))
        return {one: found[rows[one]] for one in ids if one in rows}

    def memory(self, reference: str) -> Memory:
        """A note or an episode by its id or the beginning of it. Raises UnknownMemory, AmbiguousMemory."""
        with self.snapshot():
            row = self._tables.rows.find(None, reference)
            return self._tables.of_rows([row])[row]

    # Notes

    def add_note(self, note: Note) -> bool:
        """Store a note; False where its id is known already: nothing is changed then. Raises as `checked_note` does."""
        checked = checked_note(note)
        with self._writing():
            return self._tables.add(checked) is not None

    def update_note(
        self,
        reference: str,
        *,
        updated: str,
        text: str | None = None,
        category: str | None = None,
        about: Sequence[About] | None = None,
        seen: Note | None = None,
    ) -> Note:
        """Change what is given of a note; returns it as it is now. Its vectors are to be made anew.

        Raises UnknownMemory, AmbiguousMemory, NoteChanged where it is not as it was `seen`, and what `checked_note`
        does.
        """
        with self._writing():
            row = self._tables.rows.find("note", reference)
            old = self._tables.notes.of_rows([row])[row]
            if seen is not None and old != seen:
                raise NoteChanged(old.id)
            new = checked_note(
                Note(
                    old.id,
                    old.text if text is None else text,
                    old.category if category is None else category,
                    old.author,
                    old.created,
                    updated,
                    old.about if about is None else tuple(about),
                    old.source,
                )
            )
            self._tables.rewrite(row, new)
            return new

    def merge_notes(self, merged: Note, replaced: Sequence[Note]) -> Note:
        """Write a note in place of some as they were read, one of which has its id: all of it or nothing.

        Its vectors are to be made anew. Raises NoteChanged where one is not as it was, and what `checked_note` does.
        """
        new = checked_note(merged)
        with self._writing():
            rows = self._tables.rows.of_ids([one.id for one in replaced], "note")
            now = self._tables.notes.of_rows(list(rows.values()))
            for one in replaced:
                if one.id not in rows or now[rows[one.id]] != one:
                    raise NoteChanged(one.id)
            self._tables.rewrite(rows.pop(new.id), new)
            self._tables.delete(list(rows.values()))
            return new

    def forget_note(self, reference: str) -> Note:
        """Delete a note for good; returns what it was. Raises UnknownMemory, AmbiguousMemory."""
        with self._writing():
            row = self._tables.rows.find("note", reference)
            note = self._tables.notes.of_rows([row])[row]
            self._tables.delete([row])
            return note

    def forget_notes(self, ids: Sequence[str]) -> int:
        """Delete notes for good by their whole ids; returns how many there were."""
        with self._writing():
            return self._tables.delete(list(self._tables.rows.of_ids(ids, "note").values()))

    def note(self, reference: str) -> Note:
        """A note by its id or the beginning of it. Raises UnknownMemory, AmbiguousMemory."""
        with self.snapshot():
            row = self._tables.rows.find("note", reference)
            return self._tables.notes.of_rows([row])[row]

    def notes(
        self, *, category: str | None = None, about: About | None = None, limit: int = PAGE, offset: int = 0
    ) -> list[Note]:
        """A page of notes, newest first. `about` a path finds notes on it, on its entities, and on all below a folder;
        with a qualified name, only those on that entity. Raises NotAPage.
        """
        checked_page(limit, offset)
        wanted = None if category is None else checked_category(category)
        tied = None if about is None else checked_about(about)
        with self.snapshot():
            return self._tables.notes.page(wanted, tied, limit, offset)

    def each_note(self) -> Iterator[Note]:
        """Every note in the order they were added, a few in memory at a time, for an export."""
        return (one for _, one in self._tables.each("note") if isinstance(one, Note))

    # Episodes

    def add_episode(self, episode: Episode) -> bool:
        """Store an episode; False where its id is known already. Raises as `checked_episode` does."""
        checked = checked_episode(episode)
        with self._writing():
            return self._tables.add(checked) is not None

    def episode(self, reference: str) -> Episode:
        """An episode by its id or the beginning of it. Raises UnknownMemory, AmbiguousMemory."""
        with self.snapshot():
            row = self._tables.rows.find("episode", reference)
            return self._tables.episodes.of_rows([row])[row]

    def episodes(
        self, narrowed: EpisodeFilter = _EVERY_EPISODE, *, limit: int = PAGE, offset: int = 0
    ) -> list[Episode]:
        """A page of episodes, newest first. Raises NotAPage, and what a filter that cannot be read raises."""
        checked_page(limit, offset)
        with self.snapshot():
            return self._tables.episodes.page(narrowed, limit, offset)

    def episodes_within(self, narrowed: EpisodeFilter = _EVERY_EPISODE) -> int:
        """How many episodes a filter lets through. Raises what a filter that cannot be read raises."""
        return self._tables.episodes.count(narrowed)

    def each_episode(self) -> Iterator[Episode]:
        """Every episode in the order they were added, a few in memory at a time, for an export."""
        return (one for _, one in self._tables.each("episode") if isinstance(one, Episode))

    def count_episodes(self, before: str) -> int:
        """How many episodes are older, as `forget_episodes` would delete them."""
        return len(self._tables.episodes.before(checked_time("the time", before)))

    def forget_episodes(self, *, before: str | None = None, ids: Sequence[str] | None = None) -> int:
        """Delete episodes for good, older ones or those named; returns how many there were.

        Only at a request, or for a limit that the user set. Raises ForgetWhat unless one of the two is given.
        """
        if (before is None) == (ids is None):
            raise ForgetWhat
        with self._writing():
            if before is None:
                return self._tables.delete(list(self._tables.rows.of_ids(ids or (), "episode").values()))
            return self._tables.delete(self._tables.episodes.before(checked_time("the time", before)))

    # Looking through

    def browse(
        self,
        narrowed: MemoryFilter = _EVERY_MEMORY,
        *,
        tied: Collection[About] | None = None,
        limit: int = PAGE,
        offset: int = 0,
    ) -> list[Memory]:
        """A page of notes and episodes, newest first; with `tied`, of notes that have one of these very ties.

        Raises NotAPage, and what a filter that cannot be read raises.
        """
        checked_page(limit, offset)
        with self.snapshot():
            rows = self._tables.browsing.page(narrowed, tied, limit, offset)
            found = self._tables.of_rows(rows)
        return [found[row] for row in rows]

    def browsed(self, narrowed: MemoryFilter = _EVERY_MEMORY, *, tied: Collection[About] | None = None) -> int:
        """How many memories a filter lets through."""
        return self._tables.browsing.count(narrowed, tied)

    def ties(self) -> list[About]:
        """What notes are tied to and know the state of, each tie once."""
        return self._tables.browsing.ties()

    def labels(self) -> MemoryLabels:
        """What memories can be told apart by, with counts, the most frequent first."""
        with self.snapshot():
            browsing = self._tables.browsing
            return MemoryLabels(self._tables.notes.categories(), browsing.kinds(), browsing.clients())

    # Words and vectors

    def search_words(
        self, terms: Sequence[str], limit: int, *, what: MemoryType | None = None, since: str | None = None
    ) -> list[tuple[str, float]]:
        """Ids of the memories that have any of the terms (of `domain.words.terms`), with BM25 scores, best first.

        Higher is better; k1 1.2 and b 0.75 are FTS5's. Ties by time, the newest first. `since` is a time in ISO 8601.
        """
        checked_page(limit, 0)
        with self.snapshot():
            return self._tables.words.search(terms, limit, what, _since(since))

    def frequencies(self, terms: Iterable[str]) -> dict[str, int]:
        """In how many notes and episodes each term occurs."""
        with self.snapshot():
            return self._tables.words.frequencies(terms)

    def vectors(
        self, model: str, *, what: MemoryType | None = None, since: str | None = None
    ) -> tuple[list[str], bytearray]:
        """The ids that have a vector of the model, in no order that means anything, and the matrix: the vectors one
        after the other, float32, little-endian.
        """
        with self.snapshot():
            return self._tables.vectors.all(model, what, _since(since))

    def without_vector(self, model: str, limit: int) -> list[Unembedded]:
        """Memories that the model was not asked about yet, the oldest first."""
        checked_page(limit, 0)
        with self.snapshot():
            rows = self._tables.vectors.without(model, limit)
            found = self._tables.of_rows([row for row, _ in rows])
        return [Unembedded(found[row], stamp) for row, stamp in rows]

    def put_vectors(self, model: str, vectors: Iterable[MemoryVector]) -> int:
        """Store vectors; those of a memory that was changed or forgotten meanwhile are left out. How many were stored.

        Raises UnfitVector for one of another length than the model's others.
        """
        everything = list(vectors)
        with self._writing():
            return self._tables.vectors.put(model, everything)

    def forget_vectors(self, model: str) -> int:
        """Delete a model's vectors, which can be made anew; returns how many there were."""
        with self._writing():
            return self._tables.vectors.forget(model)

    def models(self) -> dict[str, int]:
        """How many memories each model has been asked about."""
        return self._tables.vectors.models()

    # Merging

    def take(self, memories: Iterable[Memory]) -> Merged:
        """Take in what was exported, in one transaction; the same again changes nothing.

        Of two states of one note the newer counts; what has the id of another memory is kept under one of its own.
        Raises as `checked_note` and `checked_episode` do, with nothing taken in.
        """
        with self._writing():
            return self._tables.take_some(
                checked_note(one) if isinstance(one, Note) else checked_episode(one) for one in memories
            )

    def merge_from(self, folder: Path) -> Merged:
        """Take in all of the memory in another workspace's folder, vectors included, in one transaction.

        As `take` does: it can be repeated, whatever interrupted it. The other one stays as it is. Raises NoMemoryYet
        where there is none, and what opening it raises.
        """
        if self._file is not None and file_identity(folder / MEMORY_FILE) == self._file:
            raise MergedIntoItself(self._database.path)
        with opened(folder, create=False) as other, other.snapshot(), self._writing():
            return self._tables.take_all(MemoryTables(other))

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction, which moves the generation if it changes anything.

        What would go into a memory that was ended, or into a file that is no longer the workspace's, is refused.
        """
        path = self._database.path
        with self._database.transaction():
            before = self._changes()
            yield
            if self._changes() == before:
                return
            is_gone = file_identity(path) != self._file or (path.parent / ENDED_FILE).exists()
            if is_gone or self._tables.meta.get(_ENDED) is not None:
                raise MemoryEnded(path)
            self._tables.meta.add(GENERATION, 1)
            mark = self.mark() or secrets.token_hex(8)
            self._tables.meta.set(_MARK, mark)
        keep_mark(path.parent, mark)

    def _changes(self) -> int:
        return int(self._database.value("SELECT total_changes()"))


def _since(since: str | None) -> str | None:
    return None if since is None else checked_time("the beginning", since)
