import sqlite3
import stat
import sys
from pathlib import Path

import pytest

from braindex.domain.errors import BraindexError
from braindex.registry.database import Database, chunks, storable
from braindex.registry.failures import StoreDamaged, StoreFailed, StoreLocked
from braindex.registry.migrations import Migration, open_store

NOTES = (Migration("notes-1", ("CREATE TABLE notes (text TEXT NOT NULL)",)),)


def notes(database: Database) -> list[str]:
    return [row[0] for row in database.rows("SELECT text FROM notes ORDER BY rowid")]


def add(database: Database, text: str) -> None:
    database.run("INSERT INTO notes VALUES (?)", (text,))


def fail_after(database: Database, text: str) -> None:
    with database.transaction():
        add(database, text)
        raise ZeroDivisionError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "brain" / "notes.db"


def test_what_is_written_is_there_after_reopening(path: Path) -> None:
    with open_store(path, NOTES) as database, database.transaction():
        add(database, "Ativação 记忆 😀")
    with open_store(path, NOTES) as database:
        assert notes(database) == ["Ativação 记忆 😀"]


def test_it_reads_while_another_connection_is_writing(path: Path) -> None:
    with open_store(path, NOTES) as writer, open_store(path, NOTES) as reader:
        with writer.transaction():
            add(writer, "new")
            assert notes(reader) == []
        assert notes(reader) == ["new"]


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")
def test_new_files_and_folders_are_for_their_owner_alone(path: Path) -> None:
    with open_store(path, NOTES) as database:
        add(database, "x")
        modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in path.parent.iterdir()}
    assert set(modes.values()) == {0o600}
    assert {"notes.db", "notes.db-wal", "notes.db-shm"} <= set(modes)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")
def test_looking_at_a_file_that_is_locked_says_so_at_once_and_is_not_left_to_the_first_read(path: Path) -> None:
    Database.open(path).close()
    held = sqlite3.connect(path, isolation_level=None)
    held.execute("PRAGMA locking_mode = EXCLUSIVE")
    held.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreLocked):  # a read would wait as long once more
        Database.reading(path, busy_seconds=0.0)
    held.close()
    with Database.reading(path, busy_seconds=0.0) as looking:
        assert looking.value("SELECT 1") == 1


def test_a_file_that_others_can_read_is_tightened(path: Path) -> None:
    open_store(path, NOTES).close()
    path.chmod(0o644)
    open_store(path, NOTES).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_transaction_that_fails_leaves_nothing(path: Path) -> None:
    with open_store(path, NOTES) as database:
        with pytest.raises(ZeroDivisionError):
            fail_after(database, "lost")
        add(database, "kept")
        assert notes(database) == ["kept"]


def test_an_inner_transaction_can_fail_alone(path: Path) -> None:
    with open_store(path, NOTES) as database:
        with database.transaction():
            add(database, "outer")
            with pytest.raises(ZeroDivisionError):
                fail_after(database, "inner")
            with database.transaction():
                add(database, "another")
        assert notes(database) == ["outer", "another"]


def test_an_outer_transaction_takes_inner_ones_with_it(path: Path) -> None:
    def outer() -> None:
        with database.transaction():
            with database.transaction():
                add(database, "inner")
            raise ZeroDivisionError

    with open_store(path, NOTES) as database:
        with pytest.raises(ZeroDivisionError):
            outer()
        assert notes(database) == []


def test_a_snapshot_stays_at_its_moment(path: Path) -> None:
    with open_store(path, NOTES) as writer, open_store(path, NOTES) as reader:
        with reader.snapshot():
            assert notes(reader) == []
            add(writer, "later")
            with reader.snapshot():
                assert notes(reader) == []
        assert notes(reader) == ["later"]


def test_a_writer_that_waits_too_long_is_told_that_the_store_is_in_use(path: Path) -> None:
    with open_store(path, NOTES) as one, open_store(path, NOTES, busy_seconds=0) as other, one.transaction():
        add(one, "first")
        with pytest.raises(StoreLocked, match=r"notes\.db is in use by another process"), other.transaction():
            pass


