"""A project that is scanned, and a client that works in it."""

from pathlib import Path

import pytest
from tests.conftest import MakeProject, scanned
from tests.fakes.hook_client import FILES, Client

from braindex.bootstrap import App
from braindex.domain.results import Workspace


@pytest.fixture
def root(make_project: MakeProject) -> Path:
    return make_project(FILES, name="shop")


@pytest.fixture
def client(root: Path, brain: Path) -> Client:
    return Client(root, brain)


@pytest.fixture
def workspace(app: App, root: Path) -> Workspace:
    return scanned(app, root)
