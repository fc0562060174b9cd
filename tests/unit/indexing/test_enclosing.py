import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from braindex.indexing.enclosing import find_enclosing
from braindex.indexing.opening import Unreadable, read_below, read_file
from braindex.indexing.walk import Found, WalkRules, walk

ODD = [
    b"gitdir: a\0b\n",
    b"\0",
    b"gitdir: " + b"\0" * 100,
    b"gitdir: " + b"a" * 8_000,
    b"gitdir: " + b"a/" * 4_000,
    b"gitdir: \xff\xfe\xed\xa0\x80",
    b"gitdir: .",
    b"gitdir: .git",
    b"gitdir: ..\\..\\..",
    b"gitdir: //server/share",
    b"gitdir: \\\\server\\share",
    b"gitdir: /dev/null",
    b"gitdir:",
    b"",
    "gitdir: ".encode("utf-16"),
]


def paths(root: Path) -> list[str]:
    return [one.path for one in walk(root, WalkRules()) if isinstance(one, Found)]


@pytest.mark.parametrize("content", ODD, ids=range(len(ODD)))
def test_a_git_file_may_say_anything(tmp_path, content):
    for folder in (tmp_path, tmp_path / "inner"):
        folder.mkdir(exist_ok=True)
        (folder / ".git").write_bytes(content)
        (folder / "a.py").write_text("x = 1\n")
    assert "a.py" in paths(tmp_path)
    assert paths(tmp_path / "inner") == ["a.py"]


@pytest.mark.parametrize("content", ODD, ids=range(len(ODD)))
def test_a_commondir_may_say_anything(tmp_path, content):
    (tmp_path / "main").mkdir()
    (tmp_path / "main" / "commondir").write_bytes(content.removeprefix(b"gitdir: "))
    root = tmp_path / "tree"
    root.mkdir()
    (root / ".git").write_text("gitdir: ../main\n")
    (root / "a.py").write_text("x = 1\n")
    assert paths(root) == ["a.py"]


@pytest.mark.skipif(sys.platform == "win32", reason="makes links")
def test_a_git_link_to_itself_ends(tmp_path):
    (tmp_path / ".git").symlink_to(".git")
    (tmp_path / "a.py").write_text("x = 1\n")
    assert paths(tmp_path) == ["a.py"]


def test_the_rules_that_a_git_file_points_to_count(tmp_path):
    (tmp_path / "main" / "info").mkdir(parents=True)
    (tmp_path / "main" / "info" / "exclude").write_text("b.py\n")
    root = tmp_path / "tree"
    root.mkdir()
    (root / ".git").write_text("gitdir: ../main\n")
    for name in ("a.py", "b.py"):
        (root / name).write_text("x = 1\n")
    assert find_enclosing(str(root), fold_case=False).top == str(root)
    assert paths(root) == ["a.py"]


def test_a_path_that_the_system_does_not_take_is_unreadable(tmp_path):
    with pytest.raises(Unreadable, match="path"):
        read_file("a\0b", 10)
    with pytest.raises(Unreadable, match="path"):
        read_below(str(tmp_path), "\0b", 10)


NOBODY = """
import os, sys
from pathlib import Path
from braindex.indexing.walk import Found, WalkRules, walk
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
print([one.path for one in walk(Path(sys.argv[1]), WalkRules()) if isinstance(one, Found)])
"""


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="becomes another user")
def test_a_git_link_into_a_folder_that_may_not_be_entered_is_no_bug():
    with tempfile.TemporaryDirectory() as name:  # which every user can reach, unlike tmp_path
        root, closed = Path(name).resolve() / "root", Path(name).resolve() / "closed"
        root.parent.chmod(0o755)
        root.mkdir(mode=0o755)
        closed.mkdir(mode=0o700)
        (root / ".git").symlink_to(closed / "deep" / "git")
        (root / "a.py").write_text("x = 1\n")
        done = subprocess.run(
            [sys.executable, "-c", NOBODY, str(root)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert (done.stdout.strip(), done.returncode) == ("['a.py']", 0), done.stderr
