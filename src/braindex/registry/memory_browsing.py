"""Notes and episodes looked through together: filtered, counted and paged in the database."""

# ruff: noqa: S608 - only constants of this room become part of a statement; values are parameters

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Final

from braindex.domain.memories import (
    MIN_ID_PREFIX,
    About,
    MemoryType,
    NotAReference,
    checked_path,
    checked_reference,
    checked_time,
)
from braindex.domain.recall import telling_terms
from braindex.domain.words import terms
from braindex.registry.database import Database, storable

_FROM: Final = "FROM memories LEFT JOIN notes USING (row) LEFT JOIN episodes USING (row)"
_BELOW: Final = "(path = ? OR (path > ? || '/' AND path < ? || '0'))"  # "0" is the character after "/"
_TIED: Final = (
    "memories.row IN (SELECT row FROM about JOIN json_each(?) AS one ON about.path = json_extract(one.value, '$[0]') "
    "AND about.qualified_name = json_extract(one.value, '$[1]') AND about.digest = json_extract(one.value, '$[2]'))"
)
_NOTHING: Final = "0"


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """Which notes and episodes are meant; None, and "" for `words`, lets everything through.

    Each of the `words` has to be in it, as the index splits and stems them, or they are the beginning of its id.
    `category` is a note's, whatever the case of ASCII letters, `kind` an episode's; `client` is who asked for a note or
    took the turn. From `since` up to and without `until`, times in ISO 8601. `path` is a file, or a folder with all
    below it, that a note is about or an episode touched.
    """

    words: str = ""
    what: MemoryType | None = None
    category: str | None = None
    kind: str | None = None
    client: str | None = None
    since: str | None = None
    until: str | None = None
    path: str | None = None


class Browsing:
    """What is asked of the `memories`, `notes`, `episodes`, `about` and `words` tables together."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def page(self, narrowed: MemoryFilter, tied: Collection[About] | None, limit: int, offset: int) -> list[int]:
        """Rows, the newest first, then by id. With `tied`, only notes with one of these very ties."""
        where, parameters = _conditions(narrowed, tied)
        sql = f"SELECT memories.row {_FROM} WHERE {where} ORDER BY created DESC, id LIMIT ? OFFSET ?"
        return [row for (row,) in self._database.rows(sql, (*parameters, limit, offset))]

    def count(self, narrowed: MemoryFilter, tied: Collection[About] | None) -> int:
        where, parameters = _conditions(narrowed, tied)
        return int(self._database.value(f"SELECT count(*) {_FROM} WHERE {where}", parameters))

    def ties(self) -> list[About]:
        """What notes are tied to and know the state of, each tie once."""
        sql = "SELECT DISTINCT path, qualified_name, digest FROM about WHERE digest <> '' ORDER BY path, qualified_name"
        return [About(*row) for row in self._database.rows(sql)]

    def clients(self) -> dict[str, int]:
        """How many memories are of each client, the most frequent first."""
        sql = (
            "SELECT one, count(*) FROM (SELECT author AS one FROM notes UNION ALL SELECT client FROM episodes) "
            "WHERE one <> '' GROUP BY one ORDER BY count(*) DESC, one"
        )
        return dict(self._database.rows(sql))

    def kinds(self) -> dict[str, int]:
        """How many episodes are of each kind, the most frequent first."""
        return dict(self._database.rows("SELECT kind, count(*) FROM episodes GROUP BY kind ORDER BY 2 DESC, kind"))


def _conditions(narrowed: MemoryFilter, tied: Collection[About] | None) -> tuple[str, list[Any]]:
    """A statement's WHERE with its parameters. Raises NotATime, Missing, TooLong, NotText."""
    wanted = list(_wanted(narrowed))
    if tied is not None:
        ties = json.dumps([(one.path, one.qualified_name, one.digest) for one in tied])
        wanted.append((_TIED, [ties]))
    where = " AND ".join(sql for sql, _ in wanted) or "1"
    return where, [value for _, values in wanted for value in values]


def _wanted(narrowed: MemoryFilter) -> Iterator[tuple[str, list[Any]]]:
    columns = {"type": narrowed.what, "category": narrowed.category, "kind": narrowed.kind}
    yield from ((f"{column} = ?", [storable(value)]) for column, value in columns.items() if value is not None)
    if narrowed.client is not None:
        yield "coalesce(author, client) = ?", [storable(narrowed.client)]
    if narrowed.since is not None:
        yield "created >= ?", [checked_time("the beginning", narrowed.since)]
    if narrowed.until is not None:
        yield "created < ?", [checked_time("the end", narrowed.until)]
    if narrowed.path is not None:
        path = checked_path("the path of memories", narrowed.path)
        tied = f"SELECT row FROM about WHERE {_BELOW} UNION ALL SELECT row FROM episode_files WHERE {_BELOW}"
        yield f"memories.row IN ({tied})", [path] * 6
    if narrowed.words.strip():
        yield _said(narrowed.words)


def _said(words: str) -> tuple[str, list[Any]]:
    ways, parameters = list[str](), list[Any]()
    wanted = telling_terms(words) or list(dict.fromkeys(terms(words)))
    if wanted:
        ways.append("memories.row IN (SELECT rowid FROM words WHERE words MATCH ?)")
        parameters.append(" AND ".join(f'"{term}"' for term in wanted))
    prefix = _prefix(words)
    if prefix:
        ways.append("(id >= ? AND id < ?)")
        parameters += [prefix, prefix + "g"]  # "g" comes after every hex digit
    return f"({' OR '.join(ways) or _NOTHING})", parameters


def _prefix(words: str) -> str:
    text = words.strip()
    try:
        return checked_reference(text) if len(text) >= MIN_ID_PREFIX else ""
    except NotAReference:
        return ""
