import contextlib
import sqlite3
from pathlib import Path

import pytest

from braindex.domain.entities import CodeEntity
from braindex.domain.results import Skipped
from braindex.domain.units import EntityFilter, FileRecord
from braindex.registry.failures import StoreDamaged, StoreMissing
from braindex.registry.index import INDEX_FILE, IndexStore, set_aside
from braindex.registry.meta import ScanMarks


def names(store: IndexStore, rows: list[int]) -> list[str]:
    entities = store.entities(rows)
    return [entities[row].entity.name for row in rows]


def test_an_entity_comes_back_with_every_field(unit, file_of, store) -> None:
    full = unit(
        "src/é 记.py", "método", qualified_name="Clase.método", line=7, digest=b"abc", return_type="int", param_count=0,
        decorators=("@property", "@cache('x')"), docstring="Línea 1.\nLínea 2.", ordinal=2, start=10, end=90,
    )  # fmt: skip
    bare = unit("src/é 记.py", "bare", param_count=None, start=100)
    store.write([file_of("src/é 记.py", full, bare, digest=b"file digest")])
    found = store.of_file("src/é 记.py")
    assert [one.entity for one in found] == [full.entity, bare.entity]
    assert [(one.id, one.file_digest) for one in found] == [
        (full.id, b"file digest"),
        (bare.id, b"file digest"),
    ]
    assert store.entities([found[0].row]) == {found[0].row: found[0]}
    assert isinstance(found[0].entity, CodeEntity)
    assert isinstance(found[0].entity.decorators, tuple)


def test_ten_thousand_entities_are_fetched_at_once(unit, file_of, store) -> None:
    units = [unit(name=f"n{i}", line=i, start=i) for i in range(10_000)]
    store.write([file_of("src/a.py", *units)])
    rows = store.rows_of([one.id for one in units])
    assert len(rows) == 10_000
    entities = store.entities(rows.values())
    assert [entities[rows[one.id]].entity.name for one in units] == [one.entity.name for one in units]
    assert len(store.vectors(rows.values())) == 10_000


def test_unknown_rows_ids_paths_and_names_are_left_out(unit, file_of, store) -> None:
    store.write([file_of("src/a.py", unit())])
    assert store.entities([1, 99]).keys() == {1}
    assert store.rows_of(["nothing", "\udcff"]) == {}
    assert store.vectors([99]) == {}
    assert store.of_file("src/b.py") == []
    assert store.known_units("\udcff") == {}
    assert store.rows_by_name(["\udcff", ""]) == []
    assert store.entities([]) == {}


@pytest.mark.parametrize("name", ["parseFile", "PARSEFILE", "Reader.parseFile", "reader.parsefile"])
def test_a_name_is_found_bare_or_qualified_whatever_the_case(name, unit, file_of, store) -> None:
    store.write(
        [
            file_of("b.py", unit("b.py", "parseFile", qualified_name="Reader.parseFile")),
            file_of("a.py", unit("a.py", "parseFiles")),
        ]
    )
    assert names(store, store.rows_by_name([name])) == ["parseFile"]


def test_names_of_other_scripts_are_found_whatever_the_case(unit, file_of, store) -> None:
    store.write([file_of("a.md", unit("a.md", "Установка"), unit("a.md", "Straße"))])
    assert names(store, store.rows_by_name(["УСТАНОВКА"])) == ["Установка"]
    assert names(store, store.rows_by_name(["STRASSE"])) == ["Straße"]


def test_rows_of_a_name_come_by_path_line_and_name_and_can_be_narrowed(unit, file_of, store) -> None:
    store.write(
        [
            file_of("b.py", unit("b.py", "run", line=5, qualified_name="B.run"), unit("b.py", "run", line=2)),
            file_of("a.py", unit("a.py", "run", line=9, kind="class")),
        ]
    )
    found = store.entities(store.rows_by_name(["run"]))
    ordered = [(found[row].entity.path, found[row].entity.line) for row in store.rows_by_name(["run"])]
    assert ordered == [("a.py", 9), ("b.py", 2), ("b.py", 5)]
    assert len(store.rows_by_name(["run"], EntityFilter(path="b.py"))) == 2
    assert len(store.rows_by_name(["run", "RUN", "nothing"], EntityFilter(kind="class"))) == 1


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src", {"src/a.py", "src/sub/b.py", "src/[id]/page.tsx"}),
        ("src/", {"src/a.py", "src/sub/b.py", "src/[id]/page.tsx"}),
        ("src/sub", {"src/sub/b.py"}),
        ("src/a.py", {"src/a.py"}),
        ("src/[id]/page.tsx", {"src/[id]/page.tsx"}),
        ("src/[id]", {"src/[id]/page.tsx", "src/i/x.py"}),
        ("src/**/*.py", {"src/a.py", "src/sub/b.py", "src/i/x.py"}),
        ("*.py", {"src/a.py", "src2/a.py", "src/sub/b.py", "src/i/x.py"}),
        ("a.p", set()),
        ("sr", set()),
        ("s%", set()),
        ("SRC", set()),
    ],
)  # fmt: skip
def test_a_path_narrows_to_a_file_a_folder_or_a_glob(path, expected, unit, file_of, store) -> None:
    paths = ["src/a.py", "src2/a.py", "src/sub/b.py", "src/[id]/page.tsx"]
    if path == "src/[id]" or "*" in path:
        paths.append("src/i/x.py")
    store.write([file_of(one, unit(one)) for one in paths])
    narrowed = EntityFilter(path=path)
    found = store.entities(store.rows(narrowed))
    assert {one.entity.path for one in found.values()} == expected
    assert store.entity_count(narrowed) == len(expected)


