import math
import threading
from collections.abc import Callable

import anyio
import anyio.lowlevel
import pytest

from braindex.services.threads import begun, ends_within, in_cancellable_thread, in_thread

pytestmark = pytest.mark.anyio


async def test_a_call_runs_in_a_thread_that_does_not_keep_the_process_alive():
    thread = await in_thread(threading.current_thread)
    assert thread is not threading.main_thread()
    assert thread.daemon


async def test_the_error_of_a_call_is_raised_where_it_is_awaited():
    def fail() -> None:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        await in_thread(fail)


async def test_a_blocked_call_blocks_neither_other_calls_nor_a_cancellation():
    release, started = threading.Event(), threading.Event()

    def block() -> None:
        started.set()
        release.wait()

    async with anyio.create_task_group() as group:
        group.start_soon(in_thread, block)
        assert await in_thread(started.wait)
        group.cancel_scope.cancel()
    release.set()


async def test_a_call_learns_that_its_result_is_no_longer_awaited():
    started, noticed = threading.Event(), threading.Event()

    def work(cancelled: Callable[[], bool]) -> None:
        assert not cancelled()
        started.set()
        while not cancelled():
            pass
        noticed.set()

    async def tell(seconds: float) -> None:
        assert seconds >= 0

    async def call() -> None:
        await in_cancellable_thread(work, tell)

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        assert await in_thread(started.wait)
        group.cancel_scope.cancel()
    assert await in_thread(lambda: noticed.wait(30))


async def test_waiting_for_a_call_ends_with_it_or_with_the_time_and_ticks_meanwhile():
    release = threading.Event()
    call = begun(release.wait)
    ticks: list[bool] = []

    async def tick() -> None:
        ticks.append(call.done())
        release.set()

    assert not await ends_within(call, 0, tick)
    assert ticks == []
    assert await ends_within(call, math.inf, tick)
    assert ticks == [False]
    assert await ends_within(call, 0, tick)


async def test_a_call_that_fails_has_ended_and_its_error_is_the_callers():
    def fail() -> None:
        raise LookupError("gone")

    call = begun(fail)
    assert await ends_within(call, math.inf, anyio.lowlevel.checkpoint)
    with pytest.raises(LookupError, match="gone"):
        call.result()
