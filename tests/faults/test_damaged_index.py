"""Damage inside `index.db`, which shows only when it is read: it is named, set aside once, and the index begins anew."""

# ruff: noqa: S608 - the statements are made of this file's own words

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import braindex.registry
from braindex.domain.entities import CodeEntity
from braindex.domain.results import Workspace
from braindex.domain.units import FileRecord, FileUnits, Terms, Unit
from braindex.registry.failures import StoreDamaged
from braindex.registry.index import INDEX_FILE, IndexStore, set_aside
from braindex.services.workspaces import IndexDamaged, IndexSetAside, Workspaces

SOURCE = str(Path(braindex.registry.__file__).parents[2])
TABLES = ("meta", "files", "entities", "vectors", "fulltext", "outbox", "skipped", "migrations")


def fill(store: IndexStore, count: int = 40) -> None:
    for number in range(count):
        path = f"f{number}.py"
        units = tuple(
            Unit(
                f"{path} {one}",
                CodeEntity(path, "function", f"name{one}", f"name{one}", "", "python", one + 1, one + 2, "def"),
                b"1",
                Terms(f"name{one}", "", "", "", "", "word " * 20),
                bytes(64),
            )
            for one in range(10)
        )
        store.write([FileUnits(FileRecord(path, 1, 1, b"d", "python", 1), units)])
    store.set_model("model")
    store.scan_finished("2026-11-01")


def use_everything(store: IndexStore) -> None:
    """What a scan and a question do."""
    store.scan_started("now")
    store.files(), store.totals(), store.skipped(), store.generation(), list(store.stream_vectors())
    found = [row for row, _ in store.search(["name1", "word"], 50)]
    store.entities(found), store.vectors(found), store.outbox(50), store.pending_rows()
    store.rows_by_name(["name1"]), store.search_phrase(["word", "word"], 5), store.frequencies(["word"])
    store.write([FileUnits(FileRecord("f0.py", 1, 2, b"e", "python", 1), ())])
    store.remove(["f1.py"])
    store.scan_finished("later")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with IndexStore.open(tmp_path / "workspace") as store:
        fill(store)
    return tmp_path / "workspace"


def change(folder: Path, *statements: str) -> None:
    connection = sqlite3.connect(folder / INDEX_FILE)
    for statement in ("PRAGMA foreign_keys = OFF", "PRAGMA writable_schema = ON", *statements):
        connection.execute(statement)
    connection.commit()
    connection.close()


def expect_damage(folder: Path) -> None:
    with pytest.raises(StoreDamaged, match="scan the workspace again") as raised, IndexStore.open(folder) as store:
        use_everything(store)
    assert set_aside(folder, raised.value) is not None
    with IndexStore.open(folder) as store:
        fill(store)
        use_everything(store)


def test_a_sound_index_is_not_called_damaged(folder: Path) -> None:
    with IndexStore.open(folder) as store:
        use_everything(store)
        assert store.problems() == []


@pytest.mark.parametrize("name", [*TABLES, "fulltext_data", "fulltext_idx", "fulltext_docsize", "fulltext_config"])
def test_a_lost_table_is_damage(name: str, folder: Path) -> None:
    change(folder, f"DELETE FROM sqlite_master WHERE name = '{name}'")
    expect_damage(folder)


@pytest.mark.parametrize("name", ["entities_name", "entities_file", "fulltext_terms", "vectors_stamp"])
def test_a_lost_index_or_view_is_damage(name: str, folder: Path) -> None:
    change(folder, f"DELETE FROM sqlite_master WHERE name = '{name}'")
    expect_damage(folder)


@pytest.mark.parametrize(
    "statement",
    ["ALTER TABLE entities RENAME COLUMN kind TO sort", "ALTER TABLE files DROP COLUMN mtime_ns"],
)
def test_a_lost_column_is_damage(statement: str, folder: Path) -> None:
    change(folder, statement)
    expect_damage(folder)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM meta",
        "DELETE FROM meta WHERE key = 'vector_count'",
        "UPDATE meta SET value = 'many' WHERE key = 'generation'",
        "DELETE FROM files",
        "DELETE FROM entities WHERE row % 3",
        "DELETE FROM vectors WHERE row > 7",
        "UPDATE vectors SET vector = x'00' WHERE row = 5",
        "DELETE FROM migrations",
        "DELETE FROM fulltext_docsize",
        "DELETE FROM fulltext_data",
        "DELETE FROM fulltext_config",
        "DELETE FROM fulltext",
    ],
)
def test_lost_rows_are_damage(statement: str, folder: Path) -> None:
    change(folder, statement)
    expect_damage(folder)


def test_a_table_lost_under_an_open_index_is_damage(folder: Path) -> None:
    with IndexStore.open(folder) as store:
        store._database.run("DROP TABLE fulltext")
        with pytest.raises(StoreDamaged):
            store.search(["word"], 5)


