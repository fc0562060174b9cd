"""Blocking work off the event loop, in threads that never keep the process alive."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


async def in_thread(call: Callable[[], T]) -> T:
    """The result of a blocking call, made in a daemon thread of its own.

    The SDK's worker threads are waited for when input ends, and by the interpreter at exit; a daemon thread
    is left behind by both, so a scan or a slow disk cannot keep a server alive whose client is gone.

    Raises:
        Whatever the call raises.
    """
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def work() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - carried over to the awaiting task, which raises it
            future.set_exception(error)

    threading.Thread(target=work, name="braindex-call", daemon=True).start()
    return await asyncio.wrap_future(future)
