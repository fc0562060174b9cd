"""A stand-in for a provider: a real HTTP server on loopback, strict about what it receives, failing when told to."""

import argparse
import gzip
import json
import socket
import socketserver
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self

Manner = Literal["whole", "half", "nothing", "slow"]


@dataclass(frozen=True)
class Received:
    method: str
    path: str
    headers: dict[str, str]  # names in lower case
    raw: bytes
    body: Any  # None where it is no JSON


@dataclass(frozen=True)
class Reply:
    body: bytes
    status: int = 200
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    manner: Manner = "whole"
    seconds: float = 0.0


def as_json(value: Any, status: int = 200, **headers: str) -> Reply:
    return Reply(json.dumps(value).encode(), status, headers=headers)


class StandIn:
    """Starts at once and answers in threads; use it as a context manager, or call `close`.

    `violations` are requests that the real provider would refuse or that its user would regret; a test asserts that
    there are none. `fail` sets what happens to the next requests, one each; `fail_always` to all from now on.
    """

    def __init__(self, port: int = 0) -> None:
        self.requests: list[Received] = []
        self.violations: list[str] = []
        self.hung_up = threading.Event()  # a client closed its connection before it had its answer
        self.waiting = threading.Event()  # a request is being answered slowly
        self._next: deque[tuple[str, dict[str, Any]]] = deque()
        self._always: tuple[str, dict[str, Any]] | None = None
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), type("Handler", (_Handler,), {"stand_in": self}))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fail(self, name: str, times: int = 1, **details: Any) -> None:
        """A failure by its name in `failures`; `details` are its arguments (`seconds`, `retry_after`, `text`)."""
        assert name in self.failures(), f"no failure is called {name!r}"
        self._next.extend([(name, details)] * times)

    def fail_always(self, name: str | None, **details: Any) -> None:
        self._always = None if name is None else (name, details)

    # What a provider's stand-in states.

    def answer(self, received: Received) -> Reply:
        raise NotImplementedError

    def error(self, status: int, message: str) -> Reply:
        """An error in the provider's form."""
        raise NotImplementedError

    def with_text(self, received: Received, text: str) -> Reply:
        """The provider's usual answer with another text."""
        raise NotImplementedError

    def without_message(self) -> Any:
        """JSON that is no answer."""
        raise NotImplementedError

    def violation(self, what: str) -> None:
        with self._lock:
            self.violations.append(what)

    def failures(self) -> dict[str, Callable[..., Reply]]:
        """Each takes the request and the details. A refusal repeats the request, as careless providers do."""

        def status(code: int) -> Callable[..., Reply]:
            def refuse(received: Received, retry_after: float | str | None = None) -> Reply:
                said = f"refused {received.headers.get('authorization', '')} {received.raw.decode('utf-8', 'replace')}"
                reply = self.error(code, said)
                headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
                return Reply(reply.body, code, headers=headers)

            return refuse

        return {
            **{str(code): status(code) for code in (400, 401, 402, 403, 404, 413, 422, 429, 500, 502, 503)},
            "slow": self._slow,
            "drop half-way": lambda received: _mannered(self.answer(received), "half"),
            "drop before answering": lambda _: Reply(b"", manner="nothing"),
            "empty body": lambda _: Reply(b""),
            "non-JSON": lambda _: Reply(b"upstream said: {oops"),
            "JSON of another kind": lambda _: as_json(["an", "answer"]),
            "no message": lambda _: as_json(self.without_message()),
            "empty text": lambda received: self.with_text(received, ""),
            "answer": self.with_text,
            "wrong content type": lambda _: Reply(b"<html>Log in to the hotel</html>", content_type="text/html"),
            "huge body": lambda received: Reply(self.answer(received).body + b" " * 6_000_000),
            "compressed": self._compressed,
            "deep body": lambda _: Reply(b"[" * 200_000),
            "redirect": lambda _: Reply(b"", 307, headers={"Location": f"{self.url}/elsewhere"}),
        }

    def _compressed(self, _: Received, times: int = 1, status: int = 200) -> Reply:
        """30 MB in a few kB."""
        body = b"[" + b" " * 30_000_000
        for _again in range(times):
            body = gzip.compress(body)
        return Reply(body, status, headers={"Content-Encoding": ", ".join(["gzip"] * times)})

    def _slow(self, received: Received, seconds: float = 30.0) -> Reply:
        return _mannered(self.answer(received), "slow", seconds)

    def reply_to(self, received: Received) -> Reply:
        with self._lock:
            self.requests.append(received)
            planned = self._next.popleft() if self._next else self._always
        if planned is None:
            return self.answer(received)
        name, details = planned
        return self.failures()[name](received, **details)


def _mannered(reply: Reply, manner: Manner, seconds: float = 0.0) -> Reply:
    return Reply(reply.body, reply.status, reply.content_type, reply.headers, manner, seconds)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)  # without the look-up of this machine's name
        self.server_name, self.server_port = "127.0.0.1", int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    stand_in: StandIn  # set by the class that a stand-in makes of this one

    def do_POST(self) -> None:
        expected = int(self.headers.get("Content-Length", 0))
        raw = self.rfile.read(expected)
        if len(raw) < expected:  # a client that is told to stop may leave in the middle of its request
            self.close_connection = True
            return
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = None
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._send(self.stand_in.reply_to(Received(self.command, self.path, headers, raw, body)))

    def do_GET(self) -> None:
        self.do_POST()

    def _send(self, reply: Reply) -> None:
        if reply.manner == "nothing":
            self._drop()
            return
        if reply.manner == "slow" and _left(self.connection, self.stand_in, reply.seconds):
            self.close_connection = True
            return
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body if reply.manner != "half" else reply.body[: len(reply.body) // 2])
        if reply.manner == "half":
            self._drop()

    def _drop(self) -> None:
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name it has
        """Quiet."""


def _left(connection: socket.socket, stand_in: StandIn, seconds: float) -> bool:
    """Waits for the client to go away, at most so long; whether it did."""
    connection.settimeout(seconds)  # not `select`, which takes no file above number 1,023
    stand_in.waiting.set()
    try:
        gone = connection.recv(1, socket.MSG_PEEK) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        gone = True
    finally:
        connection.settimeout(None)
    if gone:
        stand_in.hung_up.set()
    return gone


def serve(make: Callable[[argparse.Namespace], StandIn], parser: argparse.ArgumentParser) -> None:
    """Runs a stand-in as a process: prints its URL, then serves until it is killed."""
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--fail", metavar="NAME", help="what happens to every request")
    given = parser.parse_args()
    with make(given) as stand_in:
        stand_in.fail_always(given.fail)
        print(stand_in.url, flush=True)  # noqa: T201 - how whoever started it learns the port
        threading.Event().wait()
