"""Sums over the ledger's calls, and the report that is made of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, Literal, get_args

from braindex.domain.usage import PICODOLLARS

Dimension = Literal["workspace_id", "engine", "operation", "day"]
DIMENSIONS: Final[tuple[Dimension, ...]] = get_args(Dimension)


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums over calls. `cost` is in picodollars and leaves out the calls of unknown cost, which are counted apart."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cache_hit_tokens: int = 0
    cache_miss_tokens: int = 0
    cost: int = 0
    unknown_cost_calls: int = 0
    tokens_saved: int = 0

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(
            self.calls + other.calls,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.cache_hit_tokens + other.cache_hit_tokens,
            self.cache_miss_tokens + other.cache_miss_tokens,
            self.cost + other.cost,
            self.unknown_cost_calls + other.unknown_cost_calls,
            self.tokens_saved + other.tokens_saved,
        )

    @property
    def cost_usd(self) -> float | None:
        """The cost in dollars, None where that of no call is known.

        The float nearest to the exact sum: as JSON it has the exact decimal digits, up to 15 of them, which is every
        digit of a sum below $1,000.
        """
        if self.calls and self.unknown_cost_calls == self.calls:
            return None
        return self.cost / PICODOLLARS

    def as_json(self) -> dict[str, Any]:
        return {
            "calls": self.calls,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "cache_hit_tokens": self.cache_hit_tokens,
            "cache_miss_tokens": self.cache_miss_tokens,
            "cost_usd": self.cost_usd,
            "unknown_cost_calls": self.unknown_cost_calls,
            "tokens_saved": self.tokens_saved,
        }


@dataclass(frozen=True, slots=True)
class UsageRow:
    """The sums of one group of calls. A dimension that the groups are not told apart by is None. `day` is UTC."""

    workspace_id: str | None
    engine: str | None
    operation: str | None
    day: str | None
    sums: Sums

    def as_json(self) -> dict[str, Any]:
        return {
            "workspace_id": self.workspace_id,
            "engine": self.engine,
            "operation": self.operation,
            "day": self.day,
            **self.sums.as_json(),
        }


@dataclass(frozen=True, slots=True)
class UsageReport:
    """What was used since a day, in groups and in all. `since` None is all time."""

    since: date | None
    rows: tuple[UsageRow, ...]

    @property
    def totals(self) -> Sums:
        return total(row.sums for row in self.rows)

    def as_json(self) -> dict[str, Any]:
        return {"totals": self.totals.as_json(), "rows": [row.as_json() for row in self.rows]}


def total(sums: Iterable[Sums]) -> Sums:
    return sum(sums, Sums())


def dollars(picodollars: int) -> str:
    """A sum of money for people: `$0.001234`, six decimals; what is smaller and not nothing is `<$0.000001`."""
    if 0 < picodollars < PICODOLLARS // 1_000_000:
        return "<$0.000001"
    millionths = (picodollars + 500_000) // 1_000_000
    whole, part = divmod(millionths, 1_000_000)
    return f"${whole:,}.{part:06}"


def cost_text(sums: Sums) -> str:
    """The cost for people. `unknown` where that of no call is known; `≥` where that of some is not."""
    if sums.cost_usd is None:
        return "unknown"
    return ("≥" if sums.unknown_cost_calls else "") + dollars(sums.cost)
