"""The small parts: static files, templates, Markdown, pages, works."""

import re
import threading
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

import pytest
from markupsafe import Markup
from tests.fakes.browser import Browser

from braindex.dashboard import assets
from braindex.dashboard.desk import environment
from braindex.dashboard.markdown import blocks, inline
from braindex.dashboard.paging import page_of, query_with
from braindex.dashboard.templates import ago, as_it_is, count
from braindex.dashboard.works import MOST_KEPT, Works

HERE = Path(str(files("braindex.dashboard")))
TEMPLATES = sorted((HERE / "templates").glob("*.html"))
NOTICE = Path(__file__).resolve().parents[3] / "NOTICE"


@pytest.mark.parametrize("vendored", assets.VENDORED, ids=lambda one: one.name)
def test_a_file_of_others_is_the_one_that_was_published(vendored: assets.Vendored) -> None:
    assert assets.digest(vendored.name) == vendored.sha256


@pytest.mark.parametrize("vendored", assets.VENDORED, ids=lambda one: one.name)
def test_a_file_of_others_is_named_with_its_licence(vendored: assets.Vendored) -> None:
    notice = NOTICE.read_text(encoding="utf-8")
    assert f"{vendored.version} (" in notice
    assert vendored.name.rsplit("/", 1)[1] in notice
    short = "htmx" if vendored.package == "htmx.org" else "uPlot"
    assert (HERE / "static" / "vendor" / f"{short}.LICENSE").is_file()


def test_every_static_file_is_on_the_list_and_every_vendored_one_is_recorded() -> None:
    there = {path.relative_to(HERE / "static").as_posix() for path in (HERE / "static").rglob("*") if path.is_file()}
    assert {name for name in there if not name.endswith(".LICENSE")} == set(assets.NAMES)
    assert {name for name in assets.NAMES if name.startswith("vendor/")} == {one.name for one in assets.VENDORED}


@pytest.mark.parametrize("name", assets.NAMES)
def test_a_static_file_is_sent_as_what_it_is_and_without_a_session(browser: Browser, name: str) -> None:
    browser.cookies.clear()
    answer = browser.get(f"/static/{name}")
    assert answer.status_code == 200
    assert answer.headers["content-type"].split(";")[0] in {"text/javascript", "text/css", "image/svg+xml"}


@pytest.mark.parametrize(
    "name", ["vendor/htmx.LICENSE", "vendor", "", "../guard.py", "dashboard.css/", "DASHBOARD.CSS"]
)
def test_what_is_not_on_the_list_is_not_there(browser: Browser, name: str) -> None:
    assert browser.get(f"/static/{name}").status_code == 404


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_has_what_the_policy_forbids(path: Path) -> None:
    """No script, style or handler inside the page, and nothing that leads off this machine."""
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"<script(?![^>]*\ssrc=)", text)
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|hx-on|javascript:|\bjs:", text)
    assert not re.search(r"(?:src|href|action)=[\"']?(?:https?:)?//", text)
    assert "|safe" not in text
    assert "autoescape" not in text


def test_htmx_may_evaluate_nothing() -> None:
    base = (HERE / "templates" / "base.html").read_text(encoding="utf-8")
    for setting in (
        '"allowEval":false',
        '"allowScriptTags":false',
        '"selfRequestsOnly":true',
        '"includeIndicatorStyles":false',
    ):
        assert setting in base


def test_a_template_shows_foreign_text_as_text() -> None:
    made = environment().from_string("<p title='{{ text }}'>{{ text }}{{ number }}{{ nothing is none }}</p>")
    page = made.render(text="<b>'\"&\u202e\u200b\x1b\r", number=3, nothing=None)
    assert (
        page
        == "<p title='&lt;b&gt;&#39;&#34;&amp;\\u202e\\u200b\\x1b\\x0d'>&lt;b&gt;&#39;&#34;&amp;\\u202e\\u200b\\x1b\\x0d3True</p>"
    )


def test_a_field_keeps_what_it_is_given() -> None:
    assert as_it_is("\n<a>\u200b") == Markup("\n\n&lt;a&gt;\u200b")


