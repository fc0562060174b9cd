"""`doctor` over really damaged data: each fault is named with its remedy, nothing is touched, and the remedy works."""

import shutil
import sqlite3
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock
from tests.conftest import MakeApp, MakeProject, scanned
from tests.fakes.nobody import as_nobody

from braindex.bootstrap import App
from braindex.domain.health import Check, is_sound
from braindex.domain.memories import Note
from braindex.domain.results import Workspace
from braindex.registry.failures import StoreDamaged, StoreError
from braindex.registry.index import IndexStore
from braindex.registry.memory import MemoryStore
from braindex.vectors.chroma import ChromaVectors

FILES = {f"m{number}.py": f"def merge_{number}(left, right):\n    return left + right\n" for number in range(40)}
ON_POSIX = pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")


def broken(app: App, workspace: Workspace | None = None, **options: bool) -> dict[str, Check]:
    """What is broken, by the check's name."""
    found = app.doctor().examine(None if workspace is None else workspace.id, **options)
    return {one.name: one for one in found if one.state == "broken"}


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder; the two that SQLite puts beside an open database, and locks, are no data."""
    return {
        str(one.relative_to(folder)): one.read_bytes()
        for one in folder.rglob("*")
        if one.is_file() and not one.name.endswith(("-wal", "-shm", ".lock"))
    }


def change(database: Path, *statements: str, parameters: tuple[object, ...] = ()) -> None:
    connection = sqlite3.connect(database)
    for statement in ("PRAGMA foreign_keys = OFF", *statements):
        connection.execute(statement, parameters if "?" in statement else ())
    connection.commit()
    connection.close()


@pytest.fixture
def workspace(app: App, make_project: MakeProject) -> Workspace:
    return scanned(app, make_project(FILES))


@pytest.fixture
def folder(app: App, workspace: Workspace) -> Path:
    return app.workspaces.folder(workspace)


def test_sound_data_is_not_called_broken_and_not_a_byte_of_it_changes(
    app: App, workspace: Workspace, folder: Path, brain: Path
) -> None:
    with MemoryStore.open(folder) as memory:
        memory.add_note(note(1))
    before = contents(brain)
    found = list(app.doctor().examine())
    assert [one for one in found if one.state != "ok"] == []
    assert {"registry.db", "index.db", "vector index", "memory.db", "brief"} <= {one.name for one in found}
    assert contents(brain) == before


def flip_pages(folder: Path) -> None:
    path = folder / "index.db"
    content = bytearray(path.read_bytes())
    for page in range(4, len(content) // 4096, 3):
        content[page * 4096 : page * 4096 + 400] = bytes(one ^ 0xFF for one in content[page * 4096 : page * 4096 + 400])
    path.write_bytes(content)


def keep_the_first_page(folder: Path) -> None:
    path = folder / "index.db"
    path.write_bytes(path.read_bytes()[:4096])


def no_database(folder: Path) -> None:
    (folder / "index.db").write_bytes(b"not a database at all" * 500)


def statement(sql: str, *parameters: object) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        change(folder / "index.db", sql, parameters=parameters)

    return apply


NAN = struct.pack("<256f", *[0.0] * 255, float("nan"))
INDEX_DAMAGE: dict[str, tuple[Callable[[Path], None], str]] = {
    "flipped pages": (flip_pages, "."),
    "a file cut off": (keep_the_first_page, "."),
    "no database": (no_database, "not a database"),
    "a lost row of full-text search": (
        statement("DELETE FROM fulltext WHERE rowid = 3"),
        "1 entities that full-text search does not have",
    ),
    "lost text": (statement("DELETE FROM fulltext_content WHERE id = 3"), "full-text search does not fit its text"),
    "other text": (
        statement("UPDATE fulltext_content SET c5 = 'another body' WHERE id = 3"),
        "full-text search does not fit its text",
    ),
    "a lost entity": (statement("DELETE FROM entities WHERE row = 3"), "entities where"),
    "a lost file": (statement("DELETE FROM files WHERE path = 'm3.py'"), "entities without a file"),
    "a lost vector": (statement("DELETE FROM vectors WHERE row = 3"), "vectors where"),
    "a vector that is no number": (
        statement("UPDATE vectors SET vector = ? WHERE row = 3", NAN),
        "1 vectors that hold",
    ),
    "a vector of zeros": (statement("UPDATE vectors SET vector = ? WHERE row = 3", bytes(1024)), "hold no direction"),
    "a short vector": (statement("UPDATE vectors SET vector = x'00' WHERE row = 3"), "not of 256 numbers"),
    "a lost counter": (statement("DELETE FROM meta WHERE key = 'generation'"), "it lost generation"),
    "a lost index": (statement("DROP INDEX entities_name"), "its schema lost entities_name"),
}


@pytest.mark.parametrize("name", INDEX_DAMAGE)
def test_a_damaged_index_is_named_left_alone_and_rebuilt_when_asked(
    name: str, app: App, workspace: Workspace, folder: Path
) -> None:
    damage, words = INDEX_DAMAGE[name]
    damage(folder)
    before = (folder / "index.db").read_bytes()
    found = broken(app, workspace)["index.db"]
    assert "damaged" in found.detail
    assert words == "." or words in found.detail
    assert "doctor --repair" in found.remedy
    assert found.workspace_id == workspace.id
    assert (folder / "index.db").read_bytes() == before
    assert not list(folder.glob("index.db.damaged-*"))

    repaired = {one.name: one for one in app.doctor().examine(workspace.id, repair=True)}
    [moved] = [one for one in folder.glob("index.db.damaged-*") if not one.name.endswith(("-wal", "-shm"))]
    assert moved.read_bytes() == before
    assert repaired["index.db"].state == "note"
    assert f"was set aside as {moved.name};" in repaired["index.db"].detail
    after = {one.name: one for one in app.doctor().examine(workspace.id)}
    assert is_sound(after.values())
    assert (after["last scan"].state, "was set aside" in after["last scan"].detail) == ("note", True)
    app.scans.run(workspace)
    assert broken(app, workspace) == {}
    assert after["last scan"] not in list(app.doctor().examine(workspace.id))


def test_a_scan_that_failed_is_broken_and_not_taken_for_an_index_that_was_set_aside(
    app: App, workspace: Workspace, folder: Path
) -> None:
    with IndexStore.open(folder, create=False) as store:
        store.scan_failed("the disk is on fire")
    assert broken(app)["last scan"].detail == "it failed: the disk is on fire"


@pytest.mark.parametrize(("kept", "words"), [(0, "it is empty"), (300, "it has only 300 bytes")])
def test_an_index_that_was_cut_off_altogether_is_said_to_be_empty_and_is_made_anew(
    kept: int, words: str, app: App, workspace: Workspace, folder: Path
) -> None:
    path = folder / "index.db"
    path.write_bytes(path.read_bytes()[:kept])
    found = broken(app, workspace)["index.db"]
    assert found.detail.startswith(words)
    assert f"braindex scan {workspace.path}" in found.remedy
    assert path.stat().st_size == kept
    assert broken(app, workspace, repair=True) == {}
    assert broken(app, workspace) == {}
    app.scans.run(workspace)
    assert [one.state for one in app.doctor().examine(workspace.id) if one.name == "index.db"] == ["ok"]
    assert app.status.of(workspace).files == len(FILES)


def test_an_empty_registry_is_said_to_be_empty_and_the_next_command_fills_it(
    app: App, workspace: Workspace, brain: Path
) -> None:
    for one in brain.glob("registry.db*"):
        one.unlink()
    (brain / "registry.db").touch()
    found = broken(app)["registry.db"]
    assert (found.detail, "token ledger" in found.remedy) == ("it is empty", True)
    assert [one.workspace for one in app.workspaces.list()] == [workspace]
    assert broken(app) == {}


def test_an_empty_memory_is_not_called_one_of_an_earlier_version(app: App, workspace: Workspace, folder: Path) -> None:
    (folder / "memory.db").touch()
    found = broken(app, workspace)["memory.db"]
    assert "it is empty" in found.detail
    assert (folder / "memory.db").read_bytes() == b""


@pytest.mark.parametrize("trace", ["registry.db", "brief.md", "scan.json"])
def test_an_index_that_was_deleted_is_lost_and_not_never_scanned(
    trace: str, app: App, workspace: Workspace, folder: Path, brain: Path
) -> None:
    for one in [*folder.glob("index.db*"), *(folder / name for name in {"brief.md", "scan.json"} - {trace})]:
        one.unlink()
    if trace != "registry.db":
        change(brain / "registry.db", "UPDATE workspaces SET last_scan = NULL")
    [found] = [one for one in app.doctor().examine(workspace.id) if one.name == "index.db"]
    assert (found.state, "its index was lost" in found.detail) == ("note", True)
    assert "the next scan or question makes it anew" in found.remedy
    assert not (folder / "index.db").exists()
    (folder / trace).unlink(missing_ok=True)
    change(brain / "registry.db", "UPDATE workspaces SET last_scan = NULL")
    [never] = [one for one in app.doctor().examine(workspace.id) if one.name == "index.db"]
    assert never.detail == "never scanned"


@pytest.mark.parametrize("registry", ["kept", "gone", "damaged", "rebuilt"])
def test_a_folder_with_data_is_never_called_left_over(
    registry: str, app: App, workspace: Workspace, folder: Path, brain: Path
) -> None:
    (folder / "workspace.json").unlink()
    if registry != "kept":
        for one in brain.glob("registry.db*"):
            one.unlink()
    if registry == "damaged":
        (brain / "registry.db").write_bytes(b"not a database at all" * 500)
    if registry == "rebuilt":
        assert app.workspaces.list() == []
    [said] = [one for one in app.doctor().examine() if one.name == "workspace folders"]
    assert said.state == "note"
    assert "scan" in said.remedy
    assert "delete" not in said.remedy
    assert "left over" not in said.detail
    app.scans.run(workspace)
    assert "workspace folders" not in {one.name for one in app.doctor().examine()}
    (folder.parent / "nothing-in-it").mkdir()
    (folder.parent / "nothing-in-it" / "write.lock").touch()
    [said] = [one for one in app.doctor().examine() if one.name == "workspace folders"]
    assert said.detail.startswith("left over from a drop, without any data: nothing-in-it")


@pytest.mark.parametrize("full", [True, False])
def test_of_one_kind_of_damage_three_places_are_named(full: bool, app: App, workspace: Workspace, folder: Path) -> None:
    path = folder / "index.db"
    connection = sqlite3.connect(path)
    roots = {row[0] for row in connection.execute("SELECT rootpage FROM sqlite_master")}
    connection.close()
    content = bytearray(path.read_bytes())
    leaves = [page for page in range(1, len(content) // 4096) if content[page * 4096] == 13 and page + 1 not in roots]
    for page in leaves:
        content[page * 4096] = 0xFF  # no kind of page
    path.write_bytes(content)
    found = broken(app, workspace, full=full)["index.db"].detail
    assert found.count("btreeInitPage") == 3
    assert "and at least 17 more of this kind" in found


def test_quick_checks_find_what_a_count_tells_and_leave_out_what_needs_reading(
    app: App, workspace: Workspace, folder: Path
) -> None:
    change(folder / "index.db", "UPDATE vectors SET vector = ? WHERE row = 3", parameters=(NAN,))
    assert broken(app, workspace, full=False) == {}
    change(folder / "index.db", "DELETE FROM entities WHERE row = 3")
    assert "index.db" in broken(app, workspace, full=False)


def test_a_sound_index_is_not_set_aside_by_a_repair(app: App, workspace: Workspace, folder: Path) -> None:
    before = (folder / "index.db").read_bytes()
    assert broken(app, repair=True) == {}
    assert (folder / "index.db").read_bytes() == before


def alter_chroma(folder: Path, upserts: list[tuple[str, bytes]], deletes: list[str]) -> None:
    with IndexStore.open(folder, create=False) as store:
        chroma = ChromaVectors(folder)
        with chroma.turn(), chroma.changes():
            chroma.refresh(store.applied_generation())
            chroma.apply(upserts, deletes)
        chroma.close()


@pytest.mark.parametrize("fault", ["missing", "different"])
def test_a_vector_index_that_differs_is_named_and_rebuilt_by_the_next_scan(
    fault: str, make_app: MakeApp, make_project: MakeProject
) -> None:
    app = make_app(EXACT_SEARCH_LIMIT="0")
    workspace = scanned(app, make_project(FILES))
    assert broken(app) == {}
    folder = app.workspaces.folder(workspace)
    with IndexStore.open(folder, create=False) as store:
        one = store.entities([3])[3].id
    alter_chroma(folder, [(one, struct.pack("<256f", *[1 / 16] * 256))], [])
    if fault == "missing":
        alter_chroma(folder, [], [one])
    found = broken(app)["vector index"]
    assert f"1 vector is {fault}" in found.detail
    assert "rebuilds it from index.db" in found.remedy
    app.scans.run(workspace)
    assert broken(app) == {}


def note(number: int) -> Note:
    time = "2026-12-01T00:00:00.000000Z"
    return Note(f"{number:016x}", "Refunds go through the ledger. " * 20, "decision", "cursor", time, time)


@pytest.mark.parametrize("kept", [0, 100, 5000, 20_000])
def test_a_truncated_memory_is_named_and_stays_as_it_is_to_the_byte(
    kept: int, app: App, workspace: Workspace, folder: Path
) -> None:
    with MemoryStore.open(folder) as memory:
        for number in range(60):
            memory.add_note(note(number))
    path = folder / "memory.db"
    path.write_bytes(path.read_bytes()[:kept])
    if not kept:
        (folder / "memory.db-wal").write_bytes(b"what was written last" * 200)
    before = {one.name: one.read_bytes() for one in folder.glob("memory.db*") if not one.name.endswith("-shm")}
    for repair in (False, True):
        found = broken(app, workspace, repair=repair)["memory.db"]
        assert "damaged" in found.detail
        assert "left as it is" in found.remedy
    after = {one.name: one.read_bytes() for one in folder.glob("memory.db*") if not one.name.endswith("-shm")}
    assert {name: after[name] for name in before} == before


def test_a_memory_that_was_cut_to_nothing_is_told_from_one_that_holds_nothing(
    app: App, workspace: Workspace, folder: Path
) -> None:
    """Also once it was begun anew, until a backup is put back or the loss is acknowledged."""
    with MemoryStore.open(folder) as memory:
        assert [one.detail for one in app.doctor().examine(workspace.id) if one.name == "memory.db"] == [
            "0 notes, 0 episodes"
        ]
        memory.add_note(note(1))
    path, kept = folder / "memory.db", (folder / "memory.db").read_bytes()
    assert broken(app, workspace) == {}
    path.write_bytes(b"")
    found = broken(app, workspace)["memory.db"]
    assert found.detail == "it is empty, though notes or episodes were kept in it"
    with pytest.raises(StoreDamaged, match="it is empty, though notes"):
        MemoryStore.open(folder)
    assert path.read_bytes() == b""
    path.unlink()
    found = broken(app, workspace)["memory.db"]
    assert found.detail == "it is gone, though notes or episodes were kept in it"
    assert not path.exists()
    with MemoryStore.open(folder) as memory:  # which begins anew
        memory.add_note(note(2))
    found = broken(app, workspace)["memory.db"]
    assert found.detail.startswith("it holds 1 note, 0 episodes, and is another than the one")
    assert found.remedy.startswith(f"put a backup at {path}; if there is none")
    path.write_bytes(kept)
    assert broken(app, workspace) == {}
    path.unlink()
    (folder / "memory.kept").unlink()  # as the remedy says where there is no backup
    assert broken(app, workspace) == {}


@pytest.mark.parametrize("name", ["index.db", "memory.db", "registry.db"])
def test_a_link_that_leads_nowhere_is_named_and_not_taken_for_a_store_that_is_yet_to_be_made(
    name: str, app: App, folder: Path, brain: Path, tmp_path: Path
) -> None:
    with MemoryStore.open(folder) as memory:
        memory.add_note(note(1))
    app.close()
    path = (brain if name == "registry.db" else folder) / name
    elsewhere = tmp_path / "drive" / name
    elsewhere.parent.mkdir()
    shutil.copy(path, elsewhere)
    for one in path.parent.glob(f"{name}*"):
        one.unlink()
    path.symlink_to(elsewhere)
    assert broken(app) == {}
    elsewhere.parent.rename(tmp_path / "unplugged")
    found = broken(app)[name]
    assert found.detail == f"it is a link to {elsewhere}, where nothing is"
    assert found.remedy.startswith("mount what it leads to; or delete the link")
    assert path.is_symlink()
    assert not elsewhere.exists()
    (tmp_path / "unplugged").rename(elsewhere.parent)
    assert broken(app) == {}


@pytest.mark.parametrize("name", ["index.db", "memory.db", "registry.db"])
def test_a_folder_in_the_place_of_a_store_is_named(
    name: str, app: App, workspace: Workspace, folder: Path, brain: Path
) -> None:
    app.close()
    path = (brain if name == "registry.db" else folder) / name
    for one in path.parent.glob(f"{name}*"):
        one.unlink()
    path.mkdir()
    found = broken(app)[name]
    assert (found.detail, found.remedy) == (f"{path} is no file", "move it away: a database is a file")


def test_a_foreign_registry_is_named_and_left_alone_and_the_next_command_heals_it(
    app: App, workspace: Workspace, brain: Path
) -> None:
    path = brain / "registry.db"
    path.unlink()
    change(path, "CREATE TABLE somebody_elses (thing TEXT)")
    before = path.read_bytes()
    found = broken(app)["registry.db"]
    assert "another application" in found.detail
    assert path.read_bytes() == before
    assert not list(brain.glob("registry.db.damaged-*"))
    assert workspace.id in {one.workspace_id for one in app.doctor().examine()}
    assert [one.workspace for one in app.workspaces.list()] == [workspace]
    found_later = list(app.doctor().examine())
    assert is_sound(found_later)
    assert [one.state for one in found_later if "moved aside" in one.detail] == ["note"]


def test_a_registry_that_lost_its_rows_still_has_its_workspaces_examined(
    app: App, workspace: Workspace, make_project: MakeProject, brain: Path
) -> None:
    other = scanned(app, make_project(FILES, name="other"))
    change(brain / "registry.db", "DELETE FROM workspaces WHERE name = 'other'")
    found = list(app.doctor().examine())
    [said] = [one for one in found if one.name == "workspace folders"]
    assert other.path in said.detail
    assert {workspace.id, other.id} <= {one.workspace_id for one in found}
    shutil.rmtree(app.workspaces.folder(workspace))
    assert any("no data is there of" in one.detail for one in app.doctor().examine())
    assert not app.workspaces.folder(workspace).exists()


@ON_POSIX
def test_files_that_others_can_read_are_named(app: App, workspace: Workspace, folder: Path, brain: Path) -> None:
    (folder / "brief.md").chmod(0o644)

    def found(top: int, middle: int, inner: int) -> Check | None:
        """Set anew each time: whatever opens a store closes the folders that it lies in."""
        for one, mode in ((brain, top), (brain / "workspaces", middle), (folder, inner)):
            one.chmod(mode)
        return broken(app).get("private files")

    assert found(0o700, 0o755, 0o755) is None  # nobody passes the data folder itself
    middle = found(0o711, 0o755, 0o700)
    assert middle is not None
    assert middle.detail.endswith("1 of what is stored: workspaces (0755)")
    assert middle.remedy == f"chmod -R go-rwx {brain}"
    inner = found(0o711, 0o711, 0o711)
    assert inner is not None
    assert "brief.md (0644)" in inner.detail


@ON_POSIX
@pytest.mark.parametrize("mode", [0o555, 0o700])
def test_data_that_this_user_cannot_write_or_read_is_said_and_left_alone(
    mode: int, open_ground: Path, make_app: MakeApp
) -> None:
    brain, project = open_ground / "brain", open_ground / "project"
    project.mkdir()
    (project / "a.py").write_text("def one():\n    return 1\n")
    app = make_app(BRAIN_DIR=str(brain))
    workspace = scanned(app, project)
    list(app.doctor().examine())  # loads what the child could not read from here
    for one in [brain, *brain.rglob("*")]:
        one.chmod(mode if one.is_dir() else 0o444 if mode == 0o555 else 0o600)
    before = {one.name: one.stat().st_mtime_ns for one in brain.rglob("*")}
    found = as_nobody(lambda: [one.as_json() for one in app.doctor().examine(str(project))], open_ground / "told")
    wrong = {one["name"]: one for one in found if one["state"] == "broken"}
    assert "cannot be read and written by this user" in wrong["data folder"]["detail"]
    assert {one.name: one.stat().st_mtime_ns for one in brain.rglob("*")} == before
    assert workspace.id in {one["workspace_id"] for one in found}
    said = " ".join(row["detail"] for row in found)
    for words in ("the check itself failed", "could not be checked", "never scanned", "does not exist"):
        assert words not in said
    if mode == 0o700:
        assert "cannot be read by this user" in wrong["data"]["detail"]
        assert not {"index.db", "memory.db", "brief"} & {one["name"] for one in found}
    else:
        assert "data" not in wrong


@ON_POSIX
def test_one_workspace_that_is_closed_to_this_user_is_neither_missing_nor_never_scanned(
    open_ground: Path, make_app: MakeApp
) -> None:
    brain, project = open_ground / "brain", open_ground / "project"
    project.mkdir()
    (project / "a.py").write_text("def one():\n    return 1\n")
    app = make_app(BRAIN_DIR=str(brain))
    workspace = scanned(app, project)
    list(app.doctor().examine())
    folder = app.workspaces.folder(workspace)
    for one in (brain, brain / "workspaces", *brain.glob("registry.db*")):
        one.chmod(0o777)
    found = as_nobody(lambda: [one.as_json() for one in app.doctor().examine()], open_ground / "told")
    wrong = {each["name"] for each in found if each["state"] == "broken"}
    assert wrong == {"private files", "data"}
    assert "workspace folders" not in {each["name"] for each in found}
    folder.chmod(0o777)
    found = as_nobody(lambda: [one.as_json() for one in app.doctor().examine()], open_ground / "told")
    of_it = {each["name"]: each for each in found if each["workspace_id"] == workspace.id}
    assert "memory.db" not in of_it
    assert of_it["index.db"]["state"] == "broken"
    assert "never scanned" not in of_it["index.db"]["detail"]


def test_a_workspace_that_is_being_scanned_is_no_fault_and_not_raced_with(
    app: App, workspace: Workspace, folder: Path
) -> None:
    with IndexStore.open(folder, create=False) as store:
        store.scan_started("2026-12-01")
    cut_off = {one.name: one for one in app.doctor().examine(workspace.id)}
    assert (cut_off["last scan"].state, cut_off["last scan"].detail) == ("note", "it was cut off")
    with FileLock(folder / "write.lock"):
        found = {one.name: one for one in app.doctor().examine(workspace.id)}
    assert found["last scan"].state == "ok"
    assert "being scanned now" in found["last scan"].detail
    assert "project" in found["locks"].detail
    assert "vector index" not in found


def test_damage_is_not_set_aside_while_a_scan_is_at_work(app: App, workspace: Workspace, folder: Path) -> None:
    change(folder / "index.db", "DELETE FROM entities WHERE row = 3")
    with FileLock(folder / "write.lock"):
        found = broken(app, workspace, repair=True)["index.db"]
    assert "could not be set aside" in found.detail
    assert not list(folder.glob("index.db.damaged-*"))


def test_what_interrupted_work_left_behind_is_named_with_its_size(app: App, workspace: Workspace, folder: Path) -> None:
    (folder / "index.db.damaged-20260101T000000Z").write_bytes(bytes(2_500_000))
    (folder / "rebuilding").mkdir()
    (folder / "memory.db.partial").write_bytes(b"half")
    (folder / ".brief.md.x1").write_bytes(b"half")
    said = " ".join(one.detail for one in app.doctor().examine(workspace.id) if one.name == "leftovers")
    for words in ("index.db.damaged-20260101T000000Z (2.5 MB)", "rebuilding", "memory.db.partial", ".brief.md.x1"):
        assert words in said
    assert (folder / "rebuilding").is_dir()


def test_a_newer_index_is_not_called_damaged_and_names_the_version(
    app: App, workspace: Workspace, folder: Path
) -> None:
    change(folder / "index.db", "INSERT INTO migrations VALUES ('index-99', '9.9', 'later')")
    found = broken(app, workspace, repair=True)["index.db"]
    assert found.remedy == "install braindex 9.9 or later"
    with pytest.raises(StoreError):
        IndexStore.open(folder, create=False)
