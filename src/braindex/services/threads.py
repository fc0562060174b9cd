"""Blocking work off the event loop, in threads that never keep the process alive."""

import asyncio
import math
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any, Final, TypeVar

T = TypeVar("T")

# Often enough that no client takes a long call for a dead one, and that a person sees it move.
TICK_SECONDS: Final = 1.0


def begun(call: Callable[[], T]) -> Future[T]:
    """A blocking call, begun in a daemon thread of its own.

    The SDK's worker threads are waited for when input ends, and by the interpreter at exit; a daemon thread
    is left behind by both, so a scan or a slow disk cannot keep a server alive whose client is gone.
    """
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def work() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - carried over to whoever asks for the result
            future.set_exception(error)

    threading.Thread(target=work, name="braindex-call", daemon=True).start()
    return future


async def in_thread(call: Callable[[], T]) -> T:
    """The result of a blocking call, made in a daemon thread of its own.

    Raises:
        Whatever the call raises.
    """
    return await asyncio.wrap_future(begun(call))


async def in_cancellable_thread(
    call: Callable[[Callable[[], bool]], T], tell: Callable[[float], Awaitable[object]]
) -> T:
    """As `in_thread`, of a call that is given a flag: true from the moment that its result is no longer awaited.

    A thread cannot be ended from outside; the call looks at the flag wherever it waits for something expensive.
    `tell` is awaited once a second with the seconds that have passed.
    """
    left = threading.Event()
    started = time.monotonic()
    future = begun(lambda: call(left.is_set))
    try:
        await ends_within(future, math.inf, lambda: tell(time.monotonic() - started))
        return future.result()
    finally:
        left.set()


async def ends_within(future: Future[Any], seconds: float, tick: Callable[[], Awaitable[object]]) -> bool:
    """Whether a call that was begun has ended, after so many seconds at most; `tick` is awaited once a second."""
    waiting = asyncio.wrap_future(future)
    deadline = time.monotonic() + seconds
    try:
        while not future.done() and (left := deadline - time.monotonic()) > 0:
            await asyncio.wait({waiting}, timeout=min(TICK_SECONDS, left))
            if not future.done():
                await tick()
        return future.done()
    finally:
        # The call goes on. Its error is the future's to raise, and nobody else's to complain about.
        if not waiting.cancel() and not waiting.cancelled():
            waiting.exception()
