"""The stand-ins themselves: what they simulate, and that they notice what the real ones would."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.fakes.asked import ROOT
from tests.fakes.deepseek import KEY, FakeDeepSeek
from tests.fakes.ollama import FakeOllama
from tests.fakes.prefix_cache import PrefixCache, Tokens, tokens_of_all
from tests.fakes.server import StandIn

BRIEF = {"role": "system", "content": "role text and brief " * 100}
GOOD = {"model": "deepseek-flash", "messages": [BRIEF, {"role": "user", "content": "Where?"}], "max_tokens": 9}
CHAT = {"model": "llama3.2", "messages": GOOD["messages"], "stream": False, "options": {"num_ctx": 8192}}


def post(url: str, body: Any, key: str | None = KEY) -> tuple[int, Any]:
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    data = None if body is None else json.dumps(body).encode()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(urllib.request.Request(url, data, headers), timeout=30) as response:  # noqa: S310 - loopback
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def asked(question: str) -> Tokens:
    return tokens_of_all([BRIEF, {"role": "user", "content": question}])


PREFIX = len(tokens_of_all([BRIEF]))


def ask(cache: PrefixCache, tokens: Tokens, model: str = "flash") -> int:
    hits = cache.hits(model, tokens)
    cache.persist(model, tokens, (b"an", b"swer"))
    return hits


def test_the_brief_with_a_second_question_misses_and_with_a_third_hits() -> None:
    cache = PrefixCache()
    assert [ask(cache, asked(one)) for one in ("What is A?", "How is B?", "Who wrote C?")] == [0, 0, PREFIX + 1]


def test_a_request_whose_input_ends_at_the_brief_warms_it_for_the_next() -> None:
    cache = PrefixCache()
    ask(cache, tokens_of_all([BRIEF]))
    assert ask(cache, asked("What is A?")) == PREFIX


def test_a_conversation_that_goes_on_hits_up_to_the_last_output() -> None:
    cache = PrefixCache()
    ask(cache, asked("What is A?"))
    assert ask(cache, (*asked("What is A?"), b"an", b"swer", b"<user>", b"more")) == len(asked("What is A?")) + 2


def test_one_byte_of_drift_loses_the_prefix() -> None:
    cache = PrefixCache()
    ask(cache, tokens_of_all([BRIEF]))
    drifted = {**BRIEF, "content": " " + BRIEF["content"]}
    assert ask(cache, tokens_of_all([drifted, {"role": "user", "content": "What is A?"}])) == 0


def test_fixed_intervals_make_a_long_prefix_hit_at_once() -> None:
    cache = PrefixCache(interval=64)
    ask(cache, asked("What is A?"))
    assert ask(cache, asked("How is B?")) == PREFIX // 64 * 64


def test_each_model_has_its_own_cache_and_hours_empty_it() -> None:
    cache = PrefixCache()
    ask(cache, tokens_of_all([BRIEF]))
    assert ask(cache, asked("What is A?"), model="pro") == 0
    cache.forget()
    assert ask(cache, asked("What is A?")) == 0


def test_what_is_answered_is_billed_at_its_own_time_by_the_table_given() -> None:
    when = datetime(2026, 11, 30, 2, 0, tzinfo=UTC)
    with FakeDeepSeek(cost=lambda _, at, usage: usage.cache_miss_tokens * at.hour, now=lambda: when) as stand_in:
        status, answer = post(f"{stand_in.url}/v1/chat/completions", GOOD)
        assert status == 200
        assert answer["usage"]["prompt_tokens"] == len(asked("Where?"))
        assert stand_in.total == 2 * len(asked("Where?"))
        post(f"{stand_in.url}/chat/completions", GOOD, key="sk-another")
        assert len(stand_in.bill) == 1


USER = {"role": "user", "content": "Where?"}


@pytest.mark.parametrize(
    ("change", "noticed"),
    [
        ({"top_k": 4}, "unknown field 'top_k'"),
        ({"model": None}, "wrong value of 'model'"),
        ({"model": "gpt-9"}, "unknown model 'gpt-9'"),
        ({"max_tokens": "9"}, "wrong value of 'max_tokens'"),
        ({"temperature": 7}, "wrong value of 'temperature'"),
        ({"thinking": False}, "wrong value of 'thinking'"),
        ({"stream": True}, "wrong value of 'stream'"),
        ({"messages": []}, "wrong value of 'messages'"),
        ({"messages": [USER, BRIEF]}, "messages in the wrong order"),
        ({"messages": [BRIEF, USER, USER]}, "messages in the wrong order"),
        ({"messages": [BRIEF, BRIEF, USER]}, "messages in the wrong order"),
        ({"messages": [{**USER, "content": ""}]}, "a message without text"),
        ({"messages": [{**USER, "name": "me"}]}, "a message with other fields"),
    ],
)
def test_deepseeks_stand_in_notices_what_is_wrong(change: dict[str, Any], noticed: str) -> None:
    with FakeDeepSeek() as stand_in:
        status, _ = post(f"{stand_in.url}/chat/completions", {**GOOD, **change})
        assert status == 400
        assert [one[: len(noticed)] for one in stand_in.violations] == [noticed]
        assert stand_in.bill == []


@pytest.mark.parametrize("key", [None, "sk-another"])
def test_deepseeks_stand_in_notices_a_missing_or_wrong_key(key: str | None) -> None:
    with FakeDeepSeek() as stand_in:
        assert post(f"{stand_in.url}/chat/completions", GOOD, key)[0] == 401
        assert stand_in.violations == ["a missing or wrong bearer key"]


@pytest.mark.parametrize(
    ("change", "status", "noticed"),
    [
        ({"prompt": "x"}, 400, "unknown field 'prompt'"),
        ({"options": {"num_context": 9}}, 400, "wrong value of 'options'"),
        ({"options": {"num_ctx": "8192"}}, 400, "wrong value of 'options'"),
        ({"options": {"num_ctx": 256}}, 400, "a prompt of"),
        ({"stream": True}, 400, "a request for a stream"),
        ({"messages": [USER, BRIEF]}, 400, "messages in the wrong order"),
        ({"model": "gpt-9"}, 404, "unknown model 'gpt-9'"),
    ],
)
def test_ollamas_stand_in_notices_what_is_wrong(change: dict[str, Any], status: int, noticed: str) -> None:
    with FakeOllama() as stand_in:
        found, said = post(f"{stand_in.url}/api/chat", {**CHAT, **change})
        assert (found, list(json.loads(said))) == (status, ["error"])
        assert [one[: len(noticed)] for one in stand_in.violations] == [noticed]


def test_ollamas_stand_in_embeds_lists_and_tells_its_version() -> None:
    with FakeOllama(dimension=8) as stand_in:
        _, found = post(f"{stand_in.url}/api/embed", {"model": "nomic-embed-text", "input": ["a b", "a b", "c"]})
        assert [len(one) for one in found["embeddings"]] == [8, 8, 8]
        assert found["embeddings"][0] == found["embeddings"][1]
        assert found["prompt_eval_count"] == 3
        assert post(f"{stand_in.url}/api/tags", None)[1]["models"][0]["name"] == "llama3.2:latest"
        assert "version" in post(f"{stand_in.url}/api/version", None)[1]
        assert stand_in.violations == []


def test_a_failure_that_does_not_exist_cannot_be_set() -> None:
    with StandIn() as stand_in, pytest.raises(AssertionError, match="no failure is called"):
        stand_in.fail("on fire")


@pytest.mark.parametrize(
    ("name", "path", "body"), [("deepseek", "/chat/completions", GOOD), ("ollama", "/api/chat", CHAT)]
)
def test_a_stand_in_runs_as_a_process_of_its_own(name: str, path: str, body: dict[str, Any]) -> None:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", f"tests.fakes.{name}", "--port", "0", "--answer", "From a process."]
    with subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            url = child.stdout.readline().strip()
            assert "From a process." in json.dumps(post(url + path, body)[1])
        finally:
            child.kill()
