"""Several processes on one store, and processes that die, have no permission or no space."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import braindex.registry
from braindex.domain.results import Workspace
from braindex.registry.failures import StoreError
from braindex.registry.index import MIGRATIONS, IndexStore
from braindex.registry.migrations import applied
from braindex.registry.workspaces import Workspaces

SOURCE = str(Path(braindex.registry.__file__).parents[2])
NOBODY = 65534

# What every child begins with: `batch(names, text)` makes one file of one entity for each name.
COMMON = """
import sys
from pathlib import Path
from braindex.domain.entities import CodeEntity
from braindex.domain.units import FileRecord, FileUnits, Terms, Unit
from braindex.registry.failures import StoreError
from braindex.registry.index import IndexStore
def batch(names, text, size=1):
    made = []
    for name in names:
        entity = CodeEntity(name, "function", text, text, "", "python", 1, 2, "def " + text)
        unit = Unit("id " + name, entity, text.encode(), Terms(text, "", "", "", "", "word " * size), bytes(8))
        made.append(FileUnits(FileRecord(name, 1, 1, text.encode(), "python", 1), (unit,)))
    return made
"""


def start(script: str, *arguments: object, before: tuple[str, ...] = ()) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*before, sys.executable, "-c", COMMON + script, *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": SOURCE},
    )  # fmt: skip


def finish(child: "subprocess.Popen[str]") -> str:
    out, err = child.communicate(timeout=120)
    assert child.returncode == 0, err
    return out


def line_of(child: "subprocess.Popen[str]") -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


WRITER = """
for number in range(40):
    with IndexStore.open(Path(sys.argv[1])) as store:
        store.write(batch([f"{sys.argv[2]}{number}.py"], sys.argv[2]))
        if number % 10 == 9:
            store.remove([f"{sys.argv[2]}{number}.py"])
"""


def test_two_writers_and_a_reader_lose_and_double_nothing(tmp_path: Path) -> None:
    with IndexStore.open(tmp_path) as store:
        store.outbox_all()  # as one whose vectors ChromaDB has a copy of
    children = [start(WRITER, tmp_path, name) for name in ("left", "right")]
    seen = set()
    while any(child.poll() is None for child in children):
        with IndexStore.open(tmp_path) as store, store.snapshot():
            assert store.entity_count() == len(store.files()) == store.vector_count()
            seen.add(store.generation())
    for child in children:
        finish(child)
    with IndexStore.open(tmp_path) as store:
        expected = {f"{name}{number}.py" for name in ("left", "right") for number in range(40) if number % 10 != 9}
        assert set(store.files()) == expected
        assert store.entity_count() == store.vector_count() == len(store.search(["left", "right"], 100)) == 72
        assert len(store.outbox(1000)) == 80
        assert store.problems() == []


def test_processes_that_open_a_new_store_at_once_make_it_once(tmp_path: Path) -> None:
    script = (
        "from braindex.registry.workspaces import Workspaces\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "with IndexStore.open(Path(sys.argv[1]) / 'index') as store, Workspaces.open(Path(sys.argv[1])) as known:\n"
        "    store.write(batch([sys.argv[2]], 'x'))\n"
    )
    children = [start(script, tmp_path, name) for name in "abcd"]
    assert [line_of(child) for child in children] == ["ready"] * 4
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        finish(child)
    with IndexStore.open(tmp_path / "index") as store:
        assert set(store.files()) == set("abcd")
        assert list(applied(store._database)) == [one.name for one in MIGRATIONS]


def test_a_writer_killed_inside_a_transaction_leaves_the_old_state(tmp_path: Path) -> None:
    script = (
        "with IndexStore.open(Path(sys.argv[1])) as store:\n"
        "    store.write(batch(['a.py', 'b.py'], 'old'))\n"
        "    with store.transaction():\n"
        "        store.write(batch(['a.py', 'c.py'], 'new', 200000)); store.remove(['b.py'])\n"
        "        print('inside', flush=True); sys.stdin.read()\n"
    )
    child = start(script, tmp_path)
    assert line_of(child) == "inside"
    child.kill()
    child.communicate()
    with IndexStore.open(tmp_path) as store:
        assert {path: record.digest for path, record in store.files().items()} == {"a.py": b"old", "b.py": b"old"}
        assert len(store.search(["old"], 9)) == 2
        assert store.search(["new"], 9) == []
        assert store.problems() == []
        assert store.remove(["a.py", "b.py"]) == 2


@pytest.mark.parametrize("after", [1, 3, 8])
def test_a_writer_killed_at_any_moment_leaves_whole_batches(after: int, tmp_path: Path) -> None:
    script = (
        "for number in range(10000):\n"
        "    with IndexStore.open(Path(sys.argv[1])) as store:\n"
        "        store.write(batch(['a.py', 'b.py', 'c.py'], f'v{number}', 500))\n"
        "    print(number, flush=True)\n"
    )
    child = start(script, tmp_path)
    for _ in range(after):
        line_of(child)
    child.kill()
    child.communicate()
    with IndexStore.open(tmp_path) as store:
        digests = {record.digest for record in store.files().values()}
        assert len(store.files()) == 3
        assert len(digests) == 1
        [digest] = digests
        assert len(store.search([digest.decode()], 9)) == 3
        assert store.problems() == []


def as_nobody(action: Callable[[], object]) -> str:
    """What an action says when a user without rights does it: its error's class and text, or `done`."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            try:
                action()
                said = "done"
            except StoreError as error:
                said = f"{type(error).__name__}: {error}"
            except BaseException as error:  # noqa: BLE001 - the child must not go on as a second test run
                said = f"unexpected {error!r}"
            os.write(writing, said.encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        said = answer.read().decode()
    os.waitpid(child, 0)
    return said


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that any user may reach: the one of the test run is its owner's alone."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


needs_root = pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="becomes another user")


