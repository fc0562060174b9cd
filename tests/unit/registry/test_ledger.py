import os
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pytest

import braindex.registry
from braindex.domain.results import Workspace
from braindex.domain.spending import Sums, UsageRow, total
from braindex.domain.usage import Call, Usage
from braindex.registry.failures import StoreTooNew
from braindex.registry.ledger import MOST_TOKENS, RESERVED_SECONDS, ImpossibleCall, Ledger
from braindex.registry.migrations import open_store
from braindex.registry.workspaces import MIGRATIONS, REGISTRY_FILE, Workspaces

SOURCE = str(Path(braindex.registry.__file__).parents[2])
USAGE = Usage(100, 20, 70, 30)


def call(day: str = "2026-11-30T10:00:00", **changes: object) -> Call:
    fields = {
        "workspace_id": "w1",
        "engine": "deepseek-flash",
        "model": "deepseek-flash",
        "operation": "ask",
        "when": datetime.fromisoformat(day).replace(tzinfo=UTC),
        "usage": USAGE,
        "cost": 1_000,
        "tokens_saved": 5,
    }
    return Call(**{**fields, **changes})  # type: ignore[arg-type]


def filled(brain: Path, *calls: Call) -> Path:
    with Ledger.open(brain) as ledger:
        for one in calls:
            ledger.add(one)
    return brain


def sums(calls: int = 1, cost: int = 1_000, unknown: int = 0) -> Sums:
    return Sums(calls, 100 * calls, 20 * calls, 70 * calls, 30 * calls, cost, unknown, 5 * calls)


MIXED = (
    call("2026-11-30T23:59:59.999"),
    call("2026-11-30T00:00:00", cost=2_000),
    call("2026-11-30T10:00:00", cost=None),
    call("2026-11-30T10:00:00", operation="warmup", cost=None),
    call("2026-11-29T10:00:00", engine="ollama", model="llama3.2", cost=0),
    call("2026-11-29T10:00:00", workspace_id="w2", cost=7),
    call("2026-10-01T10:00:00", workspace_id="w2", cost=9),
)


def test_calls_are_summed_by_day_workspace_engine_and_operation(tmp_path):
    with Ledger.open(filled(tmp_path, *MIXED)) as ledger:
        assert ledger.rows() == [
            UsageRow("w2", "deepseek-flash", "ask", "2026-10-01", sums(cost=9)),
            UsageRow("w1", "ollama", "ask", "2026-11-29", sums(cost=0)),
            UsageRow("w2", "deepseek-flash", "ask", "2026-11-29", sums(cost=7)),
            UsageRow("w1", "deepseek-flash", "ask", "2026-11-30", sums(3, 3_000, unknown=1)),
            UsageRow("w1", "deepseek-flash", "warmup", "2026-11-30", sums(cost=0, unknown=1)),
        ]


def test_fewer_dimensions_give_fewer_rows_and_the_same_total(tmp_path):
    with Ledger.open(filled(tmp_path, *MIXED)) as ledger:
        whole = total(row.sums for row in ledger.rows())
        assert whole == sums(7, 3_016, unknown=2)
        assert ledger.rows(by=("engine",)) == [
            UsageRow(None, "deepseek-flash", None, None, sums(6, 3_016, unknown=2)),
            UsageRow(None, "ollama", None, None, sums(cost=0)),
        ]
        assert ledger.rows(by=()) == [UsageRow(None, None, None, None, whole)]
        for by in (("day",), ("workspace_id", "operation"), ("operation", "engine", "day")):
            assert total(row.sums for row in ledger.rows(by=by)) == whole


def test_rows_can_be_narrowed_to_days_and_to_a_workspace(tmp_path):
    with Ledger.open(filled(tmp_path, *MIXED)) as ledger:
        days = {row.day for row in ledger.rows(date(2026, 11, 29))}
        assert days == {"2026-11-29", "2026-11-30"}
        assert {row.day for row in ledger.rows(until=date(2026, 11, 30))} == {"2026-10-01", "2026-11-29"}
        assert ledger.rows(date(2026, 11, 30), date(2026, 11, 30)) == []
        assert {row.workspace_id for row in ledger.rows(workspace_id="w2")} == {"w2"}
        assert ledger.rows(workspace_id="w' OR 1=1 --") == []


