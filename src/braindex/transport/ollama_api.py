"""The `ollama` library as answers and embeddings use it: made safe, its failures named."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from braindex.domain.hosts import is_loopback, shown_host
from braindex.transport.failures import Provider, ProxyUnusable
from braindex.transport.wire import CONNECT_SECONDS, Transport, hooks, named_failures, quiet_libraries, trust

if TYPE_CHECKING:
    from ollama import AsyncClient as AsyncClient  # noqa: PLC0414 - for the annotations of the adapters

KEEP_ALIVE: Final = "15m"  # loading takes longer than answering: keep the model between the questions of a session


def ollama_provider(host: str, model: str, setting: str) -> Provider:
    """Ollama at a corrected host; `setting` is the variable that names the model."""
    return Provider(
        name="Ollama",
        on_refused_key="sign in with `ollama signin` for a cloud model, or check OLLAMA_HOST",
        on_no_credit=f"choose a model that runs on this machine as {setting}",
        on_unknown_model=f"run `ollama pull {model}`, or name another with {setting}",
        on_unreachable=f"start it with `ollama serve` or its app; OLLAMA_HOST means {shown_host(host)}",
        local=is_loopback(host),
    )


def load() -> None:
    """Imports the library, half a second of CPU: before the time limit of a call begins."""
    import ollama  # noqa: F401, PLC0415 - see above


@asynccontextmanager
async def ollama_api(provider: Provider, model: str, host: str) -> AsyncIterator["AsyncClient"]:
    """A connection for one call. Whatever the library raises inside comes out as a Failure; see `named_failures`."""
    import httpx  # noqa: PLC0415 - comes with ollama

    quiet_libraries()
    transport = Transport(
        # The library turns a failed connection into Python's own ConnectionError.
        unreachable=(ConnectionError, httpx.ConnectError, httpx.ConnectTimeout, httpx.InvalidURL),
        broken=(ConnectionError, httpx.RequestError, httpx.InvalidURL),
    )
    with named_failures(provider, model, transport):
        async with _client(provider, host) as client:
            yield client


def _client(provider: Provider, host: str) -> "AsyncClient":
    import httpx  # noqa: PLC0415 - comes with ollama
    import ollama  # noqa: PLC0415 - see load

    try:
        return ollama.AsyncClient(
            host=host,
            trust_env=not is_loopback(host),
            verify=trust(host),
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),  # the call as a whole has its own limit
            follow_redirects=False,  # what is asked goes where the settings say, and nowhere else
            event_hooks=hooks(httpx.AsyncByteStream),
        )
    except (ImportError, ValueError):  # SOCKS without its package, or an address that is none
        raise ProxyUnusable(provider) from None
