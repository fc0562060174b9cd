"""The entities: every column of `CodeEntity`, one row an entity."""

# ruff: noqa: S608 - only constants of this room become part of a statement; values are parameters

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from braindex.domain.entities import CodeEntity, EntityHead
from braindex.domain.units import EntityFilter, StoredEntity, Unit
from braindex.registry.database import Database, Row, chunks, marks, storable
from braindex.registry.filters import conditions
from braindex.registry.meta import Counts

# AUTOINCREMENT: the row of a deleted entity is never given to another, so what a reader remembers cannot
# change its meaning. The keys are case-folded by Unicode's rules, which SQLite does not know; no second one
# where both are equal.
SCHEMA: Final = (
    (
        "CREATE TABLE entities (row INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, "
        "file INTEGER NOT NULL REFERENCES files (id), kind TEXT NOT NULL, name TEXT NOT NULL, "
        "qualified_name TEXT NOT NULL, parent TEXT NOT NULL, language TEXT NOT NULL, line INTEGER NOT NULL, "
        "end_line INTEGER NOT NULL, signature TEXT NOT NULL, return_type TEXT, param_count INTEGER, "
        "decorators TEXT, docstring TEXT NOT NULL, ordinal INTEGER NOT NULL, start INTEGER NOT NULL, "
        "stop INTEGER NOT NULL, digest BLOB NOT NULL, name_key TEXT NOT NULL, qualified_key TEXT)"
    ),
    "CREATE INDEX entities_file ON entities (file)",
    "CREATE INDEX entities_name ON entities (name_key)",
    "CREATE INDEX entities_qualified_name ON entities (qualified_key) WHERE qualified_key IS NOT NULL",
)
_COLUMNS: Final = (
    "id", "file", "kind", "name", "qualified_name", "parent", "language", "line", "end_line", "signature",
    "return_type", "param_count", "decorators", "docstring", "ordinal", "start", "stop", "digest", "name_key",
    "qualified_key",
)  # fmt: skip
_INSERT: Final = f"INSERT INTO entities (row, {', '.join(_COLUMNS)}) VALUES (?, {marks(_COLUMNS)})"
_UPDATE: Final = f"UPDATE entities SET {', '.join(f'{one} = ?' for one in _COLUMNS)} WHERE row = ?"
_HEAD: Final = (
    "SELECT row, entities.id, path, kind, name, qualified_name, parent, entities.language, line, end_line "
    "FROM entities JOIN files ON files.id = entities.file"
)
_SELECT: Final = (
    "SELECT row, entities.id, path, kind, name, qualified_name, parent, entities.language, line, end_line, "
    "signature, return_type, param_count, decorators, docstring, ordinal, start, stop, files.digest "
    "FROM entities JOIN files ON files.id = entities.file"
)


