"""Changes on a real disk: whole or not at all, with mode and links kept."""

import os
from pathlib import Path

import pytest

from braindex.cli.setup.plan import Action, ClientFileUnusable, FileChange
from braindex.cli.setup.writing import (
    ChangedMeanwhile,
    ClientFileNotWritten,
    LeavesProject,
    check_places,
    read_file,
    write,
)


def change(path: Path, before: bytes | None, after: bytes | None, **more) -> FileChange:
    action: Action = "create" if before is None else "delete" if after is None else "change"
    return FileChange(path, ("zed",), action, before, after, **more)


def test_a_new_file_and_its_folders_are_made(tmp_path):
    path = tmp_path / "a" / "b" / "settings.json"
    write(change(path, None, b"{}"))
    assert path.read_bytes() == b"{}"
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask
    assert os.listdir(path.parent) == ["settings.json"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_keeps_its_mode_and_so_does_its_backup(tmp_path, mode):
    path = tmp_path / "settings.json"
    path.write_bytes(b"old")
    path.chmod(mode)
    write(change(path, b"old", b"new", makes_backup=True))
    backup = tmp_path / "settings.json.before-braindex"
    assert (path.read_bytes(), backup.read_bytes()) == (b"new", b"old")
    assert [one.stat().st_mode & 0o777 for one in (path, backup)] == [mode, mode]


def test_a_link_of_a_user_is_written_through(tmp_path):
    real = tmp_path / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_bytes(b"old")
    link = tmp_path / "settings.json"
    link.symlink_to(real)
    write(change(link, b"old", b"new"))
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_a_link_that_led_nowhere_leads_nowhere_again(tmp_path):
    link = tmp_path / "settings.json"
    link.symlink_to(tmp_path / "dotfiles" / "settings.json")
    write(change(link, None, b"ours"))
    assert (tmp_path / "dotfiles" / "settings.json").read_bytes() == b"ours"
    write(change(link, b"ours", None))
    assert link.is_symlink()
    assert not link.exists()


@pytest.mark.parametrize("linked", ["file", "folder"])
def test_a_link_out_of_the_project_is_refused(tmp_path, linked):
    root, outside = tmp_path / "shop", tmp_path / "outside"
    outside.mkdir()
    root.mkdir()
    if linked == "folder":
        (root / ".cursor").symlink_to(outside)
    else:
        (root / ".cursor").mkdir()
        (root / ".cursor" / "mcp.json").symlink_to(outside / "mcp.json")
    with pytest.raises(LeavesProject, match=r"mcp.json leads out of the project"):
        check_places([change(root / ".cursor" / "mcp.json", None, b"{}", root=root)])


def test_a_link_that_stays_in_the_project_is_fine(tmp_path):
    (tmp_path / "shop" / "agents").mkdir(parents=True)
    alias = tmp_path / "alias"
    alias.symlink_to(tmp_path / "shop")
    (alias / ".cursor").symlink_to(tmp_path / "shop" / "agents")
    check_places([change(alias / ".cursor" / "mcp.json", None, b"{}", root=alias)])


@pytest.mark.parametrize("now", [b"other", None])
def test_a_file_that_changed_meanwhile_is_left_as_it_is(tmp_path, now):
    path = tmp_path / "settings.json"
    if now is not None:
        path.write_bytes(now)
    with pytest.raises(ChangedMeanwhile):
        write(change(path, b"old", b"new"))
    assert read_file(path) == now
    assert os.listdir(tmp_path) == ([] if now is None else ["settings.json"])


def test_a_deleted_file_takes_the_folders_of_a_project_along_that_it_leaves_empty(tmp_path):
    path = tmp_path / ".cursor" / "rules" / "braindex.mdc"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"ours")
    (tmp_path / ".cursor" / "mcp.json").write_bytes(b"{}")
    write(change(path, b"ours", None, root=tmp_path))
    assert os.listdir(tmp_path / ".cursor") == ["mcp.json"]


def test_a_backup_is_dropped_with_what_it_restores(tmp_path):
    path, backup = tmp_path / "a.json", tmp_path / "a.json.before-braindex"
    path.write_bytes(b"ours")
    backup.write_bytes(b"old")
    write(FileChange(path, ("zed",), "restore", b"ours", b"old", drops_backup=True))
    assert path.read_bytes() == b"old"
    assert not backup.exists()


def test_a_folder_in_the_place_of_a_file_is_named(tmp_path):
    (tmp_path / "mcp.json").mkdir()
    with pytest.raises(ClientFileUnusable, match=r"mcp.json was left as it is.*cannot be read"):
        read_file(tmp_path / "mcp.json")


def test_a_file_in_the_place_of_a_folder_is_named(tmp_path):
    (tmp_path / ".cursor").write_bytes(b"")
    assert read_file(tmp_path / ".cursor" / "mcp.json") is None
    with pytest.raises(ClientFileNotWritten, match=r"mcp.json could not be written"):
        write(change(tmp_path / ".cursor" / "mcp.json", None, b"{}"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names on this system")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "mcp.json")
    with pytest.raises(ClientFileUnusable, match="no regular file"):
        read_file(tmp_path / "mcp.json")


def test_a_folder_in_the_place_of_a_backup_is_named_and_the_file_stays(tmp_path):
    path = tmp_path / "settings.json"
    path.write_bytes(b"old")
    (tmp_path / "settings.json.before-braindex").mkdir()
    with pytest.raises(ClientFileNotWritten, match=r"settings.json.before-braindex could not be written"):
        write(change(path, b"old", b"new", makes_backup=True))
    assert path.read_bytes() == b"old"


def test_what_a_killed_setup_had_begun_to_write_is_swept_and_what_is_being_written_is_not(tmp_path):
    path = tmp_path / "settings.json"
    path.write_bytes(b"old")
    abandoned = [tmp_path / f".{name}.x1y2.braindex-part" for name in (path.name, f"{path.name}.before-braindex")]
    current, other = tmp_path / ".settings.json.z3.braindex-part", tmp_path / ".other.json.x1y2.braindex-part"
    for one in (*abandoned, current, other):
        one.write_bytes(b"half")
    for one in (*abandoned, other):
        os.utime(one, (0, 0))
    write(change(path, b"old", b"new"))
    assert {one.name for one in tmp_path.iterdir()} == {path.name, current.name, other.name}
