"""Earlier briefs on a page, and the way from one to the next."""

import re

from tests.fakes.browser import Browser

from braindex.bootstrap import App
from braindex.dashboard.desk import address
from braindex.domain.results import Workspace

from .conftest import SCRIPT


def test_earlier_briefs_are_listed_with_a_way_to_each_next(app: App, browser: Browser, shop: Workspace) -> None:
    browser.enter()
    place = address(shop, "brief", "history")
    assert "None yet" in browser.get(place).text
    app.briefs.update(shop, f"# Mine\n\nOne {SCRIPT}.\n")
    app.briefs.update(shop, "# Mine\n\nTwo.\n")
    page = browser.get(place)
    assert "0 entities added, 0 changed, 0 removed" in page.text
    links = [one.replace("&amp;", "&") for one in re.findall(r'href="([^"]*history/diff[^"]*)"', page.text)]
    assert len(links) == 3
    for link in links:
        shown = browser.get(link)
        assert shown.status_code == 200
        assert "<script>alert" not in shown.text
        assert " style=" not in shown.text
    assert '<span class="added">+Two.' in browser.get(links[0]).text
    assert browser.get(address(shop, "brief", "history", "diff") + "?from=../brief").status_code == 409


def test_a_workspace_says_what_it_takes_on_disk(browser: Browser, shop: Workspace) -> None:
    browser.enter()
    assert "On disk" in browser.get(address(shop)).text
