"""HTTP as both client libraries do it, made safe: what goes out, how much comes in, and which failure a status is.

The two libraries stand on two generations of the same HTTP client (`httpx2` and `httpx`) with the same hooks, so
nothing here imports either; the adapters hand in the types.
"""

import email.utils
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from braindex.domain.engines import EngineFailed, Message
from braindex.transport.failures import (
    LARGEST_ANSWER,
    CompressedAnswer,
    ConnectionBroken,
    KeyRefused,
    NonsenseAnswer,
    OutOfCredit,
    PromptTooLong,
    Provider,
    RateLimited,
    RequestRefused,
    ServerFailed,
    StaysLocal,
    UnknownModel,
    Unreachable,
)
from braindex.transport.loopback import LocalModeOnly

if TYPE_CHECKING:
    import ssl

# Everything else is dropped: the libraries add headers about this machine, and from variables meant for others.
_SENT: Final = frozenset(
    {"accept", "authorization", "connection", "content-length", "content-type", "host", "user-agent"}
)
_LIBRARIES: Final = ("openai", "httpx", "httpx2", "httpcore", "httpcore2")
MOST_TOKENS: Final = 100_000_000  # of one call: a hundred times the largest context there is
_LONGEST_WAIT: Final = 86_400.0  # seconds of a Retry-After; what is longer means the same: not today
CONNECT_SECONDS: Final = 10.0  # a host that does not even accept within this is down

Answer = TypeVar("Answer")
RequestHook = Callable[[Any], Awaitable[None]]


class Refused(Exception):
    """A status other than 200. `body` is the provider's and may repeat the request: it is looked into, never shown."""

    def __init__(self, status: int, retry_after: float | None, body: str) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.retry_after = retry_after
        self.body = body.lower()

    def is_about(self, word: str) -> bool:
        return self.status in {400, 422} and word in self.body


class Optional:
    """A parameter that not every server knows: never named again once one refused it and took the request without."""

    def __init__(self, word: str) -> None:
        """`word` is what a refusal calls it."""
        self._word = word
        self._is_named = True

    async def offered(self, send: Callable[[bool], Awaitable[Answer]]) -> Answer:
        """The answer to a request that `send` makes, with the parameter (true) or without. Raises Refused."""
        try:
            return await send(self._is_named)
        except Refused as refused:
            if not (self._is_named and refused.is_about(self._word)):
                raise
            answer = await send(False)  # noqa: FBT003 - as above
            self._is_named = False  # it was that: with another reason this would have failed again
            return answer


class Encoded(Exception):
    """A response body that is compressed although no compression was offered."""


class TooLarge(Exception):
    """A response body beyond LARGEST_ANSWER."""


def quiet_libraries() -> None:
    """Keeps what the libraries log (addresses, and in some versions requests) out of every log below a warning."""
    for name in _LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)


def trust(url: str) -> "ssl.SSLContext | bool":
    """What a client takes for `verify`: the certificates it would load (in 60 ms), or none for an address without TLS.

    The context without certificates trusts nobody, should TLS be asked of it all the same.
    """
    import ssl  # noqa: PLC0415 - loaded with the first call, as everything that only calls need

    return True if url.lower().startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def hooks(byte_stream: type[Any], key: str | None = None) -> dict[str, list[RequestHook]]:
    """Event hooks for an asynchronous client: its headers reduced, its answers bounded, its refusals raised.

    `byte_stream` is the client's AsyncByteStream.
    """
    bounded = type("BoundedStream", (_Bounded, byte_stream), {})

    async def reduce(request: Any) -> None:
        for name in [name for name in request.headers if name.lower() not in _SENT]:
            del request.headers[name]
        request.headers["accept-encoding"] = "identity"  # a bound on bytes means little when they unfold
        if key is not None:
            request.headers["authorization"] = f"Bearer {key}"

    async def look(response: Any) -> None:
        # Before a byte is read: a client unfolds a body before anyone can see how large it becomes.
        plain = response.headers.get("content-encoding", "").strip().lower() in {"", "identity"}
        response.stream = bounded(response.stream)
        if response.status_code != 200:
            body = (await response.aread()).decode("utf-8", "replace") if plain else ""
            raise Refused(response.status_code, _seconds(response.headers.get("retry-after")), body)
        if not plain:
            raise Encoded

    return {"request": [reduce], "response": [look]}


