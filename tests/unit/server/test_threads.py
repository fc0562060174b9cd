import threading

import anyio
import pytest

from braindex.server.threads import in_thread

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
