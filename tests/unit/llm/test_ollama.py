import pytest
from tests.fakes.asked import MESSAGES, Waits
from tests.fakes.ollama import FakeOllama

from braindex.domain.engines import Completion, Message
from braindex.domain.usage import Usage
from braindex.llm.ollama import LARGEST_CONTEXT, SMALLEST_CONTEXT, Ollama, context_for
from braindex.transport.failures import NonsenseAnswer, PromptTooLong, RetryRule, StaysLocal, UnknownModel, Unreachable

DEAD = "127.0.0.1:9"


def engine(url: str, retry: RetryRule, model: str = "llama3.2") -> Ollama:
    return Ollama(model, url, 20.0, retry=retry)


def test_the_request_is_exactly_this(fake_ollama: FakeOllama, retry: RetryRule) -> None:
    engine(fake_ollama.url, retry).complete(MESSAGES, max_tokens=700)
    (sent,) = fake_ollama.requests
    assert (sent.method, sent.path) == ("POST", "/api/chat")
    assert sent.body == {
        "model": "llama3.2",
        "messages": [{"role": one.role, "content": one.content} for one in MESSAGES],
        "stream": False,
        "think": False,
        "options": {"num_ctx": 8192, "num_predict": 700, "temperature": 0.0},
        "keep_alive": "15m",
        "tools": [],
    }
    assert fake_ollama.violations == []


def test_the_answer_comes_with_what_it_used(fake_ollama: FakeOllama, retry: RetryRule) -> None:
    asked = engine(fake_ollama.url, retry)
    found = asked.complete(MESSAGES, max_tokens=700)
    assert (asked.name, asked.model) == ("ollama", "llama3.2")
    assert found == Completion("The answer.", "llama3.2", Usage(found.usage.tokens_in, 3), cut=False)
    assert found.usage.tokens_in > 200


def test_a_text_that_the_token_limit_ended_says_so(fake_ollama: FakeOllama, retry: RetryRule) -> None:
    fake_ollama.answer_text = "a long answer " * 50
    found = engine(fake_ollama.url, retry).complete(MESSAGES, max_tokens=5)
    assert (found.cut, found.usage.tokens_out) == (True, 5)


def test_a_model_that_is_not_pulled_says_how_to_pull_it(fake_ollama: FakeOllama, retry: RetryRule) -> None:
    with pytest.raises(UnknownModel, match="ollama pull qwen3:4b"):
        engine(fake_ollama.url, retry, "qwen3:4b").complete(MESSAGES, max_tokens=9)


def test_a_server_that_does_not_run_says_how_to_start_it_and_is_not_asked_again(retry: RetryRule, waits: Waits) -> None:
    with pytest.raises(Unreachable, match=r"ollama serve.*OLLAMA_HOST means http://127\.0\.0\.1:9$"):
        engine(DEAD, retry).complete(MESSAGES, max_tokens=9)
    assert waits.seconds == []


def test_a_server_on_another_machine_that_is_not_reached_is_asked_again(
    retry: RetryRule, waits: Waits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://{DEAD}")  # so that no name is looked up
    with pytest.raises(Unreachable):
        engine("http://ollama.invalid", retry).complete(MESSAGES, max_tokens=9)
    assert len(waits.seconds) == 2


def test_proxies_are_ignored_for_loopback(
    fake_ollama: FakeOllama, retry: RetryRule, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://{DEAD}")
    assert engine(fake_ollama.url, retry).complete(MESSAGES, max_tokens=9).text == "The answer."


def test_the_host_of_the_environment_is_not_asked_behind_the_settings(
    fake_ollama: FakeOllama, retry: RetryRule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://ollama.invalid")
    assert engine(fake_ollama.url, retry).complete(MESSAGES, max_tokens=9).text == "The answer."


def test_a_host_given_as_listen_anywhere_is_asked_on_loopback(fake_ollama: FakeOllama, retry: RetryRule) -> None:
    anywhere = fake_ollama.url.replace("http://127.0.0.1", "0.0.0.0")  # noqa: S104 - what users write
    assert engine(anywhere, retry).complete(MESSAGES, max_tokens=9).text == "The answer."


def test_a_server_that_objects_to_the_word_on_thinking_is_asked_without_it_from_then_on(retry: RetryRule) -> None:
    with FakeOllama(thinks=False) as stand_in:
        asked = engine(stand_in.url, retry)
        assert asked.complete(MESSAGES, max_tokens=9).text == "The answer."
        assert asked.complete(MESSAGES, max_tokens=9).text == "The answer."
        assert ["think" in one.body for one in stand_in.requests] == [True, False, False]


def test_the_context_holds_the_prompt_and_the_answer_and_never_shrinks_again(
    fake_ollama: FakeOllama, retry: RetryRule
) -> None:
    asked = engine(fake_ollama.url, retry)
    for words in (10, 6_000, 10):
        asked.complete([Message("user", "word " * words)], max_tokens=1_000)
    assert [one.body["options"]["num_ctx"] for one in fake_ollama.requests] == [8_192, 16_384, 16_384]
    assert fake_ollama.violations == []


def test_the_context_is_a_power_of_two_between_its_bounds() -> None:
    def of(tokens: int, answer: int = 0) -> int | None:
        return context_for([Message("user", "abcd" * tokens)], answer)

    assert of(1) == SMALLEST_CONTEXT
    assert of(4_000, 2_160) == 8_192  # 6,000 + 32 + 2,160
    assert of(4_000, 2_161) == 16_384
    assert of(43_000) == LARGEST_CONTEXT
    assert of(44_000) is None


def test_a_prompt_that_ollama_would_cut_is_not_sent(fake_ollama: FakeOllama, retry: RetryRule) -> None:
    with pytest.raises(PromptTooLong):
        engine(fake_ollama.url, retry).complete([Message("user", "abcd" * 50_000)], max_tokens=9)
    assert fake_ollama.requests == []


def test_an_answer_with_an_error_inside_is_nonsense(retry: RetryRule) -> None:
    class Failing(FakeOllama):
        def answer(self, _):
            return self.error(200, "the model failed to generate a response")

    with Failing() as stand_in, pytest.raises(NonsenseAnswer):
        engine(stand_in.url, retry).complete(MESSAGES, max_tokens=9)


@pytest.mark.parametrize(("model", "host"), [("gpt-oss:120b-cloud", ""), ("glm:cloud", ""), ("llama3.2", "10.0.0.5")])
def test_neither_another_machine_nor_ollamas_cloud_is_asked_where_only_loopback_may_be(
    model: str, host: str, fake_ollama: FakeOllama, retry: RetryRule
) -> None:
    far = Ollama(model, host or fake_ollama.url, local_only=True, retry=retry)
    with pytest.raises(StaysLocal, match="MEMORY_MODE"):
        far.complete(MESSAGES, max_tokens=9)
    assert fake_ollama.requests == []
    near = Ollama("llama3.2", fake_ollama.url, local_only=True, retry=retry)
    assert near.complete(MESSAGES, max_tokens=9).text == "The answer."


def test_a_host_that_is_none_is_refused_at_construction() -> None:
    with pytest.raises(ValueError, match="http://"):
        Ollama("llama3.2", "ftp://127.0.0.1")
