"""What the adapters share: the ways in which an engine fails, each with what to do, and when to ask it again."""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from braindex.domain.engines import EngineFailed
from braindex.domain.usage import Usage

TEMPERATURE: Final = 0.0  # the same sources and question shall give the same answer
LARGEST_ANSWER: Final = 4_000_000  # bytes of a response body; the longest real answers are some 50 kB


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider's name, and what a person does about each failure that is theirs to mend."""

    name: str
    on_refused_key: str
    on_no_credit: str
    on_unknown_model: str
    on_unreachable: str
    local: bool = False


class Failure(EngineFailed):
    """`again`: another attempt may help. `usage`: what was used all the same, where the engine said so."""

    again = False

    def __init__(self, message: str, *, retry_after: float | None = None, usage: Usage | None = None) -> None:
        super().__init__(" ".join(message.split()))
        self.retry_after = retry_after
        self.usage = usage or Usage()


class KeyRefused(Failure):
    def __init__(self, provider: Provider, status: int) -> None:
        super().__init__(f"{provider.name} refused access (HTTP {status}): {provider.on_refused_key}")


class KeyUnusable(Failure):
    def __init__(self, provider: Provider) -> None:
        super().__init__(
            f"{provider.name} was not asked, since what it has for a key is none: {provider.on_refused_key}"
        )


class OutOfCredit(Failure):
    def __init__(self, provider: Provider) -> None:
        super().__init__(f"the {provider.name} account is out of credit (HTTP 402): {provider.on_no_credit}")


class UnknownModel(Failure):
    def __init__(self, provider: Provider, model: str, status: int) -> None:
        super().__init__(f"{provider.name} has no model {model!r} (HTTP {status}): {provider.on_unknown_model}")


class PromptTooLong(Failure):
    def __init__(self, provider: Provider) -> None:
        super().__init__(
            f"the question with its sources is longer than {provider.name} takes: "
            "ask a shorter question, or for fewer sources"
        )


class RequestRefused(Failure):
    def __init__(self, provider: Provider, status: int) -> None:
        super().__init__(
            f"{provider.name} refused the request (HTTP {status}): "
            "check the address and the model in the settings, and that braindex is up to date"
        )


class RateLimited(Failure):
    again = True

    def __init__(self, provider: Provider, retry_after: float | None = None) -> None:
        when = "a minute" if retry_after is None else f"{max(1, round(retry_after))} s"
        message = f"{provider.name} takes no more requests for now (HTTP 429): ask again in {when}"
        super().__init__(message, retry_after=retry_after)


class ServerFailed(Failure):
    again = True

    def __init__(self, provider: Provider, status: int, retry_after: float | None = None) -> None:
        message = f"{provider.name} failed on its own side (HTTP {status}): ask again later"
        super().__init__(message, retry_after=retry_after)


class ConnectionBroken(Failure):
    again = True

    def __init__(self, provider: Provider) -> None:
        super().__init__(f"the connection to {provider.name} broke before the answer was complete: ask again")


class Unreachable(Failure):
    """No connection at all. A server on this machine that does not run will not run half a second later either."""

    def __init__(self, provider: Provider) -> None:
        super().__init__(f"{provider.name} cannot be reached: {provider.on_unreachable}")
        self.again = not provider.local


class ProxyUnusable(Failure):
    def __init__(self, provider: Provider) -> None:
        super().__init__(
            f"{provider.name} cannot be reached through the proxy that the environment names: "
            "give HTTPS_PROXY and ALL_PROXY an http:// address, or list the host in NO_PROXY"
        )


class TimedOut(Failure):
    def __init__(self, provider: Provider, seconds: float) -> None:
        super().__init__(f"{provider.name} did not answer within {seconds:g} s: ask again, or ask something smaller")


class NonsenseAnswer(Failure):
    def __init__(self, provider: Provider, what: str, usage: Usage | None = None) -> None:
        message = f"{provider.name} answered with {what} instead of an answer: ask again, or check its address"
        super().__init__(message, usage=usage)


class CompressedAnswer(NonsenseAnswer):
    """Its size has no bound before it is unfolded, and nobody asked for it."""

    def __init__(self, provider: Provider) -> None:
        super().__init__(provider, "a compressed body, which was not asked for,")


class StaysLocal(Failure):
    def __init__(self, provider: Provider) -> None:
        super().__init__(
            f"MEMORY_MODE=local keeps everything on this machine, so {provider.name} was not asked: "
            "set MEMORY_MODE to hybrid or cloud to allow it"
        )


class Unforeseen(Failure):
    def __init__(self, provider: Provider, kind: str) -> None:
        super().__init__(
            f"the client library of {provider.name} failed ({kind}): "
            "reinstall braindex, and report this if it happens again"
        )


async def _sleep(seconds: float) -> None:
    import asyncio  # noqa: PLC0415 - loaded with the first call, as everything that only calls need

    await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True)
class RetryRule:
    """Exponential back-off with jitter, between half of each step and the whole of it.

    Only failures that say `again` are repeated: HTTP 429, 5xx and broken connections. `sleep` and `chance` (0-1) are
    there for tests to put in their own.
    """

    attempts: int = 3
    first_wait: float = 0.5
    longest_wait: float = 8.0
    longest_retry_after: float = 20.0
    sleep: Callable[[float], Awaitable[None]] = _sleep
    chance: Callable[[], float] = random.random

    def wait(self, failed: int, failure: Failure) -> float | None:
        """Seconds before the next attempt after `failed` attempts, None for no other.

        A provider that wants more time than `longest_retry_after` is not waited for.
        """
        if not failure.again or failed >= self.attempts:
            return None
        step = min(self.first_wait * 2.0 ** (failed - 1), self.longest_wait)
        wait = step * (0.5 + self.chance() / 2)
        if failure.retry_after is None:
            return wait
        return None if failure.retry_after > self.longest_retry_after else max(wait, failure.retry_after)
