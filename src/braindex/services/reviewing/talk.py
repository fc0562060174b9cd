"""One review's conversation with an engine: secrets are taken out of what is sent, and what it costs is entered."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from braindex.domain.conversing import Conversing, Reply, Step, ToolChoice, ToolDefinition, texts_of
from braindex.domain.engines import EngineFailed
from braindex.domain.review_prompt import DIFF_TOKENS
from braindex.domain.reviews import NOTHING_SPENT, Spent
from braindex.domain.secrets import redacted
from braindex.domain.tokens import count_tokens
from braindex.domain.usage import NO_USAGE, PICODOLLARS, EngineName, Usage
from braindex.services.metering import estimated
from braindex.services.usage import UsageService

# Of a conversation that a request may hold, by our own count (bytes ÷ 4): what code takes more, and the answer, fit
# into DeepSeek's 128k and into the largest context that Ollama is asked for.
_LONGEST: Final[dict[EngineName, int]] = {"ollama": 36_000}
_LONGEST_CLOUD: Final = 80_000
# Of a diff in it: a local model reads slowly, and a large context takes memory that it may not have.
_DIFF: Final[dict[EngineName, int]] = {"ollama": 8_000}


class Talk:
    """Everything that is said to one engine for one review."""

    def __init__(self, engine: Conversing, usage: UsageService, workspace_id: str, most: float) -> None:
        """`most` is what it may cost in US dollars. Ollama costs nothing."""
        self.spent: Spent = NOTHING_SPENT
        self._engine = engine
        self._usage = usage
        self._workspace_id = workspace_id
        self._most = most * PICODOLLARS
        self._counted = 0  # picodollars; with an estimate for a call whose usage nobody knows

    @property
    def engine(self) -> EngineName:
        return self._engine.name

    @property
    def knows_price(self) -> bool:
        return self._cost(estimated([""], 1)) is not None

    @property
    def longest(self) -> int:
        """Tokens that a conversation may have."""
        return _LONGEST.get(self._engine.name, _LONGEST_CLOUD)

    @property
    def diff_tokens(self) -> int:
        """Tokens that the diff in a prompt may have."""
        return _DIFF.get(self._engine.name, DIFF_TOKENS)

    def pays_for(self, steps: Sequence[Step], tools: Sequence[ToolDefinition], tokens: int, *, calls: int = 1) -> bool:
        """Whether the limit leaves enough for so many calls of this size, with answers of `tokens` each.

        Where the price is unknown, nothing can be held against the limit: true then.
        """
        cost = self._cost(estimated(texts_of(steps, tools), tokens))
        return cost is None or self._counted + calls * cost <= self._most

    def say(
        self, steps: Sequence[Step], tools: Sequence[ToolDefinition], choice: ToolChoice, *, max_tokens: int
    ) -> Reply:
        """The engine's next turn. Raises EngineFailed; what that cost is entered, too."""
        sent = [_redacted(one) for one in steps]
        asked = texts_of(sent, tools)
        try:
            reply = self._engine.converse(sent, tools=tools, choice=choice, max_tokens=max_tokens)
        except EngineFailed as failure:
            self._enter(failure.usage, NO_USAGE if failure.usage == NO_USAGE else estimated(asked))
            raise
        self._enter(reply.usage, estimated(asked, sum(map(count_tokens, texts_of([reply])))))
        return reply

    def _enter(self, used: Usage, estimate: Usage) -> None:
        call = self._usage.ended(self._workspace_id, self._engine.name, self._engine.model, "review", used)
        self._usage.record(call)
        self.spent = self.spent.plus(used, call.cost)
        known = self._cost(estimate) if call.cost is None else call.cost
        self._counted += known or 0

    def _cost(self, usage: Usage) -> int | None:
        return self._usage.cost(self._engine.name, self._engine.model, self._usage.now(), usage)


def _redacted(step: Step) -> Step:
    """What is said to an engine, without secrets. Its own words go back as they came."""
    return step if isinstance(step, Reply) else replace(step, content=redacted(step.content))
