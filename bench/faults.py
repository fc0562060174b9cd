"""Does braindex survive it? Eight processes on one workspace, kills at random moments, a full disk, vanishing clients.

usage: python bench/faults.py [together] [kills] [servers] [full-disk] [--seconds 120] [--processes 8] [--rounds 3]
                              [--kills 200] [--idle 60] [--seed 1] [--json FILE]

Everything is done to the installed `braindex`, in whole processes with fresh data folders, and checked against what an
undisturbed scan of the same tree stores: every entity with its lines, signature and vector. What a user would call an
error counts (an exit code, a traceback, an error of a tool call). Without a name all parts run. Linux: it reads /proc;
`full-disk` mounts a small tmpfs in a private namespace and so needs root. Exit code 1 when a bar is missed.
"""

import argparse
import concurrent.futures
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from braindex.domain.memories import Episode, Note, new_id, now
from braindex.registry.memory import MemoryStore
from faults_world import (  # type: ignore[import-not-found]  # beside this file
    Content,
    Journal,
    Server,
    all_gone,
    braindex,
    children,
    content,
    differences,
    edit,
    environment,
    run,
    undisturbed,
    write_project,
)

SETTLED = 5.0  # seconds after which what was written or deleted has to be known
LARGE_FILES, LARGE_FUNCTIONS = 220, 110  # some 4 MB: worker processes read it


@dataclass
class Bar:
    """A thing that has to hold, and what was seen."""

    part: str
    what: str
    held: bool
    seen: str


# Together


@dataclass
class Together:
    """One round: everything that the drivers share."""

    root: Path
    brain: Path
    journal: Journal
    stop: threading.Event
    seed: int
    errors: list[str]
    rows: list[str]
    counts: dict[str, int]

    def count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    def wrong(self, what: str) -> None:
        if what:
            self.errors.append(what)


