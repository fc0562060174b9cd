"""How long a page of a large memory takes: listed, filtered, searched, looked through for stale and equal notes.

usage: python bench/curation.py [--notes 10000] [--files 500] [--rounds 20] [--git FOLDER]

A workspace of generated files and a memory of notes over them, each note of its own words, one in a hundred nearly the
same as the one before, one in three tied to code, of which a tenth changed since. Everything is in a temporary folder.
Prints median and slowest wall milliseconds of the service calls behind the Memory page. With `--git`, instead, how near
the nearest two of a repository's commit messages are, which are all about something else, and rewordings of one note.
"""

import argparse
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from braindex.bootstrap import App, build_app, bundled_model
from braindex.config import load_settings
from braindex.domain.memories import Note, derived_id
from braindex.domain.ports import Passage
from braindex.domain.results import Workspace
from braindex.registry.memory_browsing import MemoryFilter
from braindex.vectors.pairs import near_pairs

WORDS = (
    "cache session parser token zone retry payment ledger queue worker router header cookie schema index vector lock "
    "thread budget price commit review entity scan brief note hook client server path filter limit offset page"
).split()
REWORDED = (
    ("Dates are stored in UTC, the zone is never guessed.", "Dates are stored in UTC; never guess the zone."),
    ("Use pytest -n0 to debug, workers hide prints", "To debug, run pytest with -n0: workers hide prints"),
    ("The API key lives in the vault, never in .env", "Never put the API key in .env: it lives in the vault"),
    ("Retries are capped at 5 with exponential backoff", "We cap retries at five, backoff is exponential"),
    ("Do not use lodash, native methods suffice", "lodash is banned; prefer native methods"),
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--git", type=Path)
    given = parser.parse_args()
    if given.git:
        _nearness(given.git)
        return
    with tempfile.TemporaryDirectory() as folder:
        app, workspace = _made(Path(folder), given.notes, given.files)
        curation = app.curation
        calls: dict[str, tuple[int, Callable[[], object]]] = {
            "first page": (given.rounds, lambda: curation.page(workspace)),
            "last page": (given.rounds, lambda: curation.page(workspace, offset=given.notes - 50)),
            "a category": (given.rounds, lambda: curation.page(workspace, MemoryFilter(category="decision"))),
            "words": (given.rounds, lambda: curation.page(workspace, MemoryFilter(words="cache of a session"))),
            "a folder": (given.rounds, lambda: curation.page(workspace, MemoryFilter(path="src"))),
            "labels": (given.rounds, lambda: curation.labels(workspace)),
            "stale alone": (3, lambda: curation.page(workspace, stale=True)),
            "nearly the same": (3, lambda: curation.duplicates(workspace)),
        }
        print(f"{given.notes:,} notes, {given.files:,} files; wall milliseconds")
        for name, (rounds, call) in calls.items():
            call()
            taken = [_milliseconds(call) for _ in range(rounds)]
            print(f"{name:<16} median {statistics.median(taken):8.1f}   slowest {max(taken):8.1f}")
        app.close()


def _nearness(repository: Path) -> None:
    log = ["git", "-C", str(repository), "log", "--format=%B%x00", "-n", "2000"]
    messages = subprocess.run(log, capture_output=True, text=True, check=True).stdout.split("\0")
    texts = list(dict.fromkeys(one.strip() for one in messages if len(one.split()) > 8))
    nearest = [0.0] * len(texts)
    for one, other, cosine in _pairs(texts):
        nearest[one], nearest[other] = max(nearest[one], cosine), max(nearest[other], cosine)
    ranked = sorted(nearest)
    middle, high = ranked[len(ranked) // 2], ranked[len(ranked) * 99 // 100]
    print(f"{len(texts)} messages; cosine to the nearest: median {middle:.2f}, p99 {high:.2f}, most {ranked[-1]:.3f}")
    for pair in REWORDED:
        print(f"{_pairs(pair)[0][2]:.3f}  {pair[0]} | {pair[1]}")


def _pairs(texts: Sequence[str]) -> list[tuple[int, int, float]]:
    vectors = bundled_model().passages([Passage("", "", "", "", "", text) for text in texts])
    known = [one for one in vectors if one is not None]
    return near_pairs(b"".join(known), len(known), 0.0, 10**6)


def _milliseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - start)


def _made(folder: Path, notes: int, files: int) -> tuple[App, Workspace]:
    root = folder / "project"
    for number in range(files):
        file = root / "src" / f"module_{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"def function_{number}(value):\n    return value + {number}\n")
    app = build_app(load_settings({"BRAIN_DIR": str(folder / "brain")}, folder))
    workspace = app.workspaces.open(root)
    app.scans.run(workspace)
    ties = [app.notes.save(workspace, f"seed {one}", about=[f"src/module_{one}.py"]).note.about for one in range(files)]
    chance = random.Random(7)
    made: list[Note] = []
    for number in range(notes):
        text = made[-1].text + " indeed" if number % 100 == 99 else f"{number}: " + " ".join(chance.sample(WORDS, 12))
        when = f"2026-{1 + number % 12:02}-{1 + number % 28:02}T12:00:00Z"
        about = ties[number % files] if number % 3 == 0 else ()
        category = chance.choice(["decision", "convention", "bug", ""])
        made.append(Note(derived_id(str(number)), text, category, "bench", when, when, about))
    app.memories.take(workspace, made)
    for number in range(0, files, 10):
        (root / "src" / f"module_{number}.py").write_text(f"def function_{number}(value):\n    return {number}\n")
    return app, workspace


if __name__ == "__main__":
    main()
