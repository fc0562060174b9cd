"""The hook that docs/reviews.md shows does what the page says of it."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.fakes.asked import ROOT
from tests.fakes.repository import ENVIRONMENT, Repo

# Stands for braindex: notes what it was asked for, and ends as it is told.
STAND_IN = '#!/bin/sh\necho "$@" >> "$ASKED"\nexit "${VERDICT:-0}"\n'


@pytest.fixture
def pushed(tmp_path):
    """A repository with the hook, and a remote beside it; pushes, and returns the exit code and what was reviewed."""
    hook = re.search(
        r"```sh\n(#!/bin/sh\n.*?)```", (ROOT / "docs" / "reviews.md").read_text(encoding="utf-8"), re.DOTALL
    )
    assert hook is not None
    repo = Repo(tmp_path / "shop")
    repo.commit({"a.py": "a = 1\n"})
    repo.git("clone", "--quiet", "--bare", ".", str(tmp_path / "remote.git"))
    repo.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    repo.git("fetch", "--quiet", "origin")
    programs = {repo.root / ".git/hooks/pre-push": hook[1], tmp_path / "bin/braindex": STAND_IN}
    for path, text in programs.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def push(*arguments: str, verdict: int = 0) -> tuple[int, str]:
        asked = tmp_path / "asked"
        asked.write_text("")
        environ = {**os.environ, **ENVIRONMENT, "ASKED": str(asked), "VERDICT": str(verdict)}
        environ["PATH"] = f"{tmp_path / 'bin'}{os.pathsep}{environ['PATH']}"
        done = subprocess.run(
            ["git", "push", "--quiet", "origin", *arguments],
            cwd=repo.root,
            env=environ,
            capture_output=True,
            check=False,
        )
        return done.returncode, Path(asked).read_text().strip()

    return repo, push


def test_a_push_reviews_what_the_remote_does_not_have(pushed):
    repo, push = pushed
    first, second = repo.git("rev-parse", "HEAD"), repo.commit({"a.py": "a = 2\n"})
    assert push("main") == (0, f"review {first}...{second} --fail-on request_changes")
    repo.git("checkout", "--quiet", "-b", "topic")
    third = repo.commit({"b.py": "b = 1\n"})
    assert push("topic") == (0, f"review origin/main...{third} --fail-on request_changes")


def test_requested_changes_stop_the_push(pushed):
    repo, push = pushed
    repo.commit({"a.py": "a = 2\n"})
    code, asked = push("main", verdict=1)
    assert code == 1
    assert asked


def test_nothing_is_reviewed_where_nothing_is_to_be_seen(pushed):
    repo, push = pushed
    repo.commit({}, "empty")
    assert push("main") == (0, "")
    repo.git("branch", "old")
    assert push("old")[0] == 0
    assert push("--delete", "old") == (0, "")
