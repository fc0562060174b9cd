"""What `bench/faults.py` works on: projects that change, what an index has to hold, how answers are judged."""

import json
import random
import shutil
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from braindex.domain.memories import Note
from braindex.domain.words import terms
from braindex.registry.checks import full_text_problem
from braindex.registry.index import INDEX_FILE, IndexStore
from braindex.registry.memory import MemoryStore
from faults_processes import run  # type: ignore[import-not-found]  # beside this file

Row = tuple[object, ...]  # one entity: kind, qualified name, lines, signature, vector, and last its id
Content = dict[str, list[Row]]
FUNCTION = (
    'def {name}(basket, rate):\n    """Charge {name} for a basket."""\n    return basket.total * rate + {number}\n\n\n'
)
SCRIPT = "/** Draw {name}. */\nexport function {name}(canvas) {{\n  return canvas.fill({number});\n}}\n\n"
SECTION = "## {name}\n\nHow it is set up, in {number} steps.\n\n"
TEXTS = {".py": FUNCTION, ".js": SCRIPT, ".md": SECTION}
SEARCHED = 200  # entities of a workspace that are looked for by their name


@dataclass
class Bar:
    """A thing that has to hold, and what was seen. `held` is None where it could not be tried here."""

    part: str
    what: str
    held: bool | None
    seen: str

    def line(self) -> str:
        word = {True: "ok  ", False: "MISS", None: "skip"}[self.held]
        return f"{word} {self.part:10}  {self.what}  ({self.seen})"


# Projects


def write_project(root: Path, files: int, functions: int, seed: int) -> None:
    """`files` files of `functions` definitions each, the same for the same seed."""
    chance = random.Random(seed)
    for number in range(files):
        suffix = (".py", ".py", ".js", ".md")[number % 4]
        path = root / f"part{number % 7}" / f"file{number}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        names = [f"item_{seed}_{number}_{one}_{chance.randrange(10**6)}" for one in range(functions)]
        path.write_text("".join(TEXTS[suffix].format(name=name, number=chance.randrange(100)) for name in names))


@dataclass
class Journal:
    """What the editor has done: definitions that are there (path, time) and that are gone (time)."""

    there: dict[str, tuple[str, float]] = field(default_factory=dict)
    gone: dict[str, float] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def settled(self, seconds: float, chance: random.Random) -> "list[Asked]":
        """A definition that has been there and one that has been gone for so long, where there are such."""
        now = time.monotonic()
        with self.lock:
            there = [(name, entry) for name, entry in self.there.items() if now - entry[1] > seconds]
            gone = [name for name, at in self.gone.items() if now - at > seconds]
        found = [Asked(*chance.choice(there))] if there else []
        return found + ([Asked(chance.choice(gone), None)] if gone else [])

    def still(self, asked: "Asked") -> bool:
        """Whether what was asked for has not moved since."""
        with self.lock:
            return self.there.get(asked.name) == asked.entry


@dataclass(frozen=True)
class Asked:
    """A name that is asked for, and where it is and since when; None for one that is gone."""

    name: str
    entry: tuple[str, float] | None


def edit(root: Path, journal: Journal, chance: random.Random, stop: threading.Event) -> None:
    """Creates, rewrites, renames and deletes files until it is stopped. No name comes twice."""
    files: dict[Path, list[str]] = {}
    number = 0
    while not stop.wait(chance.uniform(0.02, 0.3)):
        number += 1
        kind = chance.choice(("new", "new", "rewrite", "rename", "delete"))
        suffix = chance.choice(sorted(TEXTS))
        path = chance.choice(sorted(files)) if files and kind != "new" else root / "live" / f"live{number}{suffix}"
        names = [f"live_{number}_{one}" for one in range(chance.randrange(1, 5))]
        with journal.lock:
            old = files.pop(path, [])
            if kind == "rename" and old:
                target = path.with_name(f"moved{number}{path.suffix}")
                path.rename(target)
                path, names = target, old
            else:
                _write(path, [] if kind == "delete" else names, number)
                names = [] if kind == "delete" else names
            now = time.monotonic()
            for one in set(old) - set(names):
                del journal.there[one]
                journal.gone[one] = now
            journal.there.update({one: (path.relative_to(root).as_posix(), now) for one in names})
            if names:
                files[path] = names


def _write(path: Path, names: list[str], number: int) -> None:
    if not names:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(TEXTS[path.suffix].format(name=one, number=number) for one in names))


