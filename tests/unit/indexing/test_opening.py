import os
import sys
from pathlib import Path

import pytest

from braindex.indexing import opening
from braindex.indexing.opening import Unreadable, is_link, read_below, read_file

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="makes links")


def checked(root: str, relative: str, limit: int) -> bytes:
    """The way of platforms that cannot open a file relative to an open folder."""
    return opening._read_checked(root, str(Path(root, relative)), limit)


both = pytest.mark.parametrize("read", [read_below, checked])


@both
def test_at_most_the_limit_is_read(tmp_path, read):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"0123456789")
    assert read(str(tmp_path), "a/b", 4) == b"0123"
    assert read(str(tmp_path), "a/b", 100) == b"0123456789"


@both
def test_a_link_in_the_place_of_the_file_is_refused(tmp_path, read):
    (tmp_path / "inside").write_text("x")
    (tmp_path / "link").symlink_to("inside")
    with pytest.raises((Unreadable, OSError)):
        read(str(tmp_path), "link", 10)


@both
def test_a_link_out_of_the_root_in_the_place_of_a_folder_is_refused(tmp_path, read):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a").write_text("secret")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "folder").symlink_to(tmp_path / "outside", target_is_directory=True)
    with pytest.raises((Unreadable, OSError)):
        read(str(tmp_path / "root"), "folder/a", 10)


@both
def test_the_root_itself_may_be_reached_through_a_link(tmp_path, read):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_text("x")
    (tmp_path / "alias").symlink_to(tmp_path / "real", target_is_directory=True)
    assert read(str(tmp_path / "alias"), "a", 10) == b"x"


@both
def test_no_handle_stays_open(tmp_path, read):
    (tmp_path / "a").mkdir()
    os.mkfifo(tmp_path / "pipe")
    before = os.dup(0)
    os.close(before)
    for relative in ("a", "pipe", "gone", "a/gone", "pipe/x"):
        with pytest.raises((Unreadable, OSError)):
            read(str(tmp_path), relative, 10)
    after = os.dup(0)
    os.close(after)
    assert after == before


def test_a_file_is_read_by_its_path_but_not_through_a_link(tmp_path):
    (tmp_path / "a").write_text("x")
    (tmp_path / "link").symlink_to("a")
    assert read_file(str(tmp_path / "a"), 10) == b"x"
    with pytest.raises(Unreadable, match="link"):
        read_file(str(tmp_path / "link"), 10)


def test_a_link_is_told_from_a_file(tmp_path):
    (tmp_path / "a").write_text("x")
    (tmp_path / "link").symlink_to("a")
    assert is_link((tmp_path / "link").lstat())
    assert not is_link((tmp_path / "a").lstat())
