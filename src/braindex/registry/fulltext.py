"""Full-text search over index terms that were split and stemmed before they come here."""

# ruff: noqa: S608 - only constants of this room become part of a statement; values are parameters

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from braindex.domain.units import EntityFilter, Terms
from braindex.registry.database import Database, chunks, marks, storable
from braindex.registry.filters import conditions

# The `ascii` tokenizer takes every character beyond ASCII for a part of a word. With the punctuation added,
# only white space and control characters separate, so a term comes back exactly as it was split, in whatever
# script.
_PUNCTUATION: Final = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~".replace("'", "''").replace('"', '""')
TOKENIZER: Final = f"tokenize = \"ascii tokenchars '{_PUNCTUATION}'\""
TABLE: Final = f"CREATE VIRTUAL TABLE fulltext USING fts5(name, parent, signature, path, doc, body, {TOKENIZER})"
SCHEMA: Final = (TABLE, "CREATE VIRTUAL TABLE fulltext_terms USING fts5vocab(fulltext, 'row')")

# Weights of name, parent, signature, path, doc and body.
_BM25: Final = "bm25(fulltext, 3.0, 1.0, 1.0, 2.0, 1.5, 1.0)"
_INSERT: Final = "INSERT INTO fulltext (rowid, name, parent, signature, path, doc, body) VALUES (?, ?, ?, ?, ?, ?, ?)"
# More words than any question means; the rarest say the most.
_MAX_TERMS: Final = 128
# Rows read beyond the cut. Most ties at the cut end within them, and a second reading costs as much as the first.
_SPARE: Final = 400
_MOST_PLACES: Final = 1_500
_LEAST_TERMS: Final = 2
_TOO_MANY_PLACES: Final = 2 * _MOST_PLACES  # some 10 ms
_KEPT_INDEXES: Final = 3
_KEPT_COUNTS: Final = 20_000  # some 2 MB
_SPACE: Final = str.maketrans(dict.fromkeys((*range(33), 127), " "))


