from pathlib import Path

import pytest
from tests.conftest import MakeApp, MakeProject, scanned
from tests.fakes.asked import cloud as cloud_settings
from tests.fakes.browser import Browser, browser_of
from tests.fakes.deepseek import FakeDeepSeek

from braindex.bootstrap import App
from braindex.domain.results import Workspace
from braindex.registry.briefs import digest_of


def edited(app: App, workspace: Workspace, text: str) -> dict[str, str]:
    return {"text": text, "expected": digest_of(app.briefs.view(workspace).text)}


def test_a_brief_is_rendered_with_what_it_was_made_of(browser: Browser, shop: Workspace) -> None:
    page = browser.get(f"/workspaces/{shop.id}/brief").text
    assert "<h3>Overview</h3>" in page
    assert "made from the index" in page
    assert "has not moved" in page


def test_a_brief_says_how_far_the_code_has_moved(
    app: App, browser: Browser, shop: Workspace, make_project: MakeProject
) -> None:
    make_project({"more.py": "def added(): ...\n"}, "shop")
    app.scans.run(shop)
    assert "1 added" in browser.get(f"/workspaces/{shop.id}/brief").text


def test_a_workspace_without_a_brief_says_when_one_is_made(
    app: App, browser: Browser, make_project: MakeProject
) -> None:
    workspace = app.workspaces.open(make_project({"a.py": "def f(): ...\n"}, "new"))
    app.workspaces.register(workspace)
    assert "has no brief yet" in browser.get(f"/workspaces/{workspace.id}/brief").text


def test_a_brief_that_was_written_by_hand_is_text(app: App, browser: Browser, shop: Workspace) -> None:
    text = "# <script>alert(1)</script>\n\n<img src=x onerror=alert(2)> **<b>** `</code><script>`\n\n- [x](javascript:alert(3))\n"
    answer = browser.post(f"/workspaces/{shop.id}/brief/edit", edited(app, shop, text))
    assert answer.headers["location"].endswith("/brief?done=brief-edited")
    for place in ("brief", "brief/edit"):
        page = browser.get(f"/workspaces/{shop.id}/{place}").text
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "<b>" not in page
        assert 'href="javascript' not in page


def test_the_field_holds_the_brief_to_the_byte(app: App, browser: Browser, shop: Workspace) -> None:
    text = "\n\n# Tabs\tand <&> \u00e9 lines\n"
    app.briefs.update(shop, text)
    page = browser.get(f"/workspaces/{shop.id}/brief/edit").text
    assert ">\n# Tabs\tand &lt;&amp;&gt; \u00e9 lines\n</textarea>" in page


def test_what_can_be_no_brief_stays_in_the_form(app: App, browser: Browser, shop: Workspace) -> None:
    before = app.briefs.text(shop)
    answer = browser.post(f"/workspaces/{shop.id}/brief/edit", edited(app, shop, "word " * 1500))
    assert answer.status_code == 400
    assert "a brief has at most 1,200" in answer.text
    assert "word word" in answer.text
    assert app.briefs.text(shop) == before


def test_a_brief_that_somebody_else_changed_meanwhile_is_left_as_it_is(
    app: App, browser: Browser, shop: Workspace
) -> None:
    form = edited(app, shop, "# Mine\n")
    app.briefs.update(shop, "# Theirs\n")
    answer = browser.post(f"/workspaces/{shop.id}/brief/edit", {**form, "by_hand": "yes"})
    assert answer.status_code == 400
    assert "changed by somebody else" in answer.text
    assert "# Mine" in answer.text
    assert app.briefs.text(shop) == "# Theirs\n"


def test_words_of_a_hand_are_replaced_only_by_who_was_told(app: App, browser: Browser, shop: Workspace) -> None:
    app.briefs.update(shop, "# By hand\n")
    assert "written or edited by hand" in browser.get(f"/workspaces/{shop.id}/brief/make").text
    browser.post(f"/workspaces/{shop.id}/brief/make", {"by": "index"})
    work = until_ended(browser, shop)
    assert "was not replaced" in work
    assert app.briefs.text(shop) == "# By hand\n"
    browser.post(f"/workspaces/{shop.id}/brief/stop")
    browser.post(f"/workspaces/{shop.id}/brief/make", {"by": "index", "by_hand": "yes"})
    until_ended(browser, shop)
    assert "## Overview" in app.briefs.text(shop)


def test_without_an_engine_making_it_anew_is_free_and_loses_no_cache(browser: Browser, shop: Workspace) -> None:
    page = browser.get(f"/workspaces/{shop.id}/brief/make").text
    assert "nothing is lost" in page
    assert "no engine is configured" in page


@pytest.fixture
def cloud(make_app: MakeApp, make_project: MakeProject, fake_deepseek: FakeDeepSeek) -> tuple[App, Workspace]:
    app = make_app(**cloud_settings(fake_deepseek), BRIEF_WARMUP="false")
    return app, scanned(app, make_project({"shop.py": "def price(): ...\n"}, "shop"))


def test_what_it_does_to_the_prompt_cache_is_said_before(
    cloud: tuple[App, Workspace], fake_deepseek: FakeDeepSeek
) -> None:
    app, workspace = cloud
    browser = browser_of(app)
    for place in ("make", "edit"):
        page = browser.get(f"/workspaces/{workspace.id}/brief/{place}").text
        assert "cached tokens are lost" in page
        assert "deepseek-flash" in page
        assert "one that does not $0.00" in page
        assert "BRIEF_WARMUP is false" in page
    assert fake_deepseek.requests == []


def test_an_engine_makes_the_brief_anew_in_the_background(cloud: tuple[App, Workspace]) -> None:
    app, workspace = cloud
    browser = browser_of(app)
    answer = browser.post(f"/workspaces/{workspace.id}/brief/make", {"by": "engine"})
    assert answer.status_code == 303
    assert "was not replaced" not in until_ended(browser, workspace)
    assert app.briefs.view(workspace).state.engine == "deepseek-flash"


def until_ended(browser: Browser, workspace: Workspace) -> str:
    """The last part that the page shows of the work; each look takes a moment, so this waits without sleeping."""
    for _ in range(2000):
        part = browser.part(f"/workspaces/{workspace.id}/brief/making")
        if "every 1s" not in part.text:
            return part.text
    raise AssertionError("the work did not end")


def test_the_prefix_of_a_workspace_that_stays_here_is_in_no_cache(
    make_app: MakeApp, make_project: MakeProject, fake_deepseek: FakeDeepSeek
) -> None:
    app = make_app(**cloud_settings(fake_deepseek))
    root = make_project({"a.py": "def f(): ...\n", ".env": "MEMORY_MODE=local\n"}, "private")
    workspace = scanned(app, root)
    assert app.prefix_prices.of(workspace) == []
    assert app.briefs.writer_of(Path(workspace.path)) is None
