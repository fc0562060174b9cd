"""Scan, question, start-up, memory and disk of braindex on any checked-out repository.

usage: python bench/speed.py REPOSITORY [REPOSITORY …] [--questions 50] [--json FILE]

Every figure comes from whole processes of the installed `braindex` command with a fresh data folder, so that imports
and storage are in it. The repository is copied first, and only the copy is touched. CPU seconds are user + system of
the process and its children. Prints a table with the bars it is held to; `--json` writes the same figures. Runs on
Linux and macOS (it reads rusage).
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

QUESTIONS = (
    "how are settings loaded and validated",
    "where is the main entry point",
    "parse a string into a value",
    "error handling and retries",
    "convert an object to JSON",
    "register a plugin or middleware",
    "Return the default value",
    "test fixtures",
    "README installation",
    "where is __init__ defined",
)


TOUCHED = frozenset({".py", ".js", ".ts", ".css", ".md"})


@dataclass
class Run:
    """One whole process: CPU and wall seconds, peak resident memory in MB, its standard output."""

    cpu: float
    wall: float
    peak_mb: float
    out: str


def run(arguments: list[str], brain: Path, *, text: str = "", one_core: bool = False) -> Run:
    """Runs braindex once and measures the process itself."""
    command = [sys.executable, "-m", "braindex", *arguments]
    if one_core and shutil.which("taskset"):
        command = ["taskset", "-c", "0", *command]
    wall = time.monotonic()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as given:
        given.write(text)
        given.seek(0)
        process = subprocess.Popen(command, stdin=given, stdout=out, env={**os.environ, "BRAIN_DIR": str(brain)})
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
        scale = 1 if sys.platform == "darwin" else 1024
        peak = usage.ru_maxrss * scale / 1e6
        return Run(usage.ru_utime + usage.ru_stime, time.monotonic() - wall, peak, out.read())


@dataclass
class Report:
    """Figures of one repository."""

    repository: str
    files: int = 0
    entities: int = 0
    figures: dict[str, float] = field(default_factory=dict)
    bars: dict[str, bool] = field(default_factory=dict)


def folder_mb(folder: Path) -> float:
    return sum(one.stat().st_size for one in folder.rglob("*") if one.is_file()) / 1e6


def baselines() -> tuple[float, float]:
    """CPU seconds of the interpreter's start and all imports alone: a cold and an unchanged scan of one small file."""
    with tempfile.TemporaryDirectory() as scratch:
        tiny, cold, again = Path(scratch) / "tiny", [], []
        tiny.mkdir()
        (tiny / "a.py").write_text("def nothing():\n    pass\n")
        for number in range(3):
            brain = Path(scratch) / f"brain{number}"
            cold.append(run(["scan", str(tiny), "--json"], brain).cpu)
            again.append(run(["scan", str(tiny), "--json"], brain).cpu)
    return statistics.median(cold), statistics.median(again)


def measure_scans(repository: Path, brain: Path, report: Report) -> None:
    cold = run(["scan", str(repository), "--json"], brain, one_core=True)
    summary: dict[str, Any] = json.loads(cold.out)
    report.files, report.entities = summary["files"], summary["entities"]
    first, start = baselines()
    again = run(["scan", str(repository), "--json"], brain)
    rescans = [run(["scan", str(repository), "--json"], brain).cpu for _ in range(3)]
    touched = next(one for one in sorted(repository.rglob("*")) if one.suffix in TOUCHED)
    with touched.open("ab") as file:
        file.write(b"\n")
    one = run(["scan", str(repository), "--json"], brain)
    unchanged = max(0.0, statistics.median([again.cpu, *rescans]) - start)
    report.figures |= {
        "cold scan, CPU s": cold.cpu,
        "cold scan, wall s on one core": cold.wall,
        "cold scan, entities a CPU s": report.entities / cold.cpu,
        "start and imports of a cold scan, CPU s": first,
        "cold scan beyond them, entities a CPU s": report.entities / max(0.001, cold.cpu - first),
        "cold scan, peak MB": cold.peak_mb,
        "start and imports of a re-scan, CPU s": start,
        "unchanged re-scan beyond start, CPU s": unchanged,
        "the same for 1,000 files, CPU s": unchanged * 1000 / max(1, report.files),
        "one file changed, CPU s": one.cpu,
        "data folder, MB": folder_mb(brain),
    }


def measure_questions(repository: Path, brain: Path, report: Report, count: int) -> None:
    """Latency of each question in one long-lived process, the first apart: it loads the model."""
    asked = [QUESTIONS[index % len(QUESTIONS)] for index in range(count)]
    command = [sys.executable, "-m", "braindex", "ask", "--stdin", "--json", "--workspace", str(repository)]
    times: list[float] = []
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "BRAIN_DIR": str(brain)}
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for question in asked:
            started = time.monotonic()
            process.stdin.write(question + "\n")
            process.stdin.flush()
            assert process.stdout.readline()
            times.append((time.monotonic() - started) * 1000)
        process.stdin.close()
    later = sorted(times[1:])
    report.figures |= {
        "first question with start, ms": times[0],
        "later questions, median ms": statistics.median(later),
        "later questions, 95th percentile ms": later[int(0.95 * len(later))],
    }


def frame(identifier: int, method: str, params: dict[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": identifier, "method": method, "params": params}) + "\n"


def measure_start(brain: Path, report: Report) -> None:
    """From the start of `braindex serve` to the answers of `initialize` and the first `tools/list`."""
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    initialised, listed, cpu = [], [], []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.monotonic()
        with subprocess.Popen(
            [sys.executable, "-m", "braindex", "serve"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "BRAIN_DIR": str(brain)},
        ) as server:  # fmt: skip
            assert server.stdin is not None
            assert server.stdout is not None
            server.stdin.write(frame(1, "initialize", client))
            server.stdin.flush()
            server.stdout.readline()
            initialised.append(time.monotonic() - started)
            server.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n' + frame(2, "tools/list", {}))
            server.stdin.flush()
            server.stdout.readline()
            listed.append(time.monotonic() - started)
            server.stdin.close()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    report.figures |= {
        "serve to initialize, s": statistics.median(initialised),
        "serve to first tool list, s": statistics.median(listed),
        "serve, start to end, CPU s": statistics.median(cpu),
    }


def judge(report: Report) -> None:
    figures = report.figures
    report.bars = {
        "at least 1,000 entities a CPU second beyond start and imports": (
            figures["cold scan beyond them, entities a CPU s"] >= 1000
        ),
        "unchanged re-scan of 1,000 files at most 0.5 CPU s": figures["the same for 1,000 files, CPU s"] <= 0.5,
        "a later question at most 30 ms (median)": figures["later questions, median ms"] <= 30,
        "at most 300 MB": figures["cold scan, peak MB"] <= 300,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    reports = []
    for repository in arguments.repositories:
        report = Report(repository.name)
        with tempfile.TemporaryDirectory() as scratch:
            brain, copy = Path(scratch) / "brain", Path(scratch) / repository.resolve().name
            shutil.copytree(repository, copy, symlinks=True)
            measure_scans(copy, brain, report)
            measure_questions(copy, brain, report, arguments.questions)
            measure_start(brain, report)
        judge(report)
        reports.append(report)
        print(f"\n{report.repository}: {report.files} files, {report.entities} entities")
        for name, value in report.figures.items():
            print(f"  {name:42} {value:10.3f}")
        for name, held in report.bars.items():
            print(f"  {'ok  ' if held else 'MISS'} {name}")
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(one) for one in reports], indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
