"""What tokens cost: a table of dated prices with peak hours, in exact picodollars."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final, Self

from braindex.domain.display import echoed
from braindex.domain.errors import UsageError
from braindex.domain.periods import in_utc
from braindex.domain.usage import PICODOLLARS, Usage

# A price of $1 a million tokens, in picodollars a token. A millionth of that is the smallest price without a rest.
_PER_TOKEN: Final = PICODOLLARS // 1_000_000
_HIGHEST: Final = 10_000  # USD a million tokens: what is dearer is a slip of the unit
_DAY: Final = 24 * 60  # minutes
_EVERY_DAY: Final = frozenset(range(7))

_CLOCK: Final = re.compile(r"([0-9]{2}):([0-5][0-9])")

_ROW: Final = ("models", "from", "until", "source", "cache_hit", "cache_miss", "output", "peak")
_PEAK: Final = ("cache_hit", "cache_miss", "output", "hours", "weekdays", "except_days")
_A_PRICE: Final = f"a number of USD per million tokens, 0 to {_HIGHEST:,}, with 6 decimals at most"
_A_TIME: Final = 'a UTC time such as "2026-08-16T16:00Z"'


class InvalidPrices(UsageError):
    """One message for all mistakes of a price table, each with its row and field."""

    def __init__(self, where: str, mistakes: list[str]) -> None:
        self.mistakes = mistakes
        super().__init__(f"{where} is no valid price table: " + "; ".join(mistakes))


@dataclass(frozen=True, slots=True)
class Rates:
    """Picodollars a token."""

    cache_hit: int
    cache_miss: int
    output: int

    def cost(self, usage: Usage) -> int:
        """Tokens that came in as neither a hit nor a miss are billed as misses."""
        misses = max(usage.cache_miss_tokens, usage.tokens_in - usage.cache_hit_tokens)
        return usage.cache_hit_tokens * self.cache_hit + misses * self.cache_miss + usage.tokens_out * self.output


@dataclass(frozen=True, slots=True)
class Peak:
    """Other rates at some hours. `hours` are minutes of the UTC day, half-open; Monday is weekday 0.

    On `except_days` (UTC), such as public holidays, there is no peak.
    """

    rates: Rates
    hours: tuple[tuple[int, int], ...]
    weekdays: frozenset[int] = _EVERY_DAY
    except_days: frozenset[date] = frozenset()

    def holds(self, when: datetime) -> bool:
        """`when` is UTC."""
        if when.weekday() not in self.weekdays or when.date() in self.except_days:
            return False
        minute = when.hour * 60 + when.minute
        return any(start <= minute < end for start, end in self.hours)


@dataclass(frozen=True, slots=True)
class Price:
    """A row of the table: what some models cost from a moment on, until the next row of theirs or `until`."""

    models: tuple[str, ...]
    since: datetime
    source: str
    rates: Rates
    peak: Peak | None = None
    until: datetime | None = None

    def rates_at(self, when: datetime) -> Rates:
        return self.peak.rates if self.peak is not None and self.peak.holds(when) else self.rates


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by model, each model's in the order of their dates."""

    by_model: Mapping[str, tuple[Price, ...]] = field(default_factory=dict)

    @classmethod
    def parse(cls, data: object, where: str = "the price table") -> Self:
        """The table of `{"prices": [row, …]}`, numbers as int or Decimal. Raises InvalidPrices with all mistakes.

        A row has `models`, `from`, `source`, and in USD per million tokens `cache_hit`, `cache_miss`, `output`;
        where needed `until`, and `peak` with prices of its own, `hours` (`[["01:00", "04:00"], …]`, UTC, half-open),
        `weekdays` (0 is Monday; all by default) and `except_days` (`["2026-10-01", …]`).
        """
        rows = data.get("prices") if isinstance(data, dict) else None
        if not isinstance(rows, list):
            raise InvalidPrices(where, ['it has to be an object with a list of rows, {"prices": […]}'])
        mistakes = [f"unknown field `{echoed(str(name))}`" for name in data if name != "prices"]  # type: ignore[attr-defined]
        prices = [price for number, row in enumerate(rows, 1) if (price := _price(number, row, mistakes))]
        mistakes += _twice(prices)
        if mistakes:
            raise InvalidPrices(where, mistakes)
        return cls(_grouped(prices))

    def overlaid(self, users: "PriceTable") -> "PriceTable":
        """This table with a user's laid over it: for each of its models it rules from its first date on."""
        laid = dict(self.by_model)
        for model, rows in users.by_model.items():
            earlier = (row for row in laid.get(model, ()) if row.since < rows[0].since)
            laid[model] = (*earlier, *rows)
        return PriceTable(laid)

    def price(self, model: str, when: datetime) -> Price | None:
        """The row that holds for a model at a moment; None where there is none."""
        moment = in_utc(when)
        found = next((row for row in reversed(self.by_model.get(model, ())) if row.since <= moment), None)
        return None if found is None or (found.until is not None and moment >= found.until) else found

    def cost(self, model: str, when: datetime, usage: Usage) -> int | None:
        """What a call cost, in picodollars; None, never 0, where no price is known.

        DeepSeek bills by the moment at which a request is completed
        (https://api-docs.deepseek.com/quick_start/pricing), so that is what `when` should be.
        """
        found = self.price(model, when)
        return None if found is None else found.rates_at(in_utc(when)).cost(usage)


