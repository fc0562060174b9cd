"""Looking into stores: what is wrong is found, and looking changes nothing."""

import dataclasses
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from braindex.domain.results import Workspace
from braindex.domain.units import FileUnits, Unit
from braindex.registry.checks import (
    StoreEmpty,
    by_kind,
    described,
    full_text_problem,
    has_full_text_search,
    index_health,
    memory_health,
    older_than,
    registry_health,
)
from braindex.registry.failures import StoreDamaged, StoreMissing, StoreTooNew
from braindex.registry.index import MIGRATIONS, IndexStore
from braindex.registry.memory import MemoryStore
from braindex.registry.migrations import open_store
from braindex.registry.workspaces import Workspaces

MakeUnit = Callable[..., Unit]
MakeFile = Callable[..., FileUnits]


@pytest.fixture
def path(store: IndexStore, unit: MakeUnit, file_of: MakeFile) -> Path:
    units = [unit(name=f"run{number}", line=number + 1) for number in range(30)]
    store.write([file_of("src/a.py", *units), file_of("src/b.py", unit("src/b.py", "none", vector=None))])
    store.set_model("model/1")
    store.scan_started("before")
    store.scan_finished("2026-12-01")
    return store._database.path


def put_vector(path: Path, row: int, vector: bytes) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE vectors SET vector = ? WHERE row = ?", (vector, row))
    connection.commit()
    connection.close()


def test_a_sound_index_says_what_it_holds(path: Path) -> None:
    found = index_health(path, full=True)
    assert (found.files, found.entities, found.vectors, found.dimension) == (2, 31, 30, 2)
    assert (found.model, found.problems, found.older) == ("model/1", (), False)
    assert found.marks is not None
    assert found.marks.last_scan == "2026-12-01"
    assert full_text_problem(path) == ""


@pytest.mark.parametrize(
    "numbers", [(float("nan"), 1.0), (float("inf"), 0.0), (0.0, 0.0), (float("-inf"), float("inf"))]
)
def test_vectors_without_a_direction_are_counted(numbers: tuple[float, float], path: Path) -> None:
    for row in (2, 5):
        put_vector(path, row, struct.pack("<2f", *numbers))
    assert index_health(path, full=True).problems == ("2 vectors that hold no direction (NaN, infinity or zeros)",)
    assert index_health(path, full=False).problems == ()


def test_vectors_are_read_a_block_at_a_time(
    store: IndexStore, unit: MakeUnit, file_of: MakeFile, vector: Callable[..., bytes]
) -> None:
    units = [unit(name=f"run{number}", terms="x") for number in range(9000)]
    store.write([file_of("src/a.py", *units)])
    put_vector(store._database.path, 8999, vector(0, 0))
    [problem] = index_health(store._database.path, full=True).problems
    assert problem.startswith("1 vectors")