def asks(world: Together, number: int) -> None:
    """A long-lived process that answers questions about what is there and what is gone."""
    chance = random.Random(world.seed * 100 + number)
    command = braindex("ask", "--stdin", "--json", "--no-answer", "--workspace", str(world.root))
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(world.brain),
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        while not world.stop.is_set():
            there, gone = world.journal.settled(SETTLED, chance)
            asked = chance.choice([one for one in (there, gone) if one is not None] or ["charge a basket"])
            name = asked[0] if isinstance(asked, tuple) else asked
            process.stdin.write(f"where is {name} defined\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline() or '{"error": "the process ended"}')
            world.count("questions")
            if "error" in answer:
                world.wrong(f"ask: {answer['error']}")
                return
            judge(world, answer, asked)
        process.stdin.close()
        said = process.stderr.read()
        world.wrong(f"ask: {said[-300:]}" if "Traceback" in said else "")


def judge(world: Together, answer: dict[str, object], asked: object) -> None:
    """What has been there, or gone, for long has to be known, unless the answer says that it is behind."""
    sources = answer["sources"]
    assert isinstance(sources, list)
    names = {one["name"] for one in sources}
    if answer.get("coverage") or answer.get("reason", "").startswith("the"):  # type: ignore[attr-defined]
        world.count("answers that said they were behind")
        return
    if isinstance(asked, tuple):
        name, entry = asked
        with world.journal.lock:  # what was moved while it was asked for may be missed
            still = world.journal.there.get(name) == entry
        if still and name not in names:
            world.wrong(f"{name} was written {SETTLED:.0f} s before and not found")
    elif asked in names:
        world.wrong(f"{asked} was deleted {SETTLED:.0f} s before and cited")


def scans(world: Together, _: int) -> None:
    while not world.stop.is_set():
        done = run(world.brain, "scan", str(world.root), "--json")
        world.count("scans")
        world.wrong(f"scan: {fault}" if (fault := done.fault()) else "")


def serves(world: Together, number: int) -> None:
    chance = random.Random(world.seed * 100 + number)
    server = Server(world.brain, world.root)
    while not world.stop.is_set():
        tool = chance.choice(("scan_workspace", "scan_status", "query_memory", "query_memory"))
        arguments = {"query": "charge a basket"} if tool == "query_memory" else {}
        world.wrong(server.call(tool, **arguments))
        world.count("tool calls")
    seconds = server.close()
    world.wrong(f"the server took {seconds:.1f} s to end" if seconds > 1.5 else "")


WRITER = """
import sys
from pathlib import Path
from braindex.domain.memories import Episode, Note, new_id, now
from braindex.registry.memory import MemoryStore
folder = Path(sys.argv[1])
for line in sys.stdin:
    at, key = now(), new_id()
    with MemoryStore.open(folder) as memory:
        if line.strip() == "note":
            memory.add_note(Note(id=key, text=key, category="decision", author="bench", created=at, updated=at))
        else:
            memory.add_episode(Episode(id=key, kind="turn", client="bench", session="s", created=at, prompt=key))
    print(key, flush=True)
"""


def remembers(world: Together, _: int) -> None:
    """A process that writes rows to memory.db; a row counts from the moment it says so."""
    [folder] = (world.brain / "workspaces").iterdir()
    with subprocess.Popen(
        [sys.executable, "-P", "-c", WRITER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        kinds = ("note", "episode")
        while not world.stop.wait(0.05):
            process.stdin.write(kinds[len(world.rows) % 2] + "\n")
            process.stdin.flush()
            key = process.stdout.readline().strip()
            if not key:
                world.wrong("a writer of memory.db ended")
                return
            world.rows.append(key)
            world.count("memory rows")
        process.stdin.close()


DRIVERS: tuple[Callable[[Together, int], None], ...] = (
    asks, scans, serves, remembers, asks, scans, remembers, serves,
)  # fmt: skip


def together(scratch: Path, options: argparse.Namespace, number: int) -> list[Bar]:
    root, brain = scratch / f"project{number}", scratch / f"brain{number}"
    write_project(root, 80, 6, options.seed + number)
    assert not run(brain, "scan", str(root), "--json").fault()
    world = Together(root, brain, Journal(), threading.Event(), options.seed + number, [], [], {})
    chance = random.Random(world.seed)
    drivers = [DRIVERS[one % len(DRIVERS)] for one in range(options.processes)]
    with concurrent.futures.ThreadPoolExecutor(len(drivers) + 1) as pool:
        running = [pool.submit(edit, root, world.journal, chance, world.stop)]
        running += [pool.submit(driver, world, at) for at, driver in enumerate(drivers)]
        time.sleep(options.seconds)
        world.stop.set()
        for one in running:
            error = one.exception()
            world.wrong(f"a driver: {error!r}" if error else "")
    world.wrong(run(brain, "scan", str(root), "--json").fault())
    wrong = differences(content(brain, root), undisturbed(root, scratch / "oracle"))
    [folder] = (brain / "workspaces").iterdir()
    with MemoryStore.open(folder) as memory:
        lost = [key for key in world.rows if not memory.of_ids([key])]
    doctor = run(brain, "doctor", str(root), "--json")
    counts = ", ".join(f"{count:,} {what}" for what, count in sorted(world.counts.items()))
    name = f"together {number + 1}"
    errors = "; ".join(sorted(set(world.errors))[:3])
    broken = [one["detail"] for one in doctor.json["checks"] if one["state"] == "broken"]
    return [
        Bar(
            name,
            f"{len(drivers)} processes, {options.seconds} s: no error shown, no stale answer",
            not world.errors,
            errors or counts,
        ),
        Bar(name, "no entity lost, doubled or stale", not wrong, "; ".join(wrong[:3]) or "as by an undisturbed scan"),
        Bar(name, "no row of memory.db lost", not lost, f"{len(lost)} of {len(world.rows):,} lost"),
        Bar(
            name, "doctor finds nothing broken", not broken, "; ".join(broken) or f"{len(doctor.json['checks'])} checks"
        ),
    ]


# Kills


@dataclass
class Versions:
    """A project that can be in two states, what each holds, and how long a scan of it takes."""

    root: Path
    texts: tuple[dict[Path, str], dict[Path, str]]
    expected: tuple[Content, Content]
    seconds: float

    def switch(self, state: int) -> None:
        for path, text in self.texts[state].items():
            path.write_text(text)


def versions(root: Path, files: int, functions: int, seed: int, scratch: Path) -> Versions:
    write_project(root, files, functions, seed)
    paths = sorted(one for one in root.rglob("*") if one.is_file())
    first = {path: path.read_text() for path in paths[::3]}
    second = {path: text.replace("item_", "changed_", 2) + "\n" for path, text in first.items()}
    found: list[Content] = []
    started = time.monotonic()
    for texts in (first, second):
        for path, text in texts.items():
            path.write_text(text)
        found.append(undisturbed(root, scratch))
    return Versions(root, (first, second), (found[0], found[1]), (time.monotonic() - started) / 2)


def killed_scan(project: Versions, brain: Path, chance: random.Random, *, cold: bool) -> list[str]:
    """One kill and what follows it; what went wrong."""
    wrong: list[str] = []
    state = chance.randrange(2)
    if cold:
        subprocess.run(["rm", "-rf", str(brain)], check=True)
    project.switch(state)
    process = subprocess.Popen(
        braindex("scan", str(project.root), "--json"),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(brain),
    )  # fmt: skip
    time.sleep(chance.uniform(0.05, project.seconds * 1.1))
    below = children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    if not all_gone(below, 2.0):
        wrong.append("a worker process outlived the scan")
    status = run(brain, "status", str(project.root), "--json")
    wrong.append(status.fault())
    asked = run(brain, "ask", "charge a basket", "--workspace", str(project.root), "--json", "--no-answer")
    wrong.append(asked.fault())
    wrong.append(run(brain, "scan", str(project.root), "--json").fault())
    try:
        wrong += differences(content(brain, project.root), project.expected[state])
    except (AssertionError, ValueError) as error:
        wrong.append(str(error))
    return [one for one in wrong if one]


def kills(scratch: Path, options: argparse.Namespace) -> list[Bar]:
    """Two at a time, each with a project of its own; every tenth kill hits a scan that has worker processes."""

    def one_by_one(lane: int, count: int) -> list[list[str]]:
        chance = random.Random(options.seed * 1000 + lane)
        small = versions(scratch / f"small{lane}", 40, 6, lane, scratch / f"oracle{lane}")
        large = versions(scratch / f"large{lane}", LARGE_FILES, LARGE_FUNCTIONS, lane, scratch / f"oracle{lane}")
        results = []
        for number in range(count):
            project = large if number % 10 == 9 else small
            brain = scratch / f"killed-{project.root.name}"
            results.append(killed_scan(project, brain, chance, cold=number % 2 == 1 or not brain.exists()))
        return results

    lanes = (options.kills // 2, options.kills - options.kills // 2)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = [one for lane in pool.map(one_by_one, range(2), lanes) for one in lane]
    bad = [one for one in results if one]
    seen = f"{len(results) - len(bad)} of {len(results)}"
    if bad:
        seen += f"; {bad[0][0]}"
    return [Bar("kills", "each killed scan heals to the content of an undisturbed one", not bad, seen)]


# Servers


CLIENT = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from faults_world import Server
server = Server(Path(sys.argv[2]), Path(sys.argv[3]))
server.begin("scan_workspace")
print(server.process.pid, flush=True)
sys.stdin.read()
"""


def vanished_clients(scratch: Path, root: Path, count: int, chance: random.Random) -> int:
    """How many of the clients that were killed left a process behind."""
    left = 0
    here = str(Path(__file__).parent)
    for number in range(count):
        brain = scratch / f"vanished{number}"
        with subprocess.Popen(
            [sys.executable, "-c", CLIENT, here, str(brain), str(root)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL,
        ) as client:  # fmt: skip
            assert client.stdout is not None
            server = int(client.stdout.readline())
            time.sleep(chance.uniform(0.0, 2.0))
            family = [server, *children(server)]
            client.send_signal(signal.SIGKILL)
            client.wait()
            left += not all_gone(family, 3.0)
    return left


def endings(scratch: Path, root: Path, how: str, count: int, chance: random.Random) -> float:
    """The longest that a server took to end while it scanned, children included."""
    longest = 0.0
    for number in range(count):
        server = Server(scratch / f"{how}{number}", root)
        server.begin("scan_workspace")
        time.sleep(chance.uniform(0.2, 2.0))
        family = [server.process.pid, *children(server.process.pid)]
        started = time.monotonic()
        if how == "end of input":
            server.close()
        else:
            server.process.send_signal(signal.SIGTERM)
            server.process.wait(30)
        if not all_gone(family, 30):
            return 30.0
        longest = max(longest, time.monotonic() - started)
    return longest


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def servers(scratch: Path, options: argparse.Namespace) -> list[Bar]:
    chance = random.Random(options.seed)
    large, small = scratch / "large", scratch / "small"
    write_project(large, LARGE_FILES, LARGE_FUNCTIONS, 1)
    write_project(small, 40, 6, 2)
    left = vanished_clients(scratch, large, 20, chance)
    bars = [Bar("servers", "20 clients killed during a scan leave no process after 3 s", not left, f"{left} did")]
    for how in ("end of input", "SIGTERM"):
        longest = endings(scratch, large, how, 10, chance)
        bars.append(Bar("servers", f"{how} ends a scanning server within 1 s", longest <= 1, f"{longest:.2f} s"))
    server = Server(scratch / "idle", small)
    error = server.call("query_memory", query="charge a basket")
    first = time.monotonic() - server.started
    bars.append(
        Bar(
            "servers",
            "the first call with nothing loaded answers within 10 s",
            first <= 10 and not error,
            error or f"{first:.1f} s",
        )
    )
    time.sleep(3)
    before = cpu_seconds(server.process.pid)
    time.sleep(options.idle)
    spent = cpu_seconds(server.process.pid) - before
    bars.append(Bar("servers", f"{options.idle} s idle cost no CPU time", spent <= 0.05, f"{spent:.2f} CPU s"))
    server.close()
    return bars


# A full disk


def full_disk(scratch: Path, options: argparse.Namespace) -> list[Bar]:
    del options
    disk = scratch / "disk"
    disk.mkdir()
    command = ["unshare", "--mount", sys.executable, __file__, "--inside", str(scratch)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:] or ["?"]
        return [Bar("full-disk", "a small disk could be mounted", held=False, seen=reason[0])]
    return [Bar(**one) for one in json.loads(done.stdout)]


def inside(scratch: Path) -> list[Bar]:
    """In a mount namespace of its own."""
    disk, root, more = scratch / "disk", scratch / "project", scratch / "oracle"
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(disk)], check=True)
    brain = disk / "brain"
    write_project(root, 20, 4, 3)
    wrong = [run(brain, "scan", str(root), "--json").fault()]
    [folder] = (brain / "workspaces").iterdir()
    keys = [new_id() for _ in range(20)]
    with MemoryStore.open(folder) as memory:
        for key in keys:
            memory.add_note(Note(id=key, text=key, category="decision", author="bench", created=now(), updated=now()))
        memory.add_episode(Episode(id=new_id(), kind="turn", client="bench", session="s", created=now(), prompt="p"))
    write_project(root, 400, 40, 3)
    full = run(brain, "scan", str(root), "--json")
    clear = full.code == 1 and "Traceback" not in full.err and "space" in full.err.lower()
    asked = run(brain, "ask", "charge a basket", "--workspace", str(root), "--json", "--no-answer")
    wrong += [asked.fault(0, 1), run(brain, "status", str(root), "--json").fault()]
    subprocess.run(["mount", "-o", "remount,size=200m", str(disk)], check=True)
    wrong.append(run(brain, "scan", str(root), "--json").fault())
    wrong += differences(content(brain, root), undisturbed(root, more))
    with MemoryStore.open(folder) as memory:
        lost = [key for key in keys if not memory.of_ids([key])]
    wrong = [one for one in wrong if one]
    return [
        Bar("full-disk", "a scan without room is a clear error", clear, full.err.strip()[-160:]),
        Bar(
            "full-disk",
            "questions and status go on, and with room the scan heals",
            not wrong,
            "; ".join(wrong[:2]) or "the same content",
        ),
        Bar("full-disk", "no row of memory.db lost", not lost, f"{len(lost)} of {len(keys)} lost"),
    ]


PARTS: dict[str, Callable[[Path, argparse.Namespace], list[Bar]]] = {
    "kills": kills, "servers": servers, "full-disk": full_disk,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=["together", *PARTS, []])
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--idle", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        print(json.dumps([asdict(one) for one in inside(options.inside)]))
        return
    wanted = options.parts or ["together", *PARTS]
    jobs: list[Callable[[Path], list[Bar]]] = []
    if "together" in wanted:
        jobs += [lambda scratch, number=number: together(scratch, options, number) for number in range(options.rounds)]  # type: ignore[misc]
    jobs += [lambda scratch, part=part: PARTS[part](scratch, options) for part in PARTS if part in wanted]  # type: ignore[misc]
    bars: list[Bar] = []
    for job in jobs:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
            for bar in job(Path(scratch)):
                bars.append(bar)
                print(f"{'ok  ' if bar.held else 'MISS'} {bar.part}: {bar.what} ({bar.seen})", flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in bars], indent=1), encoding="utf-8")
    sys.exit(not all(bar.held for bar in bars))


if __name__ == "__main__":
    main()