def _grouped(prices: list[Price]) -> dict[str, tuple[Price, ...]]:
    grouped: dict[str, list[Price]] = {}
    for price in sorted(prices, key=lambda one: one.since):
        for model in price.models:
            grouped.setdefault(model, []).append(price)
    return {model: tuple(rows) for model, rows in grouped.items()}


def _twice(prices: list[Price]) -> list[str]:
    """Two rows for one model from one moment on: nothing says which of them is meant."""
    return [
        f"`{echoed(model)}` has two rows from {row.since:%Y-%m-%dT%H:%M:%SZ} on"
        for model, rows in _grouped(prices).items()
        for earlier, row in pairwise(rows)
        if earlier.since == row.since
    ]


class _Fields:
    """An object of the data, read field by field; whatever is wrong is added to the mistakes."""

    def __init__(self, place: str, data: dict[str, Any], known: tuple[str, ...], mistakes: list[str]) -> None:
        self._place, self._data, self._mistakes = place, data, mistakes
        mistakes += [f"{place}: unknown field `{echoed(str(name))}`" for name in data if name not in known]

    def read(self, name: str, reader: Callable[[Any], Any], expected: str, *, default: Any = ...) -> Any:
        """The field's value, or `default` where it is left out; without a default it is needed."""
        if name not in self._data:
            if default is ...:
                self._mistakes.append(f"{self._place}: `{name}` is missing, and has to be {expected}")
            return default
        value = self._data[name]
        try:
            return reader(value)
        except (ValueError, TypeError, OverflowError):
            self._mistakes.append(f"{self._place}: `{name}` is {echoed(str(value))}, and has to be {expected}")

    def rates(self) -> tuple[Any, Any, Any]:
        hit, miss, output = (self.read(name, _rate, _A_PRICE) for name in ("cache_hit", "cache_miss", "output"))
        return hit, miss, output


def _price(number: int, data: object, mistakes: list[str]) -> Price | None:
    """One row, or None where it has mistakes."""
    found: list[str] = []
    place = f"row {number}"
    if not isinstance(data, dict):
        mistakes.append(f"{place} is {echoed(str(data))}, and has to be an object")
        return None
    fields = _Fields(place, data, _ROW, found)
    models = fields.read("models", _models, "a list of model ids")
    since = fields.read("from", _time, _A_TIME)
    until = fields.read("until", _time, f"{_A_TIME}, after `from`", default=None)
    source = fields.read("source", _text, "a text that says where the price was read")
    rates = fields.rates()
    peak = _peak(f"{place}, peak", data["peak"], found) if "peak" in data else None
    if not found and until is not None and until <= since:
        found.append(f"{place}: `until` is not after `from`")
    mistakes += found
    return None if found else Price(models, since, source, Rates(*rates), peak, until)


def _peak(place: str, data: object, mistakes: list[str]) -> Peak | None:
    if not isinstance(data, dict):
        mistakes.append(f"{place} is {echoed(str(data))}, and has to be an object")
        return None
    before = len(mistakes)
    fields = _Fields(place, data, _PEAK, mistakes)
    rates = fields.rates()
    hours = fields.read("hours", _hours, 'a list of UTC spans such as [["01:00", "04:00"]]; "24:00" ends the day')
    weekdays = fields.read("weekdays", _weekdays, "a list of weekdays, 0 (Monday) to 6", default=_EVERY_DAY)
    days = fields.read("except_days", _days, 'a list of days such as ["2026-10-01"]', default=frozenset())
    return None if len(mistakes) > before else Peak(Rates(*rates), hours, weekdays, days)


def _rate(value: Any) -> int:
    """Picodollars a token of a price in USD per million tokens."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise TypeError
    price = Decimal(str(value))
    # The bounds first: a number such as 1e-999999999 has no fraction that fits into memory.
    if not price.is_finite() or not (price == 0 or Decimal(1) / _PER_TOKEN <= price <= _HIGHEST):
        raise ValueError
    exact = Fraction(price) * _PER_TOKEN
    if exact.denominator != 1:
        raise ValueError
    return exact.numerator


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value.strip()


def _models(value: Any) -> tuple[str, ...]:
    found = tuple(_text(one) for one in _list(value))
    if not found:
        raise ValueError
    return tuple(dict.fromkeys(found))


def _time(value: Any) -> datetime:
    return in_utc(datetime.fromisoformat(_text(value)))


def _hours(value: Any) -> tuple[tuple[int, int], ...]:
    spans = tuple((_minute(start), _minute(end)) for start, end in _list(value))
    if not spans or not all(start < end for start, end in spans):
        raise ValueError
    return spans


def _minute(value: Any) -> int:
    match = _CLOCK.fullmatch(_text(value))
    found = int(match[1]) * 60 + int(match[2]) if match else _DAY + 1
    if found > _DAY:
        raise ValueError
    return found


def _weekdays(value: Any) -> frozenset[int]:
    found = _list(value)
    if not found or not all(type(one) is int and one in _EVERY_DAY for one in found):
        raise ValueError
    return frozenset(found)


def _days(value: Any) -> frozenset[date]:
    return frozenset(date.fromisoformat(_text(one)) for one in _list(value))


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    return value
