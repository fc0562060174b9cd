"""Embedding models of OpenAI, or of whoever speaks its protocol at the configured address."""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from braindex.domain.hosts import is_loopback
from braindex.domain.usage import EngineName, Usage
from braindex.embedding.remote import Embedded, Patience
from braindex.transport.failures import Failure, NonsenseAnswer, Provider, RetryRule, StaysLocal
from braindex.transport.openai_api import check_key, load, openai_api
from braindex.transport.wire import Optional, Refused, count, parsed

# A large scan meets the provider's limit of tokens a minute, and waiting is better than ending it.
_PATIENT: Final = RetryRule(attempts=5, first_wait=1.0, longest_wait=20.0, longest_retry_after=60.0)


class NoQuota(Failure):
    def __init__(self, provider: Provider) -> None:
        super().__init__(f"the account at {provider.name} has no quota left (HTTP 429): {provider.on_no_credit}")


class OpenAIEmbeddings:
    """One embedding model. Nothing is imported or opened before the first request; requests may run in parallel."""

    # A request may hold 2,048 texts and 300,000 tokens of at most 8,192 each, and no text has more tokens than bytes.
    # Source: developers.openai.com/api/reference, "Create embeddings". Fewer texts keep the answer small.
    texts: int = 128
    request_bytes: int = 250_000
    engine: EngineName = "openai"

    def __init__(
        self,
        model: str,
        api_key: str,
        base_url: str,
        seconds: float = 180.0,
        *,
        local_only: bool = False,
        retry: RetryRule | None = None,
        question_retry: RetryRule | None = None,
    ) -> None:
        """`seconds` bound a request with all its attempts. With `local_only` nobody is asked, as the settings say."""
        self.model = model
        self._api_key = api_key
        self._base_url = base_url
        self._local_only = local_only
        self._patience = Patience(seconds, retry or _PATIENT, question_retry)
        self._encoding = Optional("encoding_format")
        self.provider = Provider(
            name="OpenAI" if "//api.openai.com/" in f"{base_url}/" else "the server at OPENAI_BASE_URL",
            on_refused_key="check OPENAI_API_KEY",
            on_no_credit="add credit to the account that OPENAI_API_KEY belongs to",
            on_unknown_model="check OPENAI_EMBED_MODEL and OPENAI_BASE_URL",
            on_unreachable="check the network, the proxy variables and OPENAI_BASE_URL",
            local=is_loopback(base_url),
        )

    def check(self) -> None:
        if self._local_only:
            raise StaysLocal(self.provider)
        check_key(self.provider, self._api_key)

    def embed(self, texts: Sequence[str], *, question: bool, cancelled: Callable[[], bool]) -> Embedded:
        """As the protocol says."""
        load()
        from braindex.transport.calling import call  # noqa: PLC0415 - asyncio is loaded with the first call

        return call(lambda: self._ask(texts), self.provider, *self._patience.of(question=question), cancelled)

    async def _ask(self, texts: Sequence[str]) -> Embedded:
        async with openai_api(self.provider, self.model, self._api_key, self._base_url) as post:

            async def send(encoding: bool) -> bytes:
                # A fifth of the size of numbers; who ignores it sends numbers.
                extra = {"encoding_format": "base64"} if encoding else {}
                return await post("/embeddings", {"model": self.model, "input": list(texts), **extra})

            try:
                answer = await self._encoding.offered(send)
            except Refused as refused:
                if refused.status == 429 and "insufficient_quota" in refused.body:
                    raise NoQuota(self.provider) from None  # asking again will not help, unlike after other 429s
                raise
        return self._read(parsed(self.provider, answer))

    def _read(self, answer: Mapping[str, Any]) -> Embedded:
        reported = answer.get("usage")
        tokens = count(reported.get("prompt_tokens")) if isinstance(reported, dict) else None
        usage = Usage(tokens_in=tokens or 0, unknown=not tokens)  # no request is without a token
        data = answer.get("data")
        if not isinstance(data, list) or not all(isinstance(one, dict) for one in data):
            raise NonsenseAnswer(self.provider, "JSON that holds no vectors", usage)
        indexes = [one.get("index", at) for at, one in enumerate(data)]
        if not all(isinstance(one, int) for one in indexes) or sorted(indexes) != list(range(len(data))):
            raise NonsenseAnswer(self.provider, "vectors in no order", usage)
        in_order = sorted(zip(indexes, data, strict=True), key=lambda one: one[0])
        try:
            return Embedded([_row(one.get("embedding")) for _, one in in_order], usage)
        except (binascii.Error, ValueError):
            raise NonsenseAnswer(self.provider, "vectors that cannot be decoded", usage) from None


def _row(value: Any) -> Any:
    return base64.b64decode(value, validate=True) if isinstance(value, str) else value
