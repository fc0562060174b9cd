"""The wheel as a user gets it: built, installed into empty environments, asked and served.

usage: python bench/install.py [--wheel WHEEL] [--starts 10] [--skip NAME …] [--json FILE]

Builds the wheel (with `hatchling`, which the extra `dev` brings) unless one is given, then, each with an empty home
directory:

- pip: an empty virtual environment; `braindex ask` about a small project; `braindex serve` started ten times; the first
  question about a fresh workspace of 500 files, asked through the server right after its start
- pipx, uvx: `braindex ask`, and `braindex serve` until it has answered `initialize`
- bundle: the bundle for Claude Desktop, unpacked, its dependencies installed as the client does, its command started as
  its manifest says

It needs a package index, and `uv` and `pipx` on the PATH for theirs; where one is missing, that part is said to be
missing and counts as failed, unless it is skipped by its name. CPU seconds are user + system of the process. Runs on
Linux and macOS (it reads rusage). Prints each bar; ends with 1 when one is missed.
"""

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
FILES: Final = 500
ORIGINAL_START: Final = 3.5  # CPU seconds from the start of the server that this one replaces
FIRST_QUESTION: Final = 10.0
HUNG: Final = 600
CLIENT: Final = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "install", "version": "1"}}
# What a client hands on, and what an installer needs to reach a package index.
KEPT: Final = re.compile(
    r"^(PATH|LANG|TMPDIR|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|.*_PROXY|PIP_.*|UV_.*)$", re.IGNORECASE
)


@dataclass
class Report:
    figures: dict[str, float] = field(default_factory=dict)
    bars: dict[str, bool] = field(default_factory=dict)

    def hold(self, bar: str, *, kept: bool) -> None:
        self.bars[bar] = kept
        print(f"{'ok  ' if kept else 'MISS'} {bar}", flush=True)

    def note(self, name: str, figure: float) -> None:
        self.figures[name] = round(figure, 3)
        print(f"     {name}: {figure:.2f}", flush=True)


@dataclass(frozen=True)
class Place:
    """An empty home directory, and a small project in it."""

    folder: Path

    @property
    def project(self) -> Path:
        return self.folder / "shop"

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if KEPT.match(name)}
        home = str(self.folder)
        return {**kept, "HOME": home, "PIPX_HOME": f"{home}/pipx", "PIPX_BIN_DIR": f"{home}/bin", **more}

    def run(self, *command: str | Path, cwd: Path | None = None) -> str:
        """Its standard output. Raises SystemExit with what it said where it fails."""
        words = [str(one) for one in command]
        done = subprocess.run(
            words,
            cwd=cwd or self.project,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=HUNG,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr[-2000:]}")
        return done.stdout


class Server:
    """A server over standard input and output, and when it was started."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], cwd: Path) -> None:
        self.started = time.monotonic()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=cwd,
            env=environment,
        )
        self._number = 0

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request; what comes in between is passed over."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        assert self._process.stdout is not None
        for text in self._process.stdout:
            message: dict[str, Any] = json.loads(text)
            if message.get("id") == self._number:
                return message
        raise SystemExit(f"the server ended with {self._process.wait()} before it answered {method}")

    def begin(self) -> dict[str, Any]:
        answer = self.ask("initialize", CLIENT)
        self._send({"method": "notifications/initialized"})
        return answer

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    def end(self) -> float:
        """CPU seconds from its start to its end, which is that of its input."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        return usage.ru_utime + usage.ru_stime

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()


@contextmanager
def place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="braindex-install-") as folder:
        made = Place(Path(folder).resolve())
        made.project.mkdir()
        (made.project / "pyproject.toml").write_text("[project]\nname = 'shop'\n")
        (made.project / "cart.py").write_text(
            'def total_price(items: list[float]) -> float:\n    """Adds up the prices of all items."""\n'
            "    return sum(items)\n"
        )
        yield made


_FUNCTION: Final = '''
def {verb}_{one}_{number}({other}: str, count: int = {number}) -> str:
    """{title}s the {one} of a {other}."""
    found = [{other}] * count
    return "{one}".join(found)
'''


def large_project(folder: Path) -> None:
    """500 Python files of 40 lines, each unlike the others."""
    chance = random.Random(7)
    words = "order customer invoice parcel price stock refund basket discount address label route".split()
    (folder / "pkg").mkdir(parents=True)
    (folder / "pyproject.toml").write_text("[project]\nname = 'large'\n")
    for number in range(FILES):
        one, other = chance.sample(words, 2)
        functions = "\n".join(
            _FUNCTION.format(verb=verb, title=verb.title(), one=one, other=other, number=number)
            for verb in ("load", "store", "check", "print", "merge", "split")
        )
        (folder / "pkg" / f"{one}_{other}_{number}.py").write_text(f'"""About {one}s and {other}s."""\n\n{functions}')


def answers(report: Report, here: Place, way: str, *command: str | Path) -> None:
    found = json.loads(here.run(*command, "ask", "--json", "what adds up the prices?"))
    first = found["sources"][0] if found["sources"] else {}
    report.hold(f"{way}: `braindex ask` finds the function", kept=first.get("name") == "total_price")


def serves(report: Report, here: Place, way: str, *command: str | Path) -> None:
    server = Server([*map(str, command), "serve"], here.environment(), here.project)
    named = server.begin()["result"]["serverInfo"]["name"]
    report.note(f"{way}: `braindex serve` to `initialize`, s", server.seconds)
    server.end()
    report.hold(f"{way}: `braindex serve` answers `initialize`", kept=named == "braindex")