class _Bounded:
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > LARGEST_ANSWER:
                raise TooLarge
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def _seconds(header: str | None) -> float | None:
    """Retry-After in its two forms (RFC 9110, 10.2.3), seconds or a date, as at most _LONGEST_WAIT."""
    if header is None:
        return None
    if header.strip().isdecimal():
        return min(float(header), _LONGEST_WAIT)  # of hundreds of digits it is infinite, and no integer
    try:
        until = email.utils.parsedate_to_datetime(header)
        left = until.replace(tzinfo=until.tzinfo or UTC).timestamp() - datetime.now(UTC).timestamp()
    except (ValueError, OverflowError, TypeError, IndexError):  # a date that is none, or outside the calendar
        return None
    return min(max(0.0, left), _LONGEST_WAIT)


@dataclass(frozen=True, slots=True)
class Transport:
    """The exceptions of a client library: `unreachable` is no connection at all, `broken` any trouble with one."""

    unreachable: tuple[type[Exception], ...]
    broken: tuple[type[Exception], ...]


@contextmanager
def named_failures(provider: Provider, model: str, transport: Transport) -> Iterator[None]:
    """Turns what a client library raises into failures that say what to do; none carries the original's text."""
    try:
        yield
    except Refused as refused:
        raise _of_status(provider, model, refused) from None
    except Encoded:
        raise CompressedAnswer(provider) from None
    except TooLarge:
        raise NonsenseAnswer(provider, f"more than {LARGEST_ANSWER // 1_000_000} MB") from None
    except LocalModeOnly:
        raise StaysLocal(provider) from None
    except ExceptionGroup as several:  # anyio tries the addresses of a host side by side
        refused_here = several.subgroup(LocalModeOnly)
        raise (StaysLocal if refused_here else Unreachable)(provider) from None
    except transport.broken as trouble:
        if isinstance(trouble, transport.unreachable) or isinstance(trouble.__cause__, transport.unreachable):
            raise Unreachable(provider) from None
        raise ConnectionBroken(provider) from None


def _of_status(provider: Provider, model: str, refused: Refused) -> EngineFailed:
    status = refused.status
    if status >= 500:
        return ServerFailed(provider, status, refused.retry_after)
    if status < 400:
        return NonsenseAnswer(provider, f"HTTP {status}")
    by_status: dict[int, Callable[[], EngineFailed]] = {
        401: lambda: KeyRefused(provider, status),
        402: lambda: OutOfCredit(provider),
        403: lambda: KeyRefused(provider, status),
        404: lambda: UnknownModel(provider, model, status),
        413: lambda: PromptTooLong(provider),
        429: lambda: RateLimited(provider, refused.retry_after),
    }
    named = by_status.get(status)
    return named() if named else _of_refused_request(provider, model, refused)


def _of_refused_request(provider: Provider, model: str, refused: Refused) -> EngineFailed:
    """400 and 422 are told apart by the provider's words: "Model Not Exist", "maximum context length is …"."""
    if refused.is_about("context length"):
        return PromptTooLong(provider)
    if refused.is_about("model") and (refused.is_about("not exist") or refused.is_about("not found")):
        return UnknownModel(provider, model, refused.status)
    return RequestRefused(provider, refused.status)


def as_sent(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Messages as both wire formats have them. What is no Unicode (half of a surrogate pair) could not be sent."""
    return [{"role": one.role, "content": clean(one.content)} for one in messages]


def clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def parsed(provider: Provider, body: bytes) -> dict[str, Any]:
    """A response body as the JSON object that it has to be. Raises NonsenseAnswer."""
    if not body.strip():
        raise NonsenseAnswer(provider, "nothing")
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):  # what is no UTF-8 is a ValueError too
        raise NonsenseAnswer(provider, "something that is no JSON") from None
    if not isinstance(found, dict):
        raise NonsenseAnswer(provider, "JSON of another kind")
    return found


def count(value: object) -> int | None:
    """A token count as reported, 0 to MOST_TOKENS; None for what is none, which is not the same as no tokens."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS:
        return value
    return None
