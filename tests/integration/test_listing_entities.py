"""`braindex entities`: of a folder or of one file, and what it leaves out."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SHOP = {
    "src/cart.py": "def total():\n    pass\n",
    "open.py": "(" * 60_000,
    "made.js": "a=1;" * 2_000,
    "node_modules/kit/index.js": "1\n",
    ".gitignore": "ignored.py\n",
    "ignored.py": "def hidden():\n    pass\n",
}
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def root(make_project) -> Path:
    made: Path = make_project(SHOP)
    return made


@pytest.fixture
def run(root: Path, brain: Path) -> Run:
    def entities(*arguments: str, cwd: Path = root) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-P", "-m", "braindex", "entities", *arguments]
        env = {**os.environ, "BRAIN_DIR": str(brain)}
        return subprocess.run(command, cwd=cwd, env=env, capture_output=True, encoding="utf-8", check=False, timeout=60)

    return entities


def test_what_is_left_out_is_said_on_standard_error_with_the_reason(run: Run, root: Path) -> None:
    done = run(str(root), "--json")
    assert (done.returncode, {one["path"] for one in json.loads(done.stdout)}) == (0, {".gitignore", "src/cart.py"})
    first, minified, brackets, *rest = done.stderr.splitlines()
    assert first == "left out 4:"
    assert minified.startswith("  made.js: left out by default: minified")
    assert brackets.startswith("  open.py: over 50,000 brackets are never closed")
    assert [line.split(":")[0].strip() for line in rest] == ["ignored.py", "node_modules/"]


def test_one_file_is_listed_by_its_path_from_the_working_directory(run: Run, root: Path) -> None:
    done = run("src/cart.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "src/cart.py:1  file  src/cart.py\nsrc/cart.py:1  function  def total()\n"
    elsewhere = run(str(root / "src" / "cart.py"), "--json", cwd=root / "node_modules")
    assert [one["path"] for one in json.loads(elsewhere.stdout)] == ["cart.py", "cart.py"]


def test_a_file_that_is_named_is_listed_although_it_is_ignored(run: Run) -> None:
    assert "def hidden()" in run("ignored.py").stdout


def test_a_file_that_cannot_be_parsed_says_why(run: Run) -> None:
    done = run("open.py", "--json")
    assert (done.returncode, json.loads(done.stdout)) == (0, [])
    assert "brackets are never closed" in done.stderr


def test_a_file_is_not_looked_for_in_a_second_place(run: Run, root: Path) -> None:
    done = run("src/cart.py", "--workspace", str(root))
    assert done.returncode == 2
    assert "not both" in done.stderr


def test_a_file_of_braindexs_own_data_is_refused(run: Run, brain: Path) -> None:
    own = brain / "workspaces" / "one" / "notes.py"
    own.parent.mkdir(parents=True)
    own.write_text("def f(): pass\n")
    done = run(str(own))
    assert (done.returncode, done.stdout) == (1, "")
    assert "braindex's own data" in done.stderr


@pytest.mark.parametrize("missing", ["nofile.py", "src/nofile.py"])
def test_what_is_not_there_is_named_with_what_to_do(run: Run, missing: str) -> None:
    done = run(missing)
    assert (done.returncode, done.stdout) == (1, "")
    assert missing in done.stderr
    assert "no file or folder nofile.py here" in done.stderr or "src/nofile.py does not exist" in done.stderr
    assert "check the spelling" in done.stderr