def test_totals_count_files_and_entities_by_language_and_kind(unit, file_of, store) -> None:
    store.write(
        [
            file_of("a.py", unit("a.py", "a"), unit("a.py", "b", kind="class")),
            file_of("b.css", unit("b.css", "c", kind="rule", language="css")),
            file_of("empty.txt"),
        ]
    )
    totals = store.totals()
    assert (totals.files, totals.entities) == (3, 3)
    assert totals.languages == {"python": 2, "css": 1}
    assert totals.kinds == {"class": 1, "function": 1, "rule": 1}
    assert store.entity_count() == 3
    assert len(store.rows()) == 3


def test_totals_are_those_of_the_content_whatever_an_earlier_scan_left(unit, file_of, store, tmp_path) -> None:
    store.write([file_of("a.py", unit("a.py", "a"))])
    store.scan_finished("2026-12-01T10:00:00+00:00")
    assert store.totals().kinds == {"function": 1}
    store.write([file_of("b.py", unit("b.py", "b", kind="class"))])
    assert store.totals().kinds == {"class": 1, "function": 1}
    store.scan_finished("2026-12-01T11:00:00+00:00")
    with IndexStore.open(tmp_path / "workspace") as another:
        assert another.totals() == store.totals()
    store.clear()
    assert store.totals().kinds == {}


@pytest.mark.parametrize("left", ["", "{", "[1]", "[1, 2, 3]", "null", "7", 5])
def test_counts_that_cannot_be_read_are_counted_anew(unit, file_of, store, tmp_path, left) -> None:
    store.write([file_of("a.py", unit("a.py", "a"))])
    store.scan_finished("2026-12-01T10:00:00+00:00")
    with contextlib.closing(sqlite3.connect(tmp_path / "workspace" / INDEX_FILE)) as index:
        index.execute("UPDATE meta SET value = ? WHERE key = 'counted'", (left,))
        index.commit()
    with IndexStore.open(tmp_path / "workspace") as another:
        assert another.totals().kinds == {"function": 1}


def test_files_come_back_as_they_were_recorded_and_touching_changes_only_their_times(file_of, store) -> None:
    record = FileRecord("a.py", 10, 123456789012345678, b"digest", "python", 2)
    store.write([file_of("b.py")])
    store.write([type(file_of("x"))(record, ())])
    generation = store.generation()
    store.touch([FileRecord("a.py", 10, 5, b"digest", "python", 6), FileRecord("b.py", 1, 1, b"another", "css", 1)])
    assert store.files()["a.py"] == FileRecord("a.py", 10, 5, b"digest", "python", 6)
    assert store.files()["b.py"] == file_of("b.py").file
    assert store.generation() == generation


def test_the_list_of_what_was_skipped_is_replaced_as_a_whole(store) -> None:
    store.record_skipped([Skipped("b.bin", "binary"), Skipped("a\udcff", "not UTF-8")])
    assert store.skipped() == (Skipped("a\ufffd", "not UTF-8"), Skipped("b.bin", "binary"))
    store.record_skipped([])
    assert store.skipped() == ()


def test_a_scan_that_did_not_end_is_known_as_interrupted(store) -> None:
    assert store.scan_marks() == ScanMarks("never", None, None)
    store.scan_started("10:00")
    assert store.scan_marks() == ScanMarks("interrupted", None, None)
    store.scan_finished("10:01")
    assert store.scan_marks() == ScanMarks("complete", "10:01", None)
    store.scan_started("10:02")
    assert store.scan_marks() == ScanMarks("interrupted", "10:01", None)
    store.scan_failed("disk full")
    assert store.scan_marks() == ScanMarks("failed", "10:01", "disk full")
    store.scan_started("10:03")
    store.scan_finished("10:04")
    assert store.scan_marks() == ScanMarks("complete", "10:04", None)


