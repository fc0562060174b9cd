"""Conversations with tools: what an engine may call, what it called, and what came of it. The agent loop's port."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from braindex.domain.engines import Engine, Message
from braindex.domain.usage import EngineName, Usage

ToolChoice = Literal["auto", "none"]


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as an engine is told of it. `parameters` is the JSON schema of one object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What an engine wants to be run. `arguments` is JSON as the engine wrote it: whoever runs the tool checks it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool said, also where it failed: an engine reads either."""

    call_id: str
    name: str
    content: str


@dataclass(frozen=True, slots=True)
class Reply:
    """One turn of an engine: text, or calls with or without a text. `cut`: the token limit ended it."""

    text: str
    calls: tuple[ToolCall, ...]
    model: str
    usage: Usage
    cut: bool = False


# A conversation, in order: instructions and questions, the engine's turns, and after each turn a result for each call.
Step = Message | Reply | ToolResult


def texts_of(steps: Sequence[Step], tools: Sequence[ToolDefinition] = ()) -> list[str]:
    """All text that a request made of these steps and tools sends, for estimates of its tokens."""
    texts: list[str] = []
    for step in steps:
        if isinstance(step, Reply):
            texts += [step.text, *(call.name + call.arguments for call in step.calls)]
        else:
            texts.append(step.content)
    return texts + [f"{one.name}{one.description}{dict(one.parameters)}" for one in tools]


class Conversing(Protocol):
    """An engine that can call tools."""

    @property
    def name(self) -> EngineName: ...

    @property
    def model(self) -> str: ...

    def converse(
        self,
        steps: Sequence[Step],
        *,
        tools: Sequence[ToolDefinition],
        choice: ToolChoice,
        max_tokens: int,
        cancelled: Callable[[], bool] = lambda: False,
        seconds: float | None = None,
    ) -> Reply:
        """The engine's next turn; blocks as `Engine.complete` does, and fails as that does.

        With `choice` "none" it is told to answer in words. The tools are given all the same: they are part of what
        the provider's prompt cache knows the conversation by.
        """
        ...


class ConversingEngine(Conversing, Engine, Protocol):
    """An engine that can do both."""


class ConversingEngines(Protocol):
    """The engines that are configured and can call tools."""

    def get(self, name: EngineName) -> Conversing | None:
        """None when it is not configured."""
        ...
