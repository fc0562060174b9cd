import copy
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from braindex.domain.prices import InvalidPrices, PriceTable
from braindex.domain.usage import Usage

WEEKDAYS = {"hours": [["01:00", "04:00"], ["06:00", "10:00"]], "weekdays": [0, 1, 2, 3, 4]}
FLAT = {"cache_hit": Decimal("0.0028"), "cache_miss": Decimal("0.14"), "output": Decimal("0.28")}
OFF = {"cache_hit": Decimal("0.003"), "cache_miss": Decimal("0.15"), "output": Decimal("0.6")}
PEAK = {"cache_hit": Decimal("0.006"), "cache_miss": Decimal("0.3"), "output": Decimal("1.2")}
ROWS: list[dict[str, Any]] = [
    {"models": ["flash", "chat"], "from": "2026-04-26T12:15Z", "source": "a page", **FLAT},
    {"models": ["chat"], "from": "2026-05-01", "until": "2026-07-24T15:59Z", "source": "a page", **FLAT},
    {
        "models": ["flash"], "from": "2026-09-10T04:00Z", "source": "a page", **OFF,
        "peak": {**PEAK, **WEEKDAYS, "except_days": ["2026-10-01"]},
    },
]  # fmt: skip
TABLE = PriceTable.parse({"prices": ROWS})
USED = Usage(tokens_in=1_000_000, tokens_out=1_000_000, cache_hit_tokens=600_000, cache_miss_tokens=400_000)
# In picodollars, worked out by hand: 0.6 × hit + 0.4 × miss + 1 × output.
FLAT_COST = 1_680_000_000 + 56_000_000_000 + 280_000_000_000
OFF_COST = 1_800_000_000 + 60_000_000_000 + 600_000_000_000
PEAK_COST = 2 * OFF_COST


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("model", "when", "cost"),
    [
        ("flash", "2026-04-26T12:14:59.999999", None),  # before the first row
        ("flash", "2026-04-26T12:15:00", FLAT_COST),
        ("flash", "2026-09-10T03:59:59", FLAT_COST),  # a Thursday, in what will be a peak hour
        ("flash", "2026-09-10T04:00:00", OFF_COST),
        ("flash", "2026-09-10T06:00:00", PEAK_COST),
        ("flash", "2026-11-30T00:59:59.999999", OFF_COST),  # a Monday
        ("flash", "2026-11-30T01:00:00", PEAK_COST),
        ("flash", "2026-11-30T03:59:59.999999", PEAK_COST),
        ("flash", "2026-11-30T04:00:00", OFF_COST),
        ("flash", "2026-11-30T05:59:59", OFF_COST),
        ("flash", "2026-11-30T06:00:00", PEAK_COST),
        ("flash", "2026-11-30T09:59:59", PEAK_COST),
        ("flash", "2026-11-30T10:00:00", OFF_COST),
        ("flash", "2026-11-27T09:00:00", PEAK_COST),  # Friday
        ("flash", "2026-11-28T09:00:00", OFF_COST),  # Saturday
        ("flash", "2026-11-29T02:00:00", OFF_COST),  # Sunday
        ("flash", "2026-10-01T02:00:00", OFF_COST),  # a Thursday, and a holiday
        ("flash", "2026-10-02T02:00:00", PEAK_COST),
        ("chat", "2026-04-27T00:00:00", FLAT_COST),
        ("chat", "2026-07-24T15:58:59", FLAT_COST),
        ("chat", "2026-07-24T15:59:00", None),  # withdrawn
        ("Flash", "2026-11-30T01:00:00", None),
        ("pro", "2026-11-30T01:00:00", None),
        ("", "2026-11-30T01:00:00", None),
    ],
)
def test_a_call_has_the_price_of_its_own_time(model, when, cost):
    assert TABLE.cost(model, at(when), USED) == cost


def test_a_time_of_another_zone_is_judged_in_utc():
    beijing = datetime(2026, 11, 30, 9, 0, tzinfo=timezone(timedelta(hours=8)))
    assert TABLE.cost("flash", beijing, USED) == PEAK_COST
    assert TABLE.cost("flash", datetime.fromisoformat("2026-11-30T01:00"), USED) == PEAK_COST


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (Usage(10, 0, 4, 6), (4, 6)),
        (Usage(10, 0, 0, 0), (0, 10)),
        (Usage(10, 0, 4, 0), (4, 6)),
        (Usage(10, 0, 4, 3), (4, 6)),
        (Usage(0, 0, 4, 6), (4, 6)),
        (Usage(10, 0, 12, 0), (12, 0)),
        (Usage(), (0, 0)),
    ],
)
def test_what_was_neither_a_hit_nor_a_miss_is_billed_as_a_miss(usage, tokens):
    hits, misses = tokens
    assert TABLE.cost("flash", at("2026-05-01"), usage) == hits * 2_800 + misses * 140_000


def test_a_single_token_has_an_exact_cost():
    assert TABLE.cost("flash", at("2026-05-01"), Usage(1, 0, 1, 0)) == 2_800


