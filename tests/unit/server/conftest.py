"""A small App that holds still: the surfaces are tested against it, the services have tests of their own."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from braindex.bootstrap import App
from braindex.domain.errors import BraindexError
from braindex.domain.names import UnknownWorkspace
from braindex.domain.results import (
    Answer,
    BriefState,
    Question,
    ScanProgress,
    ScanStatus,
    ScanSummary,
    Skipped,
    Source,
    Workspace,
    WorkspaceInfo,
)
from braindex.domain.usage import EngineName
from braindex.services.brief import BriefView, NoBrief
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

    listeners: list[Callable[[Workspace], None]] = field(default_factory=list)

    def on_finished(self, listener: Callable[[Workspace], None]) -> None:
        self.listeners.append(listener)

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
    wait_for: threading.Event | None = None
    asked: list[tuple[Workspace, Question]] = field(default_factory=list)

    def ask(self, workspace: Workspace, question: Question, cancelled: Callable[[], bool] = lambda: False) -> Answer:
        assert not cancelled()
        self.asked.append((workspace, question))
        if self.wait_for is not None:
            self.wait_for.wait()
        if self.error is not None:
            raise self.error
        engine: EngineName = "none" if self.answer is None else "ollama"
        return Answer(workspace, question.text, engine, self.reason, self.answer, self.sources, self.coverage)


@dataclass
class HeldBriefs:
    """One brief, the same for every workspace. An update waits for `go`."""

    brief: str = "# shop\n\n## Overview\n\nSells apples.\n"
    state: BriefState = field(
        default_factory=lambda: BriefState("none", False, "2026-11-30T09:00:00+00:00", 12, False, "")
    )
    error: BraindexError | None = None
    go: threading.Event = field(default_factory=threading.Event)
    updates: list[str | None] = field(default_factory=list)
    upgrades: list[Workspace] = field(default_factory=list)
    listeners: list[Callable[[Workspace], None]] = field(default_factory=list)

    def on_change(self, listener: Callable[[Workspace], None]) -> None:
        self.listeners.append(listener)

    def upgrade_later(self, workspace: Workspace) -> None:
        self.upgrades.append(workspace)
        if self.error is not None:
            raise self.error

    def text(self, _: Workspace) -> str:
        return self.brief

    def view(self, workspace: Workspace) -> BriefView:
        if not self.brief:
            raise NoBrief(workspace.name)
        return BriefView(self.brief, self.state)

    def update(
        self,
        workspace: Workspace,
        content: str | None = None,
        *,
        cancelled: Callable[[], bool] = lambda: False,  # noqa: ARG002 - the shape of the real one
    ) -> BriefView:
        self.updates.append(content)
        self.go.wait()
        if self.error is not None:
            raise self.error
        self.brief = content or "# shop\n\n## Overview\n\nSells pears.\n"
        self.state = replace(self.state, given=content is not None)
        for listener in self.listeners:
            listener(workspace)
        return self.view(workspace)


@dataclass
class HeldStatus:
    scans: HeldScans
    briefs: HeldBriefs

    def of(self, workspace: Workspace) -> ScanStatus:
        state = self.briefs.state if self.briefs.brief else None
        return replace(self.scans.status(workspace), brief=state)


def settings(**changes: Any) -> SimpleNamespace:
    """What a server reads of the settings; no engine is configured."""
    none = {"brain_workspace": "", "memory_mode": "", "deepseek_api_key": "", "ollama_model": ""}
    return SimpleNamespace(**{**none, "ollama_stays_here": True, **changes})


@dataclass
class HeldApp:
    """What a test sees of the fake; `app` is what the server is given."""

    workspaces: HeldWorkspaces = field(default_factory=HeldWorkspaces)
    scans: HeldScans = field(default_factory=HeldScans)
    asking: HeldAsking = field(default_factory=HeldAsking)
    briefs: HeldBriefs = field(default_factory=HeldBriefs)
    usage: Any = None
    notes: Any = None
    settings: SimpleNamespace = field(default_factory=settings)

    @property
    def status(self) -> HeldStatus:
        return HeldStatus(self.scans, self.briefs)

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
    held.briefs.go.set()
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
