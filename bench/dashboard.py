"""How fast the dashboard's views are on a large memory, and how they look.

usage: python bench/dashboard.py [SOURCE …] [--size 200000] [--notes 10000] [--keep FOLDER] [--screens FOLDER]

Makes a workspace of `--size` entities of real code (as bench/scale.py does), `--notes` notes and a month of usage, and
starts the installed `braindex dashboard` over it. Each view is loaded `--rounds` times; the times are those of whole
requests over loopback, milliseconds. The bar: the first view within 300 ms. `--keep` holds the workspace and its data
folder for the next run. `--screens` writes a picture of each view, in both themes and at two widths (needs Playwright
and a Chromium: /usr/bin/chromium, or $CHROMIUM).
"""

import argparse
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from braindex.bootstrap import App, build_app
from braindex.config import load_settings
from braindex.dashboard.create import ROOMS
from braindex.domain.memories import Episode, Note, new_id
from braindex.domain.results import Workspace
from braindex.domain.usage import Call, EngineName, Operation, Usage
from braindex.registry.ledger import Ledger
from scale import copy, density, packages  # type: ignore[import-not-found]  # beside this file

FIRST_VIEW_MS = 300.0
WIDTHS = (360, 1440)
WIDEST = 2560
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
CALLS: tuple[tuple[EngineName, str, Operation], ...] = (
    ("deepseek-flash", "deepseek-flash", "ask"),
    ("deepseek-pro", "deepseek-v4-pro", "ask"),
    ("deepseek-flash", "deepseek-flash", "brief"),
    ("deepseek-flash", "deepseek-flash", "warmup"),
    ("deepseek-flash", "deepseek-flash", "review"),
    ("ollama", "llama", "ask"),
    ("none", "", "ask"),
)


def fill_usage(app: App, workspaces: list[Workspace]) -> None:
    """A month of calls, the same every time: 40 a day on weekdays, 6 on others."""
    today = datetime.now(UTC).replace(hour=9, minute=0, second=0, microsecond=0)
    calls = []
    for day in range(30):
        when = today - timedelta(days=day)
        for number in range(40 if when.weekday() < 5 else 6):
            engine, model, operation = CALLS[(number * 5 + day) % len(CALLS)]
            tokens_in = 1800 + 97 * ((number * 13 + day * 7) % 40)
            hits = 0 if engine in {"none", "ollama"} else 64 * ((number * 3 + day) % 24)
            usage = Usage(tokens_in, 150 + number * 3, hits, max(0, tokens_in - hits)) if engine != "none" else Usage()
            ended = when + timedelta(minutes=number)
            cost = app.usage.cost(engine, model, ended, usage)
            workspace = workspaces[number % len(workspaces)]
            calls.append(Call(workspace.id, engine, model, operation, ended, usage, cost, 3000 + 211 * (number % 17)))
    with Ledger.open(app.settings.brain_dir) as ledger:
        ledger.add(*calls)


def fill_memory(app: App, workspace: Workspace, notes: int) -> None:
    """Notes of several categories and clients, a year apart from first to last, and a tenth as many episodes."""
    now = datetime.now(UTC)
    areas = ("billing", "sessions", "retries", "the parser", "migrations", "the cache", "logging", "the walk")
    categories, clients = ("decision", "convention", "todo", ""), ("claude-code", "cursor", "vscode", "braindex note")
    made: list[Note | Episode] = []
    for number in range(notes):
        when = (now - timedelta(minutes=number * 52)).isoformat(timespec="seconds")
        area = areas[number % len(areas)]
        text = (
            f"Note {number}: {area} has to keep case {number * 7919 % 1000}, since release {number % 40} relied on it."
        )
        made.append(Note(new_id(), text, categories[number % 4], clients[number % 4], when, when))
        if number % 10 == 0:
            made.append(
                Episode(new_id(), "turn", clients[number % 3], f"s{number}", when, f"Work on {area}", text, "done")
            )
    app.memories.take(workspace, made)


def made(place: Path, sources: list[Path], size: int, notes: int) -> None:
    """The workspace and its data folder, unless they are there."""
    if (place / "made").exists():
        return
    wanted = packages(sources)
    copy(wanted, {name: density(files) for name, files in wanted}, place / "work", size)
    small = place / "small"
    small.mkdir(parents=True, exist_ok=True)
    (small / "shop.py").write_text('def price(basket: list[int]) -> int:\n    """The sum."""\n    return sum(basket)\n')
    app = build_app(load_settings({"BRAIN_DIR": str(place / "brain")}, place))
    workspaces = [app.workspaces.open(place / name) for name in ("work", "small")]
    for workspace in workspaces:
        summary = app.scans.run(workspace)
        print(f"{workspace.name}: {summary.entities:,} entities of {summary.files:,} files, {summary.seconds:.0f} s")
    fill_memory(app, workspaces[0], notes)
    fill_usage(app, workspaces)
    app.close()
    (place / "made").touch()