def test_the_model_is_remembered_until_everything_is_cleared(unit, file_of, store, vector) -> None:
    assert store.model() is None
    store.set_model("model 1")
    store.write([file_of("a.py", unit("a.py", vector=vector(1, 0)))])
    assert store.model() == "model 1"
    before = store.generation(), store.vector_generation(), store.applied_generation()
    store.clear()
    assert store.model() is None
    assert (store.files(), store.rows(), store.vector_count(), store.outbox(10)) == ({}, [], 0, [])
    assert store.search(["run"], 5) == []
    after = store.generation(), store.vector_generation(), store.applied_generation()
    assert all(new > old for old, new in zip(before, after, strict=True))
    store.write([file_of("a.py", unit("a.py", vector=vector(1, 0, 0)))])
    assert store.search(["run"], 5) != []


def test_the_old_index_serves_until_a_rebuild_is_complete(unit, file_of, store, tmp_path: Path) -> None:
    store.write([file_of("a.py", unit("a.py", "old", terms="word"))])
    with IndexStore.open(tmp_path / "workspace") as reader:
        with store.transaction():
            store.clear()
            store.write([file_of("a.py", unit("a.py", "new", terms="word"))])
            store.write([file_of("b.py", unit("b.py", "newer", terms="word"))])
            assert names(reader, [row for row, _ in reader.search(["word"], 5)]) == ["old"]
        assert names(reader, [row for row, _ in reader.search(["word"], 5)]) == ["new", "newer"]


def test_opening_again_finds_what_was_stored(unit, file_of, tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "workspace"
    assert not IndexStore.exists(folder)
    with IndexStore.open(folder) as store:
        store.write([file_of("a.py", unit("a.py"))])
        generation = store.generation()
    assert IndexStore.exists(folder)
    with IndexStore.open(folder, create=False) as store:
        assert store.generation() == generation
        assert list(store.files()) == ["a.py"]
        assert store.problems() == []


def test_a_dropped_index_is_not_created_by_looking(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing, match="Scan the workspace"):
        IndexStore.open(tmp_path / "workspace", create=False)
    assert list(tmp_path.iterdir()) == []


def test_two_workspaces_know_nothing_of_each_other(unit, file_of, tmp_path: Path) -> None:
    with IndexStore.open(tmp_path / "one") as one, IndexStore.open(tmp_path / "two") as two:
        one.write([file_of("a.py", unit("a.py", terms="secret"))])
        assert two.search(["secret"], 5) == []
        assert (two.rows(), two.files(), two.outbox(5), two.vector_count()) == ([], {}, [], 0)
        assert one.generation() != two.generation()


@pytest.mark.parametrize("content", [b"not a database" * 1000, b"SQLite format 3\0" + b"\1" * 5000])
def test_a_damaged_index_is_set_aside_and_the_next_open_starts_afresh(content, unit, file_of, tmp_path: Path) -> None:
    (tmp_path / INDEX_FILE).write_bytes(content)
    with pytest.raises(StoreDamaged, match="scan the workspace again") as raised:
        IndexStore.open(tmp_path)
    moved = set_aside(tmp_path, raised.value)
    assert moved is not None
    assert moved.read_bytes() == content
    with IndexStore.open(tmp_path) as store:
        store.write([file_of("a.py", unit("a.py"))])
        assert set_aside(tmp_path, raised.value) is None
        assert list(store.files()) == ["a.py"]


def test_an_index_made_anew_does_not_repeat_old_generations(tmp_path: Path) -> None:
    with IndexStore.open(tmp_path) as store:
        before = store.vector_generation()
    set_aside(tmp_path)
    with IndexStore.open(tmp_path) as store:
        assert store.vector_generation() != before


@pytest.mark.parametrize(
    ("folder", "found"),
    [("src", ["src/a.py", "src/b.py"]), ("", ["top.py"]), ("src/sub", ["src/sub/a.py"]), ("sr", []), ("s%", [])],
)
def test_what_a_folder_holds_of_a_name_is_that_of_its_own_files(folder, found, unit, file_of, store) -> None:
    for path in ("top.py", "src/b.py", "src/a.py", "src/sub/a.py", "src-old/a.py"):
        store.write([file_of(path, unit(path, "run"), unit(path, "other", start=9))])
    assert [one.entity.path for one in store.of_folder(folder, "run")] == found


def test_files_are_found_by_the_name_of_the_folder_they_lie_in(unit, file_of, store) -> None:
    paths = ("kit/b.go", "lib/kit/a.go", "kit/inner/c.go", "toolkit/d.go", "kit.go", "Kit/e.go", "k%t/f.go")
    for path in paths:
        store.write([file_of(path, unit(path, path.rpartition("/")[2], kind="file"), unit(path, "run"))])

    def found(name: str) -> list[str]:
        return [one.path for one in store.heads(store.files_in(name)).values()]

    assert sorted(found("kit")) == ["kit/b.go", "lib/kit/a.go"]
    assert found("k%t") == ["k%t/f.go"]
