"""The agent loop against an engine that says what it is told to: every limit ends the investigation, none the review."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from braindex.domain.conversing import Reply, Step, ToolCall, ToolDefinition
from braindex.domain.engines import EngineFailed, Message
from braindex.domain.usage import PICODOLLARS, EngineName, Usage
from braindex.llm.prices import load_prices
from braindex.services.reviewing.agent import Agent, Judgement, Limits
from braindex.services.reviewing.talk import Talk
from braindex.services.usage import UsageService

SYSTEM, CHANGE = Message("system", "You review."), Message("user", "The diff.")
GOOD = json.dumps({"verdict": "approve", "summary": "Fine.", "findings": []})
USED = Usage(1_000, 100, 0, 1_000)


class Engine:
    """Says one thing after the other, the last again and again; a number of calls stands for calls of a tool."""

    def __init__(self, *said: str | int, name: EngineName = "deepseek-flash", usage: Usage = USED) -> None:
        self.name, self.model, self.said, self.usage = name, "deepseek-flash", list(said), usage
        self.asked: list[tuple[list[Step], str]] = []

    def converse(self, steps: Sequence[Step], *, choice: str, **_: Any) -> Reply:
        self.asked.append((list(steps), choice))
        said = self.said.pop(0) if len(self.said) > 1 else self.said[0]
        if isinstance(said, str):
            return Reply(said, (), self.model, self.usage)
        calls = tuple(ToolCall(f"{len(self.asked)}-{number}", "read_file", "{}") for number in range(said))
        return Reply("", calls, self.model, self.usage)

    @property
    def choices(self) -> list[str]:
        return [choice for _, choice in self.asked]


class Tools:
    definitions: Sequence[ToolDefinition] = ()

    def __init__(self, result: str = "found") -> None:
        self.result, self.ran = result, 0

    def run(self, _call: ToolCall) -> str:
        self.ran += 1
        return self.result


@pytest.fixture
def usage(tmp_path) -> UsageService:
    return UsageService(tmp_path, load_prices())


@pytest.fixture
def judge(usage):
    def judged(
        engine: Engine, tools: Tools | None = None, clock: Callable[[], float] = lambda: 0.0, **more: Any
    ) -> Judgement:
        limits = Limits(**{"turns": 20, "cost": 1.0, **more})
        return Agent(Talk(engine, usage, "w", limits.cost), tools or Tools(), limits, clock).judge(SYSTEM, CHANGE)

    return judged


def test_an_answer_ends_the_review(judge):
    engine = Engine(GOOD)
    found = judge(engine)
    assert found.opinion is not None
    assert (found.cut, engine.choices) == ("", ["auto"])


def test_at_the_limit_of_turns_the_last_one_may_only_answer(judge):
    engine = Engine(1, 1, GOOD)
    found = judge(engine, turns=3)
    assert found.opinion is not None
    assert engine.choices == ["auto", "auto", "none"]
    assert "REVIEW_MAX_TURNS=3" in found.cut


def test_at_the_limit_of_time_the_next_turn_may_only_answer(judge):
    times = iter([0.0, 1.0, 901.0, 902.0])
    engine = Engine(1, GOOD)
    found = judge(engine, clock=lambda: next(times))
    assert found.opinion is not None
    assert (engine.choices, found.cut) == (["auto", "none"], "the limit of 900 s")


def test_a_conversation_that_grows_too_long_is_ended(judge):
    engine = Engine(6, 6, 6, 6, 6, GOOD)
    found = judge(engine, tools=Tools("x" * 10_000), cost=100.0)
    assert found.opinion is not None
    assert "length" in found.cut
    assert len(engine.asked) == 6


def test_a_local_model_gets_a_shorter_conversation(judge):
    engine = Engine(6, 6, GOOD, name="ollama")
    assert "length" in judge(engine, tools=Tools("x" * 20_000)).cut


def test_at_the_limit_of_cost_enough_is_left_for_the_answer(judge, usage):
    engine = Engine(*[1] * 18, GOOD, usage=Usage(20_000, 2_000, 0, 20_000))
    found = judge(engine, cost=0.08)
    assert "REVIEW_MAX_COST=0.08" in found.cut
    assert engine.choices[-1] == "none"
    assert usage.spent_today() <= 0.08 * PICODOLLARS


def test_calls_whose_usage_nobody_tells_count_with_an_estimate(judge):
    engine = Engine(*[1] * 18, GOOD, usage=Usage(unknown=True))
    found = judge(engine, tools=Tools("x" * 9_000), cost=0.08)
    assert "REVIEW_MAX_COST" in found.cut


def test_an_answer_that_is_none_is_mended_once(judge):
    engine = Engine("LGTM", GOOD)
    assert judge(engine).opinion is not None
    assert engine.choices == ["auto", "none"]
    engine = Engine("LGTM")
    assert judge(engine).opinion is None
    assert len(engine.asked) == 2


def test_nothing_is_mended_where_no_turn_is_left(judge):
    engine = Engine("LGTM", GOOD)
    assert judge(engine, turns=1).opinion is None
    assert len(engine.asked) == 1


def test_an_engine_that_calls_tools_where_it_may_not_gives_no_opinion(judge):
    tools = Tools()
    engine = Engine(1)
    assert judge(engine, tools=tools, turns=2).opinion is None
    assert tools.ran == 1


def test_a_failure_is_entered_with_what_it_used(usage):
    class Failing(Engine):
        def converse(self, *_: Any, **__: Any) -> Reply:
            failure = EngineFailed("gone")
            failure.usage = USED
            raise failure

    talk = Talk(Failing(GOOD), usage, "w", 1.0)
    with pytest.raises(EngineFailed):
        Agent(talk, Tools(), Limits(20, 1.0)).judge(SYSTEM, CHANGE)
    assert (talk.spent.calls, talk.spent.tokens_in) == (1, 1_000)
    assert usage.report().totals.tokens_in == 1_000
