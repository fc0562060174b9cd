"""Running one call: asynchronous inside, so that it can be cancelled; blocking outside, as the port promises."""

import asyncio
import itertools
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from braindex.domain.engines import EngineCancelled, EngineFailed
from braindex.transport.failures import Failure, Provider, RetryRule, TimedOut, Unforeseen

log = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.05  # how soon a cancellation is noticed
_FAREWELL_SECONDS: Final = 1.0  # what a client gets to close its connection

Result = TypeVar("Result")


def call(
    ask: Callable[[], Awaitable[Result]],
    provider: Provider,
    seconds: float,
    retry: RetryRule,
    cancelled: Callable[[], bool],
) -> Result:
    """Asks until there is an answer or no attempt is left; all attempts and the waits between share `seconds`.

    Runs an event loop of its own in the calling thread, so it must not be called where one already runs.

    Raises Failure (TimedOut among them), and EngineCancelled at most a few POLL_SECONDS after `cancelled` turned true;
    the connection is closed by then. KeyboardInterrupt closes it too.
    """
    if cancelled():
        raise EngineCancelled
    # The selector loop on Windows too: its sockets are the `socket` module's, which MEMORY_MODE=local watches.
    loop = asyncio.SelectorEventLoop()
    try:
        return loop.run_until_complete(_watched(ask, provider, seconds, retry, cancelled))
    except EngineFailed:
        raise
    except Exception as trouble:  # noqa: BLE001 - the fallback that the next lines name
        # Named fallback: a library in a state nobody foresaw must not cost the user the sources. Neither its message
        # nor its traceback is logged, since both may hold the request.
        log.error("%s: unforeseen %s in the client library", provider.name, type(trouble).__name__)  # noqa: TRY400
        raise Unforeseen(provider, type(trouble).__name__) from None
    finally:
        _end(loop)


async def _watched(
    ask: Callable[[], Awaitable[Result]],
    provider: Provider,
    seconds: float,
    retry: RetryRule,
    cancelled: Callable[[], bool],
) -> Result:
    deadline = time.monotonic() + seconds
    task = asyncio.ensure_future(_repeated(ask, retry, deadline))
    try:
        while True:
            left = deadline - time.monotonic()
            await asyncio.wait({task}, timeout=max(0.0, min(POLL_SECONDS, left)))
            if task.done():
                return task.result()
            if cancelled():
                await _stop(task)
                raise EngineCancelled
            if left <= 0:
                await _stop(task)
                raise TimedOut(provider, seconds)
    finally:
        if task.done() and not task.cancelled():
            task.exception()  # seen: an interrupt that hit the task itself comes out of the loop, not of the task


async def _repeated(ask: Callable[[], Awaitable[Result]], retry: RetryRule, deadline: float) -> Result:
    for failed in itertools.count(1):
        try:
            return await ask()
        except Failure as failure:
            wait = retry.wait(failed, failure)
            if wait is None or time.monotonic() + wait >= deadline:
                raise
            log.info("attempt %d failed (%s), the next in %.1f s", failed, type(failure).__name__, wait)
        await retry.sleep(wait)
    raise AssertionError  # the loop above has no end


async def _stop(task: "asyncio.Future[Any]") -> None:
    task.cancel()
    await asyncio.wait({task}, timeout=_FAREWELL_SECONDS)
    if task.done() and not task.cancelled():
        task.exception()  # seen: what a call still had to say is of no use to anyone now


def _end(loop: asyncio.AbstractEventLoop) -> None:
    """Ends what an interrupt left, then the loop, without waiting for a name look-up that hangs in its threads."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.wait(left, timeout=_FAREWELL_SECONDS))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
