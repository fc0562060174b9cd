"""The tables of a memory as one: whatever is written of a note or an episode is written to all of them."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from braindex.domain.memories import Memory, MemoryType, Merged, Note, derived_id
from braindex.registry import memory_episodes, memory_notes, memory_rows, memory_vectors, memory_words
from braindex.registry.database import Database
from braindex.registry.memory_browsing import Browsing
from braindex.registry.memory_episodes import Episodes
from braindex.registry.memory_notes import Notes
from braindex.registry.memory_rows import Rows
from braindex.registry.memory_vectors import MemoryVectors
from braindex.registry.memory_words import Words
from braindex.registry.meta import GENERATION, Meta
from braindex.registry.migrations import Migration

MIGRATIONS: Final = (
    Migration(
        "memory-1",
        (
            "CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID",
            # At random, so that a generation kept in a process never fits a file that was put in the place of this one.
            "INSERT INTO meta VALUES ('generation', random() & 0xFFFFFFFFFFFF)",
            *memory_rows.SCHEMA, *memory_notes.SCHEMA, *memory_episodes.SCHEMA, *memory_vectors.SCHEMA,
            *memory_words.SCHEMA,
        ),
    ),
)  # fmt: skip
_BLOCK: Final = 200  # memories in memory at once: of the longest that are allowed, about 40 MB


class MemoryTables:
    """All tables of one `memory.db`. Whoever writes has begun a transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.meta = Meta(database)
        self.rows = Rows(database)
        self.notes = Notes(database)
        self.episodes = Episodes(database)
        self.vectors = MemoryVectors(database)
        self.words = Words(database)
        self.browsing = Browsing(database)

    def generation(self) -> int:
        return self.meta.number(GENERATION)

    def of_rows(self, rows: Sequence[int]) -> dict[int, Memory]:
        """Memories by row. Raises StoreDamaged for a row without its note or episode."""
        found: dict[int, Memory] = {**self.notes.of_rows(rows), **self.episodes.of_rows(rows)}
        if len(found) < len(set(rows)):
            raise self._database.damaged("it lost a part of its notes or episodes")
        return found

    def each(self, what: MemoryType | None = None) -> Iterator[tuple[int, Memory]]:
        """Every memory with its row in the order they were added, a few at a time."""
        last = -1
        while True:
            with self._database.snapshot():  # else one that is forgotten meanwhile would look like a lost one
                block = self.rows.after(last, _BLOCK)
                wanted = [row for row, kind in block if what in (None, kind)]
                found = self.of_rows(wanted)
            yield from ((row, found[row]) for row in wanted)
            if not block:
                return
            last = block[-1][0]

    def add(self, memory: Memory) -> int | None:
        """Store a new memory; returns its row, or None where the id is known: nothing is changed then."""
        if self.rows.kind_of(memory.id) is not None:
            return None
        what: MemoryType = "note" if isinstance(memory, Note) else "episode"
        row = self.rows.add(memory.id, what, memory.created, self._stamp())
        if isinstance(memory, Note):
            self.notes.put(row, memory)
        else:
            self.episodes.put(row, memory)
        self.words.put(row, memory)
        return row

    def rewrite(self, row: int, note: Note) -> None:
        """Write a note in place of the one under the row; vectors of the old text go."""
        self.rows.changed(row, note.created, self._stamp())
        self.notes.put(row, note)
        self.words.put(row, note)
        self.vectors.delete(row)

    def delete(self, rows: Sequence[int]) -> int:
        self.words.delete(rows)
        return self.rows.delete(rows)

    def take(self, memory: Memory) -> tuple[int | None, bool]:
        """Take a memory of another store in: its row here, None where a newer state is here, and whether it is new.

        Of two states of one note the newer counts. Whatever else has the id of another memory gets an id that is
        derived from its content, so that both stay, and that taking it again finds it.
        """
        row = self.add(memory)
        if row is not None:
            return row, True
        here, _ = self.rows.kind_of(memory.id) or (-1, None)
        known = self.of_rows([here])[here]
        if known == memory:
            return here, False
        if isinstance(known, Note) and isinstance(memory, Note) and known.updated != memory.updated:
            if known.updated > memory.updated:
                return None, False
            self.rewrite(here, memory)
            return here, True
        return self.take(_renamed(memory))

    def take_all(self, other: "MemoryTables") -> Merged:
        """Take in everything of another store, vectors included."""

        def taken() -> Iterator[tuple[Memory, bool]]:
            for source, memory in other.each():
                row, new = self.take(memory)
                if row is not None:
                    self.vectors.copy(row, other.vectors.of_row(source))
                yield memory, new

        return _counted(taken())

    def take_some(self, memories: Iterable[Memory]) -> Merged:
        """Take in what comes from elsewhere, such as an export."""
        return _counted((one, self.take(one)[1]) for one in memories)

    def _stamp(self) -> int:
        """The generation that the writing transaction ends with."""
        return self.generation() + 1


def _counted(taken: Iterable[tuple[Memory, bool]]) -> Merged:
    notes = episodes = 0
    for memory, new in taken:
        if isinstance(memory, Note):
            notes += new
        else:
            episodes += new
    return Merged(notes, episodes)


def _renamed(memory: Memory) -> Memory:
    return replace(memory, id=derived_id(memory.id, json.dumps(memory.as_json(), sort_keys=True)))