def test_an_empty_ledger_has_no_rows(tmp_path):
    with Ledger.open(tmp_path) as ledger:
        assert ledger.rows() == ledger.rows(by=()) == []
        assert ledger.today_cost(datetime.now(UTC)) == 0
        assert ledger.purge(date(2100, 1, 1)) == ledger.count(date(2100, 1, 1)) == 0


def test_the_day_is_that_of_utc(tmp_path):
    beijing = datetime(2026, 12, 1, 7, 59, tzinfo=timezone(timedelta(hours=8)))
    with Ledger.open(
        filled(tmp_path, call(when=beijing), call(when=datetime.fromisoformat("2026-11-30T05:00")))
    ) as ledger:
        assert [row.day for row in ledger.rows()] == ["2026-11-30"]
        assert ledger.today_cost(beijing) == 2_000


def test_the_cost_of_today_begins_at_midnight_utc_and_leaves_out_the_unknown(tmp_path):
    with Ledger.open(filled(tmp_path, *MIXED)) as ledger:
        assert ledger.today_cost(datetime(2026, 11, 30, 0, 0, 1, tzinfo=UTC)) == 3_000
        assert ledger.today_cost(datetime(2026, 11, 29, tzinfo=UTC)) == 7  # and ends at the next one
        assert ledger.today_cost(datetime(2026, 12, 1, tzinfo=UTC)) == 0


def test_purging_deletes_the_days_before_and_nothing_else(tmp_path):
    with Ledger.open(filled(tmp_path, *MIXED)) as ledger:
        assert ledger.count(date(2026, 11, 30)) == 3
        assert ledger.purge(date(2026, 11, 30)) == 3
        assert {row.day for row in ledger.rows()} == {"2026-11-30"}
        assert ledger.purge(date(2026, 11, 30)) == 0


def test_a_merged_workspace_takes_its_calls_along(tmp_path):
    with Ledger.open(filled(tmp_path, *MIXED)) as ledger:
        assert ledger.move("w2", "w1") == 2
        assert {row.workspace_id for row in ledger.rows()} == {"w1"}
        assert total(row.sums for row in ledger.rows()) == sums(7, 3_016, unknown=2)


def test_a_sum_beyond_64_bits_is_exact(tmp_path):
    most = 2**63 - 1
    with Ledger.open(filled(tmp_path, *(call(cost=most) for _ in range(3)))) as ledger:
        assert ledger.today_cost(call().when) == 3 * most
        assert ledger.rows()[0].sums.cost == 3 * most


@pytest.mark.parametrize(
    "impossible",
    [
        {"usage": Usage(tokens_in=-1)},
        {"usage": Usage(tokens_out=MOST_TOKENS + 1)},
        {"usage": Usage(cache_hit_tokens=2**70)},
        {"usage": Usage(cache_miss_tokens=None)},  # type: ignore[arg-type]
        {"usage": Usage(tokens_in=1.5)},  # type: ignore[arg-type]
        {"cost": -1},
        {"cost": 2**63},
        {"tokens_saved": 2**70},
    ],
)
def test_numbers_that_no_call_has_are_refused_and_harm_nothing(tmp_path, impossible):
    with Ledger.open(filled(tmp_path, call())) as ledger:
        with pytest.raises(ImpossibleCall, match="not entered"):
            ledger.add(call(**impossible))
        assert total(row.sums for row in ledger.rows()) == sums()
    assert list(tmp_path.glob("*.damaged-*")) == []


def test_an_answer_that_was_longer_than_the_files_saved_less_than_nothing(tmp_path):
    with Ledger.open(filled(tmp_path, call(tokens_saved=-3))) as ledger:
        assert ledger.rows()[0].sums.tokens_saved == -3