def judged(answer: dict[str, Any], asked: Asked, journal: Journal, root: Path) -> str:
    """What is wrong with an answer, or "".

    What is there has to be found, where it is, unless the answer says that it is behind or it moved meanwhile. What is
    gone must not be cited, whatever the answer says: each cited file is compared with the disk.
    """
    if "error" in answer:
        return f"a question: {answer['error']}"
    cited = [one for one in answer["sources"] if one["name"] == asked.name and not one["stale"]]
    if asked.entry is None:
        return f"{asked.name} is cited, and was deleted long before" if cited else ""
    if not cited:
        wrong = "" if answer.get("coverage") else f"{asked.name} is not found, and was written long before"
    else:
        wrong = "" if _is_there(root, cited[0], asked) else f"{asked.name} is cited at another place than it is at"
    return wrong if journal.still(asked) else ""


def _is_there(root: Path, source: dict[str, Any], asked: Asked) -> bool:
    assert asked.entry is not None
    try:
        lines = (root / asked.entry[0]).read_text().splitlines()
    except OSError:  # moved meanwhile
        return False
    line: int = source["line"]
    return bool(source["path"] == asked.entry[0] and line <= len(lines) and asked.name in lines[line - 1])


# What an index holds


def workspace_folder(brain: Path, root: Path) -> Path:
    described = {one.parent: json.loads(one.read_text()) for one in brain.glob("workspaces/*/workspace.json")}
    [folder] = [one for one, found in described.items() if found["path"] == str(root.resolve())]
    return folder


def content(brain: Path, root: Path) -> Content:
    """Everything an index holds of a workspace, by file.

    Raises AssertionError where its tables contradict each other, and StoreError. Nobody may write meanwhile.
    """
    folder = workspace_folder(brain, root)
    assert not (problem := full_text_problem(folder / INDEX_FILE)), problem
    with IndexStore.open(folder) as store, store.snapshot():
        assert not store.problems(), store.problems()
        stored, vectors = store.entities(store.rows()), store.vectors(store.rows())
        assert len(stored) == store.entity_count(), "its count of entities is wrong"
        assert len(vectors) == store.vector_count(), "its count of vectors is wrong"
        found: Content = {path: [] for path in store.files()}
        for row, one in stored.items():
            entity = one.entity
            seen = (entity.kind, entity.qualified_name, entity.line, entity.end_line, entity.signature)
            found[entity.path].append((*seen, vectors.get(row, b""), one.id))
        named = [row for row, one in stored.items() if one.entity.kind != "file"]  # many entities share its words
        for row in named[:: max(1, len(named) // SEARCHED)]:
            name = stored[row].entity.name
            assert row in store.rows_by_name([name]), f"{name} is not found by its name"
            assert row in {one for one, _ in store.search(terms(name), 50)}, f"{name} is not found by its words"
    return {path: sorted(rows, key=repr) for path, rows in found.items()}


def undisturbed(root: Path, scratch: Path) -> Content:
    """What a scan of the project by itself stores."""
    shutil.rmtree(scratch, ignore_errors=True)
    done = run(scratch, "scan", str(root), "--json", "--no-brief")
    assert not done.fault(), done.fault()
    return content(scratch, root)


def differences(found: Content, expected: Content) -> list[str]:
    """How many entities are lost, doubled and stale, a line a file. Ids have to be the same too."""
    lines = [f"{path}: lost" for path in expected.keys() - found.keys()]
    lines += [f"{path}: left over" for path in found.keys() - expected.keys()]
    for path in found.keys() & expected.keys():
        here, there = (Counter(row[:-1] for row in one[path]) for one in (found, expected))
        more = here - there
        counts = {
            "lost": (there - here).total(),
            "doubled": sum(count for row, count in more.items() if row in there),
            "stale": sum(count for row, count in more.items() if row not in there),
        }
        said = [f"{count} {what}" for what, count in counts.items() if count]
        if not said and found[path] != expected[path]:
            said = ["other ids"]
        if said:
            lines.append(f"{path}: {', '.join(said)}")
    return sorted(lines)


def lost_memories(folder: Path, rows: dict[str, str]) -> list[str]:
    """Ids of notes and episodes that memory.db does not hold, or with another text than was acknowledged."""
    with MemoryStore.open(folder) as memory:
        found = memory.of_ids(list(rows))
    texts = {key: one.text if isinstance(one, Note) else one.prompt for key, one in found.items()}
    return [key for key, text in rows.items() if texts.get(key) != text]
