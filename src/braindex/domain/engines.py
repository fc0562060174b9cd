"""Engines: who writes an answer. What one is asked, what it gives back, and how it may fail."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from braindex.domain.errors import BraindexError
from braindex.domain.usage import NO_USAGE, EngineName, Usage

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
    ) -> Completion:
        """A plain, not streamed chat completion, within the adapter's time limit; blocks.

        Raises EngineFailed for whatever goes wrong (EngineCancelled soon after `cancelled` turns true), and nothing
        else.
        """
        ...


class Engines(Protocol):
    """The engines that are configured."""

    def get(self, name: EngineName) -> Engine | None:
        """None when it is not configured."""
        ...
