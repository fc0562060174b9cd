"""A stand-in for the Anthropic Messages API on this machine: real clients talk to it, and it keeps what they sent."""

import json
import threading
from typing import Any

from loopback_server import JsonHandler, LoopbackServer  # type: ignore[import-not-found]  # beside this file

Reply = dict[str, Any]
"""`{"text": …}`, or `{"tool": name, "input": {…}}`."""


class _Handler(JsonHandler):  # type: ignore[misc,unused-ignore]
    def answered(self) -> None:
        body = self.body()
        if self.command == "GET":
            self.send({"data": []})
        elif "count_tokens" in self.path:
            self.send({"input_tokens": 10})
        elif self.command != "POST" or "/messages" not in self.path:
            self.send({})
        else:
            blocks, stop = self.stand_in.answer(body)
            if body.get("stream"):
                self._stream(blocks, stop)
            else:
                self.send(_message(blocks, stop))

    def _stream(self, blocks: list[Reply], stop: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for name, value in _events(blocks, stop):
            self.wfile.write(f"event: {name}\ndata: {json.dumps({'type': name, **value})}\n\n".encode())
        self.close_connection = True


class LoopbackModel(LoopbackServer):  # type: ignore[misc,unused-ignore]
    """Answers each request that offers tools with the next reply, the last one again and again, and any other with a
    word. `requests` are the bodies of the former.
    """

    handler = _Handler

    def __init__(self, replies: list[Reply]) -> None:
        super().__init__()
        self.requests: list[dict[str, Any]] = []
        self._replies = replies
        self._lock = threading.Lock()

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
