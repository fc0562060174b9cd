"""Ollama: models on this machine, or on another that OLLAMA_HOST names."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from braindex.domain.engines import Completion, Message
from braindex.domain.hosts import corrected_host, is_loopback, runs_in_cloud, shown_host
from braindex.domain.tokens import count_tokens
from braindex.domain.usage import EngineName, Usage
from braindex.transport.failures import (
    TEMPERATURE,
    NonsenseAnswer,
    PromptTooLong,
    Provider,
    ProxyUnusable,
    RetryRule,
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
    quiet_libraries,
    trust,
)

if TYPE_CHECKING:
    import ollama

# Ollama cuts a prompt that exceeds its context without a word, at 4,096 tokens by default (its docs, "Context
# length"). Each change of the context loads the model anew, so the steps are large, and the first holds most questions.
SMALLEST_CONTEXT: Final = 8_192
LARGEST_CONTEXT: Final = 65_536
# Code and scripts other than Latin take more tokens than bytes ÷ 4 says; the template takes a few for each message.
_DENSITY: Final = 1.5
_TEMPLATE_TOKENS: Final = 32
_KEEP_ALIVE: Final = "15m"  # loading takes longer than answering: keep the model between the questions of a session


def context_for(messages: Sequence[Message], max_tokens: int) -> int | None:
    """The context to ask for: a power of two with room for the prompt and its answer, None where none is enough."""
    prompt = sum(count_tokens(one.content) * _DENSITY + _TEMPLATE_TOKENS for one in messages)
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
        self._stays_local = local_only and (runs_in_cloud(model) or not is_loopback(self._host))
        self._retry = retry or RetryRule()
        self._names_thinking = True
        self._context = SMALLEST_CONTEXT
        self._provider = Provider(
            name="Ollama",
            on_refused_key="sign in with `ollama signin` for a cloud model, or check OLLAMA_HOST",
            on_no_credit="choose a model that runs on this machine as OLLAMA_MODEL",
            on_unknown_model=f"run `ollama pull {model}`, or name another with OLLAMA_MODEL",
            on_unreachable=f"start it with `ollama serve` or its app; OLLAMA_HOST means {shown_host(self._host)}",
            local=is_loopback(self._host),
        )

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
        if self._stays_local:
            raise StaysLocal(self._provider)
        needed = context_for(messages, max_tokens)
        if needed is None:
            raise PromptTooLong(self._provider)
        self._context = max(self._context, needed)  # never back: that would load the model anew
        import ollama  # noqa: F401, PLC0415 - half a second of CPU, outside the time limit of the call

        from braindex.transport.calling import call  # noqa: PLC0415 - asyncio is loaded with the first call

        quiet_libraries()
        sent = as_sent(messages)
        limit = self._timeout if seconds is None else min(seconds, self._timeout)
        return call(lambda: self._ask(sent, max_tokens), self._provider, limit, self._retry, cancelled)

    async def _ask(self, messages: list[dict[str, str]], max_tokens: int) -> Completion:
        import httpx  # noqa: PLC0415 - comes with ollama

        transport = Transport(
            # The library turns a failed connection into Python's own ConnectionError.
            unreachable=(ConnectionError, httpx.ConnectError, httpx.ConnectTimeout, httpx.InvalidURL),
            broken=(ConnectionError, httpx.RequestError, httpx.InvalidURL),
        )
        with named_failures(self._provider, self._model, transport):
            async with self._client() as client:
                return self._read(await self._post(client, messages, max_tokens), max_tokens)

    def _client(self) -> "ollama.AsyncClient":
        import httpx  # noqa: PLC0415 - comes with ollama
        import ollama  # noqa: PLC0415 - see complete

        try:
            return ollama.AsyncClient(
                host=self._host,
                trust_env=not is_loopback(self._host),
                verify=trust(self._host),
                timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),  # the call as a whole has its own limit
                follow_redirects=False,  # the question goes where the settings say, and nowhere else
                event_hooks=hooks(httpx.AsyncByteStream),
            )
        except (ImportError, ValueError):  # SOCKS without its package, or an address that is none
            raise ProxyUnusable(self._provider) from None

    async def _post(self, client: "ollama.AsyncClient", messages: list[dict[str, str]], max_tokens: int) -> Any:
        """Asks; once more without the word on thinking, and never with it again, where the server objects to it."""
        try:
            return await self._send(client, messages, max_tokens, think=False if self._names_thinking else None)
        except Refused as refused:
            if not (self._names_thinking and refused.is_about("think")):
                raise
            answer = await self._send(client, messages, max_tokens, think=None)
            self._names_thinking = False  # it was that: with another reason this would have failed again
            return answer

    async def _send(
        self, client: "ollama.AsyncClient", messages: list[dict[str, str]], max_tokens: int, *, think: bool | None
    ) -> Any:
        options = {"num_ctx": self._context, "num_predict": max_tokens, "temperature": TEMPERATURE}
        try:
            return await client.chat(
                model=self._model,
                messages=messages,
                stream=False,
                think=think,  # False: thoughts take the tokens that the answer needs
                options=options,
                keep_alive=_KEEP_ALIVE,
            )
        # What the library's reading of a body that is no answer raises: no JSON, JSON of another kind, fields of one.
        except (ValueError, TypeError, RecursionError):
            raise NonsenseAnswer(self._provider, "something that is no chat response") from None

    def _read(self, answer: Any, max_tokens: int) -> Completion:
        found: Mapping[str, Any] = answer.model_dump()
        usage = Usage(count(found.get("prompt_eval_count")) or 0, count(found.get("eval_count")) or 0)
        text = found["message"].get("content")
        if not isinstance(text, str) or (not text.strip() and max_tokens > 1):
            raise NonsenseAnswer(self._provider, "an empty text", usage)
        return Completion(clean(text), self._model, usage, cut=found.get("done_reason") == "length")
