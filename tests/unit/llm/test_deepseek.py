import json
import logging
import subprocess
import sys
from dataclasses import replace

import pytest
from tests.fakes.asked import MESSAGES, Waits
from tests.fakes.deepseek import KEY, FakeDeepSeek

from braindex.domain.engines import Completion, Message
from braindex.domain.usage import Usage
from braindex.llm.deepseek import DeepSeek, _usage
from braindex.transport.failures import (
    Failure,
    KeyRefused,
    KeyUnusable,
    NonsenseAnswer,
    PromptTooLong,
    ProxyUnusable,
    RetryRule,
    ServerFailed,
    StaysLocal,
    UnknownModel,
    Unreachable,
)

DEAD = "http://127.0.0.1:9"  # the discard port, where nothing listens


def engine(url: str, retry: RetryRule, key: str = KEY, model: str = "deepseek-flash") -> DeepSeek:
    return DeepSeek("deepseek-flash", model, key, url, 20.0, retry=retry)


def test_the_request_is_exactly_this(fake_deepseek: FakeDeepSeek, retry: RetryRule) -> None:
    engine(fake_deepseek.url, retry).complete(MESSAGES, max_tokens=700)
    (sent,) = fake_deepseek.requests
    assert (sent.method, sent.path) == ("POST", "/chat/completions")
    assert sent.body == {
        "model": "deepseek-flash",
        "messages": [{"role": one.role, "content": one.content} for one in MESSAGES],
        "max_tokens": 700,
        "temperature": 0.0,
        "thinking": {"type": "disabled"},
    }
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert fake_deepseek.violations == []


def test_two_processes_send_the_same_bytes(fake_deepseek: FakeDeepSeek, retry: RetryRule) -> None:
    engine(fake_deepseek.url, retry).complete(MESSAGES, max_tokens=9)
    DeepSeek("deepseek-flash", "deepseek-flash", KEY, f"{fake_deepseek.url}/v1/", 20.0).complete(MESSAGES, max_tokens=9)
    first, second = fake_deepseek.requests
    assert first.raw == second.raw


def test_the_answer_comes_with_what_it_used(fake_deepseek: FakeDeepSeek, retry: RetryRule) -> None:
    fake_deepseek.answer_text = "In `walk` #src/walk.py:12."
    found = engine(fake_deepseek.url, retry).complete(MESSAGES, max_tokens=700)
    billed = fake_deepseek.bill[0].usage
    assert found == Completion("In `walk` #src/walk.py:12.", "deepseek-flash", billed, cut=False)
    assert billed.tokens_in == billed.cache_miss_tokens > 200


def test_a_text_that_the_token_limit_ended_says_so(fake_deepseek: FakeDeepSeek, retry: RetryRule) -> None:
    fake_deepseek.answer_text = "a long answer " * 50
    found = engine(fake_deepseek.url, retry).complete(MESSAGES, max_tokens=5)
    assert found.cut
    assert found.usage.tokens_out == 5


def test_a_warm_up_ends_at_the_brief_and_may_answer_nothing(fake_deepseek: FakeDeepSeek, retry: RetryRule) -> None:
    asked = engine(fake_deepseek.url, retry)
    fake_deepseek.fail("empty text")
    assert asked.complete(MESSAGES[:1], max_tokens=1).text == ""
    prefix = fake_deepseek.bill[0].usage.tokens_in
    assert asked.complete(MESSAGES, max_tokens=700).usage.cache_hit_tokens == prefix
    assert fake_deepseek.violations == []


@pytest.mark.parametrize(
    ("form", "second"),
    [
        ("deepseek", lambda told: told),
        ("openai", lambda told: told),
        ("plain", lambda told: replace(told, cache_hit_tokens=0, cache_miss_tokens=told.tokens_in)),
        ("none", lambda _: Usage(unknown=True)),
    ],
)
def test_cache_hits_are_read_in_each_form_that_providers_report_them(form, second, retry: RetryRule) -> None:
    with FakeDeepSeek(usage_form=form) as stand_in:
        asked = engine(stand_in.url, retry)
        asked.complete(MESSAGES, max_tokens=9)
        assert asked.complete(MESSAGES, max_tokens=9).usage == second(stand_in.bill[1].usage)
        assert stand_in.bill[1].usage.cache_hit_tokens > 200


def test_a_provider_without_the_thinking_parameter_is_asked_without_it_from_then_on(retry: RetryRule) -> None:
    with FakeDeepSeek(thinking=False) as stand_in:
        asked = engine(stand_in.url, retry)
        assert asked.complete(MESSAGES, max_tokens=9).text == "The answer."
        assert asked.complete(MESSAGES, max_tokens=9).text == "The answer."
        assert ["thinking" in one.body for one in stand_in.requests] == [True, False, False]


