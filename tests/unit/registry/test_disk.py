import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from braindex.registry import disk
from braindex.registry.disk import make_private_file, make_private_folder, set_aside, write_private
from braindex.registry.failures import StoreDamaged, StoreLocked, StoreReadOnly, os_failure

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")


def test_a_file_is_replaced_whole_and_leaves_no_other_behind(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "workspace.json"
    write_private(target, "old\n")
    write_private(target, "Ativação\n")
    assert target.read_bytes() == "Ativação\n".encode()
    assert [one.name for one in target.parent.iterdir()] == ["workspace.json"]


@posix_only
def test_folders_and_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    write_private(tmp_path / "a" / "b" / "c.json", "x")
    modes = [stat.S_IMODE((tmp_path / one).stat().st_mode) for one in ("a", "a/b", "a/b/c.json")]
    assert modes == [0o700, 0o700, 0o600]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def open_to_all(path: Path, *entries: str) -> Path:
    """A folder of mode 0755 that holds these files; an entry that ends in `/` is a folder."""
    path.mkdir(parents=True)
    for one in entries:
        (path / one).mkdir() if one.endswith("/") else (path / one).write_text("")
    path.chmod(0o755)
    return path


@posix_only
class TestTightening:
    @pytest.mark.parametrize(
        ("name", "entries"),
        [
            ("data", ()),
            ("data", (".env",)),
            ("data", ("registry.db", "registry.db-wal", "workspaces/", "server-12.log", "server-12.log.1")),
            (".brain", ("registry.db", "prices.json", "notes.txt")),
        ],
    )
    def test_a_data_folder_that_is_open_to_others_is_closed(
        self, tmp_path: Path, name: str, entries: tuple[str, ...]
    ) -> None:
        folder = open_to_all(tmp_path / name, *entries)
        make_private_folder(folder)
        assert mode(folder) == 0o700

    @pytest.mark.parametrize("entries", [("a.py",), ("registry.db", "workspaces/", "src/"), (".gitignore", ".env")])
    def test_a_folder_that_holds_anything_else_stays_as_it_is(self, tmp_path: Path, entries: tuple[str, ...]) -> None:
        folder = open_to_all(tmp_path / "project", *entries)
        make_private_folder(folder)
        assert mode(folder) == 0o755

    @pytest.mark.parametrize("shared", [0o1777, 0o2775])
    def test_a_folder_that_was_made_to_be_shared_stays_as_it_is(self, tmp_path: Path, shared: int) -> None:
        folder = open_to_all(tmp_path / ".brain")
        folder.chmod(shared)
        make_private_folder(folder)
        assert mode(folder) == shared

    def test_a_workspaces_folder_is_closed_and_so_is_the_one_above_it(self, tmp_path: Path) -> None:
        brain = open_to_all(tmp_path / "brain", "registry.db")
        workspace = open_to_all(brain / "workspaces" / "00f343e8-d49a-5a9b-a7cd-6d77729c43fb")
        workspace.parent.chmod(0o755)
        make_private_folder(workspace)
        assert (mode(workspace), mode(workspace.parent)) == (0o700, 0o700)

    def test_a_data_folder_in_someones_folder_called_workspaces_closes_itself_alone(self, tmp_path: Path) -> None:
        brain = open_to_all(tmp_path / "workspaces" / "brain", "registry.db")
        brain.parent.chmod(0o755)
        make_private_folder(brain)
        assert (mode(brain), mode(brain.parent)) == (0o700, 0o755)

    def test_a_file_is_closed_but_not_what_a_link_leads_to(self, tmp_path: Path) -> None:
        for name in ("index.db", "theirs.db"):
            (tmp_path / name).write_text("")
            (tmp_path / name).chmod(0o644)
        (tmp_path / "link.db").symlink_to("theirs.db")
        make_private_file(tmp_path / "index.db")
        make_private_file(tmp_path / "link.db")
        assert (mode(tmp_path / "index.db"), mode(tmp_path / "theirs.db")) == (0o600, 0o644)

    def test_what_another_user_owns_is_left_alone_and_no_failure(self) -> None:
        if os.geteuid() != 0:
            pytest.skip("needs a second user")
        with tempfile.TemporaryDirectory(dir="/tmp") as name:  # below the folders of other users
            Path(name).chmod(0o755)
            folder = open_to_all(Path(name) / ".brain")
            code = (
                "import os, sys; from pathlib import Path; from braindex.registry.disk import make_private_folder\n"
                "os.setgid(65534); os.setuid(65534); make_private_folder(Path(sys.argv[1]))\n"
            )
            source = str(Path(disk.__file__).parents[2])
            subprocess.run([sys.executable, "-c", code, str(folder)], env={"PYTHONPATH": source}, check=True)
            assert mode(folder) == 0o755


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
