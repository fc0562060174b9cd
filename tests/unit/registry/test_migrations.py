import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from braindex.registry import index, workspaces
from braindex.registry.database import Database
from braindex.registry.failures import StoreError, StoreTooNew
from braindex.registry.migrations import Migration, applied, open_store, running_version

FIRST = Migration("notes-1", ("CREATE TABLE notes (text TEXT)",))
SECOND = Migration("notes-2", ("ALTER TABLE notes ADD COLUMN day TEXT", "UPDATE notes SET day = 'Monday'"))
BROKEN = Migration("notes-3", ("ALTER TABLE notes ADD COLUMN hour TEXT", "UPDATE nowhere SET hour = 1"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.db"


def test_a_new_store_gets_every_migration_with_the_version_that_applied_it(path: Path) -> None:
    with open_store(path, (FIRST, SECOND)) as database:
        assert applied(database) == {"notes-1": running_version(), "notes-2": running_version()}


def test_a_store_of_the_first_schema_is_brought_up_to_date_with_its_content(path: Path) -> None:
    with open_store(path, (FIRST,)) as database:
        database.run("INSERT INTO notes VALUES ('kept')")
    with open_store(path, (FIRST, SECOND)) as database:
        assert database.rows("SELECT text, day FROM notes") == [("kept", "Monday")]


def test_a_migration_that_fails_is_undone_whole(path: Path) -> None:
    open_store(path, (FIRST, SECOND)).close()
    with pytest.raises(StoreError):
        open_store(path, (FIRST, SECOND, BROKEN))
    with open_store(path, (FIRST, SECOND)) as database:
        assert [row[1] for row in database.rows("PRAGMA table_info(notes)")] == ["text", "day"]


def test_a_store_of_a_newer_version_is_not_touched_and_the_version_is_named(path: Path) -> None:
    with open_store(path, (FIRST, SECOND)) as database:
        database.run("UPDATE migrations SET version = '9.1' WHERE name = 'notes-2'")
    before = path.read_bytes()
    with pytest.raises(StoreTooNew, match=r"written by braindex 9\.1.*Install braindex 9\.1 or later"):
        open_store(path, (FIRST,))
    assert path.read_bytes() == before


def test_what_cannot_be_rebuilt_is_copied_before_it_is_changed(path: Path) -> None:
    with open_store(path, (FIRST,), keep_copy=True) as database:
        database.run("INSERT INTO notes VALUES ('kept')")
    assert [one.name for one in path.parent.iterdir()] == ["notes.db"]
    open_store(path, (FIRST, SECOND), keep_copy=True).close()
    copy = sqlite3.connect(path.with_name("notes.db.before-notes-2"))
    assert copy.execute("SELECT * FROM notes").fetchall() == [("kept",)]
    copy.close()


@pytest.mark.parametrize("migrations", [index.MIGRATIONS, workspaces.MIGRATIONS])
def test_every_released_schema_leads_to_the_newest(path: Path, migrations: tuple[Migration, ...]) -> None:
    with open_store(path.with_name("new.db"), migrations) as database:
        newest = database.rows("SELECT name, sql FROM sqlite_master ORDER BY name")
    for count in range(1, len(migrations) + 1):
        old = path.with_name(f"{count}.db")
        open_store(old, migrations[:count]).close()
        with open_store(old, migrations) as database:
            assert database.rows("SELECT name, sql FROM sqlite_master ORDER BY name") == newest
            assert database.problems() == []


def test_a_new_file_that_another_opener_migrates_meanwhile_is_not_taken_for_a_foreign_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = Database.value
    others: list[Path] = []

    def look_and_be_overtaken(database: Database, sql: str, parameters: Sequence[Any] = ()) -> Any:
        found = look(database, sql, parameters)
        if not others and "sqlite_master" in sql:
            others.append(path)
            open_store(path, index.MIGRATIONS).close()
        return found

    monkeypatch.setattr(Database, "value", look_and_be_overtaken)
    with open_store(path, index.MIGRATIONS) as store:
        assert list(applied(store)) == [one.name for one in index.MIGRATIONS]
    assert others == [path]
