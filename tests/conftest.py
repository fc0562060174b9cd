"""What tests share: an application over a fresh data folder, and projects made of a few files."""

import logging
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from tests.fakes.asked import PROXIES, Waits
from tests.fakes.deepseek import FakeDeepSeek
from tests.fakes.ollama import FakeOllama

from braindex.bootstrap import App, build_app
from braindex.config import SETTINGS, load_settings
from braindex.domain.results import Answer, Question, Workspace
from braindex.transport.failures import RetryRule


def pytest_configure() -> None:
    """A run in the background inherits an ignored interrupt, and so would every child whose interrupt is tested."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


MakeProject = Callable[..., Path]
MakeApp = Callable[..., App]


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the real home directory, its data folder or its settings."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    foreign = ("CLAUDE_PROJECT_DIR", "OLLAMA_API_KEY", "OPENAI_API_KEY", "OPENAI_CUSTOM_HEADERS")
    for name in (*PROXIES, *foreign, *(row.name for row in SETTINGS)):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _restored_logging() -> Iterator[None]:
    """A command sets up logging for its process, and this one is the tests'."""
    root = logging.getLogger()
    before, level, own = list(root.handlers), root.level, logging.getLogger("braindex").level
    yield
    for handler in [one for one in root.handlers if one not in before]:
        root.removeHandler(handler)
        handler.close()
    root.setLevel(level)
    logging.getLogger("braindex").setLevel(own)


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
def retry(waits: Waits) -> RetryRule:
    return RetryRule(sleep=waits, chance=lambda: 1.0)


@pytest.fixture
def fake_deepseek() -> Iterator[FakeDeepSeek]:
    with FakeDeepSeek() as stand_in:
        yield stand_in


@pytest.fixture
def fake_ollama() -> Iterator[FakeOllama]:
    with FakeOllama() as stand_in:
        yield stand_in


@pytest.fixture
def brain(tmp_path: Path) -> Path:
    return tmp_path / "brain"


@pytest.fixture
def app(brain: Path, tmp_path: Path) -> Iterator[App]:
    made = build_app(load_settings({"BRAIN_DIR": str(brain)}, tmp_path))
    yield made
    made.close()


@pytest.fixture
def make_app(brain: Path, tmp_path: Path) -> Iterator[MakeApp]:
    """Makes applications over the same data folder: `make_app(DEEPSEEK_API_KEY="…")`."""
    made: list[App] = []

    def make(**settings: str) -> App:
        made.append(build_app(load_settings({"BRAIN_DIR": str(brain), **settings}, tmp_path)))
        return made[-1]

    yield make
    for one in made:
        one.finish(30)
        one.close()


@pytest.fixture
def make_project(tmp_path: Path) -> MakeProject:
    """Makes a folder of files: `make_project({"a.py": "…"}, name="shop")`."""

    def make(files: Mapping[str, str | bytes], name: str = "project") -> Path:
        root = tmp_path / name
        root.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        return root

    return make


@pytest.fixture
def open_ground() -> Iterator[Path]:
    """A folder that another user may look into, unlike pytest's."""
    base = Path(tempfile.mkdtemp())
    base.chmod(0o755)
    yield base
    shutil.rmtree(base)


def names(answer: Answer) -> list[str]:
    return [one.name for one in answer.sources]


def scanned(app: App, root: Path) -> Workspace:
    workspace = app.workspaces.open(root)
    app.scans.run(workspace)
    return workspace


def ask(app: App, workspace: Workspace, text: str, **narrowed: object) -> Answer:
    return app.asking.ask(workspace, Question(text, **narrowed))  # type: ignore[arg-type]