def test_a_refusal_that_only_repeats_the_word_thinking_does_not_turn_thinking_on(
    fake_deepseek: FakeDeepSeek, retry: RetryRule
) -> None:
    asked = engine(fake_deepseek.url, retry)
    fake_deepseek.fail("400", times=2)
    with pytest.raises(Failure):
        asked.complete(MESSAGES, max_tokens=9)
    asked.complete(MESSAGES, max_tokens=9)
    assert "thinking" in fake_deepseek.requests[-1].body


def test_empty_lines_before_the_answer_are_part_of_the_protocol(fake_deepseek: FakeDeepSeek, retry: RetryRule) -> None:
    fake_deepseek.fail("blank lines")
    assert engine(fake_deepseek.url, retry).complete(MESSAGES, max_tokens=9).text == "The answer."


def test_an_answer_ended_for_want_of_resources_is_a_failed_server(
    fake_deepseek: FakeDeepSeek, retry: RetryRule, waits: Waits
) -> None:
    fake_deepseek.fail("out of resources", times=3)
    with pytest.raises(ServerFailed):
        engine(fake_deepseek.url, retry).complete(MESSAGES, max_tokens=9)
    assert len(waits.seconds) == 2


def test_an_empty_answer_still_says_what_it_cost(fake_deepseek: FakeDeepSeek, retry: RetryRule) -> None:
    fake_deepseek.fail("empty text")
    with pytest.raises(NonsenseAnswer) as caught:
        engine(fake_deepseek.url, retry).complete(MESSAGES, max_tokens=9)
    assert caught.value.usage == fake_deepseek.bill[0].usage


def test_a_wrong_key_names_the_setting(fake_deepseek: FakeDeepSeek, retry: RetryRule) -> None:
    with pytest.raises(KeyRefused, match="DEEPSEEK_API_KEY"):
        engine(fake_deepseek.url, retry, key="sk-another").complete(MESSAGES, max_tokens=9)
    assert len(fake_deepseek.requests) == 1


def test_an_unknown_model_names_its_own_setting(fake_deepseek: FakeDeepSeek, retry: RetryRule) -> None:
    flash = engine(fake_deepseek.url, retry, model="deepseek-flush")
    pro = DeepSeek("deepseek-pro", "deepseek-prune", KEY, fake_deepseek.url, 20.0, retry=retry)
    with pytest.raises(UnknownModel, match=r"'deepseek-flush'.*DEEPSEEK_FLASH_MODEL"):
        flash.complete(MESSAGES, max_tokens=9)
    with pytest.raises(UnknownModel, match=r"'deepseek-prune'.*DEEPSEEK_PRO_MODEL"):
        pro.complete(MESSAGES, max_tokens=9)


def test_a_prompt_beyond_the_models_context_is_called_that(retry: RetryRule) -> None:
    class Small(FakeDeepSeek):
        def answer(self, _):
            return self.error(400, "This model's maximum context length is 64 tokens. Please reduce the messages.")

    with Small() as stand_in, pytest.raises(PromptTooLong):
        engine(stand_in.url, retry).complete(MESSAGES, max_tokens=9)


@pytest.mark.parametrize("key", ["", "sk-with a space", "sk-line\nbreak", "sk-ключ"])
def test_a_key_that_no_header_can_hold_is_refused_unsent(
    key: str, fake_deepseek: FakeDeepSeek, retry: RetryRule
) -> None:
    with pytest.raises(KeyUnusable) as caught:
        engine(fake_deepseek.url, retry, key=key).complete(MESSAGES, max_tokens=9)
    assert fake_deepseek.requests == []
    assert not key or key not in str(caught.value)


def test_half_of_a_surrogate_pair_in_a_question_does_not_stop_it(fake_deepseek: FakeDeepSeek, retry: RetryRule) -> None:
    fake_deepseek.answer_text = "broken \ud83d"
    found = engine(fake_deepseek.url, retry).complete([Message("user", "what is \udcff?")], max_tokens=99)
    assert fake_deepseek.requests[0].body["messages"] == [{"role": "user", "content": "what is ??"}]
    assert found.text.encode("utf-8")


