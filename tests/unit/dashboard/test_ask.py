"""Ask: the sources as an agent gets them, why each is there, and an engine's answer. Real index, no network."""

import html
import re
import time
from collections.abc import Iterator

import pytest
from tests.conftest import MakeApp, MakeProject, scanned
from tests.fakes.asked import cloud
from tests.fakes.browser import Browser, browser_of
from tests.fakes.deepseek import FakeDeepSeek

from braindex.bootstrap import App
from braindex.dashboard.desk import address
from braindex.dashboard.editor import editor_link
from braindex.domain.results import Question, Workspace
from braindex.llm.prices import load_prices

from .conftest import SCRIPT

HOSTILE = {
    "shop.py": (
        '"""The shop."""\n\n\ndef price(basket):\n    """The price of a basket. </pre><script>alert(2)</script>"""\n'
        "    total = 0\n    for item in basket:\n        total += item\n    return total  # \u202e gnirts\n"
    ),
    "<script>alert(1)</script>.md": f"# {SCRIPT} basket\n\nA basket of <img src=x onerror=alert(3)> apples.\n",
    "page.html": f'<main id="{SCRIPT}">basket</main>\n',
}


@pytest.fixture
def deepseek() -> Iterator[FakeDeepSeek]:
    with FakeDeepSeek(models=("deepseek-flash", "deepseek-v4-pro"), cost=load_prices().cost) as stand_in:
        yield stand_in


@pytest.fixture
def hostile(app: App, make_project: MakeProject) -> Workspace:
    return scanned(app, make_project(HOSTILE, "shop"))


def entered(browser: Browser, workspace: Workspace) -> Browser:
    browser.enter()
    browser.get(address(workspace, "ask"))
    return browser


def asked(browser: Browser, workspace: Workspace, text: str, **more: str):
    return browser.post(address(workspace, "ask"), {"q": text, **more})


def test_a_question_gives_the_sources_of_the_command_line_in_their_order(
    app: App, browser: Browser, hostile: Workspace
) -> None:
    page = asked(entered(browser, hostile), hostile, "how is the price of a basket made?")
    assert page.status_code == 200
    expected = app.asking.sources(hostile, Question("how is the price of a basket made?")).sources
    shown = re.findall(r'<h3 id="source-\d+">.*?<code>(.*?)</code>', page.text)
    assert [html.unescape(one) for one in shown] == [one.name.replace("\u202e", "\\u202e") for one in expected]
    assert "it begins with a question word" in page.text
    assert "its meaning is near the question" in page.text


def test_an_excerpt_has_the_numbers_of_its_lines_in_the_file(app: App, browser: Browser, hostile: Workspace) -> None:
    source = app.asking.sources(hostile, Question("where is price defined?")).sources[0]
    lines = HOSTILE["shop.py"].split("\n")
    for number, text in zip(source.excerpt_lines, source.excerpt.split("\n"), strict=True):
        assert number is None or lines[number - 1].strip() == text.strip()
    page = asked(entered(browser, hostile), hostile, "where is price defined?")
    assert f'<span class="at" aria-hidden="true">{source.excerpt_lines[0]}</span>' in page.text


def test_what_a_workspace_holds_is_text_on_the_page_and_never_markup(browser: Browser, hostile: Workspace) -> None:
    for question in ("basket", SCRIPT, '"><script>alert(4)</script>', "price \u202e", "</textarea><script>alert(5)"):
        page = asked(entered(browser, hostile), hostile, question, path="", kind="")
        assert "<script>alert" not in page.text
        assert "<img src=x" not in page.text
        assert "\u202e" not in page.text.split("</textarea>", 1)[1]
        assert " style=" not in page.text
        assert "onerror=" not in page.text.replace("onerror=alert(3)&gt;", "")


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"path": "no/such/place"}, "holds no such file or folder"),
        ({"kind": SCRIPT}, "is no kind of entity"),
        ({"language": "cobol"}, "is no language"),
        ({"limit": "51"}, "has to be from 1 to 50"),
        ({"path": "../.."}, "is not in the workspace"),
    ],
)
def test_a_filter_that_cannot_be_is_refused_and_the_question_stays_in_the_form(
    browser: Browser, hostile: Workspace, form: dict[str, str], said: str
) -> None:
    page = asked(entered(browser, hostile), hostile, "the price of a basket", **form)
    assert page.status_code == 400
    assert said in html.unescape(page.text)
    assert "the price of a basket</textarea>" in page.text
    assert "<script>alert" not in page.text


