import argparse
import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from braindex.cli.commands import usage as command
from braindex.cli.confirm import ConfirmationNeeded
from braindex.domain.errors import UsageError
from braindex.domain.names import UnknownWorkspace
from braindex.domain.periods import NotADay, UnknownPeriod
from braindex.domain.prices import PriceTable
from braindex.domain.results import Workspace, WorkspaceInfo
from braindex.domain.usage import Call, Usage
from braindex.services.usage import UsageService

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
SHOP = Workspace("11111111-2222-3333-4444-555555555555", "shop", "/code/shop")


class Known:
    """One known workspace."""

    def resolve(self, reference: str) -> Workspace:
        if reference != "shop":
            raise UnknownWorkspace(reference)
        return SHOP

    def list(self) -> list[WorkspaceInfo]:
        return [WorkspaceInfo(SHOP, 1, 1, None, exists=True)]


@pytest.fixture
def service(tmp_path: Path) -> UsageService:
    made = UsageService(tmp_path, PriceTable(), now=lambda: NOW)
    engines = (
        ("deepseek-flash", "ask", 30, 1_234_567_890),
        ("ollama", "brief", 1, 0),
        ("deepseek-pro", "ask", 29, None),
    )
    for engine, operation, day, cost in engines:
        when = datetime(2026, 11, day, 10, tzinfo=UTC)
        made.record(Call(SHOP.id, engine, "m", operation, when, Usage(1_000, 200, 700, 300), cost, 5_000))  # type: ignore[arg-type]
    made.record(Call("gone-with-its-folder", "ollama", "m", "ask", NOW, Usage(1, 1), 0, -2))
    return made


@pytest.fixture
def run(service: UsageService, capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*argv: str) -> tuple[int, str, str]:
        parser = argparse.ArgumentParser()
        command.add_arguments(parser)
        app = SimpleNamespace(usage=service, workspaces=Known())
        code = command.run(SimpleNamespace(arguments=parser.parse_args(argv), app=app))  # type: ignore[arg-type]
        return code, *capsys.readouterr()

    return call


def test_people_get_a_table_by_operation_and_engine_with_a_total(run):
    code, out, err = run()
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "Usage of all workspaces, all time (UTC days)",
        "OPERATION  ENGINE          CALLS  TOKENS IN  CACHE HITS  MISSES  TOKENS OUT        COST  TOKENS SAVED",
        "ask        deepseek-flash      1      1,000         700     300         200   $0.001235         5,000",
        "ask        deepseek-pro        1      1,000         700     300         200     unknown         5,000",
        "ask        ollama              1          1           0       0           1   $0.000000            -2",
        "brief      ollama              1      1,000         700     300         200   $0.000000         5,000",
        "total                          4      3,001       2,100     900         601  ≥$0.001235        14,998",
        "The cost of 1 call is not known and not in the sums: PRICES_FILE can name the prices of more models",
    ]


def test_the_table_can_be_by_day_and_workspace(run):
    _, out, _ = run("--by", "day,workspace")
    assert [line.split()[:3] for line in out.splitlines()[1:6]] == [
        ["DAY", "WORKSPACE", "CALLS"],
        ["2026-11-01", "shop", "1"],
        ["2026-11-29", "shop", "1"],
        ["2026-11-30", "gone-wit", "1"],
        ["2026-11-30", "shop", "1"],
    ]


def test_json_has_every_dimension_unless_fewer_are_asked_for(run):
    code, out, _ = run("--json")
    found = json.loads(out)
    assert (code, found["totals"]["calls"], len(found["rows"])) == (0, 4, 4)
    assert found["rows"][0] == {
        "workspace_id": SHOP.id,
        "engine": "ollama",
        "operation": "brief",
        "day": "2026-11-01",
        "calls": 1,
        "tokens_in": 1000,
        "tokens_out": 200,
        "cache_hit_tokens": 700,
        "cache_miss_tokens": 300,
        "cost_usd": 0.0,
        "unknown_cost_calls": 0,
        "tokens_saved": 5000,
    }
    by_engine = json.loads(run("--json", "--by", "engine")[1])
    assert by_engine["totals"] == found["totals"]
    assert [(row["engine"], row["day"]) for row in by_engine["rows"]] == [
        ("deepseek-flash", None),
        ("deepseek-pro", None),
        ("ollama", None),
    ]


@pytest.mark.parametrize(
    ("arguments", "calls"),
    [
        (("--since", "today"), 2),
        (("--since", "7d"), 3),
        (("--since", "2026-11-30"), 2),
        (("--since", "2027-01-01"), 0),
        (("--workspace", "shop"), 3),
        (("--workspace", "shop", "--since", "today"), 1),
    ],
)
def test_calls_can_be_narrowed_to_a_time_and_a_workspace(run, arguments, calls):
    assert json.loads(run("--json", *arguments)[1])["totals"]["calls"] == calls


def test_a_span_without_calls_says_so(run):
    assert (
        run("--since", "2027-01-01", "--workspace", "shop")[1]
        == "Usage of shop, since 2027-01-01 (UTC days): no calls\n"
    )


def test_wrong_words_are_usage_errors(run, capsys):
    with pytest.raises(UnknownPeriod):
        run("--since", "lately")
    with pytest.raises(UnknownWorkspace):
        run("--workspace", "nowhere")
    with pytest.raises(SystemExit):
        run("--by", "colour")
    assert "give one or more of operation, engine, day, workspace" in capsys.readouterr().err


def test_help_says_that_days_are_utc(run, capsys):
    for arguments in (("--help",), ("purge", "--help")):
        with pytest.raises(SystemExit):
            run(*arguments)
        assert "UTC" in capsys.readouterr().out


def test_the_report_says_when_nothing_new_is_counted(run, service):
    service.tracking = False
    code, out, err = run("--json")
    assert (code, json.loads(out)["totals"]["calls"]) == (0, 4)
    assert "ENABLE_TOKEN_TRACKING is false" in err


def test_purging_deletes_the_days_before_with_a_yes(run, service):
    code, out, _ = run("purge", "--before", "2026-11-30", "--yes")
    assert (code, out) == (0, "Purged 2 calls from before 2026-11-30 (UTC)\n")
    assert service.report().totals.calls == 2
    assert run("purge", "--before", "2026-11-30", "--yes")[1].startswith("Nothing to purge")


def test_purging_without_a_yes_or_a_terminal_deletes_nothing(run, service):
    with pytest.raises(ConfirmationNeeded, match="Delete 2 calls from before 2026-11-30"):
        run("purge", "--before", "2026-11-30")
    assert service.report().totals.calls == 4


@pytest.mark.parametrize("day", ["7d", "today", "2026-11-31", ""])
def test_purging_wants_a_day(run, service, day):
    with pytest.raises(NotADay):
        run("purge", "--before", day, "--yes")
    assert service.report().totals.calls == 4


@pytest.mark.parametrize("narrowed", [("--workspace", "shop"), ("--since", "7d")])
def test_purging_is_not_taken_for_something_narrower_than_it_is(run, service, narrowed):
    with pytest.raises(UsageError, match="whole ledger"):
        run(*narrowed, "purge", "--before", "2026-12-01", "--yes")
    assert service.report().totals.calls == 4
