"""A real Chroma server of its own, and one that passes on what it gets, unless it is told to fail."""

import json
import shutil
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from tests.fakes.server import Received, Reply, StandIn, as_json

START_SECONDS = 60.0
_PLAIN = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # loopback through no proxy


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def asked(method: str, url: str, body: bytes | None = None) -> tuple[int, bytes]:
    """The status and body of an answer, whatever the status."""
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, data=body, method=method, headers=headers)  # noqa: S310 - http to loopback
    try:
        with _PLAIN.open(request, timeout=30) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read()


class RealChroma:
    """`chroma run`, as its users start it; use it as a context manager."""

    def __init__(self, folder: Path) -> None:
        program = shutil.which("chroma", path=str(Path(sys.executable).parent))
        assert program is not None, "chromadb's own command is not beside the interpreter"
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        command = [program, "run", "--host", "127.0.0.1", "--port", str(port), "--path", str(folder / "data")]
        folder.mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self) -> Self:
        pause, tries = threading.Event(), int(START_SECONDS / 0.05)
        for _ in range(tries):
            assert self._process.poll() is None, "the Chroma server ended as soon as it was started"
            try:
                if asked("GET", f"{self.url}/api/v2/heartbeat")[0] == 200:
                    return self
            except OSError:
                pause.wait(0.05)
        raise AssertionError("the Chroma server did not start")

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """A request of a test's own, below the default database."""
        base = f"{self.url}/api/v2/tenants/default_tenant/databases/default_database"
        status, answer = asked(method, base + path, None if body is None else json.dumps(body).encode())
        assert status < 300, (status, answer)
        return json.loads(answer)

    def collections(self, workspace: str = "") -> list[dict[str, Any]]:
        """Those of one workspace, or all."""
        return [one for one in self.ask("GET", "/collections") if workspace in one["name"]]


class Passing(StandIn):
    """Passes every request on to a real server, and back what that says; `fail` takes its place."""

    def __init__(self, real: RealChroma, port: int = 0) -> None:
        self._real = real
        super().__init__(port)
        handler: Any = self._server.RequestHandlerClass
        handler.do_DELETE = handler.do_POST
        handler.protocol_version = "HTTP/1.0"  # no connection outlives the server: once it is closed it is away

    def answer(self, received: Received) -> Reply:
        status, body = asked(received.method, self._real.url + received.path, received.raw or None)
        return Reply(body, status)

    def error(self, status: int, message: str) -> Reply:
        return as_json({"error": "InternalError", "message": message}, status)

    def with_text(self, _: Received, text: str) -> Reply:
        return as_json(text)

    def without_message(self) -> Any:
        return {"ids": [[1, 2]], "distances": [["near", None]], "max_batch_size": "many", "embeddings": 7}

    def failures(self) -> dict[str, Callable[..., Reply]]:
        return {
            **super().failures(),
            "no Chroma": lambda _: Reply(b"<html></html>", 404, "text/html"),
            "takes": lambda _: as_json({"max_batch_size": 100, "supports_base64_encoding": True}),
        }