@needs_root
def test_an_index_that_may_only_be_read_is_read_and_not_written(open_folder: Path) -> None:
    folder = open_folder / "workspace"
    with IndexStore.open(folder) as store:
        store.set_model("kept")
    (folder / "index.db").chmod(0o644)
    folder.chmod(0o755)

    def read() -> None:
        with IndexStore.open(folder) as store:
            assert store.model() == "kept"
            assert store.problems() == []
            assert not store.leave()  # it would see nothing of what others write
            store.set_model("other")

    said = as_nobody(read)
    assert said.startswith(f"StoreReadOnly: {folder / 'index.db'} cannot be written by this user")
    assert "BRAIN_DIR" in said
    assert [one.name for one in folder.iterdir()] == ["index.db"]


@needs_root
@pytest.mark.parametrize("sides", [("", "-wal", "-shm"), ("", "-wal")])
def test_changes_in_a_log_are_read_or_missed_aloud_by_who_may_only_read(
    sides: tuple[str, ...], open_folder: Path
) -> None:
    """SQLite reads a log by an index of it, and can make none in a folder that is closed to it."""
    folder = open_folder / "copied"
    folder.mkdir()
    with IndexStore.open(open_folder / "workspace") as store:
        store.set_model("kept")
        for side in sides:
            shutil.copy(open_folder / "workspace" / f"index.db{side}", folder / f"index.db{side}")
    for one in folder.iterdir():
        one.chmod(0o644)

    def read() -> None:
        with IndexStore.open(folder) as reader:
            assert reader.model() == "kept"

    said = as_nobody(read)
    if "-shm" in sides:
        assert said == "done"
    else:
        assert said.startswith(f"StoreReadOnly: {folder / 'index.db'} cannot be written by this user")


@needs_root
def test_an_index_in_a_closed_folder_is_a_clear_error(open_folder: Path) -> None:
    folder = open_folder / "workspace"
    IndexStore.open(folder).close()
    said = as_nobody(lambda: IndexStore.open(folder))
    assert said.startswith(f"StoreClosed: {folder / 'index.db'} cannot be read by this user")
    assert "BRAIN_DIR" in said
    assert [one.name for one in folder.iterdir()] == ["index.db"]


@needs_root
def test_a_brain_that_cannot_be_created_is_a_clear_error(open_folder: Path) -> None:
    def remember() -> None:
        with Workspaces.open(open_folder / "brain") as known:
            known.upsert(Workspace("id", "name", "/path"))

    assert as_nobody(remember).startswith("StoreReadOnly: ")
    assert list(open_folder.iterdir()) == []


@needs_root
def test_an_index_of_another_user_is_not_set_aside(open_folder: Path) -> None:
    folder = open_folder / "workspace"
    IndexStore.open(folder).close()
    folder.chmod(0o755)
    (folder / "index.db").chmod(0o600)
    assert as_nobody(lambda: IndexStore.open(folder)).startswith("StoreClosed: ")
    assert (folder / "index.db").exists()


@needs_root
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mounts a small file system")
@pytest.mark.parametrize("left", [0, 8_192, 100_000, 400_000])
def test_a_full_disk_is_a_clear_error_and_what_was_stored_stays(left: int, tmp_path: Path) -> None:
    script = """
import os
folder = Path(sys.argv[1]) / "workspace"
filled = Path(sys.argv[1]) / "ballast"
with IndexStore.open(folder) as store:
    store.write(batch(["kept.py"], "kept"))
with filled.open("wb", buffering=0) as ballast:
    try:
        while ballast.write(bytes(4096)):
            pass
    except OSError:
        pass
    ballast.truncate(max(0, ballast.tell() - int(sys.argv[2])))
said = "nothing"
try:
    with IndexStore.open(folder) as store:
        for number in range(2000):
            store.write(batch([f"{number}.py"], "x", 2000))
except StoreError as error:
    said = type(error).__name__
filled.unlink()
with IndexStore.open(folder) as store:
    assert "kept.py" in store.files() and len(store.search(["kept"], 5)) == 1
    assert store.problems() == [], store.problems()
    assert store.entity_count() == len(store.files()) == store.vector_count()
    store.write(batch(["after.py"], "after"))
    assert "after.py" in store.files()
print(said)
"""
    mount = f"mount -t tmpfs -o size=3m none '{tmp_path}' && exec \"$@\""
    if subprocess.run(["unshare", "-m", "sh", "-c", mount, "sh", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no private mounts here")
    said = finish(start(script, tmp_path, left, before=("unshare", "-m", "sh", "-c", mount, "sh")))
    assert said.strip() == "StoreFull"
