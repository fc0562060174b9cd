"""What the working directory is to a command: a project, a folder in one, a plain folder, or gone."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import braindex.cli
from braindex.cli.commands.ask import path_meant

SOURCE = Path(braindex.cli.__file__).parents[2]
HUNG = 120  # seconds
GONE = "import os, sys; os.rmdir(os.getcwd()); os.execv(sys.executable, sys.argv[1:])"


class Box:
    """A home with one project in it."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = self.home / "shop"
        for path, text in (
            ("pyproject.toml", "[project]\nname = 'shop'\n"),
            ("src/cart/items.py", "def add_item(cart):\n    '''Puts one item into the cart.'''\n"),
            ("src/prices.py", "def total_price(cart):\n    '''Adds up the prices.'''\n"),
        ):
            (self.project / path).parent.mkdir(parents=True, exist_ok=True)
            (self.project / path).write_text(text)

    def run(self, *arguments: str, cwd: Path, gone: bool = False, **more: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-P", "-m", "braindex", *arguments]
        home = str(self.home)
        return subprocess.run(
            [sys.executable, "-P", "-c", GONE, *command] if gone else command,
            cwd=cwd,
            env={"PATH": os.environ["PATH"], "HOME": home, "USERPROFILE": home, "PYTHONPATH": str(SOURCE), **more},
            capture_output=True,
            text=True,
            timeout=HUNG,
            check=False,
        )

    def run_nowhere(self, *arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
        """In a folder that is deleted before the command begins."""
        folder = self.home / "deleted"
        folder.mkdir()
        return self.run(*arguments, cwd=folder, gone=True, **more)


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


@pytest.mark.parametrize("below_home", [True, False])
def test_in_a_plain_folder_the_remedy_is_named_and_works(below_home: bool, box: Box) -> None:
    plain = (box.home if below_home else box.home.parent) / "plain"
    plain.mkdir()
    for command in (["ask", "q"], ["scan"], ["status"], ["entities"]):
        done = box.run(*command, cwd=plain)
        assert done.returncode == 1
        assert f"{plain} does not look like a project" in done.stderr
        assert f"`braindex scan {plain}` makes it a workspace" in done.stderr
        assert "--workspace" in done.stderr
        assert ("nor in a parent below the home directory" in done.stderr) == below_home
    assert box.run("scan", str(plain), cwd=plain).returncode == 0
    assert box.run("status", cwd=plain).returncode == 0


def test_a_path_filter_starts_at_the_root_or_else_where_the_command_runs(box: Box) -> None:
    source = box.project / "src"
    for path, expected in (("cart", "add_item"), ("src/prices.py", "total_price"), ("../src/cart", "add_item")):
        done = box.run("ask", "--json", "--path", path, "what is done with the cart?", cwd=source)
        assert done.returncode == 0, done.stderr
        assert {one["name"] for one in json.loads(done.stdout)["sources"]} >= {expected}
        assert len({one["path"] for one in json.loads(done.stdout)["sources"]}) == 1
    done = box.run("ask", "--path", "nope", "what is done with the cart?", cwd=source)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"nope is not in the workspace {box.project}" in done.stderr
    assert "starts at the workspace's root" in done.stderr
    assert "root, or where that has none such, from here" in " ".join(
        box.run("ask", "--help", cwd=source).stdout.split()
    )


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        (None, None),
        ("cart", "src/cart"),
        ("./cart/", "src/cart"),
        ("cart/*.py", "src/cart/*.py"),
        ("prices.py", "src/prices.py"),
        ("..", ""),
        ("../src/cart", "src/cart"),
        ("../../elsewhere", "../elsewhere"),
    ],
)
def test_a_path_that_the_root_does_not_have_is_looked_for_from_here(
    path: str | None, meant: str | None, box: Box
) -> None:
    expected = None if meant is None else os.path.normpath(box.project / meant)
    assert path_meant(path, box.project, box.project / "src") == expected


@pytest.mark.parametrize(
    "path", ["src", "src/cart", "*.py", "**/cart/*", "nope", "nope/*.py", "src/*/items.py", "a\0b", ""]
)
def test_a_path_of_the_root_a_pattern_and_what_is_nowhere_stay_as_they_are(path: str, box: Box) -> None:
    assert path_meant(path, box.project, box.project / "src") == path
    assert path_meant(path, box.project, box.home) == path


def test_a_path_that_really_holds_wildcards_is_one_of_the_root(box: Box) -> None:
    for folder in ("", "src"):
        (box.project / folder / "app" / "[id]").mkdir(parents=True)
    assert path_meant("app/[id]", box.project, box.project / "src") == "app/[id]"


needs_posix = pytest.mark.skipif(os.name != "posix", reason="Windows deletes no working directory")


@needs_posix
def test_from_a_deleted_folder_all_that_names_what_it_means_works(box: Box) -> None:
    assert box.run("scan", cwd=box.project).returncode == 0
    for command in (
        ["status", str(box.project)],
        ["status", "--workspace", "shop"],
        ["ask", "--workspace", str(box.project), "--path", "src", "what is done with the cart?"],
        ["scan", "shop"],
        ["entities", str(box.project)],
        ["doctor", str(box.project)],
        ["usage"],
        ["workspaces", "list"],
        ["workspaces", "drop", "shop", "--yes"],
    ):
        done = box.run_nowhere(*command)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        assert done.stderr == ""
    assert box.run_nowhere("scan", BRAIN_WORKSPACE=str(box.project)).returncode == 0


@needs_posix
def test_from_a_deleted_folder_what_needs_one_says_so(box: Box) -> None:
    for command in (
        ["scan"],
        ["ask", "q"],
        ["scan", "./shop"],
        ["doctor", "../shop"],
        ["status", "--workspace", "./x"],
    ):
        done = box.run_nowhere(*command)
        assert (done.returncode, done.stdout) == (1, "")
        assert "the working directory no longer exists" in done.stderr
    assert "no longer exists" in box.run_nowhere("workspaces", "list", BRAIN_DIR="data").stderr
    assert "no longer exists" in box.run_nowhere("scan", BRAIN_WORKSPACE="./shop").stderr
