"""Usage: money and tokens over time, by day, operation, engine and workspace; a chart, its table, and the file."""

import csv
import io
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from starlette.responses import Response

from braindex.dashboard.asked import Asked
from braindex.dashboard.desk import Desk, Room, Way
from braindex.domain.identity import short_id
from braindex.domain.periods import ALL
from braindex.domain.spending import DIMENSIONS, Dimension, Sums, UsageReport, UsageRow, cost_text
from braindex.domain.usage import PICODOLLARS

PERIODS: Final = (
    ("today", "today"),
    ("week", "7 days"),
    ("month", "30 days"),
    ("90d", "90 days"),
    ("365d", "a year"),
    (ALL, "all time"),
)
MEASURES: Final = (
    ("cost", "Cost", ("US dollars",)),
    ("tokens", "Tokens", ("tokens in", "tokens out")),
    ("hits", "Cache hit rate", ("percent of the tokens in",)),
    ("saved", "Tokens saved", ("tokens saved",)),
)
GROUPS: Final[tuple[tuple[Dimension, str], ...]] = (
    ("day", "Day"),
    ("operation", "Operation"),
    ("engine", "Engine"),
    ("workspace_id", "Workspace"),
)
_COLUMNS: Final = (
    "workspace", "workspace_id", "engine", "operation", "day", "calls", "tokens_in", "tokens_out",
    "cache_hit_tokens", "cache_miss_tokens", "cache_hit_rate", "cost_usd", "unknown_cost_calls", "tokens_saved",
)  # fmt: skip
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")  # what makes a spreadsheet compute a cell


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a table, and what its chart draws of it: a value for each series, None where none is known."""

    label: str
    sums: Sums
    values: tuple[float | None, ...]

    @property
    def cost(self) -> str:
        return cost_text(self.sums)

    @property
    def rate(self) -> str:
        rate = hit_rate(self.sums)
        return "–" if rate is None else f"{rate:.0%}"


@dataclass(frozen=True, slots=True)
class Group:
    """The report by one dimension."""

    dimension: Dimension
    title: str
    lines: tuple[Line, ...]


def shown(desk: Desk, asked: Asked) -> Response:
    """The four groupings of one period, with one measure drawn."""
    period, workspace_id = asked.word("period", "month"), asked.word("workspace")
    measure = next((one for one in MEASURES if one[0] == asked.word("measure")), MEASURES[0])
    known = _names(desk)
    reports = {name: desk.app.usage.report(period, workspace_id or None, (name,)) for name, _ in GROUPS}
    groups = [Group(name, title, _lines(reports[name], name, measure[0], known)) for name, title in GROUPS]
    return desk.page(
        asked,
        "usage.html",
        "usage",
        "Usage",
        groups=groups,
        total=Line("Total", reports["day"].totals, ()),
        since=reports["day"].since,
        period=period,
        periods=PERIODS,
        measure=measure,
        measures=MEASURES,
        known=sorted(known.items(), key=lambda one: one[1].casefold()),
        wanted=workspace_id,
        tracking=desk.app.usage.tracking,
    )


def as_csv(desk: Desk, asked: Asked) -> Response:
    """Every row of the period, told apart by everything, as a spreadsheet takes it."""
    report = desk.app.usage.report(asked.word("period", "month"), asked.word("workspace") or None, DIMENSIONS)
    known, out = _names(desk), io.StringIO()
    writer = csv.writer(out)
    writer.writerow(_COLUMNS)
    for row in sorted(report.rows, key=lambda one: (one.day or "", one.workspace_id or "", one.operation or "")):
        writer.writerow(_cell(value) for value in _values(row, known))
    headers = {"Content-Disposition": 'attachment; filename="braindex-usage.csv"'}
    return Response(out.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)


def hit_rate(sums: Sums) -> float | None:
    """The part of the tokens in that came out of the provider's prompt cache; None where none of them may have."""
    counted = sums.cache_hit_tokens + sums.cache_miss_tokens
    return sums.cache_hit_tokens / counted if counted else None


def _names(desk: Desk) -> dict[str, str]:
    return {one.workspace.id: one.workspace.name for one in desk.app.workspaces.list()}


def _lines(report: UsageReport, name: Dimension, measure: str, known: dict[str, str]) -> tuple[Line, ...]:
    """By day the newest first, else the dearest."""
    rows = sorted(report.rows, key=lambda row: _label(row, name, known))
    if name == "day":
        rows.reverse()
    else:
        rows.sort(key=lambda row: (-row.sums.cost, -row.sums.tokens_in))
    return tuple(Line(_label(row, name, known), row.sums, _drawn(row.sums, measure)) for row in rows)


def _label(row: UsageRow, name: Dimension, known: dict[str, str]) -> str:
    value: str = getattr(row, name) or ""
    if name == "workspace_id":
        return known.get(value) or f"{short_id(value)} (no longer known)"
    if name == "engine" and value == "none":
        return "none (sources only)"
    return value


def _drawn(sums: Sums, measure: str) -> tuple[float | None, ...]:
    if measure == "tokens":
        return sums.tokens_in, sums.tokens_out
    if measure == "hits":
        rate = hit_rate(sums)
        return (None if rate is None else round(100 * rate, 2),)
    return (sums.tokens_saved,) if measure == "saved" else (sums.cost_usd,)


def _values(row: UsageRow, known: dict[str, str]) -> tuple[object, ...]:
    sums, identifier = row.sums, row.workspace_id or ""
    rate = hit_rate(sums)
    return (
        known.get(identifier, ""),
        identifier,
        row.engine,
        row.operation,
        row.day,
        sums.calls,
        sums.tokens_in,
        sums.tokens_out,
        sums.cache_hit_tokens,
        sums.cache_miss_tokens,
        "" if rate is None else f"{rate:.4f}",
        "" if sums.cost_usd is None else f"{Decimal(sums.cost) / PICODOLLARS:f}",
        sums.unknown_cost_calls,
        sums.tokens_saved,
    )


def _cell(value: object) -> object:
    """A name that begins like a formula would be computed by a spreadsheet: it gets an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


ROOM: Final = Room("usage", "Usage", (Way("/usage", shown), Way("/usage.csv", as_csv)))
