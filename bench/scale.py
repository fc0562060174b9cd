"""How braindex grows: scans and questions of workspaces of 10,000 to 200,000 entities of real code.

usage: python bench/scale.py [SOURCE …] [--sizes 10000 50000 100000 200000] [--questions 200] [--json FILE]

The workspaces are many packages side by side, copied from the sources: by default the running Python's standard library
and installed packages. Each size is a fresh workspace and data folder, measured in whole processes of the installed
`braindex` command: a cold scan, unchanged re-scans, and one long-lived process that answers questions of three sorts
(first lines of docstrings, names, phrases). CPU seconds are user + system of the process and its children; memory is
the sum of resident sizes of a process and its children, sampled (Linux), else the peak of the process alone. Prints a
table with the bars it is held to; `--json` writes the same figures.
"""

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from braindex import extract_entities
from braindex.domain.errors import BraindexError
from braindex.indexing.passages import index_file

SUFFIXES = frozenset({".py", ".pyi", ".js", ".jsx", ".ts", ".tsx", ".html", ".css", ".md"})
LARGEST = 400_000  # bytes; larger files of these kinds are data
PHRASES = (
    "how are settings loaded and validated",
    "parse a date from a string",
    "retry a request after an error",
    "convert an object to JSON",
    "register a plugin",
    "where is the cache invalidated",
    "read a file line by line",
    "compare two versions",
    "split text into tokens",
    "open a connection to the database",
)


@dataclass
class Row:
    """Figures of one size. Times in seconds unless the name says otherwise; `*_us` are microseconds an entity."""

    size: int
    files: int = 0
    entities: int = 0
    scan_wall: float = 0.0
    scan_cpu: float = 0.0
    wall_us: float = 0.0
    cpu_us: float = 0.0
    entities_a_second: float = 0.0
    scan_mb: float = 0.0
    rescan_cpu: float = 0.0
    rescan_cpu_10k_files: float = 0.0
    first_question_ms: float = 0.0
    question_p50_ms: float = 0.0
    question_p95_ms: float = 0.0
    question_mb: float = 0.0
    disk_mb: float = 0.0


def packages(sources: list[Path]) -> list[tuple[str, list[Path]]]:
    """Folders and files of the sources with the files in them that braindex parses, in an order that mixes them."""
    found = []
    for source in sources:
        for one in source.iterdir():
            if one.name.startswith(".") or one.name in {"__pycache__", "site-packages"}:
                continue
            files = [one] if one.is_file() else [path for path in one.rglob("*") if path.is_file()]
            wanted = [path for path in sorted(files) if path.suffix in SUFFIXES and path.stat().st_size <= LARGEST]
            if wanted:
                found.append((one.name, wanted))
    return sorted(found, key=lambda one: hashlib.blake2b(one[0].encode()).digest())


