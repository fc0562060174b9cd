"""A memory that cannot be used is an error that says what to do, and not a byte of the file changes."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import braindex.registry
from braindex.domain.memories import Note
from braindex.registry.failures import StoreDamaged, StoreError, StoreReadOnly, StoreTooNew
from braindex.registry.memory import MemoryStore
from braindex.registry.memory_file import KEPT_FILE, MEMORY_FILE
from braindex.registry.memory_tables import MIGRATIONS
from braindex.registry.migrations import Migration, open_store

SOURCE = str(Path(braindex.registry.__file__).parents[2])
TIME = "2026-11-01T10:00:00.000000Z"
NOBODY = 65534


def note(number: int = 1, text: str = "Refunds go through the ledger.") -> Note:
    return Note(f"{number:016x}", text, "decision", "cursor", TIME, TIME)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    with MemoryStore.open(tmp_path / "workspace") as store:
        store.take(note(number) for number in range(300))
    return tmp_path / "workspace"


def use_everything(folder: Path) -> None:
    with MemoryStore.open(folder) as store:
        store.counts(), list(store.each_note()), store.search_words(["refund"], 500), store.vectors("m")
        store.add_note(note(999))


def expect_untouched(folder: Path, error: type[StoreError], said: str) -> None:
    before = contents(folder)
    for _ in range(2):
        with pytest.raises(error, match=said):
            use_everything(folder)
    assert contents(folder) == before


def contents(folder: Path) -> dict[str, bytes]:
    """Every file but the index of the write-ahead log, which is none of the memory's content."""
    found = {one.name: one.read_bytes() for one in folder.iterdir() if one.name != f"{MEMORY_FILE}-shm"}
    return {name: content for name, content in found.items() if content or name == MEMORY_FILE}


def in_the_log(folder: Path) -> None:
    """A note that is in the write-ahead log alone, as after a kill."""
    script = (
        "import os, sys; from pathlib import Path; from braindex.registry.memory import MemoryStore;"
        "from braindex.domain.memories import Note;"
        f"store = MemoryStore.open(Path(sys.argv[1])); store.add_note(Note('f' * 16, 'late', created='{TIME}', updated='{TIME}'));"
        "os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", script, str(folder)], check=True, env={**os.environ, "PYTHONPATH": SOURCE})
    assert (folder / f"{MEMORY_FILE}-wal").stat().st_size


@pytest.mark.parametrize("with_log", [False, True])
@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"not a database" * 500,
        lambda content: b"\0" * len(content),
        lambda content: b"\0" * 100 + content[100:],
        lambda content: content[:100] + b"\xff" * 4096 + content[4196:],
        lambda content: content[:1],
    ],
    ids=["text", "zeros", "no header", "no schema", "one byte"],
)
def test_a_damaged_memory_stays_as_it_is(folder: Path, damage: Callable[[bytes], bytes], with_log: bool) -> None:
    (folder / MEMORY_FILE).write_bytes(damage((folder / MEMORY_FILE).read_bytes()))
    if with_log:
        (folder / f"{MEMORY_FILE}-wal").write_bytes(bytes(5000))  # of no use, and still not braindex's to delete
    expect_untouched(folder, StoreDamaged, r"cannot be rebuilt, so it was left as it is\. Move it away.*put a backup")


@pytest.mark.parametrize("kept", [4096, 8192, 20_000])
def test_a_truncated_memory_stays_as_it_is(folder: Path, kept: int) -> None:
    (folder / MEMORY_FILE).write_bytes((folder / MEMORY_FILE).read_bytes()[:kept])
    expect_untouched(folder, StoreDamaged, "is damaged")


@pytest.mark.parametrize("lost", [True, False])
def test_a_memory_that_is_empty_or_gone_while_its_log_is_not_is_damaged_and_no_new_one(
    folder: Path, lost: bool
) -> None:
    in_the_log(folder)
    (folder / MEMORY_FILE).unlink()
    if not lost:
        (folder / MEMORY_FILE).touch()
    expect_untouched(folder, StoreDamaged, "gone or empty, while its write-ahead log memory.db-wal is not")
    assert (folder / MEMORY_FILE).exists() is not lost


def test_the_error_names_the_copies_that_were_kept(folder: Path) -> None:
    for name in ("memory.db.before-memory-2", "memory.db.before-memory-3", "memory.db.before-memory-4.partial"):
        (folder / name).write_bytes(b"copy")
    (folder / MEMORY_FILE).write_bytes(b"not a database" * 500)
    expect_untouched(folder, StoreDamaged, r"\(memory\.db\.before-memory-2, memory\.db\.before-memory-3\)")


def foreign(path: Path, *, log: bool) -> "sqlite3.Connection":
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA journal_mode = {'WAL' if log else 'DELETE'}")
    connection.execute("CREATE TABLE recipes (text TEXT)")
    connection.execute("INSERT INTO recipes VALUES ('soup')")
    connection.commit()
    return connection


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize("in_use", [True, False])
def test_the_database_of_another_application_stays_as_it_is(tmp_path: Path, log: bool, in_use: bool) -> None:
    connection = foreign(tmp_path / MEMORY_FILE, log=log)
    if not in_use:
        connection.close()
    expect_untouched(tmp_path, StoreDamaged, "a database of another application")
    connection.close()