def test_vectors_of_an_index_that_knows_no_dimension_are_a_problem(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM meta WHERE key = 'dimension'")
    connection.commit()
    connection.close()
    assert index_health(path, full=True).problems == ("vectors of no known dimension",)


def test_what_another_process_is_writing_is_not_half_seen(path: Path) -> None:
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("DELETE FROM entities WHERE row < 10")
    assert index_health(path, full=True).problems == ()
    writer.execute("ROLLBACK")
    writer.close()


def test_an_index_of_an_earlier_version_is_older_and_is_not_migrated_by_looking(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    open_store(path, MIGRATIONS[:1]).close()
    before = path.read_bytes()
    found = index_health(path, full=True)
    assert (found.older, found.problems) == (True, ())
    assert path.read_bytes() == before


def test_what_is_not_there_is_not_created_by_looking(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "index.db"
    for look in (index_health, registry_health, memory_health):
        with pytest.raises(StoreMissing):
            look(path, full=True)
    with pytest.raises(StoreMissing):
        full_text_problem(path)
    assert list(tmp_path.iterdir()) == []


def test_a_newer_store_is_too_new_and_a_foreign_one_damaged(path: Path, tmp_path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO migrations VALUES ('index-99', '9.9', 'later')")
    connection.commit()
    connection.close()
    with pytest.raises(StoreTooNew, match=r"9\.9"):
        older_than(path, MIGRATIONS)
    foreign = sqlite3.connect(tmp_path / "registry.db")
    foreign.execute("CREATE TABLE theirs (a)")
    foreign.commit()
    foreign.close()
    with pytest.raises(StoreDamaged, match="another application"):
        registry_health(tmp_path / "registry.db", full=True)


def test_a_memory_says_how_much_it_holds(tmp_path: Path) -> None:
    MemoryStore.open(tmp_path).close()
    found = memory_health(tmp_path / "memory.db", full=True)
    assert (found.notes, found.episodes, found.problems) == (0, 0, ())


def test_a_memory_that_is_gone_while_its_log_is_not_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "memory.db-wal").write_bytes(b"what was written last")
    with pytest.raises(StoreDamaged, match="while its write-ahead log"):
        memory_health(tmp_path / "memory.db", full=True)
    assert [one.name for one in tmp_path.iterdir()] == ["memory.db-wal"]


@pytest.mark.parametrize("text", ["", "[", "[1]", '{"id": 1}', "\xff"])
def test_a_description_that_cannot_be_read_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "workspace.json").write_bytes(text.encode("latin-1"))
    assert described(tmp_path / "workspace.json") is None
    assert described(tmp_path / "missing.json") is None


def test_this_python_searches_text() -> None:
    assert has_full_text_search()


@pytest.mark.parametrize("size", [0, 1, 511])
def test_a_store_that_was_cut_off_before_its_first_page_is_empty_and_not_of_an_earlier_version(
    size: int, tmp_path: Path
) -> None:
    words = f"it has only {size} bytes" if size else "it is empty"
    for look, name in ((index_health, "index.db"), (registry_health, "registry.db"), (memory_health, "memory.db")):
        (tmp_path / name).write_bytes(b"S" * size)
        with pytest.raises(StoreEmpty) as raised:
            look(tmp_path / name, full=True)
        assert raised.value.detail == words
        assert (tmp_path / name).stat().st_size == size


def test_files_are_counted_as_everywhere_else_without_those_that_were_refused(
    path: Path, store: IndexStore, file_of: MakeFile
) -> None:
    made = file_of("src/secret.py")
    refused = dataclasses.replace(made, file=dataclasses.replace(made.file, refused="it holds a private key"))
    store.write([refused])
    assert len(store.files()) == 3
    assert index_health(path, full=True).files == store.totals().files == 2


def test_of_lines_that_differ_in_numbers_alone_three_are_named() -> None:
    pages = [f"Page {number}:  btreeInitPage() returns error code 11" for number in range(20)]
    first, second = by_kind(["*** in database main ***", *pages, "row 7 missing from index entities_name", ""])
    assert first.count("btreeInitPage") == 3
    assert first.startswith("Page 0: btreeInitPage() returns error code 11, Page 1:")
    assert first.endswith(" and at least 17 more of this kind")  # SQLite was asked for no more than 20
    assert second == "row 7 missing from index entities_name"
    [few] = by_kind(f"Page {number}: torn" for number in range(4))
    assert few.endswith("Page 2: torn and 1 more of this kind")


def test_a_registry_tells_which_workspaces_were_scanned(tmp_path: Path) -> None:
    with Workspaces.open(tmp_path) as registry:
        for name in ("one", "two"):
            registry.upsert(Workspace(name * 4, name, f"/{name}", "2026"))
        registry.record_scan("two" * 4, 1, 1, "2026-12-01")
    found = registry_health(tmp_path / "registry.db", full=True)
    assert ([one.name for one in found.workspaces], found.scanned) == (["one", "two"], frozenset({"two" * 4}))
