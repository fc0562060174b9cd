"""Each failure of a provider by name, and what it is called; both adapters, against real HTTP."""

from collections.abc import Callable

import pytest
from tests.fakes.asked import MESSAGES, Waits
from tests.fakes.deepseek import KEY, FakeDeepSeek
from tests.fakes.ollama import FakeOllama
from tests.fakes.server import StandIn

from braindex.domain.engines import Engine, EngineFailed
from braindex.llm.deepseek import DeepSeek
from braindex.llm.ollama import Ollama
from braindex.transport.failures import (
    CompressedAnswer,
    ConnectionBroken,
    Failure,
    KeyRefused,
    NonsenseAnswer,
    OutOfCredit,
    PromptTooLong,
    RateLimited,
    RequestRefused,
    RetryRule,
    ServerFailed,
    TimedOut,
    UnknownModel,
)

# Name: the failure, and how often the provider is asked. A 400 names the word on thinking, so it is asked twice.
EXPECTED: dict[str, tuple[type[Failure], int]] = {
    "400": (RequestRefused, 2),
    "401": (KeyRefused, 1),
    "402": (OutOfCredit, 1),
    "403": (KeyRefused, 1),
    "404": (UnknownModel, 1),
    "413": (PromptTooLong, 1),
    "429": (RateLimited, 3),
    "500": (ServerFailed, 3),
    "502": (ServerFailed, 3),
    "503": (ServerFailed, 3),
    "drop half-way": (ConnectionBroken, 3),
    "drop before answering": (ConnectionBroken, 3),
    "empty body": (NonsenseAnswer, 1),
    "non-JSON": (NonsenseAnswer, 1),
    "JSON of another kind": (NonsenseAnswer, 1),
    "no message": (NonsenseAnswer, 1),
    "empty text": (NonsenseAnswer, 1),
    "wrong content type": (NonsenseAnswer, 1),
    "huge body": (NonsenseAnswer, 1),
    "compressed": (CompressedAnswer, 1),
    "deep body": (NonsenseAnswer, 1),
    "redirect": (NonsenseAnswer, 1),
}
Make = Callable[[float], tuple[StandIn, Engine]]


@pytest.fixture(params=["deepseek", "ollama"])
def make(request: pytest.FixtureRequest, retry: RetryRule) -> Make:
    """A stand-in with an engine that asks it, within so many seconds."""
    stand_in: StandIn = request.getfixturevalue(f"fake_{request.param}")

    def of(seconds: float) -> tuple[StandIn, Engine]:
        if isinstance(stand_in, FakeDeepSeek):
            return stand_in, DeepSeek("deepseek-flash", "deepseek-flash", KEY, stand_in.url, seconds, retry=retry)
        return stand_in, Ollama("llama3.2", stand_in.url, seconds, retry=retry)

    return of


def fails(asked: Engine) -> EngineFailed:
    with pytest.raises(EngineFailed) as caught:
        asked.complete(MESSAGES, max_tokens=99)
    return caught.value


@pytest.mark.parametrize("name", EXPECTED)
def test_each_failure_has_its_name_and_only_some_are_tried_again(name: str, make: Make) -> None:
    stand_in, asked = make(20.0)
    stand_in.fail_always(name)
    failure = fails(asked)
    kind, attempts = EXPECTED[name]
    assert type(failure) is kind
    assert len(stand_in.requests) == attempts
    assert str(failure).count("\n") == 0
    assert stand_in.violations == []


def test_every_failure_of_the_stand_ins_is_expected_somewhere() -> None:
    elsewhere = {"slow", "answer", "422", "no choices", "out of resources", "blank lines", "another usage"}
    with FakeDeepSeek() as deepseek, FakeOllama() as ollama:
        assert {*deepseek.failures(), *ollama.failures()} == EXPECTED.keys() | elsewhere


@pytest.mark.parametrize("name", ["429", "500", "503", "drop half-way", "drop before answering"])
def test_a_failure_that_passes_costs_a_wait_and_no_answer(name: str, make: Make, waits: Waits) -> None:
    stand_in, asked = make(20.0)
    stand_in.fail(name, times=2)
    assert asked.complete(MESSAGES, max_tokens=99).text == "The answer."
    assert waits.seconds == [0.5, 1.0]


def test_a_provider_that_says_when_is_asked_then(make: Make, waits: Waits) -> None:
    stand_in, asked = make(20.0)
    stand_in.fail("429", retry_after=7)
    assert asked.complete(MESSAGES, max_tokens=99).text == "The answer."
    assert waits.seconds == [7.0]


@pytest.mark.parametrize("retry_after", [3_600, "Fri, 31 Dec 2100 23:59:59 GMT"])
def test_a_provider_that_wants_to_be_left_alone_for_long_is_not_waited_for(
    retry_after: int | str, make: Make, waits: Waits
) -> None:
    stand_in, asked = make(20.0)
    stand_in.fail("429", retry_after=retry_after)
    assert isinstance(fails(asked), RateLimited)
    assert waits.seconds == []


@pytest.mark.parametrize("times", [1, 2])
def test_a_compressed_body_is_refused_however_often_it_is_folded(times: int, make: Make) -> None:
    stand_in, asked = make(20.0)
    stand_in.fail_always("compressed", times=times)
    assert isinstance(fails(asked), CompressedAnswer)
    assert stand_in.requests[0].headers["accept-encoding"] == "identity"


def test_a_compressed_refusal_is_told_by_its_status_alone(make: Make) -> None:
    stand_in, asked = make(20.0)
    stand_in.fail_always("compressed", status=402)
    assert isinstance(fails(asked), OutOfCredit)


@pytest.mark.parametrize("retry_after", ["9" * 400, "Fri, 31 Dec 9999 23:59:59 -2359", "Mon, 99 Foo 0000 00:00:00 GMT"])
def test_a_wait_without_bounds_is_still_a_provider_that_is_busy(retry_after: str, make: Make) -> None:
    stand_in, asked = make(20.0)
    stand_in.fail_always("429", retry_after=retry_after)
    assert isinstance(fails(asked), RateLimited)


def test_one_call_may_have_less_time_than_the_engine(make: Make) -> None:
    stand_in, asked = make(20.0)
    stand_in.fail_always("slow")
    with pytest.raises(TimedOut, match=r"0\.3 s"):
        asked.complete(MESSAGES, max_tokens=99, seconds=0.3)


def test_a_wait_that_would_pass_the_time_limit_is_not_begun(make: Make, waits: Waits) -> None:
    stand_in, asked = make(5.0)
    stand_in.fail("429", retry_after=19)
    assert isinstance(fails(asked), RateLimited)
    assert waits.seconds == []


def test_a_slow_provider_is_left_at_the_time_limit(make: Make) -> None:
    stand_in, asked = make(0.3)
    stand_in.fail_always("slow")
    failure = fails(asked)
    assert isinstance(failure, TimedOut)
    assert "0.3 s" in str(failure)
    assert not stand_in.waiting.is_set() or stand_in.hung_up.wait(10)


def test_a_redirect_is_not_followed(make: Make) -> None:
    stand_in, asked = make(20.0)
    stand_in.fail_always("redirect")
    fails(asked)
    assert "/elsewhere" not in {one.path for one in stand_in.requests}
