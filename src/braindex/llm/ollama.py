"""Ollama: models on this machine, or on another that OLLAMA_HOST names."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from braindex.domain.conversing import Reply, Step, ToolChoice, ToolDefinition, texts_of
from braindex.domain.engines import Completion, Message
from braindex.domain.hosts import corrected_host, stays_here
from braindex.domain.tokens import count_tokens
from braindex.domain.usage import EngineName, Usage
from braindex.transport.failures import TEMPERATURE, NonsenseAnswer, PromptTooLong, RetryRule, StaysLocal
from braindex.transport.ollama_api import KEEP_ALIVE, load, ollama_api, ollama_provider
from braindex.transport.tool_calling import ollama_calls, ollama_steps, openai_tools
from braindex.transport.wire import Optional, as_sent, clean, count

if TYPE_CHECKING:
    from braindex.transport.ollama_api import AsyncClient

# Ollama cuts a prompt that exceeds its context without a word, at 4,096 tokens by default (its docs, "Context
# length"). Each change of the context loads the model anew, so the steps are large, and the first holds most questions.
SMALLEST_CONTEXT: Final = 8_192
LARGEST_CONTEXT: Final = 65_536
# Code and scripts other than Latin take more tokens than bytes ÷ 4 says; the template takes a few for each message.
_DENSITY: Final = 1.5
_TEMPLATE_TOKENS: Final = 32

Result = TypeVar("Result")


def context_for(messages: Sequence[Message], max_tokens: int) -> int | None:
    """The context to ask for: a power of two with room for the prompt and its answer, None where none is enough."""
    return _context_for([one.content for one in messages], max_tokens)


def _context_for(texts: Sequence[str], max_tokens: int) -> int | None:
    prompt = sum(count_tokens(one) * _DENSITY + _TEMPLATE_TOKENS for one in texts)
    context = SMALLEST_CONTEXT
    while context < prompt + max_tokens:
        context *= 2
    return context if context <= LARGEST_CONTEXT else None


class Ollama:
    """One model of one Ollama server. Nothing is imported or opened before the first call; calls may run in parallel.

    Raises ValueError for a host that is none (see `corrected_host`).
    """

    def __init__(
        self,
        model: str,
        host: str = "",
        timeout: float = 300.0,
        *,
        local_only: bool = False,
        retry: RetryRule | None = None,
    ) -> None:
        """`host` as OLLAMA_HOST has it. `timeout` is in seconds and holds the loading of the model, too.

        With `local_only` neither another machine nor a model that runs in Ollama's cloud is asked.
        """
        self._model = model
        self._host = corrected_host(host)
        self._timeout = timeout
        self._stays_local = local_only and not stays_here(self._host, model)
        self._retry = retry or RetryRule()
        self._thinking = Optional("think")
        self._tools = Optional("tool")
        self._context = SMALLEST_CONTEXT
        self._provider = ollama_provider(self._host, model, "OLLAMA_MODEL")

    @property
    def name(self) -> EngineName:
        return "ollama"

    @property
    def model(self) -> str:
        return self._model

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        cancelled: Callable[[], bool] = lambda: False,
        seconds: float | None = None,
    ) -> Completion:
        """As the port says. Raises PromptTooLong rather than have Ollama cut the prompt."""
        self._make_room([one.content for one in messages], max_tokens)
        sent = as_sent(messages)

        async def ask() -> Completion:
            return self._read(await self._ask(sent, [], max_tokens), max_tokens)

        return self._called(ask, cancelled, seconds)

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
        """As the port says. Ollama has no word for `choice`: for "none" it is given no tools. A model that knows none
        is asked without them from then on. Raises PromptTooLong as `complete` does.
        """
        self._make_room(texts_of(steps, tools), max_tokens)
        sent, offered = ollama_steps(steps), openai_tools(tools) if choice == "auto" else []

        async def ask() -> Reply:
            return self._read_turn(await self._ask(sent, offered, max_tokens))

        return self._called(ask, cancelled, seconds)

    def _make_room(self, texts: Sequence[str], max_tokens: int) -> None:
        """Raises StaysLocal, PromptTooLong."""
        if self._stays_local:
            raise StaysLocal(self._provider)
        needed = _context_for(texts, max_tokens)
        if needed is None:
            raise PromptTooLong(self._provider)
        self._context = max(self._context, needed)  # never back: that would load the model anew

    def _called(
        self, ask: Callable[[], Awaitable[Result]], cancelled: Callable[[], bool], seconds: float | None
    ) -> Result:
        load()
        from braindex.transport.calling import call  # noqa: PLC0415 - asyncio is loaded with the first call

        limit = self._timeout if seconds is None else min(seconds, self._timeout)
        return call(ask, self._provider, limit, self._retry, cancelled)

    async def _ask(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]], max_tokens: int) -> Any:
        async with ollama_api(self._provider, self._model, self._host) as client:

            async def send(with_tools: bool) -> Any:
                offered = tools if with_tools else []
                # False: thoughts take the tokens that the answer needs.
                return await self._thinking.offered(
                    lambda named: self._send(client, messages, offered, max_tokens, think=False if named else None)
                )

            return await (self._tools.offered(send) if tools else send(False))  # noqa: FBT003 - there are none

    async def _send(
        self,
        client: "AsyncClient",
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]],
        max_tokens: int,
        *,
        think: bool | None,
    ) -> Any:
        options = {"num_ctx": self._context, "num_predict": max_tokens, "temperature": TEMPERATURE}
        try:
            return await client.chat(
                model=self._model,
                messages=messages,
                tools=tools,
                stream=False,
                think=think,
                options=options,
                keep_alive=KEEP_ALIVE,
            )
        # What the library's reading of a body that is no answer raises: no JSON, JSON of another kind, fields of one.
        except (ValueError, TypeError, RecursionError):
            raise NonsenseAnswer(self._provider, "something that is no chat response") from None

    def _read_turn(self, answer: Any) -> Reply:
        found: Mapping[str, Any] = answer.model_dump()
        text, calls = found["message"].get("content") or "", ollama_calls(found["message"])
        if not (text.strip() or calls):
            raise NonsenseAnswer(self._provider, "an empty text", _usage(found))
        return Reply(clean(text), calls, self._model, _usage(found), cut=found.get("done_reason") == "length")

    def _read(self, answer: Any, max_tokens: int) -> Completion:
        found: Mapping[str, Any] = answer.model_dump()
        usage = _usage(found)
        text = found["message"].get("content")
        if not isinstance(text, str) or (not text.strip() and max_tokens > 1):
            raise NonsenseAnswer(self._provider, "an empty text", usage)
        return Completion(clean(text), self._model, usage, cut=found.get("done_reason") == "length")


def _usage(found: Mapping[str, Any]) -> Usage:
    return Usage(count(found.get("prompt_eval_count")) or 0, count(found.get("eval_count")) or 0)
