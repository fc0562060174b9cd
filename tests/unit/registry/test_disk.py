import stat
import sys
from pathlib import Path

import pytest

from braindex.registry.disk import make_private_folder, set_aside, write_private
from braindex.registry.failures import StoreDamaged, StoreLocked, StoreReadOnly, os_failure


def test_a_file_is_replaced_whole_and_leaves_no_other_behind(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "workspace.json"
    write_private(target, "old\n")
    write_private(target, "Ativação\n")
    assert target.read_bytes() == "Ativação\n".encode()
    assert [one.name for one in target.parent.iterdir()] == ["workspace.json"]


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")
def test_folders_and_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    write_private(tmp_path / "a" / "b" / "c.json", "x")
    modes = [stat.S_IMODE((tmp_path / one).stat().st_mode) for one in ("a", "a/b", "a/b/c.json")]
    assert modes == [0o700, 0o700, 0o600]


def test_making_a_folder_that_is_there_changes_nothing(tmp_path: Path) -> None:
    before = tmp_path.stat().st_mode
    make_private_folder(tmp_path)
    assert tmp_path.stat().st_mode == before


def test_a_damaged_file_is_moved_with_its_log_and_nothing_is_deleted(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    for side in ("", "-wal", "-shm"):
        path.with_name(path.name + side).write_text(f"content{side}")
    moved = set_aside(path)
    assert moved is not None
    assert moved.name.startswith("index.db.damaged-")
    assert moved.read_text() == "content"
    assert moved.with_name(moved.name + "-wal").read_text() == "content-wal"
    assert not path.exists()
    assert not path.with_name("index.db-wal").exists()


def test_two_damaged_files_of_one_second_are_both_kept(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    path.write_text("first")
    first = set_aside(path)
    path.write_text("second")
    second = set_aside(path)
    assert first is not None
    assert second is not None
    assert (first.read_text(), second.read_text()) == ("first", "second")


def test_a_fresh_file_that_took_the_damaged_ones_place_stays(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    path.write_text("damaged")
    damage = StoreDamaged(path, "detail", "remedy")
    set_aside(path, damage)
    path.write_text("fresh")
    assert set_aside(path, damage) is None
    assert path.read_text() == "fresh"


def test_setting_aside_what_is_not_there_does_nothing(tmp_path: Path) -> None:
    assert set_aside(tmp_path / "index.db") is None


def test_a_file_that_windows_holds_for_another_process_is_in_use_not_forbidden(tmp_path: Path) -> None:
    held = PermissionError(13, "The process cannot access the file")
    held.winerror = 32  # type: ignore[attr-defined]
    assert isinstance(os_failure(tmp_path / "index.db", held), StoreLocked)
    assert isinstance(os_failure(tmp_path / "index.db", PermissionError(13, "denied")), StoreReadOnly)
