"""MAX_DAILY_COST, in one place: whatever is sent to a provider passes here first, and what it cost is entered."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from braindex.domain.conversing import ConversingEngine, Reply, Step, ToolChoice, ToolDefinition, texts_of
from braindex.domain.engines import Completion, EngineFailed, Message
from braindex.domain.errors import BraindexError
from braindex.domain.tokens import count_tokens
from braindex.domain.usage import NO_USAGE, PICODOLLARS, EngineName, Usage
from braindex.services.usage import UsageService

# Code takes more tokens than bytes ÷ 4 says, and what is reserved for a call should be no less than it costs.
_DENSITY_PERCENT: Final = 150
Answered = TypeVar("Answered", Completion, Reply)
_NO_LIMIT: Final = 10.0**24  # picodollars; a float beyond its range is no integer


def estimated(texts: Sequence[str], tokens_out: int = 0) -> Usage:
    """Our own count of what goes in, none of it cached, with a margin."""
    tokens = -(-sum(map(count_tokens, texts)) * _DENSITY_PERCENT // 100)
    return Usage(tokens_in=tokens, tokens_out=tokens_out, cache_miss_tokens=tokens)


class DailyCostReached(EngineFailed):
    def __init__(self, limit: float, spent: int) -> None:
        super().__init__(
            f"MAX_DAILY_COST of ${limit:g} is reached (${spent / PICODOLLARS:.4f} today, UTC, with calls under way): "
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
    """What the cloud may cost a UTC day, in US dollars; None without a limit.

    What calls under way may cost counts as spent, so that calls side by side, from all processes of the data folder,
    exceed the limit by no more than one of them does alone.
    """

    def __init__(self, usage: UsageService, dollars: float | None) -> None:
        self._usage = usage
        self._dollars = dollars

    def reserve(self, engine: EngineName, model: str, expected: Usage) -> str:
        """Reserves what a call is expected to cost; the token of it, "" where there is nothing to reserve.

        Every token has to be given to `settled` or `released`. Ollama costs nothing.
        Raises DailyCostReached, CostUnknown or LedgerNeeded.
        """
        if self._dollars is None or engine == "ollama":
            return ""
        cost = self._usage.cost(engine, model, self._usage.now(), expected)
        if cost is None:
            raise CostUnknown(model)
        limit = int(min(self._dollars * PICODOLLARS, _NO_LIMIT))
        try:
            held, spent = self._usage.reserve(engine, model, cost, limit)
        except BraindexError as error:
            raise LedgerNeeded(error) from error
        if spent is not None:
            raise DailyCostReached(self._dollars, spent)
        return held

    def settled(self, held: str, engine: EngineName, model: str, used: Usage, estimate: Usage) -> Usage:
        """The usage of a call that ended, to be recorded: what was reserved is given back when that is done.

        Where nobody knows what was used, `estimate` counts for the rest of the day.
        """
        if not held:
            return used
        if used.unknown:
            self._usage.release(held, self._usage.cost(engine, model, self._usage.now(), estimate) or 0)
            return used
        return replace(used, held=held)

    def released(self, held: str) -> None:
        """Of a call that cost nothing."""
        if held:
            self._usage.release(held)


class LimitedEngine:
    """An engine that is not asked beyond the daily limit, whatever for: an answer, a brief, a warm-up, a review."""

    def __init__(self, engine: ConversingEngine, limit: DailyLimit) -> None:
        self._engine = engine
        self._limit = limit

    @property
    def name(self) -> EngineName:
        return self._engine.name

    @property
    def model(self) -> str:
        return self._engine.model

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        cancelled: Callable[[], bool] = lambda: False,
        seconds: float | None = None,
    ) -> Completion:
        """As the port says; raises also what `DailyLimit.reserve` raises. The usage that comes back is to be recorded,
        also that of a failure.
        """

        def ask() -> Completion:
            return self._engine.complete(messages, max_tokens=max_tokens, cancelled=cancelled, seconds=seconds)

        asked = [one.content for one in messages]
        return self._limited(ask, asked, max_tokens, lambda found: [found.text])

    def converse(
        self,
        steps: Sequence[Step],
        *,
        tools: Sequence[ToolDefinition],
        choice: ToolChoice,
        max_tokens: int,
        cancelled: Callable[[], bool] = lambda: False,
        seconds: float | None = None,
    ) -> Reply:
        """As the port says, and as `complete` does with the limit."""

        def ask() -> Reply:
            return self._engine.converse(
                steps, tools=tools, choice=choice, max_tokens=max_tokens, cancelled=cancelled, seconds=seconds
            )

        return self._limited(ask, texts_of(steps, tools), max_tokens, lambda found: texts_of([found]))

    def _limited(
        self,
        ask: Callable[[], Answered],
        asked: Sequence[str],
        max_tokens: int,
        said: Callable[[Answered], Sequence[str]],
    ) -> Answered:
        held = self._limit.reserve(self.name, self.model, estimated(asked, max_tokens))
        try:
            found = ask()
        except EngineFailed as failure:
            if failure.usage == NO_USAGE:
                self._limit.released(held)
            else:
                failure.usage = self._limit.settled(held, self.name, self.model, failure.usage, estimated(asked))
            raise
        except BaseException:
            self._limit.released(held)
            raise
        estimate = estimated(asked, sum(map(count_tokens, said(found))))
        return replace(found, usage=self._limit.settled(held, self.name, self.model, found.usage, estimate))


class EmbeddingMeter:
    """The meter of one workspace's embeddings."""

    def __init__(self, usage: UsageService, workspace_id: str, limit: DailyLimit) -> None:
        self._usage = usage
        self._workspace_id = workspace_id
        self._limit = limit

    def begin(self, engine: EngineName, model: str, texts: Sequence[str]) -> str:
        """The token of what is reserved for a request, for `enter`. Raises what `DailyLimit.reserve` raises."""
        return self._limit.reserve(engine, model, estimated(texts))

    def enter(self, engine: EngineName, model: str, usage: Usage | None, held: str, texts: Sequence[str]) -> None:
        """A request that ended at this moment; None, one that used nothing, is not entered. Never raises."""
        if usage is None:
            self._limit.released(held)
            return
        used = self._limit.settled(held, engine, model, usage, estimated(texts))
        self._usage.record(self._usage.ended(self._workspace_id, engine, model, "embed", used))
