"""A browser over a real application, and a workspace whose every name is hostile."""

import pytest
from tests.conftest import MakeProject, scanned
from tests.fakes.browser import Browser, browser_of

from braindex.bootstrap import App
from braindex.domain.results import Workspace

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def browser(app: App) -> Browser:
    return browser_of(app)


@pytest.fixture
def shop(app: App, make_project: MakeProject) -> Workspace:
    """A scanned workspace of two files, of which one was skipped."""
    files = {
        "shop.py": 'def price(basket):\n    """The price of a basket."""\n    return sum(basket)\n',
        "big.bin": b"\0\1\2" * 50,
        "README.md": "# Shop\n\nSells apples.\n",
    }
    return scanned(app, make_project(files, "shop"))
