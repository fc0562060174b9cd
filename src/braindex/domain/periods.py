"""Spans of time that reports speak of. Days are UTC days, as providers bill them."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Final

from braindex.domain.display import echoed
from braindex.domain.errors import UsageError

# Days that a period reaches back, today included.
PERIODS: Final = {"today": 1, "week": 7, "month": 30}
ALL: Final = "all"
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DAYS: Final = re.compile(r"([0-9]{1,5})d")


class UnknownPeriod(UsageError):
    def __init__(self, text: str) -> None:
        super().__init__(
            f"no such period: {echoed(text)}; give today, week, month, all, a number of days such as 7d, "
            "or a day such as 2026-11-01"
        )


class NotADay(UsageError):
    def __init__(self, text: str) -> None:
        super().__init__(f"not a day: {echoed(text)}; give one such as 2026-11-01")


def in_utc(when: datetime) -> datetime:
    """The same moment in UTC. A time without a zone is taken as UTC already."""
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)


def day_of(text: str) -> date:
    """A day written YYYY-MM-DD. Raises NotADay."""
    try:
        if _DATE.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass  # the thirtieth of February
    raise NotADay(text)


def first_day(period: str, today: date) -> date | None:
    """The first day of a period that ends with `today`, or None for all time.

    `today`, `week` (7 days), `month` (30 days), `7d`, a day written YYYY-MM-DD, `all`. Raises UnknownPeriod.
    """
    if period == ALL:
        return None
    match = _DAYS.fullmatch(period)
    days = int(match[1]) if match else PERIODS.get(period, 0)
    if days:
        return today - timedelta(days=days - 1)
    try:
        return day_of(period)
    except NotADay:
        raise UnknownPeriod(period) from None
