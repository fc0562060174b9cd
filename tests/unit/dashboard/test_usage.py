import csv
import io
from datetime import UTC, datetime, timedelta

import pytest
from tests.conftest import MakeProject, scanned
from tests.fakes.browser import Browser

from braindex.bootstrap import App
from braindex.domain.results import Workspace
from braindex.domain.usage import Call, Usage
from braindex.registry.ledger import Ledger

DOLLAR = 1_000_000_000_000


@pytest.fixture
def _spent(app: App, shop: Workspace) -> None:
    now = datetime.now(UTC)
    used = Usage(1000, 100, 640, 360)
    calls = [
        Call(shop.id, "deepseek-flash", "deepseek-flash", "ask", now, used, DOLLAR // 4, 5000),
        Call(shop.id, "deepseek-flash", "deepseek-flash", "brief", now - timedelta(days=2), used, DOLLAR // 2, 0),
        Call("gone-0123456789", "ollama", "llama", "ask", now, Usage(50, 5), 0, 70),
        Call(shop.id, "deepseek-pro", "unpriced", "ask", now - timedelta(days=60), used, None, 0),
    ]
    with Ledger.open(app.settings.brain_dir) as ledger:
        ledger.add(*calls)


@pytest.mark.usefixtures("_spent")
def test_usage_is_shown_by_day_operation_engine_and_workspace(browser: Browser) -> None:
    page = browser.get("/usage").text
    for words in (
        "$0.750000",
        "$0.250000",
        "ask",
        "brief",
        "deepseek-flash",
        "ollama",
        ">shop<",
        "gone-012 (no longer known)",
        "64%",
    ):
        assert words in page
    assert page.count("<figure") == 4
    assert page.count("<caption>") == 4


@pytest.mark.usefixtures("_spent")
def test_each_chart_is_drawn_from_the_table_below_it(browser: Browser) -> None:
    for measure, values in (("cost", "0.75"), ("tokens", "2000 200"), ("hits", "64.0"), ("saved", "5000")):
        page = browser.get(f"/usage?measure={measure}").text
        assert f'data-values="{values}"' in page
        assert 'role="img"' in page


@pytest.mark.usefixtures("_spent")
def test_usage_is_narrowed_to_a_period_and_a_workspace(browser: Browser, shop: Workspace) -> None:
    today = browser.get(f"/usage?period=today&workspace={shop.id}").text
    assert "$0.250000" in today
    assert "ollama" not in today
    everything = browser.get("/usage?period=all").text
    assert "≥$0.750000" in everything
    assert "The cost of 1 call is not known" in everything


def test_a_period_that_is_none_says_which_there_are(browser: Browser) -> None:
    answer = browser.get("/usage?period=fortnight")
    assert answer.status_code == 400
    assert "no such period" in answer.text


def test_an_empty_ledger_says_so(browser: Browser) -> None:
    page = browser.get("/usage").text
    assert "No calls in this period" in page
    assert "<figure" not in page


@pytest.mark.usefixtures("_spent")
def test_the_file_holds_every_row_with_exact_numbers(browser: Browser, shop: Workspace) -> None:
    answer = browser.get("/usage.csv?period=all")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert "attachment" in answer.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert len(rows) == 4
    flash = next(row for row in rows if row["operation"] == "ask" and row["engine"] == "deepseek-flash")
    assert (flash["workspace"], flash["workspace_id"], flash["cost_usd"]) == ("shop", shop.id, "0.25")
    assert flash["cache_hit_rate"] == "0.6400"
    assert next(row for row in rows if row["engine"] == "deepseek-pro")["cost_usd"] == ""


def test_a_name_that_is_a_formula_is_text_in_the_file(app: App, browser: Browser, make_project: MakeProject) -> None:
    workspace = scanned(app, make_project({"a.py": "def f(): ...\n"}, "=cmd|' calc'!A1"))
    with Ledger.open(app.settings.brain_dir) as ledger:
        ledger.add(Call(workspace.id, "none", "", "ask", datetime.now(UTC)))
    rows = list(csv.DictReader(io.StringIO(browser.get("/usage.csv").text)))
    assert rows[0]["workspace"] == "'=cmd|' calc'!A1"