def density(files: list[Path]) -> float:
    """Entities a byte, by a part of the files: packages differ fourfold in it."""
    entities, read = 1, 400
    for file in files[:: max(1, len(files) // 30)]:
        data = file.read_bytes()
        with contextlib.suppress(BraindexError):
            entities += len(index_file(file.name, data))
            read += len(data)
    return entities / read


def copy(wanted: list[tuple[str, list[Path]]], densities: dict[str, float], target: Path, size: int) -> None:
    """Packages side by side until they have about `size` entities, again under other names where they are too few."""
    copied, round_ = 0.0, 0
    while copied < size:
        round_ += 1
        for name, files in wanted:
            for file in files:
                parts = file.parts[file.parts.index(name) :]
                to = target.joinpath(name if round_ == 1 else f"{name}-{round_}", *parts[1:])
                to.parent.mkdir(parents=True, exist_ok=True)
                if not to.exists():
                    shutil.copyfile(file, to)
                    copied += file.stat().st_size * densities[name]
                if copied >= size:
                    return


def tree_mb(pid: int) -> float:
    """Resident megabytes of a process and its children; 0 where the system does not say."""
    total, found = 0, [pid]
    while found:
        one = found.pop()
        try:
            total += int(Path(f"/proc/{one}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            for task in Path(f"/proc/{one}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
        except (OSError, ValueError, IndexError):
            continue
    return total / 1e6


class Sampler:
    """The largest `tree_mb` of a process while it runs."""

    def __init__(self, pid: int) -> None:
        self.peak = 0.0
        self._pid = pid
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(0.5):
            self.peak = max(self.peak, tree_mb(self._pid))

    def end(self, own_peak_mb: float) -> float:
        self._stop.set()
        self._thread.join()
        return max(self.peak, own_peak_mb)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "braindex", *arguments]


def run(arguments: list[str], brain: Path) -> tuple[dict[str, Any], float, float, float]:
    """One whole process: its JSON, CPU and wall seconds, and peak megabytes with its children."""
    started = time.monotonic()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command(*arguments), stdout=out, env={**os.environ, "BRAIN_DIR": str(brain)})
        sampler = Sampler(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        peak = sampler.end(usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6)
        out.seek(0)
        if process.returncode:
            raise SystemExit(f"braindex {' '.join(arguments)} ended with {process.returncode}")
        return json.loads(out.read()), usage.ru_utime + usage.ru_stime, time.monotonic() - started, peak


def baseline() -> tuple[float, float, float]:
    """CPU and wall seconds of a scan of one small file, and CPU seconds of its re-scan: start and all imports."""
    with tempfile.TemporaryDirectory() as scratch:
        tiny, times = Path(scratch, "tiny"), []
        tiny.mkdir()
        (tiny / "a.py").write_text("def nothing():\n    pass\n")
        for number in range(3):
            brain = Path(scratch, f"brain{number}")
            _, cpu, wall, _ = run(["scan", str(tiny), "--json"], brain)
            times.append((cpu, wall, run(["scan", str(tiny), "--json"], brain)[1]))
    cpu, wall, again = (statistics.median(column) for column in zip(*times, strict=True))
    return cpu, wall, again


def questions(root: Path, count: int) -> list[str]:
    """Questions of three sorts about what is really in a workspace, the same for the same workspace."""
    files = sorted(root.rglob("*.py"))
    documented: Iterator[tuple[str, str]] = (
        (one.name, one.docstring.split("\n", 1)[0])
        for path in files[:: max(1, len(files) // (2 * count))]
        for one in extract_entities(path.name, path.read_bytes())[3:6]
        if len(one.docstring.split("\n", 1)[0].split()) >= 4
    )
    asked: list[str] = []
    for name, doc in documented:
        asked.append((doc, f"where is {name} defined", PHRASES[len(asked) % len(PHRASES)])[len(asked) % 3])
        if len(asked) >= count:
            break
    return asked


def measure_questions(root: Path, brain: Path, row: Row, count: int) -> None:
    times: list[float] = []
    arguments = command("ask", "--stdin", "--json", "--no-answer", "--workspace", str(root))
    with subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "BRAIN_DIR": str(brain)}
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for question in questions(root, count):
            started = time.monotonic()
            process.stdin.write(question + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["query"]
            times.append((time.monotonic() - started) * 1000)
        row.question_mb = tree_mb(process.pid)
        process.stdin.close()
    later = sorted(times[1:])
    row.first_question_ms = times[0]
    row.question_p50_ms, row.question_p95_ms = statistics.median(later), later[int(0.95 * len(later))]


def measure(root: Path, brain: Path, size: int, count: int, start: tuple[float, float, float]) -> Row:
    row = Row(size)
    summary, row.scan_cpu, row.scan_wall, row.scan_mb = run(["scan", str(root), "--json"], brain)
    row.files, row.entities = summary["files"], summary["entities"]
    row.cpu_us = (row.scan_cpu - start[0]) / row.entities * 1e6
    row.wall_us = (row.scan_wall - start[1]) / row.entities * 1e6
    row.entities_a_second = row.entities / row.scan_wall
    run(["scan", str(root), "--json"], brain)
    again = statistics.median(run(["scan", str(root), "--json"], brain)[1] for _ in range(3))
    row.rescan_cpu = max(0.0, again - start[2])
    row.rescan_cpu_10k_files = row.rescan_cpu * 10_000 / row.files
    measure_questions(root, brain, row, count)
    row.disk_mb = sum(one.stat().st_size for one in brain.rglob("*") if one.is_file()) / 1e6
    return row


def bars(rows: list[Row]) -> dict[str, bool]:
    first, last = rows[0], rows[-1]
    return {
        "wall time an entity at the largest size at most 1.3 times that at the smallest": (
            last.wall_us <= 1.3 * first.wall_us
        ),
        "CPU time an entity at the largest size at most 1.3 times that at the smallest": (
            last.cpu_us <= 1.3 * first.cpu_us
        ),
        "question at the largest size at most 25 ms (median)": last.question_p50_ms <= 25,
        "question at the largest size at most 60 ms (95th percentile)": last.question_p95_ms <= 60,
        "resident memory at most 600 MB": max(max(one.scan_mb, one.question_mb) for one in rows) <= 600,
        "unchanged re-scan of 10,000 files at most 2 CPU s beyond start": last.rescan_cpu_10k_files <= 2,
        "cold scan end to end at least 3,000 entities a second at the largest size": last.entities_a_second >= 3000,
    }


def table(rows: list[Row]) -> str:
    names = [name for name in asdict(rows[0]) if name != "size"]
    lines = [f"{'':24}" + "".join(f"{row.size:>12,}" for row in rows)]
    for name in names:
        cells = (getattr(row, name) for row in rows)
        lines.append(
            f"{name:24}" + "".join(f"{one:>12,}" if isinstance(one, int) else f"{one:>12.2f}" for one in cells)
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*", type=Path)
    parser.add_argument("--sizes", nargs="+", type=int, default=[10_000, 50_000, 100_000, 200_000])
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--keep", type=Path, help="an empty folder for the workspaces and data folders, which stay")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    paths = sysconfig.get_paths()
    wanted = packages(arguments.sources or [Path(paths["stdlib"]), Path(paths["purelib"])])
    rows: list[Row] = []
    start = baseline()
    densities = {name: density(files) for name, files in wanted}
    with tempfile.TemporaryDirectory() as scratch:
        for size in arguments.sizes:
            place = (arguments.keep or Path(scratch)) / str(size)
            copy(wanted, densities, place / "work", size)
            rows.append(measure(place / "work", place / "brain", size, arguments.questions, start))
            print(f"{size:,}: {rows[-1].entities:,} entities, {rows[-1].entities_a_second:,.0f} a second", flush=True)
            if not arguments.keep:
                shutil.rmtree(place)
    print(table(rows))
    for name, held in bars(rows).items():
        print(f"  {'ok  ' if held else 'MISS'} {name}")
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(one) for one in rows], indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
