"""What a hook costs its client: whole processes of `braindex hook`, beside an empty Python and one that loads numpy.

usage: python bench/hooks.py FOLDER [--runs 20] [--memories 400]

Scans the folder into a data folder of its own (the folder itself is only read), stores notes and episodes about its
entities there, and runs each hook of Claude Code in turn with the two yardsticks, so that on a busy machine their
ratios still say something: wall and CPU time of whole processes, median and 90th percentile. Says which modules a
hook loads. Then twenty conversations prompt and end at once: all have to be answered, nothing may be lost. Exit code
1 where a promise does not hold; the bars of time, which are meant for a quiet machine, are told as ok or over.
Recorders are counted on Linux alone.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from braindex.domain.memories import Episode, Note, new_id, now

HEAVY = ("numpy", "chromadb", "openai", "ollama", "mcp", "tree_sitter", "httpx", "pathspec")
BARS = {"SessionStart": 500.0, "UserPromptSubmit": 500.0, "Stop": 300.0}  # median wall ms on a quiet machine
TOGETHER = 20  # conversations
PATIENCE = 120  # seconds after which what is waited for does not come any more
PYTHON, BRAINDEX = [sys.executable], [sys.executable, "-P", "-m", "braindex"]
YARDSTICKS = {"python -c pass": [*PYTHON, "-c", "pass"], 'python -c "import numpy"': [*PYTHON, "-c", "import numpy"]}


@dataclass
class Run:
    """One whole process: wall and CPU milliseconds, exit code and output."""

    wall: float
    cpu: float
    code: int
    out: str
    err: str

    def answer(self) -> dict[str, Any] | None:
        """What a client reads; None where it is no answer."""
        try:
            found = json.loads(self.out)
        except ValueError:
            return None
        return found if isinstance(found, dict) and not self.code else None

    def context(self) -> str:
        answer = self.answer() or {}
        return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))


@dataclass
class World:
    folder: Path
    brain: Path
    kept: list[bool] = field(default_factory=list)

    @property
    def environ(self) -> dict[str, str]:
        given = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        return {**given, "HOME": str(self.brain.parent), "BRAIN_DIR": str(self.brain)}

    def run(self, command: list[str], given: str = "") -> Run:
        with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            stdin.write(given.encode())
            stdin.seek(0)
            started = time.monotonic()
            process = subprocess.Popen(
                command, stdin=stdin, stdout=out, stderr=err, cwd=self.folder, env=self.environ
            )  # fmt: skip
            _, status, usage = os.wait4(process.pid, 0)
            wall = time.monotonic() - started
            process.returncode = os.waitstatus_to_exitcode(status)
            said = []
            for one in (out, err):
                one.seek(0)
                said.append(one.read().decode("utf-8", "replace"))
        return Run(wall * 1000, (usage.ru_utime + usage.ru_stime) * 1000, process.returncode, *said)

    def braindex(self, *arguments: str, given: str = "") -> str:
        done = self.run([*BRAINDEX, *arguments], given)
        if done.code:
            raise SystemExit(f"braindex {arguments[0]} ended with {done.code}: {done.err[-2000:]}")
        return done.out

    def hook(self, event: str, session: str, python: tuple[str, ...] = (), **given: str) -> Run:
        command = [*PYTHON, *python, *BRAINDEX[1:], "hook", "claude-code", event]
        told = {"session_id": session, "cwd": str(self.folder), "hook_event_name": event, **given}
        return self.run(command, json.dumps(told))

    def episodes(self) -> list[dict[str, Any]]:
        lines = self.braindex("note", "export", "--episodes").splitlines()
        return [one for line in lines if "kind" in (one := json.loads(line))]

    def settled(self) -> bool:
        """Waits until everything that hooks left is stored, and nobody is at it any more."""
        waiting, end = self.brain / "hooks" / "waiting", time.monotonic() + PATIENCE
        while any(waiting.glob("*.json")) or recorders(self.brain):
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True

    def promise(self, text: str, *, held: bool) -> None:
        self.kept.append(held)
        print(f"  {'ok  ' if held else 'FAIL'} {text}")


def recorders(brain: Path) -> int:
    """The processes that store what hooks of this data folder left; 0 where there is no /proc."""
    found = 0
    for one in Path("/proc").glob("[0-9]*"):
        try:
            is_one = (one / "cmdline").read_bytes().endswith(b"\0record\0--waiting\0")
            found += is_one and f"BRAIN_DIR={brain}".encode() in (one / "environ").read_bytes().split(b"\0")
        except OSError:  # it has ended, or is somebody else's
            continue
    return found


def remembered(world: World, entities: list[dict[str, Any]], most: int) -> None:
    """Stores notes and episodes about entities, half each; none is tied to code."""
    lines = list[Note | Episode]()
    for number in range(most):
        one = entities[number % len(entities)]
        about = f"{one['name']} in {one['path']} ({number})"
        if number % 2:
            lines.append(
                Note(new_id(), f"{about}: {_doc(one)} Keep its callers in mind.", "decision", "", now(), now())
            )
        else:
            prompt, came = f"Why is {about} slow?", f"{_doc(one)} It was called twice; it is called once now."
            lines.append(Episode(new_id(), "turn", "bench", f"old{number}", now(), prompt, came, "done"))
    path = world.brain.parent / "memories.jsonl"
    path.write_text("".join(as_line(one) for one in lines))
    print(world.braindex("note", "import", str(path)).strip())


def as_line(one: Note | Episode) -> str:
    """A line of an export."""
    what = "note" if isinstance(one, Note) else "episode"
    return json.dumps({"type": what, **one.as_json()}) + "\n"


def _doc(one: dict[str, Any]) -> str:
    return " ".join(str(one.get("docstring") or one.get("signature") or "").split())[:300]


def prompt_about(one: dict[str, Any]) -> str:
    return f"Why does {one['name']} in {one['path']} go wrong when it is called twice? {_doc(one)[:100]}"


def measure(world: World, entities: list[dict[str, Any]], runs: int) -> None:
    events: dict[str, Callable[[int], Run]] = {
        "SessionStart": lambda number: world.hook("SessionStart", f"run{number}"),
        "UserPromptSubmit": lambda number: world.hook(
            "UserPromptSubmit", f"run{number}", prompt=prompt_about(entities[number % len(entities)])
        ),
        "Stop": lambda number: world.hook(
            "Stop", f"run{number}", last_assistant_message=f"It is called once ({number})."
        ),
    }
    found: dict[str, list[Run]] = {name: [] for name in (*YARDSTICKS, *events)}
    for number in range(runs):
        for name, command in YARDSTICKS.items():
            found[name].append(world.run(command))
        for name, hook in events.items():
            found[name].append(hook(number))
        world.settled()
    print(f"\n{'':26} {'wall ms':>8} {'p90':>6}   {'CPU ms':>7} {'p90':>6}   times import numpy (wall, CPU)")
    numpy = [_median(found['python -c "import numpy"'], one) for one in ("wall", "cpu")]
    for name, all_runs in found.items():
        wall, cpu = (_median(all_runs, one) for one in ("wall", "cpu"))
        bar = f"  {'ok' if wall < BARS[name] else 'over'}: {BARS[name]:.0f} ms" if name in BARS else ""
        print(
            f"{name:26} {wall:8.0f} {_p90(all_runs, 'wall'):6.0f}   {cpu:7.0f} {_p90(all_runs, 'cpu'):6.0f}   "
            f"{wall / numpy[0]:5.2f} {cpu / numpy[1]:5.2f}{bar}"
        )
    print()
    answers = [one for name in events for one in found[name]]
    world.promise(f"{len(answers)} hooks answered validly", held=all(one.answer() is not None for one in answers))
    told = sum(bool(one.context()) for one in found["UserPromptSubmit"])
    world.promise(f"{told} of {runs} prompts were told something", held=told > 0)
    begun = sum(bool(one.context()) for one in found["SessionStart"])
    world.promise(f"{begun} of {runs} conversations began with the brief", held=begun > 0)
    held = sum(one["session"].startswith("run") for one in world.episodes())
    world.promise(f"{held} of {runs} turns are stored", held=held == runs)


def _median(runs: list[Run], name: str) -> float:
    return statistics.median([float(getattr(one, name)) for one in runs])


def _p90(runs: list[Run], name: str) -> float:
    values = sorted(float(getattr(one, name)) for one in runs)
    return values[int(0.9 * (len(values) - 1))]


def modules(world: World, one: dict[str, Any]) -> None:
    """Which modules each hook loads, by Python's own account."""
    given = {"prompt": prompt_about(one), "last_assistant_message": "It is called once."}
    for event in BARS:
        loaded = _loaded(world.hook(event, "modules", ("-X", "importtime"), **given))
        heavy = sorted({name.partition(".")[0] for name in loaded} & set(HEAVY))
        world.promise(
            f"{event} loads {len(loaded)} modules, of the heavy ones {', '.join(heavy) or 'none'}", held=not heavy
        )
    world.settled()
    tie = f"{one['path']}::{one['qualified_name']}"
    world.braindex("note", "add", f"{prompt_about(one)} Ask first.", "--about", tie)
    run = world.hook("UserPromptSubmit", "tied", ("-X", "importtime"), **given)
    heavy = sorted({name.partition(".")[0] for name in _loaded(run)} & set(HEAVY))
    print(f"       where a note tied to a file is told ({run.wall:.0f} ms): {', '.join(heavy) or 'none'}")


