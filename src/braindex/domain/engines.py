"""Engines: who writes an answer. What one is asked, what it gives back, and how it may fail."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from braindex.domain.errors import BraindexError
from braindex.domain.usage import NO_USAGE, EngineName, Usage

# Clients of MCP give a tool call up after 60 s (the default of its SDKs), and with it the sources that were found.
# What is left of the minute is for finding them; Ollama may have to load its model first.
CLOUD_ANSWER_SECONDS: Final = 45.0
LOCAL_ANSWER_SECONDS: Final = 50.0


def answer_seconds(name: EngineName) -> float:
    """How long an engine may take for an answer that somebody waits for, all attempts together."""
    return LOCAL_ANSWER_SECONDS if name == "ollama" else CLOUD_ANSWER_SECONDS


Role = Literal["system", "user"]


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Completion:
    """An engine's answer. `model` is the one that was asked; `cut` says that the token limit ended the text."""

    text: str
    model: str
    usage: Usage
    cut: bool = False


class EngineFailed(BraindexError):
    """An engine gave no answer. The message is one line and says what to do; it holds no key and no question.

    `usage` is what was used, and billed, all the same, where the engine said so.
    """

    usage: Usage = NO_USAGE


class EngineCancelled(EngineFailed):
    def __init__(self) -> None:
        super().__init__("the call was cancelled")


class Engine(Protocol):
    """One engine. Implementations import and connect at the first call, never at construction."""

    @property
    def name(self) -> EngineName: ...

    @property
    def model(self) -> str:
        """The provider's name of the model that answers."""
        ...

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        cancelled: Callable[[], bool] = lambda: False,
        seconds: float | None = None,
    ) -> Completion:
        """A plain, not streamed chat completion; blocks, at most for `seconds` and for the adapter's own time limit.

        Raises EngineFailed for whatever goes wrong (EngineCancelled soon after `cancelled` turns true), and nothing
        else.
        """
        ...


class Engines(Protocol):
    """The engines that are configured."""

    def get(self, name: EngineName) -> Engine | None:
        """None when it is not configured."""
        ...
