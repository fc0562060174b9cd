"""The ledger of calls to engines, in `registry.db`: what each used and cost."""

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from braindex.domain.errors import BraindexError
from braindex.domain.periods import in_utc
from braindex.domain.spending import DIMENSIONS, Dimension, Sums, UsageRow
from braindex.domain.usage import Call
from braindex.registry.database import BUSY_SECONDS, Closing, Database, Row, storable
from braindex.registry.disk import set_aside
from braindex.registry.failures import StoreDamaged
from braindex.registry.migrations import open_store
from braindex.registry.workspaces import MIGRATIONS, REGISTRY_FILE

T = TypeVar("T")

MOST_TOKENS: Final = 10**12  # of one call; sums of a million of them still fit into SQLite's 64 bits
_MOST_COST: Final = 2**63 - 1
_REMEDY: Final = "It is moved aside and begun anew when braindex next opens it."
_INSERT: Final = (
    "INSERT INTO ledger (time, workspace_id, engine, model, operation, tokens_in, tokens_out, cache_hit_tokens, "
    "cache_miss_tokens, cost, tokens_saved) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
# Times are written in one width, so that they sort as text and begin with their day.
_GROUPS: Final[dict[Dimension, str]] = {
    "day": "substr(time, 1, 10)",
    "workspace_id": "workspace_id",
    "engine": "engine",
    "operation": "operation",
}
# Everything is summed in two parts: whole, a sum of costs would overflow 64 bits at 9.2 million dollars and fail, and
# a row that something else wrote may hold any number, or what is none.
_PART: Final = 1_000_000_000
_SUMMED: Final = ("tokens_in", "tokens_out", "cache_hit_tokens", "cache_miss_tokens", "cost", "tokens_saved")


def _sum(column: str) -> str:
    whole = f"CAST({column} AS INTEGER)"
    return f"coalesce(sum({whole} / {_PART}), 0), coalesce(sum({whole} % {_PART}), 0)"


_SUMS: Final = f"count(*), count(*) - count(cost), {', '.join(_sum(one) for one in _SUMMED)}"

# What a call may cost is a row of the ledger while it is under way, with a token in place of the workspace; and so,
# for the rest of its day, is the estimate of a call whose usage nobody knows. Reports leave both out.
RESERVED_SECONDS: Final = 900  # longer than any call may take; after a crash nothing is held for longer
_RESERVED: Final = "reserved"
_ESTIMATE: Final = "estimate"
_IS_CALL: Final = f"operation NOT IN ('{_RESERVED}', '{_ESTIMATE}')"


class ImpossibleCall(BraindexError):
    def __init__(self, field: str, value: object) -> None:
        super().__init__(f"{field} of a call cannot be {value}: it is not entered in the ledger")


class Ledger(Closing):
    """The ledger of one BRAIN_DIR, open. Use as a context manager; it belongs to its thread.

    A damaged `registry.db` is moved aside, never deleted, and the ledger begins anew; the workspaces come back when
    they are next asked for. Every method may raise a `StoreError`.
    """

    def __init__(self, database: Database, busy_seconds: float = BUSY_SECONDS) -> None:
        self._database = database
        self._busy_seconds = busy_seconds

    @classmethod
    def open(cls, brain_dir: Path, *, busy_seconds: float = BUSY_SECONDS) -> Self:
        path = brain_dir / REGISTRY_FILE
        try:
            return cls(_open(path, busy_seconds), busy_seconds)
        except StoreDamaged as damage:
            set_aside(path, damage)
            return cls(_open(path, busy_seconds), busy_seconds)

    def close(self) -> None:
        self._database.close()

    def add(self, *calls: Call) -> None:
        """Enter calls, each in place of what was reserved for it: all or none.

        Raises ImpossibleCall for numbers that no call has: an engine may report anything.
        """
        rows = [_row(call) for call in calls]

        def enter() -> None:
            self._database.many(_INSERT, rows)
            for call in calls:
                if call.usage.held:
                    self._release(call.usage.held)

        self._write(enter)

    def reserve(self, held: str, when: datetime, engine: str, model: str, *, cost: int, limit: int) -> int | None:
        """Reserve picodollars under a token, unless `limit` is reached by what is spent and reserved today already.

        Returns None when reserved, else what is spent and reserved. Whoever asks at the same time, in whatever
        process, is served one after the other.
        """
        row = (_moment(when), held, engine, storable(model), _RESERVED, 0, 0, 0, 0, min(cost, _MOST_COST), 0)

        def action() -> int | None:
            since, until = (_moment(when + timedelta(seconds=sign * RESERVED_SECONDS)) for sign in (-1, 1))
            late = f"DELETE FROM ledger WHERE operation = '{_RESERVED}' AND NOT (time BETWEEN ? AND ?)"  # noqa: S608
            self._database.run(late, (since, until))
            spent = self._today(when)
            if spent >= limit:
                return spent
            self._database.run(_INSERT, row)
            return None

        return self._write(action)

    def release(self, held: str) -> None:
        """Give back what was reserved under a token, if it still is."""
        self._write(lambda: self._release(held))

    def settle(self, held: str, cost: int) -> None:
        """Count an estimate in picodollars for the rest of the day in place of what was reserved under a token."""
        sql = "UPDATE ledger SET operation = ?, cost = ? WHERE workspace_id = ? AND operation = ?"
        self._write(lambda: self._database.run(sql, (_ESTIMATE, min(cost, _MOST_COST), held, _RESERVED)))

    def _release(self, held: str) -> int:
        sql = f"DELETE FROM ledger WHERE workspace_id = ? AND operation = '{_RESERVED}'"  # noqa: S608 - constants
        return self._database.run(sql, (held,))

    def rows(
        self,
        since: date | None = None,
        until: date | None = None,
        *,
        workspace_id: str | None = None,
        by: Sequence[Dimension] = DIMENSIONS,
    ) -> list[UsageRow]:
        """Sums by the dimensions of `by`, over the UTC days from `since` up to and without `until`.

        In the order of day, workspace, engine and operation.
        """
        chosen = [one for one in _GROUPS if one in by]
        groups = ", ".join(_GROUPS[one] for one in chosen)
        where, parameters = _where(since, until, workspace_id)
        columns = f"{groups}, {_SUMS}" if chosen else _SUMS
        ending = f"GROUP BY {groups} ORDER BY {groups}" if chosen else ""
        sql = f"SELECT {columns} FROM ledger {where} {ending}"  # noqa: S608 - made of the constants above
        found = self._healing(lambda: self._database.rows(sql, parameters))
        named = [(dict(zip(chosen, row, strict=False)), row[len(chosen) :]) for row in found]
        return [_usage_row(group, sums) for group, sums in named if sums[0]]  # one row of nulls where no call is

    def today_cost(self, now: datetime) -> int:
        """Picodollars of the UTC day's calls so far, with what is reserved and estimated for some.

        Those of other calls of unknown cost are not in it, and neither are those of days that a clock was wrong about.
        """
        return self._healing(lambda: self._today(now))

    def _today(self, now: datetime) -> int:
        sql = f"SELECT {_sum('cost')} FROM ledger WHERE time >= ? AND time < ?"  # noqa: S608 - made of constants
        today = in_utc(now).date()
        [(high, low)] = self._database.rows(sql, (_start(today), _start_after(today)))
        return int(high * _PART + low)

    def count(self, before: date) -> int:
        """How many calls are older than a UTC day."""
        sql = f"SELECT count(*) FROM ledger WHERE time < ? AND {_IS_CALL}"  # noqa: S608 - made of constants
        return int(self._healing(lambda: self._database.value(sql, (_start(before),))))

    def purge(self, before: date) -> int:
        """Delete the calls that are older than a UTC day; returns how many there were."""
        start = (_start(before),)

        def action() -> int:
            calls = self._database.run(f"DELETE FROM ledger WHERE time < ? AND {_IS_CALL}", start)  # noqa: S608
            self._database.run("DELETE FROM ledger WHERE time < ?", start)
            return calls

        return self._write(action)

    def move(self, old_id: str, new_id: str) -> int:
        """Give a workspace's calls to another, for merges; returns how many there were."""
        sql = "UPDATE ledger SET workspace_id = ? WHERE workspace_id = ?"
        return self._write(lambda: self._database.run(sql, (new_id, old_id)))

    def _write(self, action: Callable[[], T]) -> T:
        def whole() -> T:
            with self._database.transaction():
                return action()

        return self._healing(whole)

    def _healing(self, action: Callable[[], T]) -> T:
        """Do it; when the registry turns out to be damaged, set it aside and do it again."""
        try:
            return action()
        except StoreDamaged as damage:
            path = self._database.path
            self._database.close()
            set_aside(path, damage)
            self._database = _open(path, self._busy_seconds)
            return action()


def _open(path: Path, busy_seconds: float) -> Database:
    return open_store(path, MIGRATIONS, remedy=_REMEDY, keep_copy=True, busy_seconds=busy_seconds)


def _row(call: Call) -> Row:
    usage = call.usage
    tokens = {
        "tokens_in": usage.tokens_in,
        "tokens_out": usage.tokens_out,
        "cache_hit_tokens": usage.cache_hit_tokens,
        "cache_miss_tokens": usage.cache_miss_tokens,
    }
    for field, value in tokens.items():
        _check(field, value, 0, MOST_TOKENS)
    _check("tokens_saved", call.tokens_saved, -MOST_TOKENS, MOST_TOKENS)
    _check("cost", 0 if call.cost is None else call.cost, 0, _MOST_COST)
    named = [storable(text) for text in (call.workspace_id, call.engine, call.model, call.operation)]
    return (_moment(call.when), *named, *tokens.values(), call.cost, call.tokens_saved)


def _check(field: str, value: object, least: int, most: int) -> None:
    if not isinstance(value, int) or not least <= value <= most:
        raise ImpossibleCall(field, value)


def _moment(when: datetime) -> str:
    return in_utc(when).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _start(day: date) -> str:
    """Sorts before every moment of the day, and after those of the day before."""
    return day.isoformat()


def _start_after(day: date) -> str:
    return _start(day + timedelta(days=1)) if day < date.max else "~"  # "~" sorts after every digit


def _where(since: date | None, until: date | None, workspace_id: str | None) -> tuple[str, list[str]]:
    conditions: list[tuple[str, str]] = []
    if since is not None:
        conditions.append(("time >= ?", _start(since)))
    if until is not None:
        conditions.append(("time < ?", _start(until)))
    if workspace_id is not None:
        conditions.append(("workspace_id = ?", storable(workspace_id)))
    where = " AND ".join([_IS_CALL, *(one for one, _ in conditions)])
    return f"WHERE {where}", [value for _, value in conditions]


def _usage_row(group: dict[str, Any], sums: Row) -> UsageRow:
    calls, unknown, *parts = sums
    tokens_in, tokens_out, hits, misses, cost, saved = (
        int(high * _PART + low) for high, low in zip(parts[::2], parts[1::2], strict=True)
    )
    return UsageRow(
        group.get("workspace_id"),
        group.get("engine"),
        group.get("operation"),
        group.get("day"),
        Sums(calls, tokens_in, tokens_out, hits, misses, cost, unknown, saved),
    )