def _loaded(run: Run) -> set[str]:
    return set(re.findall(r"^import time:.*\| +([\w.]+)$", run.err, re.MULTILINE))


def together(world: World, entities: list[dict[str, Any]]) -> None:
    """Twenty conversations at once: their prompts, then their ends."""
    print(f"\n{TOGETHER} conversations at once:")
    most, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            most[0] = max(most[0], recorders(world.brain))

    watcher = threading.Thread(target=watch)
    watcher.start()
    prompts = _at_once(
        lambda number: world.hook(
            "UserPromptSubmit", f"together{number}", prompt=prompt_about(entities[number % len(entities)])
        )
    )
    ends = _at_once(
        lambda number: world.hook("Stop", f"together{number}", last_assistant_message=f"All at once ({number}).")
    )
    settled = world.settled()
    done.set()
    watcher.join()
    for name, runs in (("prompts", prompts), ("ends", ends)):
        valid = sum(one.answer() is not None and not one.err for one in runs)
        world.promise(
            f"{valid} of {TOGETHER} {name} answered validly, the slowest after {max(one.wall for one in runs):.0f} ms",
            held=valid == TOGETHER,
        )
    print(f"       {sum(bool(one.context()) for one in prompts)} prompts were told something")
    episodes = [one for one in world.episodes() if one["session"].startswith("together")]
    stored = Counter(one["session"] for one in episodes)
    world.promise(f"{len(stored)} of {TOGETHER} turns are stored", held=settled and len(stored) == TOGETHER)
    world.promise("each once", held=all(count == 1 for count in stored.values()))
    prompted = sum(bool(one["prompt"]) for one in episodes)
    world.promise(f"{prompted} of {TOGETHER} with their prompts", held=prompted == TOGETHER)
    world.promise(f"at most {most[0]} recorders at a time: one stores, one may be starting", held=most[0] <= 2)


