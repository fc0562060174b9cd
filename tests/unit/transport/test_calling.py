import asyncio
import logging
import signal
import subprocess
import sys
import threading

import pytest
from tests.fakes.asked import MESSAGES, ROOT
from tests.fakes.deepseek import KEY, FakeDeepSeek
from tests.fakes.ollama import FakeOllama

from braindex.domain.engines import EngineCancelled, Message
from braindex.llm.deepseek import DeepSeek
from braindex.llm.ollama import Ollama
from braindex.transport.calling import call
from braindex.transport.failures import (
    ConnectionBroken,
    KeyRefused,
    Provider,
    RateLimited,
    RetryRule,
    ServerFailed,
    Unforeseen,
)

PROVIDER = Provider("It", "a", "b", "c", "d")


def test_a_cancelled_call_to_deepseek_closes_its_connection(fake_deepseek: FakeDeepSeek) -> None:
    fake_deepseek.fail_always("slow")
    asked = DeepSeek("deepseek-flash", "deepseek-flash", KEY, fake_deepseek.url, 20.0)
    with pytest.raises(EngineCancelled):
        asked.complete(MESSAGES, max_tokens=99, cancelled=fake_deepseek.waiting.is_set)
    assert fake_deepseek.hung_up.wait(10)
    assert len(fake_deepseek.requests) == 1


def test_a_cancelled_call_to_ollama_closes_its_connection(fake_ollama: FakeOllama) -> None:
    fake_ollama.fail_always("slow")
    with pytest.raises(EngineCancelled):
        Ollama("llama3.2", fake_ollama.url, 20.0).complete(
            MESSAGES, max_tokens=99, cancelled=fake_ollama.waiting.is_set
        )
    assert fake_ollama.hung_up.wait(10)
    assert len(fake_ollama.requests) == 1


def test_what_is_cancelled_before_it_begins_is_not_sent(fake_deepseek: FakeDeepSeek) -> None:
    asked = DeepSeek("deepseek-flash", "deepseek-flash", KEY, fake_deepseek.url)
    with pytest.raises(EngineCancelled):
        asked.complete(MESSAGES, max_tokens=99, cancelled=lambda: True)
    assert fake_deepseek.requests == []


def test_a_wait_between_attempts_can_be_cancelled() -> None:
    waiting = threading.Event()

    async def for_ever(seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    async def refused() -> str:
        raise RateLimited(PROVIDER)

    with pytest.raises(EngineCancelled):
        call(refused, PROVIDER, 60.0, RetryRule(sleep=for_ever), waiting.is_set)


def test_calls_run_side_by_side(fake_deepseek: FakeDeepSeek) -> None:
    """Nine sections of a brief are asked for at once, of one engine."""
    asked = DeepSeek("deepseek-flash", "deepseek-flash", KEY, fake_deepseek.url, 30.0)
    fake_deepseek.answer_text = lambda body: str(body["messages"][0]["content"])
    found: dict[int, str] = {}

    def section(number: int) -> None:
        found[number] = asked.complete([Message("user", f"section {number}")], max_tokens=99).text

    threads = [threading.Thread(target=section, args=(number,)) for number in range(9)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(30)
    assert found == {number: f"section {number}" for number in range(9)}


def test_what_nobody_foresaw_is_a_failure_too_and_is_logged_without_its_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def broken() -> str:
        raise ZeroDivisionError("Bearer sk-secret")

    with pytest.raises(Unforeseen, match="ZeroDivisionError") as caught:
        call(broken, PROVIDER, 5.0, RetryRule(), lambda: False)
    assert "secret" not in str(caught.value)
    assert "secret" not in caplog.text
    assert "ZeroDivisionError" in caplog.text
    assert caught.value.__suppress_context__


def test_a_retry_is_logged_by_the_kind_of_its_failure(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    outcomes = iter([ServerFailed(PROVIDER, 500), None])

    async def once_broken() -> str:
        failure = next(outcomes)
        if failure:
            raise failure
        return "done"

    async def no_wait(seconds: float) -> None:
        pass

    assert call(once_broken, PROVIDER, 5.0, RetryRule(sleep=no_wait), lambda: False) == "done"
    assert "ServerFailed" in caplog.text


@pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal")
def test_an_interrupt_from_the_keyboard_closes_the_connection(fake_ollama: FakeOllama) -> None:
    fake_ollama.fail_always("slow")
    program = (
        "import sys; from braindex.llm.ollama import Ollama; from braindex.domain.engines import Message\n"
        "Ollama('llama3.2', sys.argv[1]).complete([Message('user', 'Where?')], max_tokens=9)"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, fake_ollama.url], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    try:
        assert fake_ollama.waiting.wait(60)
        child.send_signal(signal.SIGINT)
        _, trouble = child.communicate(timeout=60)
    finally:
        child.kill()
    assert fake_ollama.hung_up.wait(10)
    assert "KeyboardInterrupt" in trouble
    assert "never retrieved" not in trouble
    assert "was destroyed" not in trouble


def test_waits_double_up_to_a_bound_with_jitter_below_each_step() -> None:
    broken = ConnectionBroken(PROVIDER)
    full = RetryRule(attempts=9, chance=lambda: 1.0)
    assert [full.wait(failed, broken) for failed in range(1, 7)] == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0]
    assert RetryRule(chance=lambda: 0.0).wait(1, broken) == 0.25
    assert full.wait(9, broken) is None
    assert full.wait(1, KeyRefused(PROVIDER, 401)) is None


def test_the_providers_own_wait_counts_within_its_bound() -> None:
    rule = RetryRule(chance=lambda: 1.0)
    assert rule.wait(1, RateLimited(PROVIDER, 3.0)) == 3.0
    assert rule.wait(1, RateLimited(PROVIDER, 0.0)) == 0.5
    assert rule.wait(1, ServerFailed(PROVIDER, 503, 20.0)) == 20.0
    assert rule.wait(1, RateLimited(PROVIDER, 20.1)) is None
