"""A small App that holds still: the surfaces are tested against it, the services have tests of their own."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from braindex.bootstrap import App
from braindex.domain.errors import BraindexError
from braindex.domain.names import UnknownWorkspace
from braindex.domain.results import (
    Answer,
    Question,
    ScanProgress,
    ScanStatus,
    ScanSummary,
    Skipped,
    Source,
    Workspace,
    WorkspaceInfo,
)
from braindex.services.roots import checked_root


@dataclass
class HeldWorkspaces:
    """Workspaces by path, in memory."""

    known: dict[str, Workspace] = field(default_factory=dict)

    def find(self, reference: str) -> Workspace:
        for one in self.known.values():
            if reference in (one.id, one.name, one.path) or str(Path(reference).resolve()) == one.path:
                return one
        raise UnknownWorkspace(reference)

    def open(self, path: str | Path) -> Workspace:
        root = checked_root(path)
        return self.known.setdefault(str(root), Workspace(f"id-{root.name}", root.name, str(root)))

    def resolve(self, reference: str) -> Workspace:
        return self.open(reference) if Path(reference).is_dir() else self.find(reference)

    def checked_root(self, path: str | Path) -> Path:
        return checked_root(path)

    def list(self) -> list[WorkspaceInfo]:
        return [WorkspaceInfo(one, 3, 30, None, exists=True) for one in self.known.values()]


@dataclass
class HeldScan:
    """A scan that ends when the test says so."""

    summary: ScanSummary
    error: BaseException | None = None
    steps: list[ScanProgress] = field(default_factory=lambda: [ScanProgress("parsing", 1, 4, 10)])
    done: threading.Event = field(default_factory=threading.Event)

    def wait(self, timeout: float | None) -> ScanSummary | None:
        if len(self.steps) > 1:
            self.steps.pop(0)
        if not self.done.wait(0 if timeout is None else timeout):
            return None
        if self.error is not None:
            raise self.error
        return self.summary

    def progress(self) -> ScanProgress:
        return self.steps[0]


@dataclass
class HeldScans:
    scan: HeldScan | None = None
    error: BaseException | None = None
    skipped: tuple[Skipped, ...] = ()
    progress: ScanProgress | None = None

    def start(self, workspace: Workspace) -> HeldScan:
        if self.scan is None:
            self.scan = HeldScan(ScanSummary(workspace.id, 3, 30, 3, 0, 0, self.skipped, 0.5))
            self.scan.done.set()
        return self.scan

    def status(self, workspace: Workspace) -> ScanStatus:
        return ScanStatus(workspace, "complete", 3, 30, complete=True, skipped=self.skipped, progress=self.progress)


def source(name: str = "load", path: str = "src/app.py", line: int = 4, **changes: Any) -> Source:
    defaults = {
        "id": "e1",
        "kind": "function",
        "language": "python",
        "end_line": line + 3,
        "signature": f"def {name}(path: str) -> bytes",
        "doc": "Reads a file.",
        "excerpt": "    with open(path) as file:\n        return file.read()",
        "distance": 0.7234,
        "score": 1.5,
    }
    return Source(name=name, path=path, line=line, **{**defaults, **changes})


@dataclass
class HeldAsking:
    sources: tuple[Source, ...] = (
        source(),
        source("save", "docs/Ativação b.md", 9, excerpt="", distance=None),
    )
    answer: str | None = None
    reason: str = "no engine is configured: sources only"
    coverage: str = ""
    error: BaseException | None = None
    asked: list[tuple[Workspace, Question]] = field(default_factory=list)

    def ask(self, workspace: Workspace, question: Question) -> Answer:
        self.asked.append((workspace, question))
        if self.error is not None:
            raise self.error
        engine = "none" if self.answer is None else "ollama"
        return Answer(workspace, question.text, engine, self.reason, self.answer, self.sources, self.coverage)


@dataclass
class HeldApp:
    """What a test sees of the fake; `app` is what the server is given."""

    workspaces: HeldWorkspaces = field(default_factory=HeldWorkspaces)
    scans: HeldScans = field(default_factory=HeldScans)
    asking: HeldAsking = field(default_factory=HeldAsking)
    settings: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(brain_workspace=""))

    @property
    def app(self) -> App:
        return cast("App", self)


class Refused(BraindexError):
    """An expected failure."""


@pytest.fixture
def held() -> HeldApp:
    return HeldApp()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder that looks like a project."""
    root = tmp_path / "home" / "проект"
    root.mkdir(parents=True)
    (root / "pyproject.toml").write_text("")
    return root


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def released(held: HeldApp) -> Iterator[HeldApp]:
    """Ends a held scan with the test, whatever happened in it."""
    yield held
    if held.scans.scan is not None:
        held.scans.scan.done.set()


@pytest.fixture
def source_of() -> Any:
    return source


@pytest.fixture
def refused() -> type[Refused]:
    return Refused


@pytest.fixture
def held_scan() -> Any:
    """Makes a scan that waits for `done`."""

    def make(summary: ScanSummary | None = None, **changes: Any) -> HeldScan:
        return HeldScan(summary or ScanSummary("w", 3, 30, 3, 0, 0, (), 0.5), **changes)

    return make