class Entities:
    """The `entities` table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def next_row(self) -> int:
        """The first row that was never used."""
        return 1 + (self._database.value("SELECT seq FROM sqlite_sequence WHERE name = 'entities'") or 0)

    def insert(self, rows: Iterable[tuple[int, int, Unit]]) -> None:
        """(row, file id, unit) each."""
        self._database.many(_INSERT, ((row, *_values(file, unit)) for row, file, unit in rows))

    def update(self, rows: Iterable[tuple[int, int, Unit]]) -> None:
        self._database.many(_UPDATE, ((*_values(file, unit), row) for row, file, unit in rows))

    def delete(self, rows: Iterable[int]) -> int:
        return self._database.many("DELETE FROM entities WHERE row = ?", [(row,) for row in rows])

    def known(self, column: str, values: Iterable[Any]) -> dict[str, tuple[int, bytes]]:
        """Row and digest by id, of the entities whose `file` or `id` is among the values."""
        found: dict[str, tuple[int, bytes]] = {}
        for some in chunks(values):
            sql = f"SELECT id, row, digest FROM entities WHERE {column} IN ({marks(some)})"
            found.update((one, (row, digest)) for one, row, digest in self._database.rows(sql, some))
        return found

    def marks(self) -> Iterator[tuple[str, bytes]]:
        """Id and digest of every entity."""
        return ((one, digest) for one, digest in self._database.stream("SELECT id, digest FROM entities"))

    def digests(self, path: str) -> dict[str, bytes]:
        sql = "SELECT id, digest FROM entities WHERE file = (SELECT id FROM files WHERE path = ?)"
        return dict(self._database.rows(sql, (storable(path),)))

    def of_rows(self, rows: Iterable[int]) -> dict[int, StoredEntity]:
        found: dict[int, StoredEntity] = {}
        for some in chunks(rows):
            for row in self._database.rows(f"{_SELECT} WHERE row IN ({marks(some)})", some):
                found[row[0]] = _stored(row)
        return found

    def heads(self, rows: Iterable[int]) -> dict[int, EntityHead]:
        found: dict[int, EntityHead] = {}
        for some in chunks(rows):
            for row, *values in self._database.rows(f"{_HEAD} WHERE row IN ({marks(some)})", some):
                found[row] = EntityHead._make(values)
        return found

    def of_file(self, path: str) -> list[StoredEntity]:
        rows = self._database.rows(f"{_SELECT} WHERE path = ? ORDER BY start, stop DESC, row", (storable(path),))
        return [_stored(row) for row in rows]

    def of_folder(self, folder: str, name: str) -> list[StoredEntity]:
        """What in the files of a folder, subfolders apart, has a name or a parent of that name; in source order."""
        prefix = f"{folder}/" if folder else ""
        low, high = (prefix, f"{folder}0") if folder else ("", "\U0010ffff")  # "0" follows "/"
        sql = (
            f"{_SELECT} WHERE path >= ? AND path < ? AND instr(substr(path, ?), '/') = 0 AND (name = ? OR parent = ?) "
            "ORDER BY path, start, stop DESC, row"
        )
        word = storable(name)
        found = self._database.rows(sql, (storable(low), storable(high), len(prefix) + 1, word, word))
        return [_stored(row) for row in found]

    def first_inside(self, path: str, start: int, end: int, after_line: int) -> int | None:
        """The first line beyond `after_line` on which something inside a span begins, blocks of code apart."""
        sql = (
            "SELECT min(line) FROM entities WHERE file = (SELECT id FROM files WHERE path = ?) "
            "AND start > ? AND stop <= ? AND line > ? AND kind <> 'code-block'"
        )
        found: int | None = self._database.value(sql, (storable(path), start, end, after_line))
        return found

    def rows_of(self, ids: Iterable[str]) -> dict[str, int]:
        return {one: row for one, (row, _) in self.known("id", [storable(one) for one in ids]).items()}

    def rows(self, narrowed: EntityFilter) -> list[int]:
        condition, parameters = conditions(narrowed)
        return [row[0] for row in self._database.rows(f"SELECT row FROM entities WHERE {condition}", parameters)]

    def count(self, narrowed: EntityFilter) -> int:
        condition, parameters = conditions(narrowed)
        return int(self._database.value(f"SELECT count(*) FROM entities WHERE {condition}", parameters))

    def rows_by_name(self, names: Iterable[str], narrowed: EntityFilter) -> list[int]:
        """Rows whose name or qualified name is one of the names, whatever the case; by path, line, name."""
        condition, parameters = conditions(narrowed)
        found: dict[int, tuple[Any, ...]] = {}
        for some in chunks(dict.fromkeys(storable(name).casefold() for name in names)):
            for key in ("name_key", "qualified_key"):
                sql = (
                    "SELECT row, path, line, name, ordinal FROM entities "
                    f"JOIN files ON files.id = entities.file WHERE {key} IN ({marks(some)}) AND {condition}"
                )
                found.update((row[0], row[1:]) for row in self._database.rows(sql, [*some, *parameters]))
        return sorted(found, key=lambda row: (found[row], row))

    def names_beginning(self, start: str) -> dict[str, int]:
        """The names that begin with some letters, whatever the case, and how many entities have each."""
        low = storable(start).casefold()
        sql = "SELECT name, count(*) FROM entities WHERE name_key >= ? AND name_key < ? GROUP BY name"
        return dict(self._database.rows(sql, (low, low[:-1] + chr(ord(low[-1]) + 1)))) if low else {}

    def files_called(self, name: str, narrowed: EntityFilter) -> dict[str, int]:
        """Row of the `file` entity by path, of every file of a name, whatever the case; by path."""
        condition, parameters = conditions(narrowed)
        sql = (
            "SELECT path, row FROM entities JOIN files ON files.id = entities.file "
            f"WHERE name_key = ? AND kind = 'file' AND {condition} ORDER BY path"
        )
        return dict(self._database.rows(sql, (storable(name).casefold(), *parameters)))

    def files_in(self, name: str) -> list[int]:
        """Rows of the `file` entities of every file whose folder has a name, in its own case; by path."""
        folder = "'/' || rtrim(path, replace(path, '/', ''))"  # SQLite has no search from the end
        sql = (
            "SELECT row FROM files JOIN entities ON entities.file = files.id AND kind = 'file' "
            f"WHERE substr({folder}, ?) = ? ORDER BY path"
        )
        tail = f"/{storable(name)}/"
        return [row[0] for row in self._database.rows(sql, (-len(tail), tail))]

    def around(self, path: str, line: int) -> dict[int, str]:
        """Name by row of the entities whose lines hold a line, the innermost first, the file itself left out."""
        sql = (
            "SELECT row, name FROM entities WHERE file = (SELECT id FROM files WHERE path = ?) "
            "AND line <= ? AND end_line >= ? AND kind <> 'file' ORDER BY line DESC, end_line, row"
        )
        return dict(self._database.rows(sql, (storable(path), line, line)))

    def totals(self) -> Counts:
        """Entities by language and by kind, the most frequent first. Reads the whole table, once."""
        languages: Counter[str] = Counter()
        kinds: Counter[str] = Counter()
        sql = "SELECT language, kind, count(*) FROM entities GROUP BY 1, 2"
        for language, kind, number in self._database.rows(sql):
            languages[language] += number
            kinds[kind] += number
        return _by_size(languages), _by_size(kinds)


def _by_size(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def _values(file: int, unit: Unit) -> Sequence[Any]:
    one = unit.entity
    name, qualified = storable(one.name), storable(one.qualified_name)
    return (
        unit.id, file, one.kind, name, qualified, storable(one.parent), one.language, one.line, one.end_line,
        storable(one.signature), None if one.return_type is None else storable(one.return_type),
        one.param_count, json.dumps(one.decorators) if one.decorators else None, storable(one.docstring),
        one.ordinal, one.start, one.end, unit.digest, name.casefold(),
        None if qualified == name else qualified.casefold(),
    )  # fmt: skip


def _stored(row: Row) -> StoredEntity:
    decorators = tuple(json.loads(row[13])) if row[13] else ()
    entity = CodeEntity(*(*row[2:13], decorators, *row[14:18]))
    return StoredEntity(row[0], row[1], entity, row[18])
