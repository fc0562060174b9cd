"""Another process that scans a workspace, and holds in the middle until it is told to go on."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

SOURCE = Path(__file__).resolve().parents[2] / "src"
PROGRAM = """
import json, sys
from pathlib import Path
from braindex.bootstrap import build_app
from braindex.config import load_settings
from braindex.domain.errors import BraindexError
from braindex.services import ingest

ingest.BATCH_UNITS = 1  # what was read is stored at once
app = build_app(load_settings({"BRAIN_DIR": sys.argv[1]}, Path.cwd()))
held = []

def report(progress):
    if not held and progress.entities:
        held.append(progress)
        print(json.dumps([progress.files_done, progress.files_total]), flush=True)
        sys.stdin.readline()

try:
    found = app.scans.run(app.workspaces.open(sys.argv[2]), report, brief="brief" in sys.argv).as_json()
except BraindexError as error:
    found = {"error": type(error).__name__}
print(json.dumps(found), flush=True)
"""


def many_files(count: int = 120) -> dict[str, str]:
    """A project that is stored in more than one part."""
    return {
        f"m{number:02}.py": f"def function_{number}(value):\n    return value + {number}\n" for number in range(count)
    }


class FirstScan:
    """Starts scanning at once; `done` and `total` are the files at the moment at which it holds."""

    def __init__(self, brain: Path, root: Path, *, brief: bool = True) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(brain), str(root), *(["brief"] if brief else [])],
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.done, self.total = self._read()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def summary(self) -> dict[str, Any]:
        """What it says when it has ended."""
        found: dict[str, Any] = self._read()
        self.process.wait()
        return found

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def _read(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())