@pytest.mark.parametrize("first", [1, 3, 20])
def test_a_file_of_zeros_after_its_first_pages_is_damage(first: int, folder: Path) -> None:
    content = (folder / INDEX_FILE).read_bytes()
    kept = first * 4096
    (folder / INDEX_FILE).write_bytes(content[:kept] + bytes(len(content) - kept))
    expect_damage(folder)


def test_only_the_last_few_damaged_indexes_are_kept(folder: Path) -> None:
    for number in range(6):
        with IndexStore.open(folder) as store:
            fill(store, 1)
        (folder / INDEX_FILE).write_bytes(b"%d" % number * 5000)
        set_aside(folder)
    kept = {one.read_bytes()[:1] for one in folder.glob("index.db.damaged-*")}
    assert kept == {b"3", b"4", b"5"}


@pytest.fixture
def workspaces(tmp_path: Path) -> Workspaces:
    return Workspaces(tmp_path / "brain")


@pytest.fixture
def workspace(workspaces: Workspaces, tmp_path: Path) -> Workspace:
    (tmp_path / "project").mkdir()
    made = workspaces.open(tmp_path / "project")
    workspaces.register(made)
    with workspaces.open_index(made) as store:
        fill(store)
    return made


def lose_a_page(folder: Path) -> None:
    """Damages what only a search reads, so that opening finds nothing wrong."""
    change(folder, "UPDATE fulltext_data SET block = x'0102' WHERE id > 10")


Counting = tuple[list[int], Callable[[IndexStore], int]]


@pytest.fixture
def counting() -> Counting:
    calls: list[int] = []

    def use(store: IndexStore) -> int:
        calls.append(1)
        return len(store.search(["name1"], 5))

    return calls, use


def test_damage_met_in_the_middle_is_mended_by_an_empty_index(
    workspaces: Workspaces, workspace: Workspace, counting: Counting
) -> None:
    calls, use = counting
    folder = workspaces.folder(workspace)
    assert workspaces.with_index(workspace, use) == 5
    damaged = (folder / INDEX_FILE).stat().st_ino
    lose_a_page(folder)
    assert workspaces.with_index(workspace, use) == 0
    assert len(calls) == 3
    [moved] = folder.glob("index.db.damaged-*")
    assert moved.stat().st_ino == damaged
    with workspaces.open_index(workspace) as store:
        marks = store.scan_marks()
        assert (marks.state, marks.last_scan) == ("failed", None)
        assert moved.name in str(marks.last_error)
        fill(store)
    assert workspaces.with_index(workspace, use) == 5


def test_without_a_second_call_damage_is_an_error_that_says_what_comes_next(
    workspaces: Workspaces, workspace: Workspace
) -> None:
    lose_a_page(workspaces.folder(workspace))
    with pytest.raises(IndexSetAside, match="the next scan or question rebuilds it"):  # noqa: SIM117 - one after the other
        with workspaces.open_index(workspace) as store:
            store.search(["name1"], 5)
    with workspaces.open_index(workspace) as store:
        assert store.search(["name1"], 5) == []


def start(script: str, *arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": SOURCE},
    )  # fmt: skip


HOLDER = """
import sys
from filelock import FileLock
with FileLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_while_a_scan_is_at_work_its_index_is_not_moved(
    workspaces: Workspaces, workspace: Workspace, counting: Counting
) -> None:
    _, use = counting
    folder = workspaces.folder(workspace)
    lose_a_page(folder)
    scan = start(HOLDER, folder / "write.lock")
    assert scan.stdout is not None
    assert scan.stdout.readline() == "held\n"
    try:
        with pytest.raises(IndexDamaged, match="Ask again in a moment"):
            workspaces.with_index(workspace, use)
        assert not list(folder.glob("index.db.damaged-*"))
        assert workspaces.with_index(workspace, use, writing=True) == 0
    finally:
        scan.communicate()


ASK = """
import sys
from pathlib import Path
from braindex.services.workspaces import Workspaces
workspaces = Workspaces(Path(sys.argv[1]))
workspace = workspaces.find(sys.argv[2])
def use(store):
    print("open", flush=True)
    sys.stdin.readline()
    return len(store.search(["name1"], 5))
print("found", workspaces.with_index(workspace, use), flush=True)
"""


def test_processes_that_meet_the_same_damage_set_it_aside_once(workspaces: Workspaces, workspace: Workspace) -> None:
    folder = workspaces.folder(workspace)
    lose_a_page(folder)
    children = [start(ASK, workspaces.data_folder, workspace.id) for _ in range(3)]
    for child in children:  # all three have the damaged file open
        assert child.stdout is not None
        assert child.stdout.readline() == "open\n"
    said = [child.communicate("go\n" * 5) for child in children]
    assert [child.returncode for child in children] == [0, 0, 0], said
    assert len(list(folder.glob("index.db.damaged-*[!wlshm]"))) == 1
    with workspaces.open_index(workspace) as store:
        assert store.scan_marks().state == "failed"
