"""Episodes, and the files that each touched."""

# ruff: noqa: S608 - only constants of this room become part of a statement; values are parameters

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from braindex.domain.memories import Episode, checked_path, checked_time
from braindex.registry.database import Database, Row, chunks, marks

SCHEMA: Final = (
    (
        "CREATE TABLE episodes (row INTEGER PRIMARY KEY REFERENCES memories ON DELETE CASCADE, kind TEXT NOT NULL, "
        "client TEXT NOT NULL, session TEXT NOT NULL, prompt TEXT NOT NULL, summary TEXT NOT NULL, "
        'outcome TEXT NOT NULL, "commit" TEXT NOT NULL)'
    ),
    (
        "CREATE TABLE episode_files (row INTEGER NOT NULL REFERENCES episodes ON DELETE CASCADE, "
        "position INTEGER NOT NULL, path TEXT NOT NULL, PRIMARY KEY (row, position)) WITHOUT ROWID"
    ),
    "CREATE INDEX episode_files_path ON episode_files (path)",
)
_SELECT: Final = (
    'SELECT row, id, kind, client, session, created, prompt, summary, outcome, "commit" '
    "FROM memories JOIN episodes USING (row)"
)
_BELOW: Final = "row IN (SELECT row FROM episode_files WHERE path = ? OR (path > ? || '/' AND path < ? || '0'))"


@dataclass(frozen=True, slots=True)
class EpisodeFilter:
    """Which episodes are meant; None lets everything through.

    From `since` up to and without `until`, both times in ISO 8601; `path` is a file, or a folder with all below it.
    """

    since: str | None = None
    until: str | None = None
    kind: str | None = None
    client: str | None = None
    session: str | None = None
    path: str | None = None

    def conditions(self) -> tuple[str, list[Any]]:
        """What to add to a statement's WHERE, with its parameters. Raises NotATime, Missing, TooLong, NotText."""
        wanted: list[tuple[str, list[Any]]] = []
        if self.since is not None:
            wanted.append(("created >= ?", [checked_time("the beginning", self.since)]))
        if self.until is not None:
            wanted.append(("created < ?", [checked_time("the end", self.until)]))
        named = {"kind": self.kind, "client": self.client, "session": self.session}
        wanted += [(f"{column} = ?", [value]) for column, value in named.items() if value is not None]
        if self.path is not None:
            wanted.append((_BELOW, [checked_path("the path of episodes", self.path)] * 3))
        return "".join(f"AND {sql} " for sql, _ in wanted), [one for _, values in wanted for one in values]


class Episodes:
    """The `episodes` and `episode_files` tables, under the rows of `memories`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, row: int, one: Episode) -> None:
        self._database.run(
            "INSERT INTO episodes VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (row, one.kind, one.client, one.session, one.prompt, one.summary, one.outcome, one.commit),
        )
        self._database.many(
            "INSERT INTO episode_files VALUES (?, ?, ?)",
            [(row, place, path) for place, path in enumerate(one.files)],
        )

    def of_rows(self, rows: Sequence[int]) -> dict[int, Episode]:
        """Episodes by row; rows without one are left out."""
        found: dict[int, Episode] = {}
        for some in chunks(rows):
            found.update(self._whole(self._database.rows(f"{_SELECT} WHERE row IN ({marks(some)})", some)))
        return found

    def page(self, narrowed: EpisodeFilter, limit: int, offset: int) -> list[Episode]:
        """Newest first, then by id."""
        where, parameters = narrowed.conditions()
        sql = f"{_SELECT} WHERE type = 'episode' {where} ORDER BY created DESC, id LIMIT ? OFFSET ?"
        return list(self._whole(self._database.rows(sql, (*parameters, limit, offset))).values())

    def count(self, narrowed: EpisodeFilter) -> int:
        where, parameters = narrowed.conditions()
        sql = f"SELECT count(*) FROM memories JOIN episodes USING (row) WHERE type = 'episode' {where}"
        return int(self._database.value(sql, parameters))

    def before(self, time: str) -> list[int]:
        """Rows of the episodes that are older."""
        sql = "SELECT row FROM memories WHERE type = 'episode' AND created < ?"
        return [row for (row,) in self._database.rows(sql, (time,))]

    def _whole(self, rows: Sequence[Row]) -> dict[int, Episode]:
        """The episodes of some rows of `_SELECT`, in their order, with the files of each."""
        files: dict[int, list[str]] = {}
        for some in chunks(row[0] for row in rows):
            sql = f"SELECT row, path FROM episode_files WHERE row IN ({marks(some)}) ORDER BY row, position"
            for row, path in self._database.rows(sql, some):
                files.setdefault(row, []).append(path)
        return {
            row: Episode(
                identifier, kind, client, session, created, prompt, summary, outcome, tuple(files.get(row, ())), commit
            )
            for row, identifier, kind, client, session, created, prompt, summary, outcome, commit in rows
        }
