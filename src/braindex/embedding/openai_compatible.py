"""Embedding models of OpenAI, or of whoever speaks its protocol at the configured address."""

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from braindex.domain.hosts import is_loopback
from braindex.domain.usage import EngineName, Usage
from braindex.embedding.remote import Embedded
from braindex.transport.failures import (
    Failure,
    KeyUnusable,
    NonsenseAnswer,
    Provider,
    ProxyUnusable,
    RetryRule,
    StaysLocal,
)
from braindex.transport.wire import (
    CONNECT_SECONDS,
    Refused,
    Transport,
    count,
    hooks,
    named_failures,
    parsed,
    quiet_libraries,
    trust,
)

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_KEY: Final = re.compile(r"[!-~]+")
QUESTION_SECONDS: Final = 8.0  # clients give up after ten
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
        self.seconds = seconds
        self._api_key = api_key
        self._base_url = base_url
        self._local_only = local_only
        self._retry = retry or _PATIENT
        self._question_retry = question_retry or RetryRule(attempts=2)
        self._names_encoding = True
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
        if not _KEY.fullmatch(self._api_key):
            raise KeyUnusable(self.provider)  # the HTTP library would quote it in its complaint

    def embed(self, texts: Sequence[str], *, question: bool, cancelled: Callable[[], bool]) -> Embedded:
        """As the protocol says."""
        import openai  # noqa: F401, PLC0415 - a second of CPU, outside the time limit of the request

        from braindex.transport.calling import call  # noqa: PLC0415 - asyncio is loaded with the first call

        quiet_libraries()
        seconds = min(QUESTION_SECONDS, self.seconds) if question else self.seconds
        retry = self._question_retry if question else self._retry
        return call(lambda: self._ask(texts), self.provider, seconds, retry, cancelled)

    async def _ask(self, texts: Sequence[str]) -> Embedded:
        import httpx2  # noqa: PLC0415 - comes with openai
        import openai  # noqa: PLC0415 - see embed

        transport = Transport(
            unreachable=(httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.UnsupportedProtocol, httpx2.InvalidURL),
            broken=(openai.APIConnectionError, httpx2.RequestError, httpx2.InvalidURL),
        )
        with named_failures(self.provider, self.model, transport):
            async with self._client() as client:
                body = await self._post(client, texts)
        return self._read(parsed(self.provider, body))

    def _client(self) -> "AsyncOpenAI":
        import httpx2  # noqa: PLC0415 - comes with openai
        import openai  # noqa: PLC0415 - see embed

        try:
            http = httpx2.AsyncClient(
                trust_env=not is_loopback(self._base_url),
                verify=trust(self._base_url),
                timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),  # the request as a whole has its own limit
                follow_redirects=False,  # the code goes where the settings say, and nowhere else
                event_hooks=hooks(httpx2.AsyncByteStream, self._api_key),
            )
        except (ImportError, ValueError):  # SOCKS without its package, or an address that is none
            raise ProxyUnusable(self.provider) from None
        return openai.AsyncOpenAI(api_key=self._api_key, base_url=self._base_url, max_retries=0, http_client=http)

    async def _post(self, client: "AsyncOpenAI", texts: Sequence[str]) -> bytes:
        """Asks; once more without the word on the encoding, and never with it again, where a server knows none."""
        try:
            return await self._send(client, texts, encoding=self._names_encoding)
        except Refused as refused:
            if refused.status == 429 and "insufficient_quota" in refused.body:
                raise NoQuota(self.provider) from None  # asking again will not help, unlike after other 429s
            if not (self._names_encoding and refused.is_about("encoding_format")):
                raise
            answer = await self._send(client, texts, encoding=False)
            self._names_encoding = False  # it was that: with another reason this would have failed again
            return answer

    async def _send(self, client: "AsyncOpenAI", texts: Sequence[str], *, encoding: bool) -> bytes:
        import httpx2  # noqa: PLC0415 - comes with openai

        body: dict[str, Any] = {"model": self.model, "input": list(texts)}
        if encoding:
            body["encoding_format"] = "base64"  # a fifth of the size of numbers; who ignores it sends numbers
        # The response as it is: the library's typed reading would let a body of any kind through as an answer.
        response = await client.post("/embeddings", cast_to=httpx2.Response, body=body)
        return response.content

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