def test_a_users_rows_rule_for_their_models_from_their_date_on():
    users = PriceTable.parse(
        {
            "prices": [
                {"models": ["flash"], "from": "2026-06-01", "source": "my contract", **OFF},
                {"models": ["own"], "from": "2026-06-01", "source": "my contract", **OFF},
            ]
        }
    )
    laid = TABLE.overlaid(users)
    assert laid.cost("flash", at("2026-05-31T23:59:59"), USED) == FLAT_COST
    assert laid.cost("flash", at("2026-06-01"), USED) == OFF_COST
    assert laid.cost("flash", at("2026-11-30T01:00"), USED) == OFF_COST  # not the shipped peak of a later row
    assert laid.cost("own", at("2026-06-01"), USED) == OFF_COST
    assert laid.cost("chat", at("2026-06-01"), USED) == FLAT_COST
    assert TABLE.cost("own", at("2026-06-01"), USED) is None


def test_an_empty_table_knows_no_price():
    assert PriceTable().cost("flash", at("2026-06-01"), USED) is None
    assert PriceTable.parse({"prices": []}).by_model == {}


def broken(**changes: Any) -> dict[str, Any]:
    row = {**copy.deepcopy(ROWS[2]), **changes}
    return {"prices": [{key: value for key, value in row.items() if value is not ...}]}


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (broken(output=...), r"row 1: `output` is missing, and has to be a number of USD per million tokens"),
        (broken(output="0.6"), r"row 1: `output` is 0\.6, and has to be a number"),
        (broken(output=True), "row 1: `output` is True"),
        (broken(output=None), "row 1: `output` is None"),
        (broken(output=-1), "row 1: `output` is -1"),
        (broken(output=Decimal("NaN")), "row 1: `output` is NaN"),
        (broken(output=float("inf")), "row 1: `output` is inf"),
        (broken(output=Decimal("0.0000001")), "row 1: `output` is 1E-7, .*6 decimals"),
        (broken(output=Decimal("0.1234567")), r"row 1: `output` is 0\.1234567"),
        (broken(output=Decimal("1E-999999999")), "row 1: `output` is 1E-999999999"),
        (broken(output=Decimal("1." + "0" * 40 + "1")), "row 1: `output` is 1"),
        (broken(output=600_000), "row 1: `output` is 600000"),
        (broken(models=[]), "row 1: `models` is .*a list of model ids"),
        (broken(models="flash"), "row 1: `models` is flash"),
        (broken(models=[7]), "row 1: `models`"),
        (broken(**{"from": "soon"}), "row 1: `from` is soon, and has to be a UTC time such as"),
        (broken(until="2026-09-10T04:00Z"), "row 1: `until` is not after `from`"),
        (broken(source=" "), "row 1: `source`"),
        (broken(outputs=1), "row 1: unknown field `outputs`"),
        (broken(peak=[]), r"row 1, peak is \[\], and has to be an object"),
        (broken(peak={**PEAK, "hours": [["04:00", "01:00"]]}), "row 1, peak: `hours`"),
        (broken(peak={**PEAK, "hours": [["1:00", "04:00"]]}), "row 1, peak: `hours`"),
        (broken(peak={**PEAK, "hours": [["01:00", "24:01"]]}), "row 1, peak: `hours`"),
        (broken(peak={**PEAK, "hours": [1]}), "row 1, peak: `hours`"),
        (broken(peak={**PEAK, "hours": []}), "row 1, peak: `hours`"),
        (broken(peak={**PEAK}), "row 1, peak: `hours` is missing"),
        (broken(peak={**PEAK, **WEEKDAYS, "weekdays": [7]}), "row 1, peak: `weekdays`"),
        (broken(peak={**PEAK, **WEEKDAYS, "weekdays": [True]}), "row 1, peak: `weekdays`"),
        (broken(peak={**PEAK, **WEEKDAYS, "except_days": ["2026-02-30"]}), "row 1, peak: `except_days`"),
        ({"prices": ["x"]}, "row 1 is x, and has to be an object"),
        ({"prices": [ROWS[0], ROWS[0]]}, "`flash` has two rows from 2026-04-26T12:15:00Z on"),
        ({"prices": {}}, "has to be an object with a list of rows"),
        ([], "has to be an object with a list of rows"),
        ({"prices": [], "price": []}, "unknown field `price`"),
    ],
)
def test_a_mistake_is_told_with_its_row_its_field_and_what_was_expected(data, told):
    with pytest.raises(InvalidPrices, match=told):
        PriceTable.parse(data)


def test_all_mistakes_are_told_at_once():
    rows = [{**ROWS[0], "output": "x", "cache_hit": -1}, ROWS[0], {"from": 1, "peak": {"hours": 1}, "\x1b[31m": 2}]
    with pytest.raises(InvalidPrices) as caught:
        PriceTable.parse({"prices": rows}, "PRICES_FILE")
    places = [(text.split(":")[0], text.split("`")[1]) for text in caught.value.mistakes]
    assert places[:2] == [("row 1", "cache_hit"), ("row 1", "output")]
    assert {field for place, field in places if place == "row 3"} == {
        "\\x1b[31m", "models", "from", "source", "cache_hit", "cache_miss", "output",
    }  # fmt: skip
    assert {field for place, field in places if place == "row 3, peak"} == {
        "cache_hit", "cache_miss", "output", "hours",
    }  # fmt: skip
    assert str(caught.value).startswith("PRICES_FILE is no valid price table: ")
    assert "\x1b" not in str(caught.value)


def test_a_span_may_end_with_the_day():
    night = {**PEAK, "hours": [["22:00", "24:00"]]}
    table = PriceTable.parse(broken(peak=night))
    assert table.cost("flash", at("2026-11-29T23:59:59"), USED) == PEAK_COST
    assert table.cost("flash", at("2026-11-30T00:00:00"), USED) == OFF_COST
