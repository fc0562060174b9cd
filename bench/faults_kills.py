"""Part `kills` of `bench/faults.py`: a scan is killed at a random moment, again and again."""

import argparse
import concurrent.futures
import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from braindex.domain.errors import BraindexError
from faults_processes import (  # type: ignore[import-not-found]  # beside this file
    all_gone,
    braindex,
    environment,
    run,
    workers,
)
from faults_world import (  # type: ignore[import-not-found]
    Bar,
    Content,
    content,
    differences,
    undisturbed,
    workspace_folder,
    write_project,
)

LARGE_FILES, LARGE_FUNCTIONS = 180, 110  # 2.2 MB: from 2 MB on a scan reads with worker processes (services/crew.py)
LARGE_EVERY = 10
WORKER_END = 2.0  # seconds after which a killed scan's worker processes have to be gone
SIDE_FILES = frozenset({"index.db-wal", "index.db-shm"})  # SQLite's own, as a killed process leaves them


@dataclass
class Project:
    """A project that can be in two states, and what each holds.

    `seconds` is the length of an undisturbed scan: of one that begins with nothing, and of one that takes in a change.
    """

    root: Path
    texts: tuple[dict[Path, str], dict[Path, str]]
    expected: list[Content]
    seconds: dict[bool, float]
    files: frozenset[str]
    state: int = 0

    def switch(self) -> Content:
        """Edits it into the other state; what it has to hold then."""
        self.state = 1 - self.state
        for path, text in self.texts[self.state].items():
            path.write_text(text)
        return self.expected[self.state]


def project(root: Path, files: int, functions: int, *, edited: int, scratch: Path) -> Project:
    """One of `files` files, of which every `edited`th differs between its states."""
    write_project(root, files, functions, seed=files)
    paths = sorted(one for one in root.rglob("*") if one.is_file())[::edited]
    first = {path: path.read_text() for path in paths}
    second = {path: text.replace("item_", "changed_", 4) + "\n" for path, text in first.items()}
    made = Project(root, (first, second), [{}, {}], {}, frozenset())
    brain = scratch / "timed"
    for cold in (True, False):
        made.switch()
        made.expected[made.state] = undisturbed(root, scratch / "oracle")
        started = time.monotonic()
        done = run(brain, "scan", str(root), "--json")
        made.seconds[cold] = time.monotonic() - started
        assert not done.fault(), done.fault()
    made.files = frozenset(one.name for one in workspace_folder(brain, root).iterdir()) | SIDE_FILES
    return made


@dataclass
class Kill:
    """One kill: what went wrong after it, whether it hit a scan that ran, and how many workers that had."""

    wrong: list[str]
    running: bool
    workers: int


def kill(made: Project, brain: Path, chance: random.Random, *, cold: bool) -> Kill:
    if cold:
        shutil.rmtree(brain, ignore_errors=True)
    expected = made.switch()
    process = subprocess.Popen(
        braindex("scan", str(made.root), "--json"),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(brain),
    )  # fmt: skip
    time.sleep(chance.uniform(0.0, made.seconds[cold]))
    below, running = workers(brain), process.poll() is None
    process.kill()
    process.wait()
    wrong = [] if all_gone(brain, WORKER_END) else ["a worker process outlived the scan"]
    wrong += aftermath(made, brain, expected, asked_first=chance.random() < 0.5)
    return Kill(wrong, running, below)


def aftermath(made: Project, brain: Path, expected: Content, *, asked_first: bool) -> list[str]:
    """What is wrong with status, a question and a scan after a kill, and with what is stored in the end."""
    wrong = list(claims(made, brain, expected))
    if asked_first:  # a question heals too, so half of the kills leave everything to the scan
        wrong += answers(made, brain, expected)
    scan = run(brain, "scan", str(made.root), "--json")
    wrong.append(scan.fault())
    if scan.json.get("files") != len(expected):
        wrong.append(f"the scan counts {scan.json.get('files')} files of {len(expected)}")
    if not asked_first:
        wrong += answers(made, brain, expected)
    try:
        wrong += differences(content(brain, made.root), expected)
        left = {one.name for one in workspace_folder(brain, made.root).iterdir()} - made.files
        wrong += [f"left behind: {name}" for name in sorted(left)]
    except (AssertionError, BraindexError) as error:
        wrong.append(str(error))
    return [one for one in wrong if one]


def claims(made: Project, brain: Path, expected: Content) -> Iterator[str]:
    """What a status says that is not so."""
    status = run(brain, "status", str(made.root), "--json")
    if fault := status.fault():
        yield fault
        return
    found = status.json
    if found["state"] == "running":
        yield "status says that a scan runs"
    if found["freshness"] == "current" and differences(content(brain, made.root), expected):
        yield "status says that the index is current, and it is not"


def answers(made: Project, brain: Path, expected: Content) -> Iterator[str]:
    """What is wrong with the answer to a question about an entity that only this state has."""
    path = min(one.relative_to(made.root).as_posix() for one in made.texts[0])
    kind, name, line = next(row[:3] for row in expected[path])
    asked = run(brain, "ask", f"where is {name} defined", "--workspace", str(made.root), "--json", "--no-answer")
    if fault := asked.fault():
        yield fault
    elif not asked.json.get("coverage"):
        found = [(one["path"], one["line"]) for one in asked.json["sources"] if one["kind"] == kind]
        if (path, line) not in found:
            yield f"{name} is not found, and the answer does not say that it is behind"


def lane(scratch: Path, options: argparse.Namespace, number: int, count: int) -> list[Kill]:
    """`count` kills one after the other, on projects of its own."""
    chance = random.Random(options.seed * 1000 + number)
    small = project(scratch / "small", 40, 6, edited=3, scratch=scratch)
    large = project(scratch / "large", LARGE_FILES, LARGE_FUNCTIONS, edited=1, scratch=scratch / "of-large")
    kills = []
    for at in range(count):
        is_large = at % LARGE_EVERY == LARGE_EVERY - 1
        made, turn = (large, at // LARGE_EVERY + number) if is_large else (small, at)
        brain = scratch / f"killed-{made.root.name}"
        cold = turn % 2 == 0
        if not cold and not brain.exists():
            assert not run(brain, "scan", str(made.root), "--json").fault()
        kills.append(kill(made, brain, chance, cold=cold))
    return kills


def kills(scratch: Path, options: argparse.Namespace) -> list[Bar]:
    """Two lanes at a time, since a scan of a small project leaves a core idle."""
    counts = (options.kills - options.kills // 2, options.kills // 2)
    folders = [scratch / f"lane{number}" for number in range(2)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        lanes = [pool.submit(lane, folders[at], options, at, counts[at]) for at in range(2)]
        done = [one for each in lanes for one in each.result()]
    bad = [one for one in done if one.wrong]
    seen = f"{len(done) - len(bad)} of {len(done)}; {sum(one.running for one in done)} hit a scan that ran, "
    seen += f"{sum(one.workers > 0 for one in done)} one with worker processes"
    seen += "".join(f"; {one.wrong[0]}" for one in bad[:3])
    return [Bar("kills", "each killed scan heals to the content of an undisturbed one", not bad, seen)]