def _at_once(hook: Callable[[int], Run]) -> list[Run]:
    found: list[Run | None] = [None] * TOGETHER

    def work(number: int) -> None:
        found[number] = hook(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(TOGETHER)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return [one for one in found if one is not None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--memories", type=int, default=400)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        world = World(arguments.folder.resolve(), Path(scratch).resolve() / "brain")
        summary = json.loads(world.braindex("scan", ".", "--json"))
        print(f"{world.folder.name}: {summary['files']} files, {summary['entities']} entities")
        found = json.loads(world.braindex("entities", ".", "--json"))
        entities = [one for one in found if one["kind"] in {"function", "method", "class"} and one.get("docstring")]
        if not entities:
            raise SystemExit("no documented functions, methods or classes are in this folder; name another")
        remembered(world, entities, arguments.memories)
        measure(world, entities, arguments.runs)
        modules(world, entities[0])
        together(world, entities)
        log = world.brain / "hooks" / "hooks.log"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        for line, count in Counter(re.sub(r"^\S+ \S+ ", "", one) for one in lines).most_common(5):
            print(f"       in the log, {count} times: {line[:150]}")
    print(f"\n{sum(world.kept)} of {len(world.kept)} promises hold")
    sys.exit(not all(world.kept))


if __name__ == "__main__":
    main()
