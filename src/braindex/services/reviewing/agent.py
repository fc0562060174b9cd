"""The agent loop: an engine investigates with tools, within limits, and then has to say what it thinks."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from braindex.domain.conversing import Reply, Step, ToolCall, ToolDefinition, ToolResult, texts_of
from braindex.domain.engines import Message
from braindex.domain.opinions import Opinion, parse_answer
from braindex.domain.review_prompt import ANSWER_NOW, REPAIR
from braindex.domain.tokens import count_tokens
from braindex.services.reviewing.talk import Talk

ANSWER_TOKENS: Final = 4_000  # of one turn; fifty findings fit
MOST_CALLS: Final = 6  # of one turn that are run
RESULT_TOKENS: Final = 2_500  # of one result of a tool
SECONDS: Final = 900.0  # after which no turn begins that only investigates
_TOO_MANY: Final = f"not run: at most {MOST_CALLS} calls a turn"


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one review: how many turns an engine has, what they may cost in US dollars, how long they may take."""

    turns: int
    cost: float
    seconds: float = SECONDS


class Tools(Protocol):
    """What the engine may look at."""

    @property
    def definitions(self) -> Sequence[ToolDefinition]: ...

    def run(self, call: ToolCall) -> str:
        """What a call finds, also in words where it is wrong or finds nothing; at most RESULT_TOKENS, as data."""
        ...


@dataclass(frozen=True, slots=True)
class Judgement:
    """What came of it: None where no opinion could be read. `cut` says which limit ended the investigation, else ""."""

    opinion: Opinion | None
    cut: str = ""


class Agent:
    """One review by one engine."""

    def __init__(self, talk: Talk, tools: Tools, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._talk = talk
        self._tools = tools
        self._limits = limits
        self._clock = clock
        self._began = clock()

    def judge(self, system: Message, change: Message) -> Judgement:
        """The engine's opinion. Raises EngineFailed.

        An answer that cannot be read is asked for once more, if a turn and the money for it are left.
        """
        steps: list[Step] = [system, change]
        cut, repaired = "", False
        for turn in range(1, self._limits.turns + 1):
            cut = cut or ("" if repaired else self._why_last(turn, steps))
            is_last = bool(cut) or repaired
            reply = self._turn(steps, is_last=is_last)
            opinion = parse_answer(reply.text)
            if reply.calls and not is_last:
                steps += [reply, *self._results(reply)]
                continue
            steps += [replace(reply, calls=()), Message("user", REPAIR)]
            if opinion is not None or repaired or not reply.text.strip() or not self._pays(steps, 1):
                return Judgement(opinion, cut)
            repaired = True
        return Judgement(None, cut)

    def _turn(self, steps: Sequence[Step], *, is_last: bool) -> Reply:
        if not is_last:
            return self._talk.say(steps, self._tools.definitions, "auto", max_tokens=ANSWER_TOKENS)
        return self._talk.say(_told_to_answer(steps), self._tools.definitions, "none", max_tokens=ANSWER_TOKENS)

    def _why_last(self, turn: int, steps: Sequence[Step]) -> str:
        """Which limit makes this turn the last, since the one behind it would exceed it; else ""."""
        if turn >= self._limits.turns:
            return f"the limit of turns (REVIEW_MAX_TURNS={self._limits.turns})"
        if not self._talk.knows_price:
            return "the unknown price of the model (PRICES_FILE), without which REVIEW_MAX_COST cannot be kept,"
        if not self._pays(steps, 2):
            return f"the limit of cost (REVIEW_MAX_COST={self._limits.cost:g})"
        if sum(map(count_tokens, texts_of(steps))) + MOST_CALLS * RESULT_TOKENS > self._talk.longest:
            return "the length that a conversation may have"
        if self._clock() - self._began > self._limits.seconds:
            return f"the limit of {self._limits.seconds:g} s"
        return ""

    def _pays(self, steps: Sequence[Step], calls: int) -> bool:
        """Whether the money is enough for so many more calls, of which all but the first also bring results."""
        growth = [Message("user", "x" * 4 * MOST_CALLS * RESULT_TOKENS)] if calls > 1 else []
        return self._talk.pays_for([*steps, *growth], self._tools.definitions, ANSWER_TOKENS, calls=calls)

    def _results(self, reply: Reply) -> list[Step]:
        return [
            ToolResult(call.id, call.name, self._tools.run(call) if number < MOST_CALLS else _TOO_MANY)
            for number, call in enumerate(reply.calls)
        ]


def _told_to_answer(steps: Sequence[Step]) -> list[Step]:
    """The conversation with the demand at its end, which joins what was said there already."""
    *before, last = steps
    if isinstance(last, Message) and last.role == "user":
        return [*before, replace(last, content=f"{last.content}\n\n{ANSWER_NOW}")]
    return [*steps, Message("user", ANSWER_NOW)]
