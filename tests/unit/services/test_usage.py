import json
import logging
import sqlite3
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from braindex.domain.periods import UnknownPeriod
from braindex.domain.prices import PriceTable
from braindex.domain.usage import NO_USAGE, Call, Usage
from braindex.registry.ledger import Ledger
from braindex.registry.workspaces import REGISTRY_FILE
from braindex.services.usage import UsageService

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
PRICES = PriceTable.parse(
    {
        "prices": [
            {
                "models": ["flash"], "from": "2026-01-01", "source": "a page",
                "cache_hit": Decimal("0.003"), "cache_miss": Decimal("0.15"), "output": Decimal("0.6"),
            }
        ]
    }
)  # fmt: skip
USAGE = Usage(1_300, 200, 1_200, 100)
COST = 1_200 * 3_000 + 100 * 150_000 + 200 * 600_000


@pytest.fixture
def usage(tmp_path: Path) -> UsageService:
    return UsageService(tmp_path, PRICES, now=lambda: NOW)


def call(**changes: object) -> Call:
    fields = {
        "workspace_id": "w1",
        "engine": "deepseek-flash",
        "model": "flash",
        "operation": "ask",
        "when": NOW,
        "usage": USAGE,
        "cost": COST,
        "tokens_saved": 40,
    }
    return Call(**{**fields, **changes})  # type: ignore[arg-type]


def test_the_engine_decides_what_is_free_and_the_table_the_rest(usage):
    assert usage.cost("deepseek-flash", "flash", NOW, USAGE) == COST
    assert usage.cost("deepseek-flash", "another", NOW, USAGE) is None
    assert usage.cost("ollama", "flash", NOW, USAGE) == 0
    assert usage.cost("none", "", NOW, Usage()) == 0
    assert usage.cost("none", "flash", NOW, Usage(tokens_in=10)) == 1_500_000


def test_a_report_has_the_shape_that_scripts_rely_on(usage):
    usage.record(call())
    usage.record(call(cost=None))
    assert json.loads(json.dumps(usage.report().as_json())) == {
        "totals": {
            "calls": 2,
            "tokens_in": 2_600,
            "tokens_out": 400,
            "cache_hit_tokens": 2_400,
            "cache_miss_tokens": 200,
            "cost_usd": 0.0001386,
            "unknown_cost_calls": 1,
            "tokens_saved": 80,
        },
        "rows": [
            {
                "workspace_id": "w1",
                "engine": "deepseek-flash",
                "operation": "ask",
                "day": "2026-11-30",
                "calls": 2,
                "tokens_in": 2_600,
                "tokens_out": 400,
                "cache_hit_tokens": 2_400,
                "cache_miss_tokens": 200,
                "cost_usd": 0.0001386,
                "unknown_cost_calls": 1,
                "tokens_saved": 80,
            }
        ],
    }


@pytest.mark.parametrize(
    ("period", "calls"),
    [("today", 1), ("week", 2), ("7d", 2), ("month", 3), ("all", 4), ("2026-11-30", 1), (date(2026, 11, 1), 3)],
)
def test_a_period_ends_today_and_counts_utc_days(usage, period, calls):
    for day in ("2026-11-30T00:00", "2026-11-24T00:00", "2026-11-01T00:00", "2026-10-31T23:59:59"):
        usage.record(call(when=datetime.fromisoformat(day).replace(tzinfo=UTC)))
    assert usage.report(period).totals.calls == calls


def test_a_report_can_be_of_one_workspace(usage):
    usage.record(call())
    usage.record(call(workspace_id="w2"))
    assert usage.report("all", "w2", by=("workspace_id",)).as_json()["rows"][0]["workspace_id"] == "w2"
    assert usage.report("all", "w3").totals.calls == 0
    with pytest.raises(UnknownPeriod):
        usage.report("fortnight")


def test_what_was_spent_today_is_of_all_workspaces(usage):
    usage.record(call())
    usage.record(call(workspace_id="w2"))
    usage.record(call(when=datetime(2026, 11, 29, 23, 59, 59, tzinfo=UTC)))
    assert usage.spent_today() == 2 * COST


def test_purging_says_first_how_much_it_would_delete(usage):
    usage.record(call())
    assert usage.older(date(2026, 11, 30)) == 0
    assert usage.older(date(2026, 12, 1)) == usage.purge(date(2026, 12, 1)) == 1
    assert usage.report().totals.calls == 0


def test_calls_move_with_a_merged_workspace(usage):
    usage.record(call())
    assert usage.move("w1", "w2") == 1
    assert usage.report(workspace_id="w2").totals.calls == 1


def test_without_tracking_nothing_is_entered_or_even_opened(tmp_path):
    usage = UsageService(tmp_path / "brain", PRICES, tracking=False)
    usage.record(call())
    assert not (tmp_path / "brain").exists()
    assert usage.cost("deepseek-flash", "flash", NOW, USAGE) == COST


def test_a_ledger_that_cannot_be_written_is_logged_and_loses_no_answer(tmp_path, caplog):
    (tmp_path / "brain").write_text("a file where the folder should be")
    with caplog.at_level(logging.WARNING):
        UsageService(tmp_path / "brain", PRICES).record(call())
    assert "missing in the ledger" in caplog.text


def test_a_call_with_numbers_that_cannot_be_is_logged_and_not_entered(usage, caplog):
    with caplog.at_level(logging.WARNING):
        usage.record(call(usage=Usage(tokens_in=2**80)))
    assert "tokens_in of a call cannot be" in caplog.text
    assert usage.report().totals.calls == 0


def test_a_registry_damaged_between_two_calls_costs_its_rows_and_no_answer(tmp_path, usage):
    usage.record(call())
    (tmp_path / REGISTRY_FILE).write_bytes(b"not a database" * 500)
    usage.record(call())
    assert usage.report().totals.calls == 1
    assert usage.spent_today() == COST


def test_a_writer_that_holds_the_registry_is_waited_for(tmp_path, usage):
    usage.record(call())
    with Ledger.open(tmp_path) as other, other._database.transaction():
        other._database.run("UPDATE ledger SET cost = 1")
        assert usage.spent_today() == COST  # readers see what is committed, and do not wait
    assert usage.spent_today() == 1


def test_a_question_that_its_sources_answered_does_not_wait_for_the_ledger(tmp_path):
    service = UsageService(tmp_path, PRICES)
    service.report()
    holder = sqlite3.connect(tmp_path / "registry.db", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    service.record_now("w", None, "ask", NO_USAGE, 5)
    holder.execute("ROLLBACK")
    holder.close()
    service.flush(30)
    assert service.report().totals.tokens_saved == 5
