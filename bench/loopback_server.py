"""An HTTP server on this machine that stands in for somebody else's: JSON in, JSON out."""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Self


class LoopbackServer:
    """Serves from the beginning of its context to the end. `handler` is what answers, told of this as `stand_in`."""

    handler: ClassVar[type["JsonHandler"]]

    def __init__(self) -> None:
        handler = type("Handler", (self.handler,), {"stand_in": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class JsonHandler(BaseHTTPRequestHandler):
    """Reads and sends JSON, and logs nothing. `answered` sends the answer of a request, whatever its method."""

    stand_in: Any
    protocol_version = "HTTP/1.1"

    def answered(self) -> None:
        raise NotImplementedError

    def do_HEAD(self) -> None:
        self.answered()

    def do_GET(self) -> None:
        self.answered()

    def do_POST(self) -> None:
        self.answered()

    def log_message(self, *_: Any) -> None:
        pass

    def body(self) -> Any:
        """What the request holds; an empty object where it holds nothing."""
        return json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")

    def send(self, value: Any, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a process that ends leaves its connection behind
            super().handle_error(request, client_address)
