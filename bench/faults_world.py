"""What `bench/faults.py` works on: projects that change, processes around them, and what an index must hold."""

import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from braindex.registry.index import IndexStore

Content = dict[str, list[tuple[object, ...]]]
FUNCTION = (
    'def {name}(basket, rate):\n    """Charge {name} for a basket."""\n    return basket.total * rate + {number}\n\n\n'
)
SCRIPT = "/** Draw {name}. */\nexport function {name}(canvas) {{\n  return canvas.fill({number});\n}}\n\n"
SECTION = "## About {name}\n\nHow {name} is set up, in {number} steps.\n\n"
TEXTS = {".py": FUNCTION, ".js": SCRIPT, ".md": SECTION}


def braindex(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "braindex", *arguments]


def environment(brain: Path) -> dict[str, str]:
    return {**os.environ, "BRAIN_DIR": str(brain)}


@dataclass
class Outcome:
    """One whole process."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found

    def fault(self, *expected: int) -> str:
        """What a user would call an error, in a line, or ""."""
        if "Traceback" in self.err or self.code not in (expected or (0,)):
            return f"exit {self.code}: {self.err.strip()[-300:]}"
        return ""


def run(brain: Path, *arguments: str, text: str = "") -> Outcome:
    done = subprocess.run(
        braindex(*arguments), input=text, capture_output=True, text=True, env=environment(brain), check=False
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def write_project(root: Path, files: int, functions: int, seed: int) -> None:
    """`files` files of `functions` definitions each, the same for the same seed."""
    chance = random.Random(seed)
    for number in range(files):
        suffix = (".py", ".py", ".js", ".md")[number % 4]
        path = root / f"part{number % 7}" / f"file{number}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        names = [f"item_{seed}_{number}_{one}_{chance.randrange(10**6)}" for one in range(functions)]
        path.write_text("".join(TEXTS[suffix].format(name=name, number=chance.randrange(100)) for name in names))


def content(brain: Path, root: Path) -> Content:
    """Everything an index holds of a workspace, by file and without what may differ from run to run.

    Raises AssertionError where its tables contradict each other.
    """
    workspaces = [json.loads((one / "workspace.json").read_text()) | {"at": one} for one in brain.glob("workspaces/*")]
    [folder] = [Path(one["at"]) for one in workspaces if one["path"] == str(root.resolve())]
    with IndexStore.open(folder) as store, store.snapshot():
        assert not store.problems(), store.problems()
        stored, vectors = store.entities(store.rows()), store.vectors(store.rows())
        assert len(stored) == store.entity_count()
        assert len(vectors) == store.vector_count()
        found: Content = {path: [] for path in store.files()}
        for row, one in stored.items():
            entity = one.entity
            found[entity.path].append(
                (one.id, entity.kind, entity.line, entity.end_line, entity.signature, vectors.get(row, b""))
            )
        for row in list(stored)[:: max(1, len(stored) // 40)]:
            name = stored[row].entity.name
            assert row in store.rows_by_name([name]), f"{name} is not found by its name"
    return {path: sorted(rows, key=repr) for path, rows in found.items()}


def undisturbed(root: Path, scratch: Path) -> Content:
    """What a scan of the project by itself stores."""
    shutil.rmtree(scratch, ignore_errors=True)
    done = run(scratch, "scan", str(root), "--json", "--no-brief")
    assert not done.fault(), done.fault()
    return content(scratch, root)


def differences(found: Content, expected: Content) -> list[str]:
    """Lost, doubled and stale entities, a line a file."""
    lines = [f"{path}: lost" for path in expected.keys() - found.keys()]
    lines += [f"{path}: left over" for path in found.keys() - expected.keys()]
    for path in found.keys() & expected.keys():
        if found[path] != expected[path]:
            ids = [row[0] for row in found[path]]
            kind = "doubled" if len(ids) != len(set(ids)) else "other entities than its source"
            lines.append(f"{path}: {kind}")
    return sorted(lines)


@dataclass
class Journal:
    """What the editor has done: functions that are there and that are gone, with the time it happened."""

    there: dict[str, tuple[str, float]] = field(default_factory=dict)
    gone: dict[str, float] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def settled(self, seconds: float, chance: random.Random) -> tuple[tuple[str, tuple[str, float]] | None, str | None]:
        """A function, with its entry in `there`, that has been there and one that has been gone for so long."""
        now = time.monotonic()
        with self.lock:
            there = [(name, entry) for name, entry in self.there.items() if now - entry[1] > seconds]
            gone = [name for name, at in self.gone.items() if now - at > seconds]
        return (chance.choice(there) if there else None), (chance.choice(gone) if gone else None)


def edit(root: Path, journal: Journal, chance: random.Random, stop: threading.Event) -> None:
    """Creates, rewrites, renames and deletes files until it is stopped."""
    files: dict[Path, list[str]] = {}
    number = 0
    while not stop.wait(chance.uniform(0.02, 0.3)):
        number += 1
        kind = chance.choice(("new", "new", "rewrite", "rename", "delete"))
        path = chance.choice(sorted(files)) if files and kind != "new" else root / "live" / f"live{number}.py"
        names = [f"live_{number}_{one}" for one in range(chance.randrange(1, 5))]
        with journal.lock:
            old = files.pop(path, [])
            now = time.monotonic()
            if kind == "rename" and old:
                target = path.with_name(f"moved{number}.py")
                path.rename(target)
                files[target] = old
                journal.there.update({one: (target.relative_to(root).as_posix(), now) for one in old})
                continue
            for one in old:
                journal.there.pop(one, None)
                journal.gone[one] = now
            if kind == "delete":
                path.unlink(missing_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(FUNCTION.format(name=one, number=number) for one in names))
            files[path] = names
            journal.there.update({one: (path.relative_to(root).as_posix(), now) for one in names})


def children(pid: int) -> list[int]:
    """Every process below one (Linux)."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        try:
            for task in Path(f"/proc/{one}/task").iterdir():
                below = [int(word) for word in (task / "children").read_text().split()]
                found += below
                waiting += below
        except OSError:
            continue
    return found


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def all_gone(processes: list[int], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while any(is_alive(one) for one in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


class Server:
    """A `braindex serve` that is spoken to in frames."""

    def __init__(self, brain: Path, root: Path) -> None:
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            braindex("serve", "--workspace", str(root)),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(brain),
        )  # fmt: skip
        self._number = 0
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "faults", "version": "1"}}
        self.ask("initialize", client)
        self.send({"method": "notifications/initialized"})

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request; what comes in between is passed over."""
        self._number += 1
        self.send({"id": self._number, "method": method, "params": params})
        assert self.process.stdout is not None
        for line in self._lines():
            if line.get("id") == self._number:
                return line
        raise AssertionError("the server ended")

    def call(self, tool: str, **arguments: Any) -> str:
        """What a user would call an error of a tool call, or ""."""
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        if "error" in answer or answer["result"].get("isError"):
            return f"{tool}: {json.dumps(answer)[:300]}"
        return ""

    def begin(self, tool: str, **arguments: Any) -> None:
        """A call whose answer nobody reads."""
        self._number += 1
        self.send({"id": self._number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})

    def _lines(self) -> Iterator[dict[str, Any]]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            yield json.loads(line)

    def close(self) -> float:
        """Ends its input; how many seconds it took to end."""
        assert self.process.stdin is not None
        started = time.monotonic()
        self.process.stdin.close()
        self.process.wait(30)
        return time.monotonic() - started
