"""The scanned files, and what was left out with the reason."""

# ruff: noqa: S608 - only constants of this room become part of a statement; values are parameters

from collections.abc import Iterable, Sequence
from typing import Final

from braindex.domain.results import Skipped
from braindex.domain.units import FileRecord
from braindex.registry.database import Database, Row, chunks, marks, storable

SCHEMA: Final = (
    (
        "CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, "
        "mtime_ns INTEGER NOT NULL, digest BLOB NOT NULL, language TEXT NOT NULL, "
        "scanned_ns INTEGER NOT NULL)"
    ),
    "CREATE TABLE skipped (path TEXT NOT NULL, reason TEXT NOT NULL)",
)
REFUSED: Final = (
    "ALTER TABLE files ADD COLUMN refused TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE files ADD COLUMN again INTEGER NOT NULL DEFAULT 0",
)
_COLUMNS: Final = "path, size, mtime_ns, digest, language, scanned_ns, refused, again"
_UPSERT: Final = (
    f"INSERT INTO files ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS.split(", ")[1:])
)
_TOUCH: Final = "UPDATE files SET size = ?, mtime_ns = ?, scanned_ns = ? WHERE path = ? AND digest = ?"


class Files:
    """The `files` and `skipped` tables."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> dict[str, FileRecord]:
        rows = self._database.rows(f"SELECT {_COLUMNS} FROM files ORDER BY path")
        return {row[0]: _record(row) for row in rows}

    def count(self) -> int:
        """Indexed files; those that were refused are none."""
        return int(self._database.value("SELECT count(*) FROM files WHERE refused = ''"))

    def put(self, records: Iterable[FileRecord]) -> None:
        self._database.many(
            _UPSERT,
            [
                (r.path, r.size, r.mtime_ns, r.digest, r.language, r.scanned_ns, storable(r.refused), r.again)
                for r in records
            ],
        )

    def touch(self, records: Iterable[FileRecord]) -> None:
        self._database.many(_TOUCH, [(r.size, r.mtime_ns, r.scanned_ns, r.path, r.digest) for r in records])

    def ids(self, paths: Iterable[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for some in chunks(paths):
            sql = f"SELECT path, id FROM files WHERE path IN ({marks(some)})"
            found.update(self._database.rows(sql, [storable(path) for path in some]))
        return found

    def delete(self, ids: Iterable[int]) -> int:
        return self._database.many("DELETE FROM files WHERE id = ?", [(one,) for one in ids])

    def skip(self, rows: Sequence[Skipped]) -> None:
        """Replace the whole list."""
        self._database.run("DELETE FROM skipped")
        self._database.many(
            "INSERT INTO skipped VALUES (?, ?)", [(storable(row.path), storable(row.reason)) for row in rows]
        )

    def skipped(self) -> tuple[Skipped, ...]:
        return tuple(Skipped(*row) for row in self._database.rows("SELECT path, reason FROM skipped ORDER BY path"))


def _record(row: Row) -> FileRecord:
    path, size, mtime_ns, digest, language, scanned_ns, refused, again = row
    return FileRecord(path, size, mtime_ns, digest, language, scanned_ns, refused, bool(again))