def test_filters_narrow_the_sources(browser: Browser, hostile: Workspace) -> None:
    page = asked(entered(browser, hostile), hostile, "basket", language="python", limit="1")
    assert page.text.count('<h3 id="source-') == 1
    assert "shop.py:" in page.text


def test_an_address_may_hold_the_question_and_nothing_is_entered_in_the_ledger(
    app: App, browser: Browser, hostile: Workspace
) -> None:
    browser.enter()
    page = browser.get(f"{address(hostile, 'ask')}?q=price+of+a+basket&limit=many")
    assert page.status_code == 200
    assert '<h3 id="source-1">' in page.text
    assert app.usage.report().rows == ()


def test_a_question_without_an_engine_says_why_nobody_would_answer(browser: Browser, hostile: Workspace) -> None:
    page = asked(entered(browser, hostile), hostile, "price of a basket")
    assert "no engine is configured" in page.text
    assert "Have it answered" not in page.text


def _finished(browser: Browser, workspace: Workspace, place: str) -> str:
    until = time.monotonic() + 30
    while "is being written" in (page := browser.get(place).text):
        assert time.monotonic() < until
    return page


def test_an_engine_answers_on_request_with_its_cost_said_first(
    deepseek: FakeDeepSeek, make_app: MakeApp, make_project: MakeProject
) -> None:
    deepseek.answer_text = f"`price` #shop.py:4 adds it up. {SCRIPT}"
    app = make_app(**cloud(deepseek), BRIEF_WARMUP="false")
    workspace = scanned(app, make_project(HOSTILE, "shop"))
    app.briefs.wait(30)
    browser = entered(browser_of(app), workspace)
    before = len(deepseek.requests)
    page = asked(browser, workspace, "price of a basket")
    assert "It costs at most about <strong>$" in page.text
    assert len(deepseek.requests) == before
    begun = browser.post(address(workspace, "ask", "answer"), {"q": "price of a basket"})
    assert begun.status_code == 303
    page = _finished(browser, workspace, begun.headers["location"])
    assert "adds it up" in page
    assert "<script>alert" not in page
    assert "deepseek-flash" in page
    assert len(deepseek.requests) == before + 1


def test_an_answer_that_failed_says_why_and_keeps_its_sources(
    deepseek: FakeDeepSeek, make_app: MakeApp, make_project: MakeProject
) -> None:
    app = make_app(**cloud(deepseek), BRIEF_WARMUP="false", MAX_DAILY_COST="0")
    workspace = scanned(app, make_project(HOSTILE, "shop"))
    app.briefs.wait(30)
    browser = entered(browser_of(app), workspace)
    begun = browser.post(address(workspace, "ask", "answer"), {"q": "price of a basket"})
    page = _finished(browser, workspace, begun.headers["location"])
    assert "MAX_DAILY_COST of $0 is reached" in page
    assert "shop.py:" in page


def test_an_answer_that_nobody_asked_for_is_not_there(browser: Browser, hostile: Workspace) -> None:
    entered(browser, hostile)
    page = browser.get(f"{address(hostile, 'ask', 'written')}?work={SCRIPT}")
    assert "no answer under way" in page.text
    assert "<script>alert" not in page.text
    assert browser.post(address(hostile, "ask", "stop"), {"work": "../x"}).headers["location"].endswith("?work=")


def test_the_editor_is_the_one_of_the_settings(make_app: MakeApp, make_project: MakeProject) -> None:
    root = make_project(HOSTILE, "shop")
    links = {"vscode": "vscode://file/", "cursor": "cursor://file/", "zed": "zed://file/", "none": ""}
    for editor, link in links.items():
        app = make_app(EDITOR_LINK=editor)
        workspace = scanned(app, root)
        page = asked(entered(browser_of(app), workspace), workspace, "where is price defined?")
        assert f'<a href="{link}' in page.text if link else "://file/" not in page.text


def test_a_link_to_an_editor_is_encoded_and_stays_in_the_workspace() -> None:
    root = Workspace("id", "x", "/home/me/my project")
    assert editor_link("vscode", root, "a b/#c?.py", 3) == "vscode://file/home/me/my%20project/a%20b/%23c%3F.py:3"
    assert editor_link("zed", Workspace("id", "x", "C:\\code"), "a.py", 3) == "zed://file/C:/code/a.py:3"
    assert editor_link("cursor", root, "../../etc/passwd", 1) == ""
    assert editor_link("none", root, "a.py", 1) == ""
    assert editor_link("vscode", root, "", 0) == ""
