"""`braindex review` over related commits of a real repository: what is said, remembered, found again and posted.

usage: python bench/reviews.py REPOSITORY [--commits 3] [--file PATH]

The repository is cloned to a temporary folder, and its last commits that touch the same function (by the heads of git's
hunks), or the same `--file`, are checked out and reviewed one after the other, oldest first. The engine and GitHub are
stand-ins on this machine: the engine follows a script, so what is measured is not its judgement but all that is around
it. Then once more each: with a GitHub that fails, with a memory that another process keeps locked, and without an
engine. Prints a transcript and a line for each promise; exit code 1 where one does not hold.
"""

import argparse
import contextlib
import json
import operator
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from reviews_stand_ins import INVENTED, KEY, REPOSITORY, TOKEN, Engine, GitHub  # type: ignore[import-not-found]

HISTORY = 500  # commits that are looked through
PATIENCE = 120  # seconds after which what is waited for does not come any more
LOCKED = 8.0  # seconds at least
VERDICTS = {"request_changes": "failure", "comment": "success", "approve": "success"}  # and the status of each
LOCK = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None)
if sys.argv[2] == "alone":
    held.execute("PRAGMA locking_mode = EXCLUSIVE")
held.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
"""


@dataclass(frozen=True)
class Commit:
    hash: str
    subject: str


@dataclass
class World:
    """A clone, a home and data folders of their own, and braindex as a command in them."""

    folder: Path
    engine: Engine
    github: GitHub
    brain: Path = field(init=False)
    clone: Path = field(init=False)
    kept: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clone, self.brain = self.folder / "clone", self.folder / "brain"

    @property
    def environ(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", ""), "HOME": str(self.folder),
            "BRAIN_DIR": str(self.brain), "DEEPSEEK_API_KEY": KEY, "DEEPSEEK_BASE_URL": self.engine.url,
            "BRIEF_WARMUP": "false", "GITHUB_TOKEN": TOKEN, "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_API_URL": self.github.url,
        }  # fmt: skip

    def git(self, *arguments: str) -> str:
        command = ["git", "-c", f"core.attributesFile={self.folder / 'attributes'}", *arguments]
        done = subprocess.run(command, cwd=self.clone, capture_output=True, check=True)
        return done.stdout.decode("utf-8", "replace")

    def braindex(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-P", "-m", "braindex", *arguments], cwd=self.clone, env=self.environ,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip

    def reviewed(self, commit: Commit, *arguments: str) -> dict[str, Any]:
        """The review of a commit that is checked out first. Ends the bench where there is none."""
        self.git("checkout", "--quiet", "--force", commit.hash)
        started = time.monotonic()
        done = self.braindex("review", "HEAD", "--json", *arguments)
        if done.returncode:
            raise SystemExit(f"braindex review ended with {done.returncode}: {done.stderr[-2000:]}")
        return {**json.loads(done.stdout), "seconds": time.monotonic() - started, "told": done.stderr}

    def stored(self, commit: Commit) -> int:
        """How many reviews of a commit are in the memory."""
        lines = self.braindex("note", "export", "--episodes").stdout.splitlines()
        episodes = [one for line in lines if (one := json.loads(line)).get("kind") == "review"]
        return sum(one["commit"] == commit.hash for one in episodes)

    def promise(self, text: str, *, held: bool) -> None:
        self.kept.append(held)
        print(f"    {'ok  ' if held else 'FAIL'} {text}")


def related(world: World, wanted: int, file: str | None) -> tuple[str, list[Commit]]:
    """The last commits that touch the same function, or the same file, oldest first, and what they touch."""
    (world.folder / "attributes").write_text("*.py diff=python\n*.go diff=golang\n*.rs diff=rust\n*.java diff=java\n")
    narrowed = ["--", file] if file else []
    log = world.git("log", "-p", "-U0", "--no-merges", "-n", str(HISTORY), "--format=%x01%H %s", *narrowed)
    found: dict[str, dict[Commit, None]] = defaultdict(dict)
    for part in log.split("\x01")[1:]:
        commit, path = Commit(*part.partition("\n")[0].split(" ", 1)), ""
        for line in part.splitlines():
            if line.startswith("+++ "):
                path = line[4:].removeprefix("b/")
            elif (hunk := re.match(r"@@ \S+ \S+ @@ .*?(\w+)\s*[({]", line)) and not path.startswith("test"):
                found[file or f"{hunk[1]} in {path}"][commit] = None
        for what, commits in found.items():
            if len(commits) == wanted:
                return what, list(commits)[::-1]
    raise SystemExit(f"no function that {wanted} of the last {HISTORY} commits touch; name a file with --file")


def until(condition: Callable[[], object]) -> bool:
    """Whether it comes true in time."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True


