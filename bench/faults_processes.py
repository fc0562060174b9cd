"""The processes of `bench/faults.py`: braindex started, spoken to, watched and looked for (Linux: it reads /proc)."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from braindex.config import SETTINGS

HUNG = 120.0  # seconds after which a process counts as hung
_FOREIGN = frozenset({"CLAUDE_PROJECT_DIR", "OPENAI_API_KEY", "OLLAMA_API_KEY", *(row.name for row in SETTINGS)})


def braindex(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "braindex", *arguments]


def environment(brain: Path) -> dict[str, str]:
    """This one's, without the user's own settings: no engine is paid for a bench."""
    return {name: value for name, value in os.environ.items() if name not in _FOREIGN} | {"BRAIN_DIR": str(brain)}


@dataclass
class Outcome:
    """One whole process."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """What it printed; {} when that is no object."""
        try:
            found = json.loads(self.out)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def fault(self, *expected: int) -> str:
        """What a user would call an error, in a line, or ""."""
        if "Traceback" in self.err or self.code not in (expected or (0,)):
            return f"exit {self.code}: {self.err.strip()[-300:]}"
        return ""


def run(brain: Path, *arguments: str) -> Outcome:
    command = braindex(*arguments)
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", env=environment(brain), check=False, timeout=HUNG
        )
    except subprocess.TimeoutExpired:
        return Outcome(-1, "", f"{arguments[0]} hung")
    return Outcome(done.returncode, done.stdout, done.stderr)


class Talk:
    """A long-lived process that is spoken to in lines of JSON."""

    def __init__(self, brain: Path, *arguments: str) -> None:
        self.started = time.monotonic()
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - closed with the process
        self.process = subprocess.Popen(
            braindex(*arguments),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, encoding="utf-8",
            env=environment(brain),
        )  # fmt: skip

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it ended: who reads on will see it
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """The next line. A process that says nothing for long is ended, and that is an error like another."""
        assert self.process.stdout is not None
        watch = threading.Timer(HUNG, self.process.kill)
        watch.start()
        try:
            line = self.process.stdout.readline()
        finally:
            watch.cancel()
        found: dict[str, Any] = json.loads(line or '{"error": "the process ended or hung"}')
        return found

    def close(self) -> float:
        """Ends its input; how many seconds it took to end."""
        assert self.process.stdin is not None
        started = time.monotonic()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        return time.monotonic() - started

    def complaint(self) -> str:
        """The traceback that it left on standard error, or ""."""
        self._errors.seek(0)
        said = self._errors.read()
        self._errors.close()
        return said[-300:] if "Traceback" in said else ""


class Asker(Talk):
    """`braindex ask --stdin`."""

    def __init__(self, brain: Path, root: Path) -> None:
        super().__init__(brain, "ask", "--stdin", "--json", "--no-answer", "--workspace", str(root))

    def ask(self, question: str) -> dict[str, Any]:
        self.tell(question)
        return self.hear()


class Server(Talk):
    """`braindex serve`, in JSON-RPC frames."""

    def __init__(self, brain: Path, root: Path) -> None:
        super().__init__(brain, "serve", "--workspace", str(root))
        self._number = 0
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "faults", "version": "1"}}
        self._answer(self._begin("initialize", client))
        self._send({"method": "notifications/initialized"})

    def begin(self, tool: str, **arguments: Any) -> int:
        """A tool call; its answer is not waited for."""
        return self._begin("tools/call", {"name": tool, "arguments": arguments})

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """A tool's structured answer, or what a user would call its error as {"error": …}."""
        answer = self._answer(self.begin(tool, **arguments))
        if "error" in answer or answer["result"].get("isError"):
            return {"error": f"{tool}: {json.dumps(answer)[:300]}"}
        found: dict[str, Any] = answer["result"]["structuredContent"]
        return found

    def _send(self, message: dict[str, Any]) -> None:
        self.tell(json.dumps({"jsonrpc": "2.0", **message}))

    def _begin(self, method: str, params: dict[str, Any]) -> int:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        return self._number

    def _answer(self, number: int) -> dict[str, Any]:
        """The answer to a request; what comes in between is passed over."""
        while True:
            line = self.hear()
            if line.get("id") == number or "jsonrpc" not in line:
                return line


def family(brain: Path) -> dict[int, str]:
    """Every process that lives with this data folder, whoever its parent is: its command line by its id."""
    mark, found = f"BRAIN_DIR={brain}".encode(), {}
    for one in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (one / "environ").read_bytes().split(b"\0"):
                found[int(one.name)] = (one / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # ended meanwhile, or another user's
            continue
    return found


def workers(brain: Path) -> int:
    """How many processes read files for a scan."""
    return sum("braindex.worker" in line for line in family(brain).values())


def all_gone(brain: Path, seconds: float) -> bool:
    """Whether the last process of a data folder ends within so many seconds by itself."""
    deadline = time.monotonic() + seconds
    while family(brain):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
