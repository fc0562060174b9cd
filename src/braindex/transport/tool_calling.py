"""Conversations with tools in the wire formats of OpenAI's protocol and of Ollama."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from braindex.domain.conversing import Reply, Step, ToolCall, ToolDefinition, ToolResult
from braindex.transport.wire import clean

MOST_CALLS: Final = 32  # of one turn that are read; a model that asks for more has lost its way
LONGEST_ARGUMENTS: Final = 20_000  # characters


def openai_tools(tools: Sequence[ToolDefinition]) -> list[dict[str, Any]]:
    """Tools as both formats have them."""
    return [
        {
            "type": "function",
            "function": {"name": one.name, "description": one.description, "parameters": dict(one.parameters)},
        }
        for one in tools
    ]


def openai_steps(steps: Sequence[Step]) -> list[dict[str, Any]]:
    return [_openai_step(one) for one in steps]


def _openai_step(step: Step) -> dict[str, Any]:
    if isinstance(step, ToolResult):
        return {"role": "tool", "tool_call_id": step.call_id, "content": clean(step.content)}
    if not isinstance(step, Reply):
        return {"role": step.role, "content": clean(step.content)}
    calls = [
        {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
        for one in step.calls
    ]
    return {"role": "assistant", "content": step.text} | ({"tool_calls": calls} if calls else {})


def openai_calls(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    """The calls of an answer's message; what is none is passed over."""
    return tuple(_numbered(message.get("tool_calls")))


def ollama_steps(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """Ollama knows its calls by their order and their tools' names, and takes arguments as an object."""
    return [_ollama_step(one) for one in steps]


def _ollama_step(step: Step) -> dict[str, Any]:
    if isinstance(step, ToolResult):
        return {"role": "tool", "tool_name": step.name, "content": clean(step.content)}
    if not isinstance(step, Reply):
        return {"role": step.role, "content": clean(step.content)}
    calls = [{"function": {"name": one.name, "arguments": _object(one.arguments)}} for one in step.calls]
    return {"role": "assistant", "content": step.text} | ({"tool_calls": calls} if calls else {})


def ollama_calls(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    return tuple(_numbered(message.get("tool_calls")))


def _numbered(calls: object) -> Iterator[ToolCall]:
    """The calls, each with the id it came with, or one of its own where it has none or that of another."""
    seen: set[str] = set()
    for number, (call, function) in enumerate(_functions(calls), start=1):
        arguments = function.get("arguments", "")
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        given = call.get("id")
        name = given if isinstance(given, str) and given and given not in seen else f"call-{number}"
        seen.add(name)
        yield ToolCall(clean(name), clean(str(function["name"])), clean(written)[:LONGEST_ARGUMENTS])


def _functions(calls: object) -> Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    for call in calls[:MOST_CALLS] if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict) and isinstance(function.get("name"), str):
            yield call, function


def _object(arguments: str) -> dict[str, Any]:
    try:
        found = json.loads(arguments)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
