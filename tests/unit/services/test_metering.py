"""MAX_DAILY_COST, with engines that are asked side by side, fail, or say nonsense of what they used."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from braindex.domain.conversing import Reply, Step, ToolCall
from braindex.domain.engines import Completion, EngineFailed, Message
from braindex.domain.prices import PriceTable
from braindex.domain.results import Workspace
from braindex.domain.usage import NO_USAGE, EngineName, Usage
from braindex.services.metering import DailyCostReached, DailyLimit, EmbeddingMeter, LimitedEngine
from braindex.services.usage import UsageService
from braindex.services.warmup import WarmUps

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
A_DOLLAR = Decimal(1)
ROW = {"models": ["flash"], "from": "2026-01-01", "source": "a page"}
PRICES = PriceTable.parse({"prices": [{**ROW, "cache_hit": A_DOLLAR, "cache_miss": A_DOLLAR, "output": A_DOLLAR}]})
ASKED = [Message("user", "abcd" * 1_000)]  # 1,000 tokens by our own count, 1,500 with the margin
MILLION = 1_000_000  # picodollars of a token


@dataclass
class Scripted:
    """Gives back a usage, or fails with one."""

    usage: Usage = field(default_factory=lambda: Usage(1_000, 500, 0, 1_000))
    failure: EngineFailed | None = None
    name: EngineName = "deepseek-flash"
    model: str = "flash"
    calls: int = 0

    def complete(self, messages: Sequence[Message], **_: object) -> Completion:
        self._called(messages)
        return Completion("abcd" * 100, self.model, self.usage)

    def converse(self, steps: Sequence[Step], **_: object) -> Reply:
        self._called(steps)
        return Reply("abcd" * 60, (ToolCall("1", "abcd", "abcd" * 39),), self.model, self.usage)

    def _called(self, asked: Sequence[object]) -> None:
        assert asked
        self.calls += 1
        if self.failure is not None:
            raise self.failure


@pytest.fixture
def usage(tmp_path: Path) -> UsageService:
    return UsageService(tmp_path, PRICES, now=lambda: NOW)


def asked(usage: UsageService, engine: Scripted, dollars: float) -> Usage:
    limited = LimitedEngine(engine, DailyLimit(usage, dollars))
    try:
        used = limited.complete(ASKED, max_tokens=700).usage
    except EngineFailed as failure:
        used = failure.usage
        usage.record_now("w", limited, "ask", used)
        raise
    usage.record_now("w", limited, "ask", used)
    return used


def test_the_real_cost_replaces_what_was_reserved(usage):
    asked(usage, Scripted(), 1.0)
    assert usage.spent_today() == 1_500 * MILLION
    assert usage.report().totals.cost == 1_500 * MILLION


def test_a_turn_of_a_conversation_counts_as_an_answer_does(usage):
    engine = Scripted(usage=Usage(unknown=True))
    limited = LimitedEngine(engine, DailyLimit(usage, 0.0016))
    used = limited.converse(ASKED, tools=(), choice="auto", max_tokens=700).usage
    usage.record_now("w", limited, "review", used)
    assert usage.spent_today() == 1_600 * MILLION  # 1,500 of the question, 100 of the turn with its call
    with pytest.raises(DailyCostReached):
        limited.converse(ASKED, tools=(), choice="auto", max_tokens=700)
    assert engine.calls == 1


def test_questions_side_by_side_do_not_overspend_together(usage):
    engine = Scripted()

    def one(_: int) -> bool:
        try:
            LimitedEngine(engine, DailyLimit(usage, 0.0030)).complete(ASKED, max_tokens=700)
        except DailyCostReached:
            return False
        return True

    with ThreadPoolExecutor(30) as pool:
        answered = list(pool.map(one, range(30)))
    assert (answered.count(True), engine.calls) == (2, 2)  # 2,200 tokens are reserved for each, at $1 a million


def test_a_failure_that_used_nothing_gives_back_what_was_reserved(usage):
    with pytest.raises(EngineFailed):
        asked(usage, Scripted(failure=EngineFailed("down")), 1.0)
    assert usage.spent_today() == 0


def test_a_failure_that_was_billed_costs_what_it_said(usage):
    failure = EngineFailed("an empty text")
    failure.usage = Usage(1_000, 0, 0, 1_000)
    with pytest.raises(EngineFailed):
        asked(usage, Scripted(failure=failure), 1.0)
    assert usage.spent_today() == 1_000 * MILLION


def test_a_usage_that_is_unknown_costs_null_in_reports_and_an_estimate_under_a_limit(usage):
    engine = Scripted(usage=Usage(unknown=True))
    asked(usage, engine, 0.0016)
    totals = usage.report().totals
    assert (totals.cost_usd, totals.unknown_cost_calls) == (None, 1)
    assert usage.spent_today() == 1_600 * MILLION  # 1,500 of the question, 100 of the answer
    with pytest.raises(DailyCostReached):
        asked(usage, engine, 0.0016)
    assert engine.calls == 1


def test_a_limit_beyond_the_range_of_numbers_is_a_limit_that_nobody_reaches(usage):
    assert asked(usage, Scripted(), 1.7e308).tokens_in == 1_000


def test_embeddings_reserve_release_and_estimate_too(usage):
    meter = EmbeddingMeter(usage, "w", DailyLimit(usage, 1.0))
    texts = [ASKED[0].content]
    for used in (None, Usage(tokens_in=900), Usage(unknown=True)):
        held = meter.begin("openai", "flash", texts)
        meter.enter("openai", "flash", used, held, texts)
    assert usage.spent_today() == (900 + 1_500) * MILLION
    assert usage.report().totals.calls == 2


@pytest.mark.parametrize("tokens", [10**15, 10**400])
def test_a_warm_up_with_an_absurd_usage_loses_no_later_answer(usage, tokens):
    workspace, prefix = Workspace("w", "w", "/w", ""), Message("system", "The brief. " * 50)
    warm_ups = WarmUps(usage, enabled=True)
    engine = Scripted(usage=Usage(tokens_in=tokens))
    warm_ups.start(workspace, [engine], prefix)
    warm_ups.wait(30)
    for used in (NO_USAGE, Usage(10), Usage(unknown=True), Usage(10, 0, tokens)):
        warm_ups.after_answer(workspace, engine, prefix, used)
    assert engine.calls == 1