def test_a_file_that_is_not_a_database_is_damaged_and_is_not_touched(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"# notes in a text file\n" * 100)
    with pytest.raises(StoreDamaged, match=r"notes\.db is damaged .*Ask for help\.") as raised:
        open_store(path, NOTES, remedy="Ask for help.")
    assert raised.value.path == path
    assert path.read_bytes() == b"# notes in a text file\n" * 100


def test_another_applications_database_is_not_touched(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as foreign:
        foreign.execute("CREATE TABLE bookmarks (url TEXT)")
    foreign.close()
    with pytest.raises(StoreDamaged, match="a database of another application"):
        open_store(path, NOTES)
    with sqlite3.connect(path) as foreign:
        assert [row[0] for row in foreign.execute("SELECT name FROM sqlite_master")] == ["bookmarks"]
    foreign.close()


def test_a_store_without_its_tables_is_damaged(path: Path) -> None:
    with open_store(path, NOTES) as database:
        database.run("DROP TABLE notes")
        with pytest.raises(StoreDamaged):
            notes(database)


def test_a_key_that_the_store_gave_twice_is_damage_and_a_missing_value_a_wrong_call(path: Path) -> None:
    with open_store(path, NOTES) as database:
        database.run("CREATE TABLE keyed (key INTEGER PRIMARY KEY, value TEXT NOT NULL)")
        database.run("INSERT INTO keyed VALUES (1, 'one')")
        with pytest.raises(StoreDamaged):
            database.run("INSERT INTO keyed VALUES (1, 'again')")
        with pytest.raises(StoreFailed):
            database.run("INSERT INTO keyed VALUES (2, NULL)")


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be renamed")
def test_damage_is_that_of_the_file_that_was_opened(path: Path) -> None:
    with open_store(path, NOTES) as database:
        opened = path.stat()
        path.rename(path.with_name("aside"))
        path.touch()
        assert database.damaged("detail").identity == (opened.st_dev, opened.st_ino)


def test_a_truncated_file_is_damaged(path: Path) -> None:
    with open_store(path, NOTES) as database, database.transaction():
        for number in range(500):
            add(database, f"{number}" * 50)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)
    with pytest.raises(StoreDamaged), open_store(path, NOTES) as database:
        notes(database)


def test_an_empty_file_is_a_new_store(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    with open_store(path, NOTES) as database:
        assert notes(database) == []


def test_a_folder_in_the_files_place_is_a_named_failure(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(BraindexError, match=r"notes\.db"):
        open_store(path, NOTES)


def test_a_file_in_the_folders_place_is_a_named_failure(path: Path) -> None:
    path.parent.write_text("not a folder")
    with pytest.raises(BraindexError, match="brain"):
        open_store(path, NOTES)


def test_a_wrong_statement_is_a_store_error_not_a_raw_one(path: Path) -> None:
    with open_store(path, NOTES) as database, pytest.raises(StoreFailed, match="syntax error"):
        database.rows("SELEC 1")


@pytest.mark.parametrize("beyond", [2**63, 10**30, -(10**30)])
def test_a_number_that_it_cannot_hold_is_beyond_all_that_it_holds(path: Path, beyond: int) -> None:
    with open_store(path, NOTES) as database:
        add(database, "one")
        page = "SELECT text FROM notes LIMIT ? OFFSET ?"
        assert [text for (text,) in database.rows(page, (beyond, 0))] == ["one"]
        assert list(database.stream(page, (1, abs(beyond)))) == []
        assert database.value("SELECT ? > 5", (beyond,)) == (beyond > 0)


def test_the_quick_check_names_what_is_wrong(path: Path) -> None:
    with open_store(path, NOTES) as database:
        assert database.problems() == []
        with database.transaction():
            for number in range(500):
                add(database, f"{number}" * 50)
    page = path.read_bytes()
    path.write_bytes(page[:-4096] + bytes(4096))
    with open_store(path, NOTES) as database:
        assert database.problems() != []


def test_text_with_lone_surrogates_can_be_stored(path: Path) -> None:
    with open_store(path, NOTES) as database:
        add(database, storable("caf\udce9 😀"))
        assert notes(database) == ["caf\ufffd 😀"]


def test_long_lists_are_cut_into_short_ones() -> None:
    assert [len(some) for some in chunks(range(1200))] == [500, 500, 200]
    assert list(chunks([])) == []
