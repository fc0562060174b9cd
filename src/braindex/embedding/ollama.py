"""Embedding models of an Ollama server."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from braindex.domain.hosts import corrected_host, stays_here
from braindex.domain.usage import EngineName, Usage
from braindex.embedding.remote import Embedded, Patience
from braindex.transport.failures import NonsenseAnswer, RetryRule, StaysLocal
from braindex.transport.ollama_api import KEEP_ALIVE, load, ollama_api, ollama_provider
from braindex.transport.wire import count

if TYPE_CHECKING:
    from braindex.transport.ollama_api import AsyncClient


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
        self._host = corrected_host(host)
        self._stays_local = local_only and not stays_here(self._host, model)
        self._patience = Patience(seconds, retry or RetryRule(), question_retry)
        self.provider = ollama_provider(self._host, model, "OLLAMA_EMBED_MODEL")

    def check(self) -> None:
        if self._stays_local:
            raise StaysLocal(self.provider)

    def embed(self, texts: Sequence[str], *, question: bool, cancelled: Callable[[], bool]) -> Embedded:
        """As the protocol says. Ollama itself cuts what is still longer than the model's input."""
        load()
        from braindex.transport.calling import call  # noqa: PLC0415 - asyncio is loaded with the first call

        return call(lambda: self._ask(texts), self.provider, *self._patience.of(question=question), cancelled)

    async def _ask(self, texts: Sequence[str]) -> Embedded:
        async with ollama_api(self.provider, self.model, self._host) as client:
            return self._read(await self._send(client, texts))

    async def _send(self, client: "AsyncClient", texts: Sequence[str]) -> Any:
        try:
            return await client.embed(model=self.model, input=list(texts), truncate=True, keep_alive=KEEP_ALIVE)
        # What the library's reading of a body that is no answer raises: no JSON, JSON of another kind, fields of one.
        except (ValueError, TypeError, RecursionError):
            raise NonsenseAnswer(self.provider, "something that is no list of vectors") from None

    @staticmethod
    def _read(answer: Any) -> Embedded:
        found: Mapping[str, Any] = answer.model_dump()
        return Embedded(found["embeddings"], Usage(count(found.get("prompt_eval_count")) or 0))
