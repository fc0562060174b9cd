"""What embedding a workspace costs: kept under the daily limit, and entered in the ledger."""

from datetime import UTC, datetime

from braindex.domain.engines import EngineFailed
from braindex.domain.usage import NO_USAGE, PICODOLLARS, Call, EngineName, Usage
from braindex.services.usage import UsageService


class DailyCostReached(EngineFailed):
    def __init__(self, limit: float, spent: int) -> None:
        super().__init__(
            f"MAX_DAILY_COST of ${limit:g} is reached (${spent / PICODOLLARS:.4f} today, UTC): "
            "raise it, or go on tomorrow"
        )


class CostUnknown(EngineFailed):
    def __init__(self, model: str) -> None:
        super().__init__(
            f"the price of {model} is unknown, so MAX_DAILY_COST cannot be kept: add it to PRICES_FILE, or unset "
            "MAX_DAILY_COST"
        )


class EmbeddingMeter:
    """The meter of one workspace's embeddings. `max_daily_cost` is in US dollars a UTC day, None without a limit."""

    def __init__(self, usage: UsageService, workspace_id: str, max_daily_cost: float | None) -> None:
        self._usage = usage
        self._workspace_id = workspace_id
        self._max_daily_cost = max_daily_cost

    def check(self, engine: EngineName, model: str) -> None:
        """Raises DailyCostReached or CostUnknown, and what reading the ledger raises. Ollama costs nothing."""
        if self._max_daily_cost is None or engine == "ollama":
            return
        if self._usage.cost(engine, model, datetime.now(UTC), NO_USAGE) is None:
            raise CostUnknown(model)
        spent = self._usage.spent_today()
        if spent >= self._max_daily_cost * PICODOLLARS:
            raise DailyCostReached(self._max_daily_cost, spent)

    def enter(self, engine: EngineName, model: str, usage: Usage) -> None:
        """A request that ended at this moment. Never raises."""
        now = datetime.now(UTC)
        cost = self._usage.cost(engine, model, now, usage)
        self._usage.record(Call(self._workspace_id, engine, model, "embed", now, usage, cost))