def test_text_that_utf8_cannot_hold_is_entered_all_the_same(tmp_path):
    with Ledger.open(filled(tmp_path, call(model="\udcff", workspace_id="w\udcff"))) as ledger:
        assert [row.workspace_id for row in ledger.rows()] == ["w\ufffd"]


def test_the_ledger_and_the_workspaces_share_their_file(tmp_path):
    one = Workspace("11111111-0000-0000-0000-000000000000", "shop", "/code/shop", "2026")
    with Workspaces.open(tmp_path) as known:
        known.upsert(one)
        filled(tmp_path, call())
        assert known.get(one.id) == one
    with Ledger.open(tmp_path) as ledger:
        assert ledger.rows()


def test_a_registry_of_the_first_schema_gains_the_ledger_and_keeps_its_workspaces(tmp_path):
    one = Workspace("11111111-0000-0000-0000-000000000000", "shop", "/code/shop", "2026")
    with open_store(tmp_path / REGISTRY_FILE, MIGRATIONS[:1]) as database:
        database.run(
            "INSERT INTO workspaces (id, name, path, created) VALUES (?, ?, ?, ?)",
            (one.id, one.name, one.path, one.created),
        )
    filled(tmp_path, call())
    with Workspaces.open(tmp_path) as known:
        assert known.get(one.id) == one


def test_a_damaged_registry_is_moved_aside_and_both_begin_anew(tmp_path):
    one = Workspace("11111111-0000-0000-0000-000000000000", "shop", "/code/shop", "2026")
    with Workspaces.open(tmp_path) as known:
        known.upsert(one)
    (tmp_path / REGISTRY_FILE).write_bytes(b"not a database" * 500)
    with Ledger.open(filled(tmp_path, call())) as ledger:
        assert total(row.sums for row in ledger.rows()) == sums()
    with Workspaces.open(tmp_path) as known:
        assert known.get(one.id) == one
    [kept] = tmp_path.glob("registry.db.damaged-*")
    assert kept.read_bytes() == b"not a database" * 500


def test_damage_that_shows_only_later_is_healed_on_the_spot(tmp_path):
    with Ledger.open(filled(tmp_path, call())) as ledger:
        ledger._database.run("DROP TABLE ledger")
        ledger.add(call())
        assert total(row.sums for row in ledger.rows()) == sums()
    assert len(list(tmp_path.glob("registry.db.damaged-*"))) == 1


def test_a_registry_that_is_moved_away_between_two_calls_is_begun_anew(tmp_path):
    filled(tmp_path, call())
    (tmp_path / REGISTRY_FILE).unlink()
    with Ledger.open(filled(tmp_path, call(), call())) as ledger:
        assert total(row.sums for row in ledger.rows()) == sums(2, 2_000)


def test_a_registry_of_a_newer_version_is_not_touched(tmp_path):
    with Ledger.open(filled(tmp_path, call())) as ledger:
        ledger._database.run("INSERT INTO migrations VALUES ('ledger-9', '9.9', 'now')")
    before = (tmp_path / REGISTRY_FILE).read_bytes()
    with pytest.raises(StoreTooNew):
        Ledger.open(tmp_path)
    assert (tmp_path / REGISTRY_FILE).read_bytes() == before


CHILD = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from braindex.domain.usage import Call, Usage
from braindex.registry.ledger import Ledger
brain, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for _ in range(count):
    with Ledger.open(brain) as ledger:
        ledger.add(Call(name, "ollama", "m", "ask", datetime(2026, 11, 30, tzinfo=UTC), Usage(3, 2, 1, 2), 4, 5))
