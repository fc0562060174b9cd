"""What calls to engines used and cost: entered, counted, reported, purged."""

import logging
import secrets
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

from braindex.domain.engines import Engine
from braindex.domain.errors import BraindexError
from braindex.domain.periods import ALL, first_day
from braindex.domain.prices import PriceTable
from braindex.domain.spending import DIMENSIONS, Dimension, UsageReport
from braindex.domain.usage import Call, EngineName, Operation, Usage
from braindex.registry.ledger import Ledger

LOG: Final = logging.getLogger(__name__)

FLUSH_SECONDS: Final = 2.0  # for the last questions to reach the ledger
GATHER_SECONDS: Final = 0.5  # in which calls are entered as one: opening and closing the ledger is what takes time


def _now() -> datetime:
    return datetime.now(UTC)


class _Later:
    """Calls that are entered in groups by a daemon thread, which ends when there are none."""

    def __init__(self, record: Callable[[Sequence[Call]], None]) -> None:
        self._record = record
        self._changed = threading.Condition()
        self._waiting: list[Call] = []
        self._running = False
        self._hurried = 0  # how many wait for it

    def put(self, call: Call) -> None:
        with self._changed:
            self._waiting.append(call)
            if not self._running:
                self._running = True
                threading.Thread(target=self._run, name="ledger", daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._running = False
                    self._changed.notify_all()
                    return
                self._changed.wait_for(lambda: self._hurried, GATHER_SECONDS)
                calls, self._waiting = self._waiting, []
            self._record(calls)

    def flush(self, timeout: float) -> None:
        with self._changed:
            self._hurried += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._running, timeout)
            self._hurried -= 1


class UsageService:
    """The ledger of one data folder. Opens its database a call at a time, so any process and thread may do the same.

    With `tracking` off nothing is entered; what was entered before is still reported.
    """

    def __init__(
        self,
        brain_dir: Path,
        prices: PriceTable,
        *,
        tracking: bool = True,
        now: Callable[[], datetime] = _now,
    ) -> None:
        self._brain_dir = brain_dir
        self._prices = prices
        self._now = now
        self.tracking = tracking
        self._later = _Later(self._record)

    def _ledger(self) -> Ledger:
        return Ledger.open(self._brain_dir)

    def now(self) -> datetime:
        """The time that calls are entered with."""
        return self._now()

    def cost(self, engine: EngineName, model: str, when: datetime, usage: Usage) -> int | None:
        """Picodollars of a call that ended at `when`; None where the price or the usage is unknown. Ollama is free."""
        if engine == "ollama" or (engine == "none" and not model):
            return 0
        if usage.unknown:
            return None
        return self._prices.cost(model, when, usage)

    def record(self, call: Call) -> None:
        """Enters a call. Never raises: an answer is not lost to a ledger that cannot be written."""
        if self.tracking:
            self._record([call])

    def _record(self, calls: Sequence[Call]) -> None:
        try:
            with self._ledger() as ledger:
                ledger.add(*calls)
        except BraindexError as error:
            LOG.warning("%s missing in the ledger: %s", "a call is" if len(calls) == 1 else "calls are", error)

    def record_now(
        self, workspace_id: str, called: Engine | None, operation: Operation, usage: Usage, tokens_saved: int = 0
    ) -> None:
        """Enters a call to an engine (None: a question that its sources answered) that ended at this moment."""
        if called is not None:
            self.record(
                self.ended(workspace_id, called.name, called.model, operation, usage, tokens_saved=tokens_saved)
            )
        elif self.tracking:  # no money is in it, and a question need not wait for a disk
            self._later.put(self.ended(workspace_id, "none", "", operation, usage, tokens_saved=tokens_saved))

    def ended(
        self,
        workspace_id: str,
        engine: EngineName,
        model: str,
        operation: Operation,
        usage: Usage,
        *,
        tokens_saved: int = 0,
    ) -> Call:
        """A call that ended at this moment, with its cost."""
        now = self._now()
        cost = self.cost(engine, model, now, usage)
        return Call(workspace_id, engine, model, operation, now, usage, cost, tokens_saved)

    def flush(self, timeout: float) -> None:
        """Waits, at most `timeout` seconds, until everything that was recorded is in the ledger."""
        self._later.flush(timeout)

    def spent_today(self) -> int:
        """Picodollars of all workspaces since midnight UTC, calls of unknown cost left out. May raise StoreError."""
        with self._ledger() as ledger:
            return ledger.today_cost(self._now())

    def reserve(self, engine: EngineName, model: str, cost: int, limit: int) -> tuple[str, int | None]:
        """A token for picodollars that are reserved until a usage with it is recorded, and None.

        Where `limit` is reached today, nothing is reserved, and in place of None comes what is spent and reserved.
        May raise StoreError.
        """
        held = secrets.token_hex(16)
        with self._ledger() as ledger:
            return held, ledger.reserve(held, self._now(), engine, model, cost=cost, limit=limit)

    def release(self, held: str, estimate: int | None = None) -> None:
        """Gives back what was reserved, or keeps an estimate of it for the day. Never raises: it expires by itself."""
        try:
            with self._ledger() as ledger:
                if estimate is None:
                    ledger.release(held)
                else:
                    ledger.settle(held, estimate)
        except BraindexError as error:
            LOG.warning("a reservation stays in the ledger until it expires: %s", error)

    def report(
        self,
        period: str | date = ALL,
        workspace_id: str | None = None,
        by: Sequence[Dimension] = DIMENSIONS,
    ) -> UsageReport:
        """What was used in a period of UTC days (see `periods.first_day`) or since a day, in one workspace or in all.

        Raises UnknownPeriod, StoreError.
        """
        since = first_day(period, self._now().date()) if isinstance(period, str) else period
        self.flush(FLUSH_SECONDS)
        with self._ledger() as ledger:
            return UsageReport(since, tuple(ledger.rows(since, workspace_id=workspace_id, by=by)))

    def older(self, before: date) -> int:
        """How many calls `purge` would delete."""
        self.flush(FLUSH_SECONDS)
        with self._ledger() as ledger:
            return ledger.count(before)

    def purge(self, before: date) -> int:
        """Deletes the calls that are older than a UTC day; returns how many there were."""
        self.flush(FLUSH_SECONDS)
        with self._ledger() as ledger:
            return ledger.purge(before)

    def move(self, old_id: str, new_id: str) -> int:
        """Gives a workspace's calls to another, for merges; returns how many there were."""
        self.flush(FLUSH_SECONDS)
        with self._ledger() as ledger:
            return ledger.move(old_id, new_id)
