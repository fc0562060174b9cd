"""What providers ask of a conversation with tools, and how they say which tools they want to be called."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Wire = Literal["openai", "ollama"]
Call = tuple[str, dict[str, Any] | str]  # a tool's name, and its arguments; as a text they are sent as they are


@dataclass(frozen=True)
class Calls:
    """An answer that asks for tools instead of saying something (or beside it)."""

    calls: Sequence[Call]
    text: str = ""


def tool_calls(calls: Sequence[Call], wire: Wire, start: int) -> list[dict[str, Any]]:
    """As the provider writes them. OpenAI's arguments are JSON in a text, Ollama's an object, without an id."""
    found: list[dict[str, Any]] = []
    for number, (name, arguments) in enumerate(calls, start=start):
        if wire == "ollama":
            found.append({"function": {"name": name, "arguments": arguments}})
        else:
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            found.append({"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": text}})
    return found


def are_tools(value: Any) -> bool:
    """Tool definitions, each with a JSON schema of an object."""
    return isinstance(value, list) and all(
        isinstance(one, dict)
        and set(one) == {"type", "function"}
        and one["type"] == "function"
        and set(one["function"]) == {"name", "description", "parameters"}
        and one["function"]["parameters"]["type"] == "object"
        for one in value
    )


def message_violations(messages: list[Any], wire: Wire = "openai") -> list[str]:
    """The system message first, then the user's, then turns; a system message alone warms the cache. An assistant's
    calls are followed by a result each, and count with what the assistant says after them as one turn.
    """
    for one in messages:
        wrong = _wrong(one, wire) if isinstance(one, dict) else "a message that is no object"
        if wrong:
            return [wrong]
    roles = [one["role"] for one in messages]
    wrong = _unanswered(messages, wire)
    if wrong:
        return [wrong]
    turns = _turns(messages[1:] if roles[0] == "system" else messages)
    good = all(role == ("assistant" if at % 2 else "user") for at, role in enumerate(turns))
    ends_well = not turns or turns[-1] == "user" or roles[-1] == "tool"
    return [] if good and ends_well else [f"messages in the wrong order: {roles}"]


def _wrong(message: dict[str, Any], wire: Wire) -> str:
    known = {"role", "content"}
    if message.get("role") == "tool":
        known |= {"tool_call_id" if wire == "openai" else "tool_name"}
    elif message.get("role") == "assistant" and "tool_calls" in message:
        known |= {"tool_calls"}
    may_be_blank = message.get("role") == "tool" or "tool_calls" in message
    # Ollama's client leaves out what is blank.
    if set(message) | ({"content"} if may_be_blank and wire == "ollama" else set()) != known:
        return f"a message with other fields than {', '.join(sorted(known))}"
    content = message.get("content", "")
    if not isinstance(content, str) or not (content.strip() or may_be_blank):
        return "a message without text"
    return next((wrong for one in message.get("tool_calls", ()) if (wrong := _wrong_call(one, wire))), "")


def _wrong_call(call: dict[str, Any], wire: Wire) -> str:
    arguments = call["function"]["arguments"]
    if wire == "ollama":
        return "" if isinstance(arguments, dict) else "arguments that are no object"
    return "" if isinstance(arguments, str) and call["id"] and call["type"] == "function" else "a call that is none"


def _unanswered(messages: list[dict[str, Any]], wire: Wire) -> str:
    waiting: list[str] = []
    for one in messages:
        if one["role"] == "tool":
            name = one["tool_call_id"] if wire == "openai" else one["tool_name"]
            if name not in waiting:
                return "a result of a call that nobody made"
            waiting.remove(name)
        elif waiting:
            return "a call without its result"
        else:
            calls = one.get("tool_calls", ())
            waiting = [call["id"] if wire == "openai" else call["function"]["name"] for call in calls]
    return "a call without its result" if waiting else ""


def _turns(messages: list[dict[str, Any]]) -> list[str]:
    turns: list[str] = []
    after_tools = False
    for one in messages:
        role = "assistant" if one["role"] == "tool" else one["role"]
        joins = role == "assistant" and (after_tools or one["role"] == "tool") and turns and turns[-1] == role
        if not joins:
            turns.append(role)
        after_tools = one["role"] == "tool" or "tool_calls" in one
    return turns
