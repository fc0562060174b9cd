"""`braindex review` as scripts, hooks and people use it: real processes over a real repository."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.asked import cloud
from tests.fakes.deepseek import FakeDeepSeek
from tests.fakes.github import REPOSITORY, TOKEN, FakeGitHub
from tests.fakes.repository import Repo

from braindex.bootstrap import App
from braindex.cli.commands.review import hand_over
from braindex.domain.changes import Wanted
from braindex.domain.statuses import CommitStatus

SOURCE = Path(__file__).resolve().parents[2] / "src"
HUNG = 120  # seconds after which a child counts as hung; nothing is expected to come near it
FINDING = {"path": "cart.py", "line": 2, "severity": "high", "text": "Loses the cart."}
BAD = json.dumps({"verdict": "request_changes", "summary": "Breaks.", "findings": [FINDING]})


class Box:
    """A home, a data folder and a repository of its own, with the last of two commits to review."""

    def __init__(self, folder: Path) -> None:
        self.home, self.brain = folder / "home", folder / "brain"
        self.repo = Repo(self.home / "shop")
        self.repo.commit({"cart.py": "def add(cart):\n    return cart\n", "pay.py": "def pay(c):\n    return add(c)\n"})
        self.commit = self.repo.commit({"cart.py": "def add(cart):\n    return [cart]\n"})

    def run(self, arguments: Sequence[str], settings: Mapping[str, str], cwd: Path | None = None) -> Any:
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TEMP") if name in os.environ}
        home = {"HOME": str(self.home), "USERPROFILE": str(self.home), "BRAIN_DIR": str(self.brain)}
        return subprocess.run(
            [sys.executable, "-P", "-m", "braindex", *arguments],
            cwd=cwd or self.repo.root,
            env={**kept, **home, "PYTHONPATH": str(SOURCE), **settings},
            input=b"",
            capture_output=True,
            timeout=HUNG,
            check=False,
        )

    def review(self, *arguments: str, **more: str) -> tuple[int, str, str]:
        done = self.run(["review", *arguments], more)
        return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")

    def episodes(self) -> list[dict[str, Any]]:
        done = self.run(["note", "export", "--episodes"], {})
        return [one for line in done.stdout.decode().splitlines() if "kind" in (one := json.loads(line))]


@pytest.fixture
def box(tmp_path) -> Box:
    return Box(tmp_path)


@pytest.fixture
def deepseek() -> Iterator[FakeDeepSeek]:
    with FakeDeepSeek(answer_text=BAD) as stand_in:
        yield stand_in
        assert stand_in.violations == []


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with FakeGitHub() as stand_in:
        yield stand_in
        assert stand_in.violations == []


def test_a_review_is_printed_stored_and_nothing_fails(box):
    code, out, err = box.review("HEAD", "--wait")
    assert code == 0
    assert out.startswith(
        f"no verdict on commit HEAD ({box.commit[:10]}), 1 file\n\nchanged:\n  modified cart.py (+1 -1)\n"
    )
    assert "    changed function `add` #cart.py:1\n" in out
    assert "    `pay` #pay.py:2\n" in out
    assert "the review is stored: episode" in err
    (episode,) = box.episodes()
    assert (episode["kind"], episode["client"], episode["commit"]) == ("review", "braindex review", box.commit)
    _, again, _ = box.review(f"{box.commit}^..{box.commit}", "--wait")
    assert "similar reviews of the last 90 days:" not in again  # it is the very same change
    box.repo.commit({"cart.py": "def add(cart):\n    return [cart, cart]\n"})
    _, another, _ = box.review("HEAD", "--wait")
    assert "similar reviews of the last 90 days:" in another


def test_every_format_says_the_same(box):
    _, text, _ = box.review("HEAD", "--json")
    found = json.loads(text)
    assert (found["verdict"], found["commit"], found["files"][0]["path"]) == (None, box.commit, "cart.py")
    assert json.loads(box.review("--format", "json")[1])["files"] == found["files"]
    assert box.review("--format", "markdown")[1].startswith("## Review: no verdict on the last commit")


def test_the_verdict_ends_in_success_unless_it_is_asked_otherwise(box, deepseek):
    settings = cloud(deepseek)
    code, out, _ = box.review("HEAD", "--wait", **settings)
    assert code == 0
    assert out.startswith("request_changes: 1 finding in commit HEAD")
    assert "\n 1. [high] #cart.py:2\n    Loses the cart.\n" in out
    assert box.review("HEAD", "--fail-on", "request_changes", **settings)[0] == 1
    assert box.review("HEAD", "--fail-on", "comment", **settings)[0] == 1
    deepseek.answer_text = json.dumps({"verdict": "comment", "summary": "So so.", "findings": []})
    assert box.review("HEAD", "--fail-on", "request_changes", **settings)[0] == 0
    before = len(deepseek.requests)
    assert box.review("HEAD", "--no-engine", "--fail-on", "comment", **settings)[0] == 0
    assert len(deepseek.requests) == before


def test_status_and_memory_follow_in_the_background(box, deepseek, github):
    hub = {"GITHUB_TOKEN": TOKEN, "GITHUB_REPOSITORY": REPOSITORY, "GITHUB_API_URL": github.url}
    code, _, err = box.review("HEAD", **cloud(deepseek), **hub)
    assert (code, err) == (0, "")
    assert github.asked.wait(HUNG)
    assert [one["state"] for one in github.statuses[box.commit]] == ["failure"]


def test_what_follows_is_done_by_a_process_that_outlives_the_command(app: App, box, monkeypatch, brain):
    workspace = app.workspaces.open(box.repo.root)
    aftermath = app.afterwards.of(app.reviews.review(workspace, Wanted("HEAD")))
    monkeypatch.setenv("BRAIN_DIR", str(brain))
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    process = hand_over(aftermath)
    assert process is not None
    assert process.wait(HUNG) == 0
    assert app.memories.all_episodes(workspace) == [aftermath.episode]


def test_what_goes_wrong_in_the_background_is_in_a_log(app: App, box, github, monkeypatch, brain):
    github.fail_always("404")
    for name, value in {"TOKEN": TOKEN, "REPOSITORY": REPOSITORY, "API_URL": github.url}.items():
        monkeypatch.setenv(f"GITHUB_{name}", value)
    monkeypatch.setenv("BRAIN_DIR", str(brain))
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    workspace = app.workspaces.open(box.repo.root)
    aftermath = app.afterwards.of(app.reviews.review(workspace, Wanted("HEAD")))
    process = hand_over(replace(aftermath, status=CommitStatus(box.commit, "error", "not reviewed")))
    assert process is not None
    assert process.wait(HUNG) == 1
    assert "HTTP 404" in (brain / f"server-{process.pid}.log").read_text(encoding="utf-8")
    assert len(app.memories.all_episodes(workspace)) == 1


def test_a_post_that_fails_is_told_to_whoever_waits_and_changes_no_exit_code(box, github):
    github.fail_always("404")
    hub = {"GITHUB_TOKEN": TOKEN, "GITHUB_REPOSITORY": REPOSITORY, "GITHUB_API_URL": github.url}
    code, _, err = box.review("HEAD", "--wait", **hub)
    assert code == 0
    assert [line.partition(":")[2][:22] for line in err.splitlines()] == [
        " the review is stored:",
        " no status was posted ",
    ]


def test_the_status_of_a_review_that_is_not_stored_is_posted(box, github):
    hub = {"GITHUB_TOKEN": TOKEN, "GITHUB_REPOSITORY": REPOSITORY, "GITHUB_API_URL": github.url}
    code, _, err = box.review("HEAD", "--no-store", "--wait", **hub)
    assert (code, err) == (0, f"braindex: the status of {box.commit[:10]} is posted: error\n")
    assert box.episodes() == []


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("nowhere..HEAD",), 1, "the repository has no commit 'nowhere'"),
        (("HEAD..HEAD",), 1, "there is nothing to review"),
        (("--staged",), 1, "there is nothing to review: the staged changes hold no change"),
        (("--pr-base", "-x"), 2, "expected one argument"),
        (("--pr-base=-x",), 2, "names no revision"),
        (("HEAD..--output=x",), 2, "names no revision"),
        (("HEAD", "--staged"), 2, "not allowed with"),
        (("--json", "--format", "text"), 2, "not allowed with"),
        (("--fail-on", "approve"), 2, "invalid choice"),
        (("--afterwards",), 2, "calls itself"),
    ],
)
def test_what_cannot_be_reviewed_is_one_clear_line(box, arguments, code, said):
    found, out, err = box.review(*arguments)
    assert (found, out) == (code, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_folder_without_a_repository_and_a_machine_without_git_say_so(box):
    plain = box.home / "plain"
    plain.mkdir()
    (plain / "pyproject.toml").write_text("")
    done = box.run(["review"], {}, plain)
    assert done.returncode == 1
    assert b"is in no git repository" in done.stderr
    done = box.run(["review"], {"PATH": ""})
    assert done.returncode == 1
    assert b"a review needs git" in done.stderr


def test_a_pull_request_is_what_head_has_beyond_its_base(box):
    box.repo.git("checkout", "--quiet", "-b", "topic")
    box.repo.commit({"new.py": "def new():\n    return 1\n"})
    code, out, _ = box.review("--pr-base", "main")
    assert code == 0
    assert out.startswith("no verdict on the changes since main, 1 file")
