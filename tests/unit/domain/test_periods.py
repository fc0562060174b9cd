from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from braindex.domain.periods import NotADay, UnknownPeriod, day_of, first_day, in_utc

TODAY = date(2026, 11, 30)


@pytest.mark.parametrize(
    ("period", "first"),
    [
        ("all", None),
        ("today", TODAY),
        ("1d", TODAY),
        ("week", date(2026, 11, 24)),
        ("7d", date(2026, 11, 24)),
        ("month", date(2026, 11, 1)),
        ("366d", date(2025, 11, 30)),
        ("99999d", date(1753, 2, 16)),
        ("2026-02-28", date(2026, 2, 28)),
    ],
)
def test_a_period_begins_so_many_days_ago_with_today_counted(period, first):
    assert first_day(period, TODAY) == first


@pytest.mark.parametrize(
    "text",
    ["", "0d", "-1d", "d", "7 d", "1000000d", "Week", "yesterday", "2026-02-30", "20260228", "2026-W05-1", "７d"],
)
def test_what_is_no_period_is_an_error_that_lists_them(text):
    with pytest.raises(UnknownPeriod, match="today, week, month, all, a number of days such as 7d"):
        first_day(text, TODAY)


@pytest.mark.parametrize("text", ["2026-02-30", "today", "2026-1-1", "2026-01-01T00:00", "", "\x1b[2026"])
def test_what_is_no_day_is_an_error_that_shows_one(text):
    with pytest.raises(NotADay, match="such as 2026-11-01"):
        day_of(text)


def test_a_time_without_a_zone_is_utc_and_any_other_is_converted():
    assert in_utc(datetime.fromisoformat("2026-01-01T12:00")) == datetime(2026, 1, 1, 12, tzinfo=UTC)
    beijing = datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=8)))
    assert in_utc(beijing).isoformat() == "2025-12-31T18:00:00+00:00"
