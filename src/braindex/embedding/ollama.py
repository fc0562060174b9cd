"""Embedding models of an Ollama server."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from braindex.domain.hosts import corrected_host, is_loopback, runs_in_cloud, shown_host
from braindex.domain.usage import EngineName, Usage
from braindex.embedding.remote import Embedded
from braindex.transport.failures import NonsenseAnswer, Provider, ProxyUnusable, RetryRule, StaysLocal
from braindex.transport.wire import CONNECT_SECONDS, Transport, count, hooks, named_failures, quiet_libraries, trust

if TYPE_CHECKING:
    import ollama

_KEEP_ALIVE: Final = "15m"  # as for answers: loading takes longer than embedding
QUESTION_SECONDS: Final = 8.0  # clients give up after ten


class OllamaEmbeddings:
    """One embedding model of one Ollama server. Nothing is imported or opened before the first request.

    Raises ValueError for a host that is none (see `corrected_host`).
    """

    # What a model on a processor embeds well within the time limit; a lost request costs no more than that.
    texts: int = 32
    request_bytes: int = 64_000
    engine: EngineName = "ollama"

    def __init__(
        self,
        model: str,
        host: str = "",
        seconds: float = 300.0,
        *,
        local_only: bool = False,
        retry: RetryRule | None = None,
        question_retry: RetryRule | None = None,
    ) -> None:
        """`host` as OLLAMA_HOST has it. `seconds` bound a request and hold the loading of the model, too.

        With `local_only` neither another machine nor a model that runs in Ollama's cloud is asked.
        """
        # The name without a tag and the tag it means are one model.
        self.model = model if ":" in model.rpartition("/")[2] else f"{model}:latest"
        self.seconds = seconds
        self._host = corrected_host(host)
        self._stays_local = local_only and (runs_in_cloud(model) or not is_loopback(self._host))
        self._retry = retry or RetryRule()
        self._question_retry = question_retry or RetryRule(attempts=2)
        self.provider = Provider(
            name="Ollama",
            on_refused_key="sign in with `ollama signin` for a cloud model, or check OLLAMA_HOST",
            on_no_credit="choose a model that runs on this machine as OLLAMA_EMBED_MODEL",
            on_unknown_model=f"run `ollama pull {model}`, or name another with OLLAMA_EMBED_MODEL",
            on_unreachable=f"start it with `ollama serve` or its app; OLLAMA_HOST means {shown_host(self._host)}",
            local=is_loopback(self._host),
        )

    def check(self) -> None:
        if self._stays_local:
            raise StaysLocal(self.provider)

    def embed(self, texts: Sequence[str], *, question: bool, cancelled: Callable[[], bool]) -> Embedded:
        """As the protocol says. Ollama itself cuts what is still longer than the model's input."""
        import ollama  # noqa: F401, PLC0415 - half a second of CPU, outside the time limit of the request

        from braindex.transport.calling import call  # noqa: PLC0415 - asyncio is loaded with the first call

        quiet_libraries()
        seconds = min(QUESTION_SECONDS, self.seconds) if question else self.seconds
        retry = self._question_retry if question else self._retry
        return call(lambda: self._ask(texts), self.provider, seconds, retry, cancelled)

    async def _ask(self, texts: Sequence[str]) -> Embedded:
        import httpx  # noqa: PLC0415 - comes with ollama

        transport = Transport(
            # The library turns a failed connection into Python's own ConnectionError.
            unreachable=(ConnectionError, httpx.ConnectError, httpx.ConnectTimeout, httpx.InvalidURL),
            broken=(ConnectionError, httpx.RequestError, httpx.InvalidURL),
        )
        with named_failures(self.provider, self.model, transport):
            async with self._client() as client:
                return self._read(await self._send(client, texts))

    def _client(self) -> "ollama.AsyncClient":
        import httpx  # noqa: PLC0415 - comes with ollama
        import ollama  # noqa: PLC0415 - see embed

        try:
            return ollama.AsyncClient(
                host=self._host,
                trust_env=not is_loopback(self._host),
                verify=trust(self._host),
                timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),  # the request as a whole has its own limit
                follow_redirects=False,  # the code goes where the settings say, and nowhere else
                event_hooks=hooks(httpx.AsyncByteStream),
            )
        except (ImportError, ValueError):  # SOCKS without its package, or an address that is none
            raise ProxyUnusable(self.provider) from None

    async def _send(self, client: "ollama.AsyncClient", texts: Sequence[str]) -> Any:
        try:
            return await client.embed(model=self.model, input=list(texts), truncate=True, keep_alive=_KEEP_ALIVE)
        # What the library's reading of a body that is no answer raises: no JSON, JSON of another kind, fields of one.
        except (ValueError, TypeError, RecursionError):
            raise NonsenseAnswer(self.provider, "something that is no list of vectors") from None

    @staticmethod
    def _read(answer: Any) -> Embedded:
        found: Mapping[str, Any] = answer.model_dump()
        return Embedded(found["embeddings"], Usage(count(found.get("prompt_eval_count")) or 0))
