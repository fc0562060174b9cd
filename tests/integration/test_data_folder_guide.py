"""The steps of docs/data-folder.md, run as they stand there: what they promise is kept, with servers running too."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.conftest import MakeProject

from braindex.bootstrap import App, build_app
from braindex.config import load_settings
from braindex.domain.memories import Note
from braindex.domain.results import Workspace
from braindex.registry.memory import MemoryStore

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs/data-folder.md").read_text(encoding="utf-8")
FILES = {"cart.py": "def total_price(cart):\n    return sum(cart)\n", "Makefile": ""}
MANY = 40
pytestmark = pytest.mark.skipif(sys.platform == "win32" or shutil.which("bash") is None, reason="needs a POSIX shell")
Shell = Callable[[str], str]


def steps(heading: str) -> list[str]:
    """The commands that stand under a heading of the guide."""
    section = GUIDE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"```sh\n(.*?)```", section, re.DOTALL)


def note(number: int) -> Note:
    time = "2026-12-01T00:00:00.000000Z"
    return Note(f"{number:016x}", f"Refunds go through ledger {number}.", "decision", "cursor", time, time)


def notes_in(folder: Path) -> int:
    with MemoryStore.open(folder, create=False) as memory:
        return memory.counts().notes


@pytest.fixture
def brain() -> Path:
    return Path.home() / ".brain"


@pytest.fixture
def here(brain: Path, tmp_path: Path) -> Iterator[App]:
    """What an IDE's server has open."""
    made = build_app(load_settings({"HOME": str(Path.home()), "EXACT_SEARCH_LIMIT": "0"}, tmp_path))
    yield made
    made.close()


@pytest.fixture
def shop(here: App, make_project: MakeProject) -> Workspace:
    """A workspace with a vector index of ChromaDB's and ten notes, and settings of the user's."""
    workspace = here.workspaces.open(make_project(FILES, name="shop"))
    here.scans.run(workspace)
    with MemoryStore.open(here.workspaces.folder(workspace)) as memory:
        for number in range(10):
            memory.add_note(note(number))
    (here.workspaces.data_folder / ".env").write_text("EXACT_SEARCH_LIMIT=0\n")
    (here.workspaces.data_folder / ".env").chmod(0o600)
    return workspace


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Runs steps in a shell that finds `braindex` and `python3`."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, command in (("braindex", [sys.executable, "-P", "-m", "braindex"]), ("python3", [sys.executable])):
        (programs / name).write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
        (programs / name).chmod(0o755)
    environ = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}

    def run(text: str) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            env=environ, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
        return done.stdout

    return run


def open_to_others(folder: Path) -> list[Path]:
    return [one for one in (folder, *folder.rglob("*")) if not one.is_symlink() and one.stat().st_mode & 0o077]


def test_a_backup_that_is_taken_while_servers_write_is_whole_and_can_be_put_back(
    here: App, shop: Workspace, brain: Path, shell: Shell
) -> None:
    """A writer that never closes its files leaves the last notes in the write-ahead log, where a plain copy misses them."""
    folder, backup = here.workspaces.folder(shop), Path.home() / "braindex-backup"
    [take] = steps("Backing up")
    ended = threading.Event()

    def write() -> None:
        with MemoryStore.open(folder) as memory:
            for number in range(10, 100_000):
                if ended.is_set():
                    return
                memory.add_note(note(number))
                if number == MANY:
                    begun.set()

    begun, writer = threading.Event(), threading.Thread(target=write)
    writer.start()
    assert begun.wait(60)
    try:
        assert (folder / "memory.db-wal").stat().st_size > 0
        shell(take)
        kept = backup / folder.relative_to(brain)
        first = notes_in(kept)
        shell(take)  # again, over the first one
    finally:
        ended.set()
        writer.join(60)
    assert MANY < first <= notes_in(kept)
    assert not (kept / "index.db").exists()
    assert open_to_others(backup) == []
    here.close()

    shutil.move(brain, Path.home() / "lost")
    back = steps("Putting a backup back")
    said = shell("\n".join(back))
    assert "nothing is broken" in said
    assert "its index was lost" in said
    assert (brain / ".env").read_text() == "EXACT_SEARCH_LIMIT=0\n"
    assert open_to_others(brain) == []
    assert "total_price" in shell(f"braindex ask --no-answer --workspace {shop.path} 'total price'")
    assert len(json.loads(shell(f"braindex note list --json --workspace {shop.path}"))["notes"]) > 0
    assert "lost" not in shell("braindex doctor")


def test_one_memory_is_put_back_alone_and_its_loss_is_told_until_then(
    here: App, shop: Workspace, brain: Path, shell: Shell
) -> None:
    folder = here.workspaces.folder(shop)
    shell(steps("Backing up")[0])
    here.close()
    for one in folder.glob("memory.db*"):
        one.unlink()
    said = shell("braindex doctor || true")
    assert "it is gone, though notes or episodes were kept in it" in said
    shutil.copy(Path.home() / "braindex-backup" / folder.relative_to(brain) / "memory.db", folder / "memory.db")
    (folder / "memory.db").chmod(0o600)
    assert "10 notes, 0 episodes" in shell("braindex doctor")


def test_a_data_folder_that_was_moved_serves_at_its_new_place_by_the_link_and_by_its_name(
    here: App, shop: Workspace, brain: Path, shell: Shell
) -> None:
    here.close()
    who, move = steps("Moving it")
    shell(who)
    assert "nothing is broken" in shell(move)
    moved = Path.home() / "elsewhere/brain"
    assert (brain.is_symlink(), moved.is_dir(), moved.is_symlink()) == (True, True, False)
    for where in ("", f"BRAIN_DIR={moved} "):
        assert "total_price" in shell(f"{where}braindex ask --no-answer --workspace {shop.path} 'total price'")
        assert len(json.loads(shell(f"{where}braindex note list --json --workspace {shop.path}"))["notes"]) == 10
        assert "what it holds is what index.db holds" in shell(f"{where}braindex doctor")
        limit = json.loads(shell(f"{where}braindex config --json EXACT_SEARCH_LIMIT"))["settings"][0]
        assert (limit["value"], limit["source"]) == ("0", "user")
    assert open_to_others(moved) == []
    brain.unlink()
    assert "nothing is broken" in shell(f"BRAIN_DIR={moved} braindex doctor")
    assert not brain.exists()


def test_after_it_is_removed_nothing_is_left_but_what_was_kept_and_the_next_scan_begins_anew(
    here: App, shop: Workspace, brain: Path, shell: Shell
) -> None:
    here.close()
    shell(steps("Moving it")[1])
    shell(steps("Removing it")[0])
    assert not os.path.lexists(brain)
    assert not (Path.home() / "elsewhere/brain").exists()
    assert (Path(shop.path) / "cart.py").exists()
    [kept] = (Path.home() / "kept-notes").iterdir()
    assert len(kept.read_text().splitlines()) >= 10
    shell(f"braindex scan --no-brief {shop.path}\ncd {shop.path} && braindex note import {kept}")
    assert "10 notes, 0 episodes" in shell("braindex doctor")
    assert "nothing is broken" in shell("braindex doctor")


def test_what_the_guide_says_cannot_be_made_again_is_what_its_backup_takes() -> None:
    [take] = steps("Backing up")
    for row in re.findall(r"^\| (.*?) \| (.*\*\*no\*\*.*|only .*|by a scan .*) \|$", GUIDE, re.MULTILINE):
        for name in re.findall(r"`(?:workspaces/<id>/)?([^`]+)`", row[0]):
            assert name.rstrip("/") in take or name.split(".")[0] + ".*" in take, name
