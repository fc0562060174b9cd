"""The commit a folder stands at, as git's own files tell it."""

import subprocess
from pathlib import Path

import pytest

from braindex.services.revision import commit_of

ENV = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *ENV, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    git(root, "commit", "-q", "--allow-empty", "-m", "one")
    return root


def test_a_branch_is_followed_to_its_commit(root: Path) -> None:
    (root / "deep").mkdir()
    assert commit_of(str(root / "deep")) == git(root, "rev-parse", "HEAD")


def test_packed_references_and_detached_heads_are_read(root: Path) -> None:
    git(root, "pack-refs", "--all")
    assert commit_of(str(root)) == git(root, "rev-parse", "HEAD")
    git(root, "checkout", "-q", "--detach")
    assert commit_of(str(root)) == git(root, "rev-parse", "HEAD")


def test_a_worktree_stands_at_its_own_commit(root: Path, tmp_path: Path) -> None:
    git(root, "worktree", "add", "-q", "-b", "other", str(tmp_path / "other"))
    git(tmp_path / "other", "commit", "-q", "--allow-empty", "-m", "two")
    assert commit_of(str(tmp_path / "other")) == git(tmp_path / "other", "rev-parse", "HEAD")
    assert commit_of(str(tmp_path / "other")) != commit_of(str(root))


@pytest.mark.parametrize("head", ["", "ref: refs/heads/none", "ref: refs/../../etc/passwd", "\0", "garbage"])
def test_what_names_no_commit_is_none(root: Path, head: str) -> None:
    (root / ".git" / "HEAD").write_text(head)
    assert commit_of(str(root)) == ""


def test_a_folder_without_a_repository_has_no_commit(tmp_path: Path) -> None:
    assert commit_of(str(tmp_path)) == ""
    assert commit_of(str(tmp_path / "gone")) == ""


@pytest.mark.parametrize("folder", ["", "a\0b", "/\ud800", "/" + "x" * 100_000, "/dev/null/x", "C:\\work"])
def test_a_folder_that_is_no_path_has_no_commit(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert commit_of(folder) == ""
