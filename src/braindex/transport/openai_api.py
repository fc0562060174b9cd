"""The `openai` library as every adapter of that protocol uses it: made safe, asked for bytes, its failures named."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from braindex.domain.hosts import is_loopback
from braindex.transport.failures import KeyUnusable, Provider, ProxyUnusable
from braindex.transport.wire import CONNECT_SECONDS, Transport, hooks, named_failures, quiet_libraries, trust

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_KEY: Final = re.compile(r"[!-~]+")
# The path below the base URL and the body of a request, to the bytes of its answer.
Post = Callable[[str, dict[str, Any]], Awaitable[bytes]]


def check_key(provider: Provider, key: str) -> None:
    """Raises KeyUnusable for what no header can carry: the HTTP library would quote it in its complaint."""
    if not _KEY.fullmatch(key):
        raise KeyUnusable(provider)


def load() -> None:
    """Imports the library, a second of CPU: before the time limit of a call begins."""
    import openai  # noqa: F401, PLC0415 - see above


@asynccontextmanager
async def openai_api(provider: Provider, model: str, api_key: str, base_url: str) -> AsyncIterator[Post]:
    """A connection for one call. Whatever the library raises inside comes out as a Failure; see `named_failures`."""
    async with _connected(provider, model, api_key, base_url) as client:
        import httpx2  # noqa: PLC0415 - comes with openai

        async def post(path: str, body: dict[str, Any]) -> bytes:
            # The response as it is: the library's typed reading would let a body of any kind through as an answer.
            response = await client.post(path, cast_to=httpx2.Response, body=body)
            return response.content

        yield post


async def openai_read(provider: Provider, model: str, api_key: str, base_url: str, path: str) -> bytes:
    """What is at a path below the base URL, which costs nothing to read. Fails as `openai_api` does."""
    async with _connected(provider, model, api_key, base_url) as client:
        import httpx2  # noqa: PLC0415 - comes with openai

        response = await client.get(path, cast_to=httpx2.Response)
        return response.content


@asynccontextmanager
async def _connected(provider: Provider, model: str, api_key: str, base_url: str) -> AsyncIterator["AsyncOpenAI"]:
    import httpx2  # noqa: PLC0415 - comes with openai
    import openai  # noqa: PLC0415 - see load

    quiet_libraries()
    transport = Transport(
        unreachable=(httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.UnsupportedProtocol, httpx2.InvalidURL),
        broken=(openai.APIConnectionError, httpx2.RequestError, httpx2.InvalidURL),
    )
    with named_failures(provider, model, transport):
        async with _client(provider, api_key, base_url) as client:
            yield client


def _client(provider: Provider, api_key: str, base_url: str) -> "AsyncOpenAI":
    import httpx2  # noqa: PLC0415 - comes with openai
    import openai  # noqa: PLC0415 - see load

    try:
        http = httpx2.AsyncClient(
            trust_env=not is_loopback(base_url),
            verify=trust(base_url),
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),  # the call as a whole has its own limit
            follow_redirects=False,  # what is asked goes where the settings say, and nowhere else
            event_hooks=hooks(httpx2.AsyncByteStream, api_key),
        )
    except (ImportError, ValueError):  # SOCKS without its package, or an address that is none
        raise ProxyUnusable(provider) from None
    return openai.AsyncOpenAI(api_key=api_key, base_url=base_url, max_retries=0, http_client=http)
