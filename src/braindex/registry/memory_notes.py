"""Notes, and what each is tied to."""

# ruff: noqa: S608 - only constants of this room become part of a statement; values are parameters

from collections.abc import Sequence
from typing import Any, Final

from braindex.domain.memories import About, Note
from braindex.registry.database import Database, Row, chunks, marks

SCHEMA: Final = (
    (
        "CREATE TABLE notes (row INTEGER PRIMARY KEY REFERENCES memories ON DELETE CASCADE, text TEXT NOT NULL, "
        "category TEXT NOT NULL COLLATE NOCASE, author TEXT NOT NULL, source TEXT NOT NULL, updated TEXT NOT NULL)"
    ),
    "CREATE INDEX notes_category ON notes (category)",
    (
        "CREATE TABLE about (row INTEGER NOT NULL REFERENCES notes ON DELETE CASCADE, position INTEGER NOT NULL, "
        "path TEXT NOT NULL, qualified_name TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (row, position)) "
        "WITHOUT ROWID"
    ),
    "CREATE INDEX about_path ON about (path, qualified_name)",
)
_SELECT: Final = "SELECT row, id, text, category, author, created, updated, source FROM memories JOIN notes USING (row)"
_PUT: Final = "INSERT OR REPLACE INTO notes (row, text, category, author, source, updated) VALUES (?, ?, ?, ?, ?, ?)"
# A path, and what is below it: "0" is the character after "/".
_BELOW: Final = "(path = ? OR (path > ? || '/' AND path < ? || '0'))"


class Notes:
    """The `notes` and `about` tables, under the rows of `memories`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, row: int, note: Note) -> None:
        """Write a note whole, in place of what was there under the row."""
        self._database.run(_PUT, (row, note.text, note.category, note.author, note.source, note.updated))
        self._database.run("DELETE FROM about WHERE row = ?", (row,))
        self._database.many(
            "INSERT INTO about VALUES (?, ?, ?, ?, ?)",
            [(row, place, one.path, one.qualified_name, one.digest) for place, one in enumerate(note.about)],
        )

    def of_rows(self, rows: Sequence[int]) -> dict[int, Note]:
        """Notes by row; rows without one are left out."""
        found: dict[int, Note] = {}
        for some in chunks(rows):
            found.update(self._whole(self._database.rows(f"{_SELECT} WHERE row IN ({marks(some)})", some)))
        return found

    def page(self, category: str | None, about: About | None, limit: int, offset: int) -> list[Note]:
        """Newest first, then by id. `category` whatever the case of ASCII letters; `about` with all below a folder."""
        where, parameters = _conditions(category, about)
        sql = f"{_SELECT} WHERE type = 'note' {where} ORDER BY created DESC, id LIMIT ? OFFSET ?"
        rows = self._database.rows(sql, (*parameters, limit, offset))
        return list(self._whole(rows).values())

    def categories(self) -> dict[str, int]:
        """Counts of notes, the most frequent category first."""
        sql = "SELECT category, count(*) FROM notes GROUP BY category ORDER BY count(*) DESC, category"
        return dict(self._database.rows(sql))

    def _whole(self, rows: Sequence[Row]) -> dict[int, Note]:
        """The notes of some rows of `_SELECT`, in their order, with what each is about."""
        tied = self._about([row[0] for row in rows])
        return {
            row: Note(identifier, text, category, author, created, updated, tuple(tied.get(row, ())), source)
            for row, identifier, text, category, author, created, updated, source in rows
        }

    def _about(self, rows: Sequence[int]) -> dict[int, list[About]]:
        found: dict[int, list[About]] = {}
        for some in chunks(rows):
            sql = (
                f"SELECT row, path, qualified_name, digest FROM about WHERE row IN ({marks(some)}) "
                "ORDER BY row, position"
            )
            for row, *one in self._database.rows(sql, some):
                found.setdefault(row, []).append(About(*one))
        return found


def _conditions(category: str | None, about: About | None) -> tuple[str, list[Any]]:
    where, parameters = "", list[Any]()
    if category is not None:
        where += "AND category = ? "
        parameters.append(category)
    if about is not None:
        named = "AND qualified_name = ?" if about.qualified_name else ""
        where += f"AND row IN (SELECT row FROM about WHERE {_BELOW} {named}) "
        parameters += [about.path] * 3 + [about.qualified_name] * bool(about.qualified_name)
    return where, parameters
