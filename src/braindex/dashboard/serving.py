"""The dashboard's server: one socket on loopback, a link that works once, and a quick end."""

import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from braindex.bootstrap import App
from braindex.dashboard.access import Access
from braindex.dashboard.create import create_dashboard
from braindex.dashboard.guard import ENTRANCE
from braindex.domain.errors import BraindexError

ADDRESS: Final = "127.0.0.1"  # nothing else is ever bound
GRACE_SECONDS: Final = 1  # that answers under way have at the end; threads are left behind by the process
IDLE_SECONDS: Final = 15  # after which a connection without a request is closed
MOST_CONNECTIONS: Final = 100


class PortTaken(BraindexError):
    def __init__(self, port: int, why: str) -> None:
        super().__init__(
            f"port {port} of {ADDRESS} cannot be had: {why}; name another with --port, or none and a free one is taken"
        )


class Dashboard:
    """A dashboard of one application, bound and not yet serving."""

    def __init__(self, app: App, port: int = 0, *, version: str = "", log_path: str = "") -> None:
        """`port` 0 takes a free one. Raises PortTaken."""
        self._app = app
        self._socket = _bound(port)
        self.port: int = self._socket.getsockname()[1]
        self._access = Access(self.port)
        self.asgi: ASGIApp = create_dashboard(
            app, self._access, f"{ADDRESS}:{self.port}", version=version, log_path=log_path
        )
        self._server = _Server(_config(self.asgi))

    def link(self) -> str:
        """An address that opens the dashboard in one browser, once."""
        return f"http://{ADDRESS}:{self.port}{ENTRANCE}?token={self._access.link()}"

    def serve(self, started: Callable[[], None] = lambda: None) -> None:
        """Serves until the process is asked to end. `started` is called when the socket takes requests.

        Raises KeyboardInterrupt where it was an interrupt that ended it.
        """
        self._server.started_by(started)
        with self._socket:
            self._server.run(sockets=[self._socket])
        if self._server.interrupted:
            raise KeyboardInterrupt

    def stop(self) -> None:
        """Has `serve` return soon, from any thread."""
        self._server.should_exit = True


def _bound(port: int) -> socket.socket:
    # By its number: asyncio sends small answers at once, and not 40 ms later, only where a socket says that it is TCP.
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):  # Windows, where another process could share the port otherwise
            made.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((ADDRESS, port))
        made.listen(MOST_CONNECTIONS)
    except (OSError, OverflowError) as error:
        made.close()
        raise PortTaken(port, getattr(error, "strerror", None) or str(error)) from error
    return made


def _config(asgi: ASGIApp) -> uvicorn.Config:
    """Without an access log, which would hold addresses and with them tokens, and without what a proxy may say."""
    return uvicorn.Config(
        asgi,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


class _Server(uvicorn.Server):
    """uvicorn's server, whose end is told apart: by an interrupt, or by a wish that it end."""

    interrupted = False
    _started: Callable[[], None] = staticmethod(lambda: None)

    def started_by(self, call: Callable[[], None]) -> None:
        self._started = call

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._started()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals reach the main thread alone; a server in another thread is ended by `stop`."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        names = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
        numbers = [number for name in names if (number := getattr(signal, name, None)) is not None]
        before = {
            number: signal.signal(number, self._end)
            for number in numbers
            if signal.getsignal(number) is not signal.SIG_IGN
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end(self, number: int, _frame: object) -> None:
        self.interrupted = self.interrupted or number == signal.SIGINT
        self.should_exit = True
