from tests.fakes.browser import Browser

from braindex.bootstrap import App
from braindex.domain.results import Workspace


def test_the_page_is_there_at_once_and_its_findings_come_after_it(browser: Browser) -> None:
    page = browser.get("/health").text
    assert 'hx-trigger="load"' in page
    assert "<table" not in page


def test_health_is_what_doctor_says(app: App, browser: Browser, shop: Workspace) -> None:
    part = browser.part("/health?checks=quick")
    for check in app.doctor().examine(full=False):
        assert f">{check.name}<" in part.text
    assert "<html" not in part.text
    assert "nothing is broken" in part.text
    assert shop.name in part.text


def test_a_browser_without_scripts_gets_the_findings_as_a_page(browser: Browser, shop: Workspace) -> None:
    page = browser.get("/health?checks=full").text
    assert "after the full check" in page
    assert "<html" in page


def test_what_is_broken_comes_with_what_to_do(app: App, browser: Browser, shop: Workspace) -> None:
    (app.workspaces.folder(shop) / "index.db").write_bytes(b"no database at all" * 100)
    part = browser.part("/health?checks=full").text
    assert "broken" in part
    assert "→ " in part