def test_nothing_but_what_is_needed_goes_out(
    fake_deepseek: FakeDeepSeek, retry: RetryRule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the environment holds for OpenAI is not DeepSeek's, and neither is a description of this machine."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-openai")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-for-openai")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-for-openai")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Secret: for-openai\nAuthorization: Bearer for-openai")
    monkeypatch.setenv("OPENAI_BASE_URL", DEAD)
    engine(fake_deepseek.url, retry).complete(MESSAGES, max_tokens=9)
    (sent,) = fake_deepseek.requests
    assert "for-openai" not in json.dumps(sent.headers)
    assert set(sent.headers) <= {
        "host", "connection", "accept", "accept-encoding", "authorization", "content-type", "content-length", "user-agent",
    }  # fmt: skip


def test_proxies_are_ignored_for_an_address_of_loopback(
    fake_deepseek: FakeDeepSeek, retry: RetryRule, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, DEAD)
    assert engine(fake_deepseek.url, retry).complete(MESSAGES, max_tokens=9).text == "The answer."


def test_proxies_are_honoured_for_the_cloud(
    fake_deepseek: FakeDeepSeek, retry: RetryRule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stand-in plays the proxy: it sees the whole address in the request line."""
    monkeypatch.setenv("HTTP_PROXY", fake_deepseek.url)
    with pytest.raises(UnknownModel):
        engine("http://deepseek.invalid", retry).complete(MESSAGES, max_tokens=9)
    assert fake_deepseek.requests[0].path == "http://deepseek.invalid/chat/completions"


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "nonsense://127.0.0.1:9"])
def test_a_proxy_of_a_kind_that_cannot_be_used_is_named(
    proxy: str, retry: RetryRule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(ProxyUnusable, match="ALL_PROXY"):
        engine("https://deepseek.invalid", retry).complete(MESSAGES, max_tokens=9)


@pytest.mark.parametrize("url", [DEAD, "http://[::1", "ftp://127.0.0.1", "http://127.0.0.1:99999"])
def test_an_address_that_cannot_be_reached_names_the_setting(url: str, retry: RetryRule) -> None:
    with pytest.raises(Unreachable, match="DEEPSEEK_BASE_URL"):
        engine(url, retry).complete(MESSAGES, max_tokens=9)


def test_only_loopback_is_asked_where_nothing_else_may_be(fake_deepseek: FakeDeepSeek, retry: RetryRule) -> None:
    far = DeepSeek("deepseek-flash", "m", KEY, "https://deepseek.invalid", local_only=True, retry=retry)
    near = DeepSeek("deepseek-flash", "deepseek-flash", KEY, fake_deepseek.url, local_only=True, retry=retry)
    with pytest.raises(StaysLocal, match="MEMORY_MODE"):
        far.complete(MESSAGES, max_tokens=9)
    assert near.complete(MESSAGES, max_tokens=9).text == "The answer."


def test_no_log_and_no_failure_holds_key_question_or_answer(
    fake_deepseek: FakeDeepSeek, retry: RetryRule, caplog: pytest.LogCaptureFixture
) -> None:
    """At debug level too, and although the stand-in repeats key and question in its refusals."""
    caplog.set_level(logging.DEBUG)
    fake_deepseek.answer_text = "answer-secret"
    asked = engine(fake_deepseek.url, retry)
    said = []
    for name in ("400", "401", "429", "500", "non-JSON", "drop half-way", "answer"):
        fake_deepseek.fail_always(name, **({"text": "answer-secret"} if name == "answer" else {}))
        try:
            asked.complete([Message("user", "question-secret")], max_tokens=99)
        except Failure as failure:
            said.append(str(failure))
    assert len(said) == 6
    for text in (*said, caplog.text):
        assert not [one for one in (KEY, "question-secret", "answer-secret") if one in text]
    assert all("\n" not in one for one in said)


def test_nothing_heavy_is_imported_before_the_first_call() -> None:
    program = (
        "import sys; from braindex.llm.deepseek import DeepSeek; from braindex.llm.ollama import Ollama\n"
        "import braindex.transport.loopback\n"
        "made = DeepSeek('deepseek-flash', 'm', 'k', 'http://127.0.0.1:9'), Ollama('m', ''); [one.model for one in made]\n"
        "print([one for one in ('openai', 'ollama', 'httpx', 'httpx2', 'pydantic', 'asyncio', 'ssl') if one in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "reported",
    [
        None,
        {},
        [1, 2],
        "many",
        {"prompt_tokens": "10", "completion_tokens": 2},
        {"prompt_tokens": -10, "completion_tokens": 2},
        {"prompt_tokens": 10.5, "completion_tokens": 2},
        {"prompt_tokens": True, "completion_tokens": 2},
        {"prompt_tokens": 10**15, "completion_tokens": 2},
        {"prompt_tokens": 10**400, "completion_tokens": 2},
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": 10},
        {"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": "all"},
        {"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_miss_tokens": -1},
    ],
)
def test_a_usage_that_cannot_be_believed_is_unknown_and_not_nothing(reported: object) -> None:
    found = _usage(reported)
    assert found.unknown
    assert max(found.tokens_in, found.tokens_out, found.cache_hit_tokens, found.cache_miss_tokens) <= 10


def test_a_usage_without_cache_fields_is_known() -> None:
    assert _usage({"prompt_tokens": 10, "completion_tokens": 2}) == Usage(10, 2, 0, 10)
