"""A stand-in for the Anthropic Messages API on this machine: real clients talk to it, and it keeps what they sent."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Reply = dict[str, Any]
"""`{"text": …}`, or `{"tool": name, "input": {…}}`."""


class LoopbackModel:
    """Answers each request that offers tools with the next reply, the last one again and again, and any other with a
    word. `requests` are the bodies of the former.
    """

    def __init__(self, replies: list[Reply]) -> None:
        self.requests: list[dict[str, Any]] = []
        self._replies = replies
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"model": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, body: dict[str, Any]) -> tuple[list[Reply], str]:
        if not body.get("tools"):  # a title, or the like
            return [{"type": "text", "text": "work"}], "end_turn"
        with self._lock:
            reply = self._replies[min(len(self.requests), len(self._replies) - 1)]
            self.requests.append(body)
            number = len(self.requests)
        if "tool" in reply:
            block = {"type": "tool_use", "id": f"toolu_{number:04d}", "name": reply["tool"], "input": reply["input"]}
            return [block], "tool_use"
        return [{"type": "text", "text": reply["text"]}], "end_turn"


class _Handler(BaseHTTPRequestHandler):
    model: "LoopbackModel"
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._send({})

    def do_GET(self) -> None:
        self._send({"data": []})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if "count_tokens" in self.path:
            return self._send({"input_tokens": 10})
        if "/messages" not in self.path:
            return self._send({})
        blocks, stop = self.model.answer(body)
        return self._stream(blocks, stop) if body.get("stream") else self._send(_message(blocks, stop))

    def _send(self, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, blocks: list[Reply], stop: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for name, value in _events(blocks, stop):
            self.wfile.write(f"event: {name}\ndata: {json.dumps({'type': name, **value})}\n\n".encode())
        self.close_connection = True


def _message(blocks: list[Reply], stop: str | None) -> Reply:
    usage = {"input_tokens": 5, "output_tokens": 1}
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "loopback", "content": blocks,
        "stop_reason": stop, "stop_sequence": None, "usage": usage,
    }  # fmt: skip


def _events(blocks: list[Reply], stop: str) -> list[tuple[str, Reply]]:
    found: list[tuple[str, Reply]] = [("message_start", {"message": _message([], None)})]
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            begun, change = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            begun = {**block, "input": {}}
            change = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        found.append(("content_block_start", {"index": index, "content_block": begun}))
        found.append(("content_block_delta", {"index": index, "delta": change}))
        found.append(("content_block_stop", {"index": index}))
    end = {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 5}}
    return [*found, ("message_delta", end), ("message_stop", {})]
