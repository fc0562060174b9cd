"""Notes and episodes by their words. Index terms are split as those of code are (`domain.words`)."""

from collections.abc import Iterable, Sequence
from typing import Final

from braindex.domain.memories import Memory, MemoryType, Note
from braindex.domain.words import TOKEN, terms
from braindex.registry.database import Database

# Terms are letters and digits of any script, which are just what the `ascii` tokenizer does not split at.
SCHEMA: Final = (
    "CREATE VIRTUAL TABLE words USING fts5(body, label, tokenize = 'ascii')",
    "CREATE VIRTUAL TABLE words_terms USING fts5vocab(words, 'row')",
)
# A pasted prompt has thousands of words; the rarest say the most.
_MAX_TERMS: Final = 64


class Words:
    """The `words` table: one row a memory, under its row."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, row: int, memory: Memory) -> None:
        """Index a memory in place of what was there under the row."""
        self.delete([row])
        body, label = _texts(memory)
        self._database.run(
            "INSERT INTO words (rowid, body, label) VALUES (?, ?, ?)", (row, " ".join(terms(body)), _labels(label))
        )

    def delete(self, rows: Iterable[int]) -> None:
        self._database.many("DELETE FROM words WHERE rowid = ?", [(row,) for row in rows])

    def frequencies(self, wanted: Iterable[str]) -> dict[str, int]:
        """How many memories have each term; 0 where none has."""
        sql = "SELECT doc FROM words_terms WHERE term = ?"
        return {term: int(self._database.value(sql, (term,)) or 0) for term in dict.fromkeys(_clean(wanted))}

    def search(
        self, wanted: Sequence[str], limit: int, what: MemoryType | None, since: str | None
    ) -> list[tuple[str, float]]:
        """The best `limit` ids with their BM25 scores (higher is better); ties by time, the newest first, then id."""
        kept = self._rarest(wanted)
        if not kept:
            return []
        sql = (
            "SELECT id, -bm25(words) AS score FROM words CROSS JOIN memories ON memories.row = words.rowid "
            "WHERE words MATCH ? AND (? IS NULL OR type = ?) AND (? IS NULL OR created >= ?) "
            "ORDER BY score DESC, created DESC, id LIMIT ?"
        )
        match = " OR ".join(f'"{term}"' for term in kept)
        return [(one, score) for one, score in self._database.rows(sql, (match, what, what, since, since, limit))]

    def _rarest(self, wanted: Sequence[str]) -> list[str]:
        counts = self.frequencies(wanted)
        occurring = sorted((count, term) for term, count in counts.items() if count)
        return [term for _, term in occurring[:_MAX_TERMS]]


def _texts(memory: Memory) -> tuple[str, Iterable[str]]:
    """What a memory says, and the names it goes by."""
    if isinstance(memory, Note):
        tied = (name for one in memory.about for name in (one.path, one.qualified_name))
        return memory.text, (memory.category, *tied)
    return f"{memory.prompt}\n{memory.summary}", (memory.kind, memory.outcome, *memory.files)


def _labels(names: Iterable[str]) -> str:
    return " ".join(term for name in names for term in terms(name))


def _clean(wanted: Iterable[str]) -> list[str]:
    """Terms as the tokenizer gives them back: whatever is no letter or digit separates, ASCII is lower case."""
    return [word.lower() for term in wanted for word in TOKEN.findall(term.replace("_", " "))]