class _Counts:
    """Frequencies of the indexes asked last, each until its generation moves; bounded, and safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Path, tuple[object, dict[str, int]]] = OrderedDict()

    def of(self, database: Database) -> dict[str, int]:
        generation = database.value("SELECT value FROM meta WHERE key = 'generation'")
        with self._lock:
            at, counts = self._kept.pop(database.path, (None, {}))
            if at != generation or len(counts) > _KEPT_COUNTS:
                counts = {}
            self._kept[database.path] = generation, counts
            while len(self._kept) > _KEPT_INDEXES:
                self._kept.popitem(last=False)
        return counts


_counts: Final = _Counts()


class FullText:
    """The `fulltext` table: one row an entity, under the entity's row."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, rows: Iterable[tuple[int, Terms]]) -> None:
        self._database.many(_INSERT, ((row, *_columns(terms)) for row, terms in rows))

    def delete(self, rows: Iterable[int]) -> None:
        self._database.many("DELETE FROM fulltext WHERE rowid = ?", [(row,) for row in rows])

    def count(self) -> int:
        return int(self._database.value("SELECT count(*) FROM fulltext_docsize"))

    def clear(self) -> None:
        """Deleting row by row would look up every term of every row."""
        self._database.run("DROP TABLE fulltext")
        self._database.run(TABLE)

    def optimize(self) -> None:
        """Merge the index into one piece, for the fastest search."""
        self._database.run("INSERT INTO fulltext (fulltext) VALUES ('optimize')")

    def frequencies(self, terms: Iterable[str]) -> dict[str, int]:
        """How many entities have each term, in any column; 0 where none has.

        Counting reads the term's whole list, and questions ask for the same terms again and again: this process keeps
        counts until the index changes.
        """
        counts = _counts.of(self._database)
        wanted = list(dict.fromkeys(terms))
        for term in wanted:
            if term not in counts:
                found = self._database.value("SELECT doc FROM fulltext_terms WHERE term = ?", (_folded(term),))
                counts[term] = int(found or 0)
        return {term: counts[term] for term in wanted}

    def in_names(self, term: str) -> bool:
        """Whether a term stands in any name or path."""
        words = _clean([term])
        sql = "SELECT 1 FROM fulltext WHERE fulltext MATCH ? LIMIT 1"
        return bool(words) and bool(self._database.rows(sql, (f"{{name path}} : {_quoted(words[0])}",)))

    def search(self, terms: Sequence[str], limit: int, narrowed: EntityFilter) -> list[tuple[int, float]]:
        """The best `limit` rows with their BM25 scores, best first; ties by path, line, name."""
        rare, frequent = self.searched(terms)
        if len(rare) == _LEAST_TERMS and sum(self.frequencies(rare).values()) > _TOO_MANY_PLACES:
            found = self._of_two(rare, limit, narrowed)
        else:
            found = self._ranked(_any_of(rare), limit, narrowed)
        if frequent and len(found) < limit:
            found = self._ranked(_any_of(rare + frequent), limit, narrowed)
        return found

    def _of_two(self, terms: Sequence[str], limit: int, narrowed: EntityFilter) -> list[tuple[int, float]]:
        """Where even the two rarest terms are in very many rows: those that have both, then those with the rarest."""
        found = self._ranked(" AND ".join(map(_quoted, terms)), limit, narrowed)
        if len(found) < limit:
            rarest = min(terms, key=lambda term: (self.frequencies([term])[term], term))
            known = {row for row, _ in found}
            others = self._ranked(_quoted(rarest), limit, narrowed)
            found += [one for one in others if one[0] not in known][: limit - len(found)]
        return found

    def texts(self, rows: Iterable[int]) -> dict[int, tuple[str, ...]]:
        """The columns of some rows as they were put (name, parent, signature, path, doc, body), read from the table
        that FTS5 keeps them in: a look by row, without a search.
        """
        found: dict[int, tuple[str, ...]] = {}
        for some in chunks(rows):
            sql = f"SELECT id, c0, c1, c2, c3, c4, c5 FROM fulltext_content WHERE id IN ({marks(some)})"
            found.update((one[0], one[1:]) for one in self._database.rows(sql, some))
        return found

    def phrase(self, terms: Sequence[str], limit: int, narrowed: EntityFilter) -> list[int]:
        """Rows with the terms one after the other in one column."""
        words = _clean(terms)
        if not words or limit < 1:
            return []
        condition, parameters = conditions(narrowed)
        sql = (
            "SELECT fulltext.rowid FROM fulltext CROSS JOIN entities ON entities.row = fulltext.rowid "
            f"JOIN files ON files.id = entities.file WHERE fulltext MATCH ? AND {condition} "
            "ORDER BY files.path, entities.line, entities.name LIMIT ?"
        )
        quoted = '"' + " ".join(words).replace('"', '""') + '"'
        return [row for (row,) in self._database.rows(sql, (quoted, *parameters, limit))]

    def searched(self, terms: Sequence[str]) -> tuple[list[str], list[str]]:
        """The terms that a search for these looks for, in the order they came, and those that it looks for as well
        where the first find too few.

        Scoring takes about 2.5 µs a match, whatever the match says, and the rarest terms say the most. So terms are
        taken from the rarest on, until their places are as many as a search can score in a few milliseconds.
        """
        counts = self.frequencies(_clean(terms))
        occurring = sorted((count, term) for term, count in counts.items() if count)[:_MAX_TERMS]
        first: set[str] = set()
        later: set[str] = set()
        places = 0
        for count, term in occurring:
            places += count
            if places <= _MOST_PLACES or len(first) < _LEAST_TERMS:
                first.add(term)
            elif places <= _TOO_MANY_PLACES:
                later.add(term)
        return [term for term in counts if term in first], [term for term in counts if term in later]

    def _ranked(self, words: str, limit: int, narrowed: EntityFilter) -> list[tuple[int, float]]:
        if not words or limit < 1:
            return []
        found = self._past_the_tie(words, limit, narrowed)
        shared = {score for score, count in Counter(score for _, score in found).items() if count > 1}
        keys = self._tie_keys([row for row, score in found if score in shared])
        found.sort(key=lambda one: (one[1], keys.get(one[0], ())))
        return [(row, -score) for row, score in found[:limit]]

    def _past_the_tie(self, words: str, limit: int, narrowed: EntityFilter) -> list[tuple[int, float]]:
        """At least the best `limit`, and all that tie with the last of them: which of those is not SQLite's choice."""
        asked = limit + _SPARE
        while True:
            found = self._match(words, asked, narrowed)
            if len(found) < asked:
                return found
            if found[-1][1] > found[limit - 1][1]:
                return [one for one in found if one[1] <= found[limit - 1][1]]
            asked *= 4

    def _match(self, words: str, limit: int, narrowed: EntityFilter) -> list[tuple[int, float]]:
        """Rows with FTS5's scores, which are negative: the lowest is the best."""
        if narrowed.is_empty:
            sql = f"SELECT rowid, {_BM25} AS score FROM fulltext WHERE fulltext MATCH ? ORDER BY score LIMIT ?"
            return [(row, score) for row, score in self._database.rows(sql, (words, limit))]
        condition, parameters = conditions(narrowed)
        # CROSS JOIN keeps the order: first the matching rows, then whether each is in scope, then the cut.
        sql = (
            f"SELECT fulltext.rowid, {_BM25} AS score FROM fulltext CROSS JOIN entities "
            f"ON entities.row = fulltext.rowid WHERE fulltext MATCH ? AND {condition} ORDER BY score LIMIT ?"
        )
        return [(row, score) for row, score in self._database.rows(sql, (words, *parameters, limit))]

    def _tie_keys(self, rows: Sequence[int]) -> dict[int, tuple[Any, ...]]:
        """(path, line, name, ordinal) by row: an order that does not depend on how the index was built."""
        found: dict[int, tuple[Any, ...]] = {}
        for some in chunks(rows):
            sql = (
                "SELECT row, path, line, name, ordinal FROM entities JOIN files ON files.id = entities.file "
                f"WHERE row IN ({marks(some)})"
            )
            found.update((row[0], row[1:]) for row in self._database.rows(sql, some))
        if len(found) < len(rows):
            raise self._database.damaged("its full-text index names entities that it does not have")
        return found


def _any_of(terms: Sequence[str]) -> str:
    """A query for any of the terms as they are: no operators, no phrases."""
    return " OR ".join(map(_quoted, terms))


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'


def _columns(terms: Terms) -> tuple[str, ...]:
    columns = (terms.name, terms.parent, terms.signature, terms.path, terms.doc, terms.body)
    return tuple(storable(column) for column in columns)


def _clean(terms: Iterable[str]) -> list[str]:
    """Terms as they were indexed: white space and control characters make several of one."""
    return [word for term in terms for word in storable(term).translate(_SPACE).split(" ") if word]


def _folded(term: str) -> str:
    """Lower case in ASCII alone, as the tokenizer folds."""
    return storable(term).encode().lower().decode()
