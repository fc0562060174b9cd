"""Conversations with tools, in the wire formats of both providers."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.fakes.conversations import Calls
from tests.fakes.deepseek import KEY, FakeDeepSeek
from tests.fakes.ollama import FakeOllama

from braindex.domain.conversing import Conversing, Reply, Step, ToolCall, ToolDefinition, ToolResult
from braindex.domain.engines import Message
from braindex.llm.deepseek import DeepSeek
from braindex.llm.ollama import Ollama
from braindex.transport.failures import NonsenseAnswer, PromptTooLong, StaysLocal
from braindex.transport.tool_calling import LONGEST_ARGUMENTS, MOST_CALLS, ollama_calls, openai_calls

START: list[Step] = [Message("system", "You review."), Message("user", "Review this.")]
READ = ToolDefinition("read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
StandIns = dict[str, Callable[[], tuple[Conversing, Any]]]


@pytest.fixture
def stand_ins(fake_deepseek: FakeDeepSeek, fake_ollama: FakeOllama) -> StandIns:
    return {
        "openai": lambda: (DeepSeek("deepseek-flash", "deepseek-flash", KEY, fake_deepseek.url, 20.0), fake_deepseek),
        "ollama": lambda: (Ollama("llama3.2", fake_ollama.url, 20.0), fake_ollama),
    }


def said(engine: Conversing, steps: list[Step], choice: Any = "auto") -> Reply:
    return engine.converse(steps, tools=[READ], choice=choice, max_tokens=500)


@pytest.mark.parametrize("wire", ["openai", "ollama"])
def test_calls_and_their_results_go_back_and_forth(stand_ins, wire):
    engine, stand_in = stand_ins[wire]()
    stand_in.answer_text = lambda _: Calls([("read_file", {"path": "a.py"}), ("read_file", {"path": "b.py"})], "Look:")
    first = said(engine, START)
    assert [(one.name, json.loads(one.arguments)) for one in first.calls] == [
        ("read_file", {"path": "a.py"}),
        ("read_file", {"path": "b.py"}),
    ]
    assert len({one.id for one in first.calls}) == 2
    assert first.text == "Look:"
    results = [ToolResult(one.id, one.name, f"content {number}") for number, one in enumerate(first.calls)]
    stand_in.answer_text = "Done."
    second = said(engine, [*START, first, *results])
    assert (second.text, second.calls) == ("Done.", ())
    assert second.usage.tokens_in > first.usage.tokens_in > 0
    assert [one["role"] for one in stand_in.requests[1].body["messages"]] == [
        "system", "user", "assistant", "tool", "tool",
    ]  # fmt: skip
    assert stand_in.violations == []


@pytest.mark.parametrize("wire", ["openai", "ollama"])
def test_a_turn_of_calls_alone_may_have_no_text(stand_ins, wire):
    engine, stand_in = stand_ins[wire]()
    stand_in.answer_text = lambda _: Calls([("read_file", {})])
    first = said(engine, START)
    assert first.text == ""
    said(engine, [*START, first, ToolResult(first.calls[0].id, "read_file", "")])
    assert stand_in.violations == []


def test_a_last_turn_keeps_the_tools_in_the_request_and_calls_none(stand_ins):
    engine, deepseek = stand_ins["openai"]()
    said(engine, START, "none")
    assert deepseek.requests[0].body["tool_choice"] == "none"
    assert deepseek.requests[0].body["tools"][0]["function"]["name"] == "read_file"
    engine, ollama = stand_ins["ollama"]()
    said(engine, START, "none")
    assert ollama.requests[0].body["tools"] == []


@pytest.mark.parametrize("wire", ["openai", "ollama"])
def test_a_server_that_knows_no_tools_is_asked_without_them_from_then_on(stand_ins, wire):
    engine, stand_in = stand_ins[wire]()
    stand_in.tools = False
    assert said(engine, START).text == "The answer."
    said(engine, START)
    assert [bool(one.body.get("tools")) for one in stand_in.requests] == [True, False, False]


def test_a_server_that_knows_neither_tools_nor_thinking_is_still_asked(stand_ins):
    engine, deepseek = stand_ins["openai"]()
    deepseek.tools = deepseek.thinking = False
    assert said(engine, START).text == "The answer."
    assert said(engine, START).text == "The answer."


@pytest.mark.parametrize("wire", ["openai", "ollama"])
def test_neither_text_nor_calls_is_no_answer(stand_ins, wire):
    engine, stand_in = stand_ins[wire]()
    stand_in.answer_text = " "
    with pytest.raises(NonsenseAnswer, match="empty"):
        said(engine, START)


@pytest.mark.parametrize("wire", ["openai", "ollama"])
def test_a_turn_that_its_token_limit_ended_says_so(stand_ins, wire):
    engine, stand_in = stand_ins[wire]()
    stand_in.answer_text = "word " * 1_000
    assert said(engine, START).cut


def test_nothing_leaves_this_machine_where_it_must_not():
    away = DeepSeek("deepseek-flash", "m", KEY, "https://example.org", local_only=True)
    with pytest.raises(StaysLocal):
        said(away, START)
    with pytest.raises(StaysLocal):
        said(Ollama("m", "http://example.org:11434", local_only=True), START)


def test_a_conversation_beyond_the_local_context_is_refused_rather_than_cut(stand_ins):
    engine, ollama = stand_ins["ollama"]()
    with pytest.raises(PromptTooLong):
        said(
            engine, [*START, Reply("", (ToolCall("1", "read_file", "{}"),), "m", ollama_usage()), result("x" * 300_000)]
        )
    assert ollama.requests == []


def ollama_usage() -> Any:
    from braindex.domain.usage import NO_USAGE

    return NO_USAGE


def result(text: str) -> ToolResult:
    return ToolResult("1", "read_file", text)


def test_calls_that_are_none_are_passed_over_and_too_many_are_cut():
    broken: list[Any] = [None, {}, {"function": None}, {"function": {"name": 3}}, {"id": 7, "function": {"name": "a"}}]
    assert openai_calls({"tool_calls": broken}) == (ToolCall("call-1", "a", ""),)
    assert openai_calls({"tool_calls": "no list"}) == ()
    assert openai_calls({}) == ()
    many = [{"id": "same", "function": {"name": "a", "arguments": "x" * 90_000}}] * 100
    found = openai_calls({"tool_calls": many})
    assert len(found) == MOST_CALLS == len({one.id for one in found})
    assert len(found[0].arguments) == LONGEST_ARGUMENTS
    assert ollama_calls({"tool_calls": [{"function": {"name": "a", "arguments": {"b": 1}}}]})[0].arguments == '{"b": 1}'
