import json

import pytest

from braindex.domain.spending import Sums, UsageReport, UsageRow, cost_text, dollars


def test_sums_add_up_field_by_field():
    one, other = Sums(1, 2, 3, 4, 5, 6, 7, 8), Sums(10, 20, 30, 40, 50, 60, 70, 80)
    assert one + other == Sums(11, 22, 33, 44, 55, 66, 77, 88)


@pytest.mark.parametrize(
    ("cost", "digits"),
    [(0, "0.0"), (2_800, "2.8e-09"), (123_456_789_012, "0.123456789012"), (999_123_456_789_012, "999.123456789012")],
)
def test_a_cost_has_its_exact_digits_as_json(cost, digits):
    assert json.dumps(Sums(calls=1, cost=cost).as_json()["cost_usd"]) == digits


def test_an_unknown_cost_is_null_in_its_own_row_and_counted_apart_in_the_total():
    known, unknown = Sums(calls=2, cost=500_000_000_000), Sums(calls=1, unknown_cost_calls=1)
    rows = tuple(UsageRow("w", "deepseek-flash", "ask", day, sums) for day, sums in (("a", known), ("b", unknown)))
    found = UsageReport(None, rows).as_json()
    assert [row["cost_usd"] for row in found["rows"]] == [0.5, None]
    assert (found["totals"]["cost_usd"], found["totals"]["unknown_cost_calls"]) == (0.5, 1)


def test_a_report_without_calls_costs_nothing():
    assert UsageReport(None, ()).as_json() == {"totals": Sums().as_json(), "rows": []}
    assert Sums().as_json()["cost_usd"] == 0.0


@pytest.mark.parametrize(
    ("cost", "shown"),
    [
        (0, "$0.000000"),
        (1, "<$0.000001"),
        (999_999, "<$0.000001"),
        (1_000_000, "$0.000001"),
        (1_499_999, "$0.000001"),
        (1_500_000, "$0.000002"),
        (1_234_567_890_000_000, "$1,234.567890"),
        (999_999_999_999, "$1.000000"),
    ],
)
def test_people_see_six_decimals_and_never_a_zero_that_is_not_one(cost, shown):
    assert dollars(cost) == shown


def test_people_see_when_a_cost_is_not_known_or_not_all_of_it():
    assert cost_text(Sums(calls=2, unknown_cost_calls=2)) == "unknown"
    assert cost_text(Sums(calls=2, unknown_cost_calls=1, cost=1_000_000)) == "≥$0.000001"
    assert cost_text(Sums(calls=2)) == "$0.000000"
