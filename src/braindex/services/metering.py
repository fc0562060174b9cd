"""MAX_DAILY_COST, in one place: whatever is sent to a provider passes here first, and what it cost is entered."""

from collections.abc import Callable, Sequence

from braindex.domain.engines import Completion, Engine, EngineFailed, Message
from braindex.domain.errors import BraindexError
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


class LedgerNeeded(EngineFailed):
    def __init__(self, error: BraindexError) -> None:
        super().__init__(f"MAX_DAILY_COST cannot be kept without the ledger: {error}")


class DailyLimit:
    """What the cloud may cost a UTC day, in US dollars; None without a limit."""

    def __init__(self, usage: UsageService, dollars: float | None) -> None:
        self._usage = usage
        self._dollars = dollars

    def check(self, engine: EngineName, model: str) -> None:
        """Raises DailyCostReached, CostUnknown or LedgerNeeded. Ollama costs nothing."""
        if self._dollars is None or engine == "ollama":
            return
        if self._usage.cost(engine, model, self._usage.now(), NO_USAGE) is None:
            raise CostUnknown(model)
        try:
            spent = self._usage.spent_today()
        except BraindexError as error:
            raise LedgerNeeded(error) from error
        if spent >= self._dollars * PICODOLLARS:
            raise DailyCostReached(self._dollars, spent)


class LimitedEngine:
    """An engine that is not asked beyond the daily limit, whatever for: an answer, a brief, a warm-up."""

    def __init__(self, engine: Engine, limit: DailyLimit) -> None:
        self._engine = engine
        self._limit = limit

    @property
    def name(self) -> EngineName:
        return self._engine.name

    @property
    def model(self) -> str:
        return self._engine.model

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, cancelled: Callable[[], bool] = lambda: False
    ) -> Completion:
        """As the port says; raises also what `DailyLimit.check` raises."""
        self._limit.check(self.name, self.model)
        return self._engine.complete(messages, max_tokens=max_tokens, cancelled=cancelled)


class EmbeddingMeter:
    """The meter of one workspace's embeddings."""

    def __init__(self, usage: UsageService, workspace_id: str, limit: DailyLimit) -> None:
        self._usage = usage
        self._workspace_id = workspace_id
        self._limit = limit

    def check(self, engine: EngineName, model: str) -> None:
        """Raises what `DailyLimit.check` raises."""
        self._limit.check(engine, model)

    def enter(self, engine: EngineName, model: str, usage: Usage) -> None:
        """A request that ended at this moment. Never raises."""
        now = self._usage.now()
        cost = self._usage.cost(engine, model, now, usage)
        self._usage.record(Call(self._workspace_id, engine, model, "embed", now, usage, cost))
