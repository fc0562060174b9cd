"""`braindex review` in this process, where what it hands over can be watched."""

import subprocess

import pytest
from tests.fakes.repository import Repo

from braindex.bootstrap import App
from braindex.cli.main import main


@pytest.fixture
def repo(tmp_path, brain, monkeypatch) -> Repo:
    found = Repo(tmp_path / "shop")
    found.commit({"cart.py": "def add(cart):\n    return cart\n"})
    monkeypatch.setenv("BRAIN_DIR", str(brain))
    monkeypatch.chdir(found.root)
    return found


def test_where_no_process_can_be_started_the_command_does_the_rest_itself(app: App, repo, monkeypatch, capsys):
    def refuse(*_: object) -> None:
        raise OSError

    monkeypatch.setattr("braindex.cli.commands.review.detached", refuse)
    assert main(["review", "HEAD"]) == 0
    assert "the review is stored" in capsys.readouterr().err
    assert len(app.memories.all_episodes(app.workspaces.open(repo.root))) == 1


def test_a_review_that_is_not_to_be_stored_starts_no_process_and_is_not_remembered(app: App, repo, monkeypatch, capsys):
    def unwanted(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("braindex.cli.commands.review.detached", unwanted)
    assert main(["review", "HEAD", "--no-store"]) == 0
    assert main(["review", "HEAD", "--no-store", "--wait"]) == 0
    said = capsys.readouterr()
    assert (said.out.count("no verdict on commit HEAD"), said.err) == (2, "")
    assert app.memories.all_episodes(app.workspaces.open(repo.root)) == []


def test_the_review_is_printed_before_anything_of_it_is_handed_over(repo, monkeypatch, capsys):
    printed: list[str] = []

    def watched(*_: object) -> "subprocess.Popen[bytes]":
        printed.append(capsys.readouterr().out)
        return subprocess.Popen(["true"])

    monkeypatch.setattr("braindex.cli.commands.review.detached", watched)
    assert main(["review", "HEAD"]) == 0
    assert printed[0].startswith("no verdict on commit HEAD")
    assert capsys.readouterr().out == ""