def test_a_memory_of_a_newer_version_stays_as_it_is_also_when_it_was_killed(folder: Path) -> None:
    in_the_log(folder)
    script = (
        "import os, sys; from pathlib import Path; from braindex.registry.migrations import *;"
        "from braindex.registry.memory_tables import MIGRATIONS;"
        "newer = Migration('memory-99', ('ALTER TABLE notes ADD COLUMN mood TEXT',));"
        "database = open_store(Path(sys.argv[1]), (*MIGRATIONS, newer));"
        "database.run(\"UPDATE migrations SET version = '9.1' WHERE name = 'memory-99'\"); os._exit(0)"
    )
    environ = {**os.environ, "PYTHONPATH": SOURCE}
    subprocess.run([sys.executable, "-c", script, str(folder / MEMORY_FILE)], check=True, env=environ)
    assert (folder / f"{MEMORY_FILE}-wal").stat().st_size
    expect_untouched(folder, StoreTooNew, r"written by braindex 9\.1.*Install braindex 9\.1 or later")


def test_a_memory_is_copied_before_a_migration_changes_it(folder: Path) -> None:
    newer = Migration("memory-99", ("ALTER TABLE notes ADD COLUMN mood TEXT",))
    open_store(folder / MEMORY_FILE, (*MIGRATIONS, newer), keep_copy=True).close()
    (folder / MEMORY_FILE).unlink()
    (folder / f"{MEMORY_FILE}.before-memory-99").rename(folder / MEMORY_FILE)
    with MemoryStore.open(folder) as store:
        assert store.counts().notes == 300


def test_damage_that_shows_later_is_named_and_what_is_sound_can_still_be_read(folder: Path) -> None:
    connection = sqlite3.connect(folder / MEMORY_FILE)
    connection.execute("UPDATE words_data SET block = x'0102' WHERE id > 10")
    connection.commit()
    connection.close()
    before = (folder / MEMORY_FILE).read_bytes()
    with MemoryStore.open(folder) as store:
        with pytest.raises(StoreDamaged, match="cannot be rebuilt"):
            store.search_words(["refund"], 5)
        assert len(list(store.each_note())) == 300
    assert len((folder / MEMORY_FILE).read_bytes()) >= len(before)
    assert {one.name for one in folder.iterdir()} == {MEMORY_FILE, KEPT_FILE}


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that another user may look into, unlike pytest's."""
    base = Path(tempfile.mkdtemp())
    base.chmod(0o755)
    yield base
    (base / "workspace").chmod(0o700)
    shutil.rmtree(base)


def as_nobody(action: Callable[[], None]) -> int:
    """The exit status of a child process that does it without a superuser's rights."""
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            action()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - the child must not go on as a second test run
            traceback.print_exc()
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are POSIX")
@pytest.mark.parametrize("mode", [0o555, 0o777])
def test_a_memory_that_this_user_cannot_write_is_an_error_that_says_so(shared: Path, mode: int) -> None:
    folder = shared / "workspace"
    folder.mkdir()
    with MemoryStore.open(folder) as store:
        store.take(note(number) for number in range(5))
    (folder / MEMORY_FILE).chmod(0o444)
    folder.chmod(mode)
    before = (folder / MEMORY_FILE).read_bytes()

    def use() -> None:
        with pytest.raises(StoreReadOnly, match="cannot be written by this user"):
            use_everything(folder)

    assert as_nobody(use) == 0
    assert (folder / MEMORY_FILE).read_bytes() == before


FULL_DISK = """
import sys
from pathlib import Path
from braindex.domain.memories import Note
from braindex.domain.words import terms
from braindex.registry.failures import StoreFull
from braindex.registry.memory import MemoryStore
TIME = "2026-11-01T10:00:00.000000Z"
disk = Path(sys.argv[1])
def note(number, size):
    return Note(f"{number:016x}", "ledger " * size, created=TIME, updated=TIME)
(disk / "workspace").mkdir()
with MemoryStore.open(disk / "workspace") as store:
    store.take(note(number, 10) for number in range(50))
with (disk / "ballast").open("wb", buffering=0) as ballast:
    try:
        while ballast.write(bytes(4096)):
            pass
    except OSError:
        pass
    ballast.truncate(max(0, ballast.tell() - LEFT))
stored = []
before = (disk / "workspace" / "memory.db").read_bytes()
for number in range(100, 400):
    try:
        with MemoryStore.open(disk / "workspace") as store:
            assert store.add_note(note(number, 5000))
        stored.append(number)
    except StoreFull as refusal:
        assert "nothing was changed" in str(refusal)
        break
else:
    raise AssertionError("there was room")
for _ in range(2):
    with MemoryStore.open(disk / "workspace") as store:
        found = {int(one.id, 16) for one in store.each_note()}
        assert found == {*range(50), *stored}, found
        assert len(store.search_words(terms("ledger"), 500)) == len(found)
        assert store.problems() == []
if not stored:
    assert (disk / "workspace" / "memory.db").read_bytes() == before
(disk / "ballast").unlink()
with MemoryStore.open(disk / "workspace") as store:
    assert store.add_note(note(999, 5000))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mounts a small file system")
@pytest.mark.parametrize("left", [0, 4096, 40_000, 400_000])
def test_on_a_full_disk_what_is_stored_stays_and_what_is_not_is_refused(tmp_path: Path, left: int) -> None:
    mount = f"mount -t tmpfs -o size=6m none '{tmp_path}' && exec \"$@\""
    alone = ["unshare", "-m", "sh", "-c", mount, "sh"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no private mounts here")
    done = subprocess.run(
        [*alone, sys.executable, "-c", FULL_DISK.replace("LEFT", str(left)), str(tmp_path)],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": SOURCE},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
