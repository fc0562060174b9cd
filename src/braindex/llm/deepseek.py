"""DeepSeek, or whoever speaks its protocol at the configured address: plain chat completions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from braindex.domain.conversing import Reply, Step, ToolChoice, ToolDefinition
from braindex.domain.engines import Completion, Message
from braindex.domain.hosts import is_loopback
from braindex.domain.usage import EngineName, Usage
from braindex.transport.failures import TEMPERATURE, NonsenseAnswer, Provider, RetryRule, ServerFailed, StaysLocal
from braindex.transport.openai_api import check_key, load, openai_api
from braindex.transport.tool_calling import openai_calls, openai_steps, openai_tools
from braindex.transport.wire import Optional, as_sent, clean, count, parsed

# Both models think before they answer unless told not to, which takes long and is billed as output.
# Source: api-docs.deepseek.com/guides/thinking_mode
_NO_THINKING: Final = {"type": "disabled"}
Result = TypeVar("Result")
_MODEL_SETTINGS: Final = {"deepseek-pro": "DEEPSEEK_PRO_MODEL"}


def deepseek_provider(name: EngineName) -> Provider:
    model_setting = _MODEL_SETTINGS.get(name, "DEEPSEEK_FLASH_MODEL")
    return Provider(
        name="DeepSeek",
        on_refused_key="check DEEPSEEK_API_KEY",
        on_no_credit="top it up at platform.deepseek.com",
        on_unknown_model=f"check {model_setting} and DEEPSEEK_BASE_URL",
        on_unreachable="check the network, the proxy variables and DEEPSEEK_BASE_URL",
    )


class DeepSeek:
    """One model of DeepSeek. Nothing is imported or opened before the first call; calls may run in parallel."""

    def __init__(
        self,
        name: EngineName,
        model: str,
        api_key: str,
        base_url: str,
        timeout: float = 120.0,
        *,
        local_only: bool = False,
        retry: RetryRule | None = None,
    ) -> None:
        """`timeout` is in seconds and holds all attempts of a call. With `local_only` only loopback is asked."""
        self._name = name
        self._model = model
        self._api_key = api_key
        self._base_url = base_url
        self._timeout = timeout
        self._local_only = local_only
        self._retry = retry or RetryRule()
        self._provider = deepseek_provider(name)
        self._thinking = Optional("thinking")
        self._tools = Optional("tool")

    @property
    def name(self) -> EngineName:
        return self._name

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
        """As the port says. With `max_tokens=1`, which warms the cache, a blank text is an answer too."""
        body = {"model": self._model, "messages": as_sent(messages), "max_tokens": max_tokens}

        def read(answer: Mapping[str, Any]) -> Completion:
            choice, message, usage = self._message(answer)
            text = message.get("content")
            if not isinstance(text, str) or (not text.strip() and max_tokens > 1):
                raise NonsenseAnswer(self._provider, "an empty text", usage)
            return Completion(clean(text), self._model, usage, cut=choice.get("finish_reason") == "length")

        return self._called(body, {}, read, cancelled, seconds)

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
        """As the port says. A server that refuses tools is asked without them from then on."""
        body = {"model": self._model, "messages": openai_steps(steps), "max_tokens": max_tokens}
        offered = {"tools": openai_tools(tools), "tool_choice": choice} if tools else {}

        def read(answer: Mapping[str, Any]) -> Reply:
            found, message, usage = self._message(answer)
            text, calls = message.get("content") or "", openai_calls(message)
            if not isinstance(text, str) or not (text.strip() or calls):
                raise NonsenseAnswer(self._provider, "an empty text", usage)
            return Reply(clean(text), calls, self._model, usage, cut=found.get("finish_reason") == "length")

        return self._called(body, offered, read, cancelled, seconds)

    def _called(
        self,
        body: dict[str, Any],
        tools: dict[str, Any],
        read: Callable[[Mapping[str, Any]], Result],
        cancelled: Callable[[], bool],
        seconds: float | None,
    ) -> Result:
        if self._local_only and not is_loopback(self._base_url):
            raise StaysLocal(self._provider)
        check_key(self._provider, self._api_key)
        load()
        from braindex.transport.calling import call  # noqa: PLC0415 - asyncio is loaded with the first call

        async def ask() -> Result:
            return read(parsed(self._provider, await self._ask(body, tools)))

        limit = self._timeout if seconds is None else min(seconds, self._timeout)
        return call(ask, self._provider, limit, self._retry, cancelled)

    async def _ask(self, body: dict[str, Any], tools: dict[str, Any]) -> bytes:
        async with openai_api(self._provider, self._model, self._api_key, self._base_url) as post:

            async def send(thinking: bool, offered: dict[str, Any]) -> bytes:
                extra = {"thinking": _NO_THINKING} if thinking else {}
                return await post("/chat/completions", {**body, **offered, "temperature": TEMPERATURE, **extra})

            async def with_tools(named: bool) -> bytes:
                return await self._thinking.offered(lambda thinking: send(thinking, tools if named else {}))

            return await (self._tools.offered(with_tools) if tools else with_tools(False))  # noqa: FBT003 - none

    def _message(self, answer: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any], Usage]:
        """The first choice, its message, and the usage. Raises NonsenseAnswer, ServerFailed."""
        usage = _usage(answer.get("usage"))
        choices = answer.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict):
            raise NonsenseAnswer(self._provider, "JSON that holds no message", usage)
        if choice.get("finish_reason") == "insufficient_system_resource":
            raise ServerFailed(self._provider, 503)  # a documented way of saying the same with a status of 200
        return choice, message, usage


def _usage(reported: object) -> Usage:
    """DeepSeek's own cache fields, else OpenAI's, else everything counts as missed.

    Unknown where a field that money hangs on is missing or none, or no token came in at all, which no request does.
    Source: api-docs.deepseek.com/guides/kv_cache
    """
    found: Mapping[str, Any] = reported if isinstance(reported, dict) else {}
    tokens_in, tokens_out = count(found.get("prompt_tokens")), count(found.get("completion_tokens"))
    details = found.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    said_hits = found.get("prompt_cache_hit_tokens", cached)
    said_misses = found.get("prompt_cache_miss_tokens")
    hits = 0 if said_hits is None else count(said_hits)
    misses = max(0, (tokens_in or 0) - (hits or 0)) if said_misses is None else count(said_misses)
    return Usage(
        tokens_in=tokens_in or 0,
        tokens_out=tokens_out or 0,
        cache_hit_tokens=hits or 0,
        cache_miss_tokens=misses or 0,
        unknown=not tokens_in or tokens_out is None or hits is None or misses is None,
    )
