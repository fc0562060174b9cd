"""What a call to an engine used, and the row that the ledger keeps of it."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

EngineName = Literal["deepseek-flash", "deepseek-pro", "ollama", "openai", "none"]
Operation = Literal["ask", "brief", "warmup", "embed", "review"]

PICODOLLARS: Final = 1_000_000_000_000
"""Costs are whole picodollars: a price of $0.0028 a million tokens is 2,800 a token, with nothing to round."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the engine reported them. Of `tokens_in`, hits came out of the provider's prompt cache.

    `unknown` says that the engine reported no usage that can be believed, so that the cost is unknown, not nothing.
    `held` names the amount that is reserved in the ledger until this usage is entered there.
    """

    tokens_in: int = 0
    tokens_out: int = 0
    cache_hit_tokens: int = 0
    cache_miss_tokens: int = 0
    unknown: bool = False
    held: str = field(default="", compare=False, repr=False)


NO_USAGE: Final = Usage()


@dataclass(frozen=True, slots=True)
class Call:
    """One row of the ledger. `when` is UTC.

    `model` is the provider's name of it, "" without an engine. `cost` is in picodollars, None where no price is known.
    `tokens_saved` is what reading the cited files whole would have cost the agent beyond what the answer did.
    """

    workspace_id: str
    engine: EngineName
    model: str
    operation: Operation
    when: datetime
    usage: Usage = NO_USAGE
    cost: int | None = 0
    tokens_saved: int = 0