def with_pip(report: Report, wheel: Path, starts: int) -> None:
    with place() as here:
        here.run(sys.executable, "-m", "venv", here.folder / "venv")
        began = time.monotonic()
        here.run(here.folder / "venv" / "bin" / "pip", "install", "--quiet", wheel)
        report.note("pip: install, s", time.monotonic() - began)
        command = here.folder / "venv" / "bin" / "braindex"
        answers(report, here, "pip", command)
        measure_starts(report, here, command, starts)
        measure_first_question(report, here, command)


def measure_starts(report: Report, here: Place, command: Path, starts: int) -> None:
    wall, cpu = [], []
    for _ in range(starts):
        server = Server([str(command), "serve"], here.environment(), here.project)
        server.begin()
        wall.append(server.seconds)
        cpu.append(server.end())
    report.note(f"serve to `initialize`, median of {starts}, s", statistics.median(wall))
    report.note(f"serve from start to end, median of {starts}, CPU s", statistics.median(cpu))
    bar = f"`braindex serve` starts and ends in less than {ORIGINAL_START} CPU s"
    report.hold(bar, kept=statistics.median(cpu) < ORIGINAL_START)


def measure_first_question(report: Report, here: Place, command: Path) -> None:
    large = here.folder / "large"
    large_project(large)
    server = Server([str(command), "serve", "--workspace", str(large)], here.environment(), large)
    server.begin()
    began = time.monotonic()
    question = {"name": "query_memory", "arguments": {"query": "which function stores the invoice of a customer?"}}
    found = server.ask("tools/call", question)["result"]
    seconds = time.monotonic() - began
    report.note(f"first question about {FILES} unscanned files, s", seconds)
    report.note("the same, with the server's start, s", server.seconds)
    server.end()
    sources = found.get("structuredContent", {}).get("sources", [])
    report.hold(
        f"the first question is answered within {FIRST_QUESTION:.0f} s",
        kept=bool(sources) and seconds <= FIRST_QUESTION,
    )


def with_pipx(report: Report, wheel: Path) -> None:
    with place() as here:
        here.run("pipx", "install", "--quiet", "--python", sys.executable, wheel)
        answers(report, here, "pipx", here.folder / "bin" / "braindex")
        serves(report, here, "pipx", here.folder / "bin" / "braindex")


def with_uvx(report: Report, wheel: Path) -> None:
    with place() as here:
        command = ("uvx", "--quiet", "--python", sys.executable, "--from", wheel, "braindex")
        answers(report, here, "uvx", *command)
        serves(report, here, "uvx", *command)


def with_bundle(report: Report, wheel: Path) -> None:
    """As Claude Desktop does it: `uv sync` when the bundle is installed, then the command of the manifest."""
    with place() as here:
        bundle = here.run(sys.executable, ROOT / "distribution" / "bundle.py", wheel, "--to", here.folder).strip()
        folder = here.folder / "extension"
        zipfile.ZipFile(bundle).extractall(folder)
        here.run("uv", "sync", "--quiet", "--locked", "--project", folder)
        entry = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["server"]["mcp_config"]
        given = {"user_config.workspace": str(here.project), "__dirname": str(folder)}
        filled = {name: _filled(value, given) for name, value in entry["env"].items()}
        command = [entry["command"], *(_filled(one, given) for one in entry["args"])]
        server = Server(command, here.environment(**filled), Path("/"))
        server.begin()
        report.note("bundle: start to `initialize`, s", server.seconds)
        question = {"name": "query_memory", "arguments": {"query": "what adds up the prices?"}}
        sources = server.ask("tools/call", question)["result"].get("structuredContent", {}).get("sources", [{}])
        server.end()
        report.hold("bundle: a question is answered", kept=sources[0].get("name") == "total_price")


def _filled(text: str, given: Mapping[str, str]) -> str:
    """What has no value stays as it is written, as the format's own library leaves it."""
    for name, value in given.items():
        text = text.replace(f"${{{name}}}", value)
    return text


def build(folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (wheel,) = folder.glob("*.whl")
    return wheel


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--starts", type=int, default=10, metavar="N")
    parser.add_argument("--skip", nargs="*", default=[], choices=("pip", "pipx", "uvx", "bundle"))
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    report = Report()
    parts: dict[str, tuple[str, Callable[[Path], None]]] = {
        "pip": ("", lambda wheel: with_pip(report, wheel, given.starts)),
        "pipx": ("pipx", lambda wheel: with_pipx(report, wheel)),
        "uvx": ("uvx", lambda wheel: with_uvx(report, wheel)),
        "bundle": ("uv", lambda wheel: with_bundle(report, wheel)),
    }
    with tempfile.TemporaryDirectory() as scratch:
        wheel = given.wheel.resolve() if given.wheel else build(Path(scratch))
        report.note("wheel, MB", wheel.stat().st_size / 1e6)
        for name, (tool, part) in parts.items():
            if name in given.skip:
                continue
            if tool and not shutil.which(tool):
                report.hold(f"{name}: {tool} is not on the PATH", kept=False)
            else:
                part(wheel)
    if given.json:
        given.json.write_text(json.dumps({"figures": report.figures, "bars": report.bars}, indent=2) + "\n")
    return 0 if all(report.bars.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
