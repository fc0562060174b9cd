"""Part `together` of `bench/faults.py`: many processes on one workspace and one data folder."""

import argparse
import concurrent.futures
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faults_processes import Asker, Server, environment, run  # type: ignore[import-not-found]  # beside this file
from faults_world import (  # type: ignore[import-not-found]
    Asked,
    Bar,
    Journal,
    content,
    differences,
    edit,
    judged,
    lost_memories,
    undisturbed,
    workspace_folder,
    write_project,
)

# Seconds after which what was written or deleted has to be known. A question takes changes in for at most one second
# and says what it left (services/freshness.py); the rest is what eight processes on two cores wait for each other.
SETTLED = 5.0
SERVER_END = 2.0  # seconds a server may take to end among the others; alone it has one
GENERAL = "where is a basket charged"


@dataclass
class World:
    """One round: everything that the drivers share."""

    root: Path
    brain: Path
    seed: int
    journal: Journal = field(default_factory=Journal)
    stop: threading.Event = field(default_factory=threading.Event)
    errors: list[str] = field(default_factory=list)
    rows: dict[str, str] = field(default_factory=dict)
    _counts: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, what: str) -> None:
        with self._lock:
            self._counts[what] += 1

    def wrong(self, what: str) -> None:
        """Takes down an error, unless it is none: ""."""
        if what:
            self.errors.append(what)

    def counts(self) -> str:
        return ", ".join(f"{count:,} {what}" for what, count in sorted(self._counts.items()))

    def judge(self, ask: Callable[[str], dict[str, Any]], chance: random.Random) -> bool:
        """Asks one question and looks at the answer; False when there was none."""
        choices: list[Asked | None] = [*self.journal.settled(SETTLED, chance)]
        asked = chance.choice(choices or [None])
        answer = ask(GENERAL if asked is None else f"where is {asked.name} defined")
        self.count("questions")
        if "coverage" in answer:
            self.count("answers that said they were behind")
        if asked is not None:
            self.wrong(judged(answer, asked, self.journal, self.root))
        elif "error" in answer:
            self.wrong(f"a question: {answer['error']}")
        return "error" not in answer


def asks(world: World, number: int) -> None:
    """A long-lived process that answers questions about what is there and what is gone."""
    chance = random.Random(world.seed * 100 + number)
    asker = Asker(world.brain, world.root)
    while not world.stop.is_set() and world.judge(asker.ask, chance):
        pass
    asker.close()
    world.wrong(asker.complaint())


def scans(world: World, _: int) -> None:
    while not world.stop.is_set():
        world.count("scans")
        world.wrong(run(world.brain, "scan", str(world.root), "--json").fault())


def serves(world: World, number: int) -> None:
    """A server whose client calls its tools all the time."""
    chance = random.Random(world.seed * 100 + number)
    server = Server(world.brain, world.root)

    def query(text: str) -> dict[str, Any]:
        found: dict[str, Any] = server.call("query_memory", query=text)
        return found

    while not world.stop.is_set():
        tool = chance.choice(("scan_workspace", "scan_status", "query_memory", "query_memory"))
        world.count("tool calls")
        if tool == "query_memory":
            world.judge(query, chance)
        else:
            world.wrong(server.call(tool).get("error", ""))
        if server.process.poll() is not None:
            break
    seconds = server.close()
    world.wrong(server.complaint() or (f"a server took {seconds:.1f} s to end" if seconds > SERVER_END else ""))


WRITER = """
import sys
from pathlib import Path
from braindex.domain.memories import Episode, Note, new_id, now
from braindex.registry.memory import MemoryStore
folder = Path(sys.argv[1])
for line in sys.stdin:
    at, key, text = now(), new_id(), line.strip()
    with MemoryStore.open(folder) as memory:
        if text.startswith("note"):
            memory.add_note(Note(id=key, text=text, category="decision", author="bench", created=at, updated=at))
        else:
            memory.add_episode(Episode(id=key, kind="turn", client="bench", session="s", created=at, prompt=text))
    print(key, flush=True)
"""


def remembers(world: World, number: int) -> None:
    """A process that writes rows to memory.db; a row counts from the moment it says so."""
    folder = workspace_folder(world.brain, world.root)
    with subprocess.Popen(
        [sys.executable, "-P", "-c", WRITER, str(folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", env=environment(world.brain),
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        at = 0
        while not world.stop.wait(0.05):
            at += 1
            text = f"{('note', 'episode')[at % 2]} {at} of writer {number}"
            process.stdin.write(text + "\n")
            process.stdin.flush()
            key = process.stdout.readline().strip()
            if not key:
                world.wrong("a writer of memory.db ended")
                return
            world.rows[key] = text
            world.count("memory rows")
        process.stdin.close()


DRIVERS: tuple[Callable[[World, int], None], ...] = (
    asks, scans, serves, remembers, asks, scans, remembers, serves,
)  # fmt: skip


def drive(world: World, processes: int, seconds: float) -> None:
    """Everything at once for so long, then one scan by itself."""
    chance = random.Random(world.seed)
    drivers = [DRIVERS[one % len(DRIVERS)] for one in range(processes)]
    with concurrent.futures.ThreadPoolExecutor(processes + 1) as pool:
        running = [pool.submit(edit, world.root, world.journal, chance, world.stop)]
        running += [pool.submit(driver, world, at) for at, driver in enumerate(drivers)]
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not any(one.done() for one in running):
            time.sleep(0.1)
        if time.monotonic() < deadline:
            world.wrong("a driver ended before its time")
        world.stop.set()
        for one in running:
            error = one.exception()
            world.wrong(f"a driver: {error!r}" if error else "")
    world.wrong(run(world.brain, "scan", str(world.root), "--json").fault())


def one_round(scratch: Path, options: argparse.Namespace, number: int) -> list[Bar]:
    world = World(scratch / f"project{number}", scratch / f"brain{number}", options.seed + number)
    write_project(world.root, 80, 6, world.seed)
    assert not run(world.brain, "scan", str(world.root), "--json").fault()
    drive(world, options.processes, options.seconds)
    wrong = differences(content(world.brain, world.root), undisturbed(world.root, scratch / "oracle"))
    lost = lost_memories(workspace_folder(world.brain, world.root), world.rows)
    doctor = run(world.brain, "doctor", str(world.root), "--json")
    checks = doctor.json.get("checks", [])
    broken = [one["detail"] for one in checks if one["state"] == "broken"] or ([] if checks else [doctor.err[-300:]])
    errors = "; ".join(sorted(set(world.errors))[:3])
    name = f"together {number + 1}"
    what = f"{options.processes} processes, {options.seconds} s: no error shown, no stale answer"
    seen = f"{len(world.errors)}: {errors}; " if errors else ""
    return [
        Bar(name, what, not errors, seen + world.counts()),
        Bar(name, "no entity lost, doubled or stale", not wrong, "; ".join(wrong[:3]) or "as by an undisturbed scan"),
        Bar(name, "no row of memory.db lost", not lost, f"{len(lost)} of {len(world.rows):,} lost"),
        Bar(name, "doctor finds nothing broken", not broken, "; ".join(broken) or f"{len(checks)} checks"),
    ]