def test_times_are_said_in_words() -> None:
    now = datetime(2026, 12, 3, 12, 0, tzinfo=UTC)
    said = {
        "2026-12-03T11:59:30+00:00": "just now",
        "2026-12-03T11:59:00": "1 minute ago",
        "2026-12-03T09:00:00+00:00": "3 hours ago",
        "2026-11-20T12:00:00+00:00": "13 days ago",
        "2026-01-01T12:00:00+00:00": "on 2026-01-01",
        "no time": "at an unknown time",
        None: "never",
        "": "never",
    }
    assert {when: ago(when, now) for when in said} == said


def test_numbers_are_said_with_their_noun() -> None:
    assert [count(1, "file"), count(1200, "file"), count(2, "entity", "entities"), count(1200)] == [
        "1 file", "1,200 files", "2 entities", "1,200",
    ]  # fmt: skip


def test_markdown_of_a_brief_becomes_blocks() -> None:
    found = blocks("# A\n\nOne\ntwo **b** `c`\n- x\n  - y\n    more\n\n1. z\n```py\n<a>\n```\n## B #\n")
    assert [one.kind for one in found] == ["heading", "paragraph", "list", "list", "code", "heading"]
    assert found[1].text == "One\ntwo <strong>b</strong> <code>c</code>"
    assert [(one.depth, one.text) for one in found[2].items] == [(0, "x"), (1, "y more")]
    assert found[4].text == "&lt;a&gt;"
    assert (found[5].level, found[5].text) == (2, "B")


@pytest.mark.parametrize(
    "text", ["", "```", "`", "**", "- ", "#", "- a\n```\nb", "***a***", "`a", "a\n\n\n", "####### x"]
)
def test_markdown_that_is_broken_is_shown_all_the_same(text: str) -> None:
    blocks(text)


def test_markdown_is_read_in_a_time_that_grows_with_its_length() -> None:
    for text in (
        "`" * 20_000,
        "*" * 20_000,
        "- " * 20_000,
        "#" * 20_000,
        "`a" * 10_000,
        "\n- a" * 10_000,
        " " * 20_000,
    ):
        blocks(text)


def test_an_entity_that_was_escaped_in_markdown_stays_text() -> None:
    assert inline("&lt;script&gt; &amp; <b>") == "&lt;script&gt; &amp; &lt;b&gt;"


def test_a_page_past_the_end_is_the_last() -> None:
    page = page_of(range(101), 9, 50)
    assert (list(page.rows), page.number, page.last, page.first_row, page.last_row) == ([100], 3, 3, 101, 101)
    assert page_of([], 1, 50).first_row == 0


def test_a_query_keeps_what_is_not_changed() -> None:
    assert query_with({"q": "a b", "page": "2"}, page=3) == "?q=a+b&page=3"
    assert query_with({"q": "&=", "page": "2"}, page=None) == "?q=%26%3D"


def test_who_begins_the_same_work_joins_it() -> None:
    works, go = Works(), threading.Event()
    first = works.begin("a", lambda _: go.wait(30))
    assert works.begin("a", lambda _: "another") is first
    other = works.begin("b", lambda _: "b")
    assert other.future.result(30) == "b"
    go.set()
    assert first.future.result(30) is True
    assert works.begin("a", lambda _: "again").future.result(30) == "again"


def test_a_work_that_is_to_stop_is_told() -> None:
    works, seen = Works(), threading.Event()

    def call(cancelled: object) -> str:
        seen.set()
        while not cancelled():  # type: ignore[operator]
            threading.Event().wait(0.001)
        return "stopped"

    work = works.begin("a", call)
    assert seen.wait(30)
    works.stop()
    assert work.future.result(30) == "stopped"


def test_only_so_many_outcomes_are_kept() -> None:
    works = Works()
    for number in range(MOST_KEPT + 20):
        works.begin(str(number), lambda _: None).future.result(30)
    works.begin("last", lambda _: None).future.result(30)
    assert works.get("0") is None
    assert works.get("last") is not None