@contextlib.contextmanager
def locked(world: World, how: str) -> Iterator[None]:
    """The memory is locked by another process: against writers, or "alone" against readers too."""
    [path] = world.brain.rglob("memory.db")
    with subprocess.Popen(
        [sys.executable, "-c", LOCK, str(path), how], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline()
        yield
        holder.stdin.close()


def script(world: World, what: str, commit: Commit, verdict: str) -> None:
    name = what.partition(" in ")[0]
    world.engine.name, world.engine.verdict = name, verdict
    world.engine.description = f"{commit.subject}. It changes {what}."


def show(found: dict[str, Any], commit: Commit, status: str) -> None:
    print(f"\n  {commit.hash[:10]} {commit.subject[:80]}")
    usage = found["usage"]
    print(
        f"    verdict {found['verdict']} ({found['engine']}, {usage['calls']} calls, ${usage['cost_usd']:.4f}), "
        f"status {status}, {found['seconds']:.1f} s"
    )
    for one in found["findings"]:
        print(f"    finding [{one['severity']}] #{one['path']}:{one['line']} {one['text']}")
    touched = [one["name"] for file in found["files"] for kind in file["entities"].values() for one in kind]
    callers = [f"{one['name']} in {one['path']}" for called in found["callers"] for one in called["callers"]]
    print(f"    entities {', '.join(touched[:6]) or 'none'}; callers {', '.join(callers[:4]) or 'none'}")
    for one in found["similar"]:
        distance = "by words" if one["distance"] is None else f"distance {one['distance']:.2f}"
        print(f"    similar {one['commit'][:10]} ({one['verdict'] or 'not judged'}, {distance})")
    if not found["similar"]:
        print("    similar none")


def with_engine(world: World, what: str, commits: list[Commit]) -> list[Any]:
    """Returns the callers that the reviews told."""
    print("\nWith an engine, stored and posted in the background:")
    callers = []
    for number, commit in enumerate(commits):
        verdict = list(VERDICTS)[number % len(VERDICTS)]
        script(world, what, commit, verdict)
        found = world.reviewed(commit)
        posted = until(partial(operator.contains, world.github.statuses, commit.hash))
        stored = until(partial(world.stored, commit))
        status = world.github.statuses.get(commit.hash, "none")
        show(found, commit, status)
        world.promise(f"the verdict is {verdict}, as the engine said", held=found["verdict"] == verdict)
        places = [(one["path"], one["line"]) for one in found["findings"]]
        world.promise("one finding, on a line of the diff", held=len(places) == 1 and in_diff(world, *places[0]))
        dropped = found["dropped"] == 1 and INVENTED not in json.dumps(found)
        world.promise("the finding about a file that is nowhere is dropped", held=dropped)
        world.promise(f"its status is {VERDICTS[verdict]}", held=posted and status == VERDICTS[verdict])
        world.promise("it is stored", held=stored)
        if number:
            finds_earlier(world, found, commits[:number])
            asked = world.engine.said()
            world.promise("the engine was shown it", held=any(one.subject in asked for one in commits[:number]))
        callers.append(found["callers"])
    return callers


def finds_earlier(world: World, found: dict[str, Any], earlier: list[Commit]) -> None:
    held = {one["commit"] for one in found["similar"]} & {one.hash for one in earlier}
    world.promise("it finds an earlier review", held=bool(held))


def in_diff(world: World, path: str, line: int) -> bool:
    """Whether git says, too, that the commit adds this line."""
    for one in world.git("show", "--format=", "-U0", "HEAD", "--", path).splitlines():
        if hunk := re.match(r"@@ \S+ \+(\d+)(?:,(\d+))? @@", one):
            start, count = int(hunk[1]), int(hunk[2] or 1)
            if start <= line < start + count:
                return True
    return False


def github_fails(world: World, what: str, commit: Commit) -> None:
    print("\nGitHub answers 500:")
    before = len(world.github.received)
    script(world, what, commit, "comment")
    world.github.broken = True
    world.github.statuses.pop(commit.hash, None)
    count = world.stored(commit)
    found = world.reviewed(commit, "--wait")
    world.github.broken = False
    show(found, commit, world.github.statuses.get(commit.hash, "none"))
    for line in found["told"].splitlines():
        print(f"    said: {line}")
    world.promise("GitHub was asked, and the failure is told", held="HTTP 500" in found["told"])
    world.promise("it was asked once", held=len(world.github.received) == before + 1)
    world.promise("the review is stored all the same", held=world.stored(commit) == count + 1)


def memory_is_locked(world: World, what: str, commit: Commit, how: str) -> None:
    print(f"\nAnother process has the memory locked ({'for itself' if how == 'alone' else 'against writers'}):")
    script(world, what, commit, "approve")
    world.github.statuses.pop(commit.hash, None)
    count = world.stored(commit)
    with locked(world, how):
        started = time.monotonic()
        found = world.reviewed(commit)
        posted = until(lambda: commit.hash in world.github.statuses)
        seconds = time.monotonic() - started
        time.sleep(max(0.0, LOCKED - seconds))
    show(found, commit, world.github.statuses.get(commit.hash, "none"))
    world.promise(f"the review has its verdict after {found['seconds']:.1f} s", held=found["verdict"] == "approve")
    world.promise(f"its status was posted while the memory was locked ({seconds:.1f} s after the start)", held=posted)
    stored = until(lambda: world.stored(commit) == count + 1)
    world.promise("the review is stored when the lock is gone", held=stored)
    if how == "alone":
        said = any("the memory could not be searched" in one for one in found["notes"])
        world.promise("it says that earlier reviews could not be looked for", held=said)
    else:
        world.promise("earlier reviews are found meanwhile", held=bool(found["similar"]))


def without_engine(world: World, commits: list[Commit], callers: list[Any]) -> None:
    print("\nWithout an engine, in a fresh data folder:")
    world.brain = world.folder / "brain-without"
    before, told = len(world.engine.received), []
    for number, commit in enumerate(commits):
        world.github.statuses.pop(commit.hash, None)
        found = world.reviewed(commit, "--no-engine", "--wait")
        show(found, commit, world.github.statuses.get(commit.hash, "none"))
        structure = any(kind for file in found["files"] for kind in file["entities"].values())
        told.append(found["callers"])
        world.promise("the entities that it touches", held=structure)
        world.promise("no verdict, and the status says so", held=world.github.statuses.get(commit.hash) == "error")
        if number:
            finds_earlier(world, found, commits[:number])
    world.promise("the engine was asked nothing", held=len(world.engine.received) == before)
    world.promise("the callers are those of the reviews with an engine", held=told == callers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--commits", type=int, default=3)
    parser.add_argument("--file", help="review the commits that touch this file")
    arguments = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        world = World(folder, stack.enter_context(Engine()), stack.enter_context(GitHub()))
        source = str(arguments.repository.resolve())
        subprocess.run(["git", "clone", "--quiet", source, str(world.clone)], check=True)
        what, commits = related(world, arguments.commits, arguments.file)
        print(f"{arguments.repository.resolve().name}: {len(commits)} commits that touch {what}")
        callers = with_engine(world, what, commits)
        github_fails(world, what, commits[-1])
        memory_is_locked(world, what, commits[-1], "against writers")
        memory_is_locked(world, what, commits[-1], "alone")
        without_engine(world, commits, callers)
    print(f"\n{sum(world.kept)} of {len(world.kept)} promises hold")
    sys.exit(not all(world.kept))


if __name__ == "__main__":
    main()