"""


def child(script: str, *arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": SOURCE},
    )  # fmt: skip


def test_two_processes_that_write_at_once_lose_and_double_nothing(tmp_path):
    children = [child(CHILD, tmp_path, name, 40) for name in ("left", "right")]
    for one in children:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in children:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    for one in children:
        _, err = one.communicate(timeout=120)
        assert one.returncode == 0, err
    with Ledger.open(tmp_path) as ledger:
        assert [(row.workspace_id, row.sums) for row in ledger.rows()] == [
            (name, Sums(40, 120, 80, 40, 80, 160, 0, 200)) for name in ("left", "right")
        ]


NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def reserve(ledger: Ledger, held: str, cost: int = 600, limit: int = 1_000, when: datetime = NOON) -> int | None:
    return ledger.reserve(held, when, "deepseek-flash", "deepseek-flash", cost=cost, limit=limit)


def test_what_is_reserved_counts_as_spent_and_is_in_no_report(tmp_path):
    with Ledger.open(tmp_path) as ledger:
        assert [reserve(ledger, one) for one in "abc"] == [None, None, 1_200]
        assert ledger.today_cost(NOON) == 1_200
        assert (ledger.rows(), ledger.count(date(2026, 12, 1))) == ([], 0)


def test_a_call_takes_the_place_of_what_was_reserved_for_it(tmp_path):
    with Ledger.open(tmp_path) as ledger:
        reserve(ledger, "a")
        ledger.add(call(usage=Usage(100, 20, 70, 30, held="a"), cost=7))
        assert ledger.today_cost(NOON) == 7


def test_what_is_released_is_free_again_and_what_is_settled_counts_for_its_day(tmp_path):
    with Ledger.open(tmp_path) as ledger:
        reserve(ledger, "a")
        ledger.release("a")
        reserve(ledger, "b")
        ledger.settle("b", 450)
        ledger.release("b")
        assert ledger.today_cost(NOON + timedelta(hours=11)) == 450
        assert ledger.today_cost(NOON + timedelta(hours=13)) == 0
        assert ledger.rows() == []
        assert ledger.purge(date(2026, 12, 1)) == 0
        assert ledger.today_cost(NOON) == 0


@pytest.mark.parametrize("seconds", [-RESERVED_SECONDS - 1, RESERVED_SECONDS + 1])
def test_what_a_crash_or_a_wrong_clock_left_reserved_expires(tmp_path, seconds):
    with Ledger.open(tmp_path) as ledger:
        reserve(ledger, "a", 5_000, when=NOON + timedelta(seconds=seconds))
        assert reserve(ledger, "b") is None
        assert ledger.today_cost(NOON) == 600


def test_calls_from_the_future_do_not_close_today(tmp_path):
    with Ledger.open(filled(tmp_path, call("2031-01-01T00:00:00", cost=10**15))) as ledger:
        assert ledger.today_cost(NOON) == 0
        assert ledger.today_cost(datetime(9999, 12, 31, tzinfo=UTC)) == 0


def test_rows_that_something_else_wrote_with_impossible_numbers_can_still_be_summed(tmp_path):
    with Ledger.open(filled(tmp_path, call(), call(), call())) as ledger:
        most = 2**63 - 1
        ledger._database.run("UPDATE ledger SET tokens_in = ?, cost = ?, tokens_saved = 9e999", (most, most))
        ledger._database.run("UPDATE ledger SET tokens_out = 'many'")
        (row,) = ledger.rows(by=())
        assert (row.sums.tokens_in, row.sums.cost, row.sums.tokens_out) == (3 * (2**63 - 1), 3 * (2**63 - 1), 0)
        assert ledger.today_cost(NOON) == 3 * (2**63 - 1)


def test_processes_that_reserve_at_once_do_not_exceed_the_limit_together(tmp_path):
    Ledger.open(tmp_path).close()
    program = (
        "import sys; from datetime import datetime, UTC; from pathlib import Path\n"
        "from braindex.registry.ledger import Ledger\n"
        "with Ledger.open(Path(sys.argv[1])) as ledger:\n"
        "    for one in range(10):\n"
        "        found = ledger.reserve(sys.argv[2] + str(one), datetime.now(UTC), 'deepseek-flash', 'm', cost=100, limit=1_000)\n"
        "        print(found is None)"
    )
    environ = {**os.environ, "PYTHONPATH": SOURCE}
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name], stdout=subprocess.PIPE, env=environ)
        for name in "abc"
    ]
    said = b"".join(one.communicate()[0] for one in running).split()
    assert (len(said), said.count(b"True")) == (30, 10)
