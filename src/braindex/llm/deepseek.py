"""DeepSeek, or whoever speaks its protocol at the configured address: plain chat completions."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from braindex.domain.engines import Completion, Message
from braindex.domain.hosts import is_loopback
from braindex.domain.usage import EngineName, Usage
from braindex.transport.failures import (
    TEMPERATURE,
    KeyUnusable,
    NonsenseAnswer,
    Provider,
    ProxyUnusable,
    RetryRule,
    ServerFailed,
    StaysLocal,
)
from braindex.transport.wire import (
    CONNECT_SECONDS,
    Refused,
    Transport,
    as_sent,
    clean,
    count,
    hooks,
    named_failures,
    parsed,
    quiet_libraries,
    trust,
)

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# Both models think before they answer unless told not to, which takes long and is billed as output.
# Source: api-docs.deepseek.com/guides/thinking_mode
_NO_THINKING: Final = {"type": "disabled"}
_KEY: Final = re.compile(r"[!-~]+")
_MODEL_SETTINGS: Final = {"deepseek-pro": "DEEPSEEK_PRO_MODEL"}


def _provider(name: EngineName) -> Provider:
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
        self._provider = _provider(name)
        self._names_thinking = True

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
        if self._local_only and not is_loopback(self._base_url):
            raise StaysLocal(self._provider)
        if not _KEY.fullmatch(self._api_key):
            raise KeyUnusable(self._provider)  # the HTTP library would quote it in its complaint
        import openai  # noqa: F401, PLC0415 - a second of CPU, outside the time limit of the call

        from braindex.transport.calling import call  # noqa: PLC0415 - asyncio is loaded with the first call

        quiet_libraries()
        sent = as_sent(messages)
        limit = self._timeout if seconds is None else min(seconds, self._timeout)
        return call(lambda: self._ask(sent, max_tokens), self._provider, limit, self._retry, cancelled)

    async def _ask(self, messages: list[dict[str, str]], max_tokens: int) -> Completion:
        import httpx2  # noqa: PLC0415 - comes with openai
        import openai  # noqa: PLC0415 - see complete

        transport = Transport(
            unreachable=(httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.UnsupportedProtocol, httpx2.InvalidURL),
            broken=(openai.APIConnectionError, httpx2.RequestError, httpx2.InvalidURL),
        )
        with named_failures(self._provider, self._model, transport):
            async with self._client() as client:
                body = await self._post(client, messages, max_tokens)
        return self._read(parsed(self._provider, body), max_tokens)

    def _client(self) -> "AsyncOpenAI":
        import httpx2  # noqa: PLC0415 - comes with openai
        import openai  # noqa: PLC0415 - see complete

        try:
            http = httpx2.AsyncClient(
                trust_env=not is_loopback(self._base_url),
                verify=trust(self._base_url),
                timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),  # the call as a whole has its own limit
                follow_redirects=False,  # the question goes where the settings say, and nowhere else
                event_hooks=hooks(httpx2.AsyncByteStream, self._api_key),
            )
        except (ImportError, ValueError):  # SOCKS without its package, or an address that is none
            raise ProxyUnusable(self._provider) from None
        return openai.AsyncOpenAI(api_key=self._api_key, base_url=self._base_url, max_retries=0, http_client=http)

    async def _post(self, client: "AsyncOpenAI", messages: list[dict[str, str]], max_tokens: int) -> bytes:
        """Asks; once more without the word on thinking, and never with it again, where the provider has none such."""
        try:
            return await self._send(client, messages, max_tokens, thinking=self._names_thinking)
        except Refused as refused:
            if not (self._names_thinking and refused.is_about("thinking")):
                raise
            answer = await self._send(client, messages, max_tokens, thinking=False)
            self._names_thinking = False  # it was that: with another reason this would have failed again
            return answer

    async def _send(
        self, client: "AsyncOpenAI", messages: list[dict[str, str]], max_tokens: int, *, thinking: bool
    ) -> bytes:
        import httpx2  # noqa: PLC0415 - comes with openai

        body: dict[str, Any] = {
            "model": self._model,
            "messages": messages,
            "max_tokens": max_tokens,
            "temperature": TEMPERATURE,
        }
        if thinking:
            body["thinking"] = _NO_THINKING
        # The response as it is: the library's typed reading would let a body of any kind through as an answer.
        response = await client.post("/chat/completions", cast_to=httpx2.Response, body=body)
        return response.content

    def _read(self, answer: Mapping[str, Any], max_tokens: int) -> Completion:
        usage = _usage(answer.get("usage"))
        choices = answer.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict):
            raise NonsenseAnswer(self._provider, "JSON that holds no message", usage)
        if choice.get("finish_reason") == "insufficient_system_resource":
            raise ServerFailed(self._provider, 503)  # a documented way of saying the same with a status of 200
        text = message.get("content")
        if not isinstance(text, str) or (not text.strip() and max_tokens > 1):
            raise NonsenseAnswer(self._provider, "an empty text", usage)
        return Completion(clean(text), self._model, usage, cut=choice.get("finish_reason") == "length")


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