@contextmanager
def serving(brain: Path, **settings: str) -> Iterator[str]:
    """A running dashboard; yields its link."""
    command = [sys.executable, "-P", "-m", "braindex", "dashboard", "--no-open"]
    environ = {**os.environ, "BRAIN_DIR": str(brain), **settings}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, env=environ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def views(work: str) -> dict[str, str]:
    """The address of each view by its name, the first one first."""
    here = f"/workspaces/{work}"
    all_of_them = {
        "workspaces": "/workspaces",
        "workspace": here,
        "ask": f"{here}/ask",
        "ask-answered": f"{here}/ask?q=how+are+settings+loaded+and+validated",
        "memory": f"{here}/memory",
        "memory-searched": f"{here}/memory?q=retries",
        "memory-last": f"{here}/memory?page=200",
        "memory-stale": f"{here}/memory?stale=yes",
        "memory-alike": f"{here}/memory/duplicates",
        "brief": f"{here}/brief",
        "brief-edit": f"{here}/brief/edit",
        "brief-make": f"{here}/brief/make",
        "brief-history": f"{here}/brief/history",
        "rebuild": f"{here}/rebuild",
        "drop": f"{here}/drop",
        "usage": "/usage",
        "usage-tokens": "/usage?measure=tokens",
        "health": "/health?checks=quick",
    }
    rooms = {one.name for one in ROOMS} | {"workspace", "rebuild", "drop"}
    return {name: path for name, path in all_of_them.items() if name.split("-", maxsplit=1)[0] in rooms}


def measure(link: str, work: str, rounds: int) -> bool:
    """Prints the times of each view; whether the bar is held."""
    base = link.split("/enter", maxsplit=1)[0]
    with httpx.Client(base_url=base, timeout=120, trust_env=False) as client:
        client.get(link).raise_for_status()
        first = None
        print(f"{'view':18}{'first':>9}{'median':>9}{'bytes':>10}   milliseconds")
        for name, path in views(work).items():
            times, size = [], 0
            for _ in range(rounds):
                started = time.monotonic()
                answer = client.get(path)
                times.append((time.monotonic() - started) * 1000)
                size = len(answer.content)
                if answer.status_code != 200:
                    raise SystemExit(f"{path} answered with {answer.status_code}: {answer.text[:300]}")
            first = times[0] if first is None else first
            print(f"{name:18}{times[0]:9.0f}{statistics.median(times):9.0f}{size:10,}")
    assert first is not None
    held = first <= FIRST_VIEW_MS
    print(f"  {'ok  ' if held else 'MISS'} the first view within {FIRST_VIEW_MS:.0f} ms: {first:.0f} ms")
    return held


def pictures(link: str, work: str, folder: Path) -> None:
    """One file a view, theme and width."""
    from playwright.sync_api import sync_playwright

    folder.mkdir(parents=True, exist_ok=True)
    base = link.split("/enter", maxsplit=1)[0]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        context: Any = browser.new_context()
        page = context.new_page()
        page.goto(link)
        page.wait_for_url("**/workspaces")
        for name, path in views(work).items():
            for theme in ("light", "dark"):
                for width in (*WIDTHS, *([WIDEST] if name in {"workspace", "usage", "ask-answered"} else [])):
                    page.emulate_media(color_scheme=theme)
                    page.set_viewport_size({"width": width, "height": 900})
                    page.goto(base + path)
                    page.wait_for_load_state("networkidle")
                    page.screenshot(path=folder / f"{name}-{theme}-{width}.png", full_page=width < WIDEST)
        browser.close()
    print(f"pictures of {len(views(work))} views are in {folder}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*", type=Path)
    parser.add_argument("--size", type=int, default=200_000)
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--screens", type=Path)
    arguments = parser.parse_args()
    paths = sysconfig.get_paths()
    with tempfile.TemporaryDirectory() as scratch:
        place = (arguments.keep or Path(scratch)).resolve()
        made(
            place, arguments.sources or [Path(paths["stdlib"]), Path(paths["purelib"])], arguments.size, arguments.notes
        )
        app = build_app(load_settings({"BRAIN_DIR": str(place / "brain")}, place))
        work = app.workspaces.open(place / "work").id
        app.close()
        with serving(place / "brain") as link:
            held = measure(link, work, arguments.rounds)
            if arguments.screens:
                with serving(place / "brain") as another:
                    pictures(another, work, arguments.screens)
    sys.exit(0 if held else 1)


if __name__ == "__main__":
    main()
