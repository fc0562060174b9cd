"""Stand-ins on this machine for what a review talks to: an engine that speaks DeepSeek's protocol, and GitHub's API."""

import json
import re
from collections.abc import Mapping
from typing import Any

from loopback_server import JsonHandler, LoopbackServer  # type: ignore[import-not-found]  # beside this file

KEY, TOKEN, REPOSITORY = "sk-loopback", "ghs_loopback", "owner/name"
INVENTED = "no/such/file.py"  # what each review cites beside a line of the diff
_FILE = re.compile(r'<file path="([^"]+)"')
_LINE = re.compile(r" *(\d+) \+")


class _Handler(JsonHandler):  # type: ignore[misc,unused-ignore]
    def answered(self) -> None:
        body = self.body()
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.stand_in.received.append((self.path, body))
        status, value = self.stand_in.answer(self.path, headers, body)
        self.send(value, status)


class Loopback(LoopbackServer):  # type: ignore[misc,unused-ignore]
    """Keeps what it received: `received` are paths and bodies."""

    handler = _Handler

    def __init__(self) -> None:
        super().__init__()
        self.received: list[tuple[str, dict[str, Any]]] = []

    def answer(self, path: str, headers: Mapping[str, str], body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """The status and the body of an answer."""
        raise NotImplementedError


class Engine(Loopback):
    """Describes a change with `description`, and reviews it in three turns: asks the memory for `name`, reads the file
    that changed, and gives `verdict` with a finding at the first line that was added, and one about no file at all.
    """

    def __init__(self) -> None:
        super().__init__()
        self.description = self.name = ""
        self.verdict = "approve"

    def answer(self, path: str, headers: Mapping[str, str], body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if not path.endswith("/chat/completions") or headers.get("authorization") != f"Bearer {KEY}":
            return 401, {"error": {"message": "Authentication Fails", "type": "invalid_request_error"}}
        said = self._turn(body["messages"], with_tools=bool(body.get("tools")))
        size = len(json.dumps(body["messages"])) // 4
        usage = {
            "prompt_tokens": size, "completion_tokens": 50, "total_tokens": size + 50, "prompt_cache_hit_tokens": 0,
            "prompt_cache_miss_tokens": size,
        }  # fmt: skip
        reason = "tool_calls" if "tool_calls" in said else "stop"
        choice = {"index": 0, "message": {"role": "assistant", "content": None, **said}, "finish_reason": reason}
        return 200, {
            "id": "loopback", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [choice],
            "usage": usage,
        }  # fmt: skip

    def _turn(self, messages: list[dict[str, Any]], *, with_tools: bool) -> dict[str, Any]:
        if not with_tools:
            return {"content": self.description or "A project."}
        asked = next(one["content"] for one in messages if one["role"] == "user")
        path, line = cited(asked)
        results = sum(one["role"] == "tool" for one in messages)
        if results == 0:
            return _call("query_memory", {"query": f"who calls {self.name}"})
        if results == 1:
            return _call("read_file", {"path": path, "line": max(1, line - 20), "end_line": line + 20})
        finding = {"path": path, "line": line, "severity": "high", "text": f"Nobody checks what {self.name} gets here."}
        invented = {"path": INVENTED, "line": 1, "severity": "low", "text": "This is nowhere."}
        opinion = {"verdict": self.verdict, "summary": self.description, "findings": [finding, invented]}
        return {"content": json.dumps(opinion)}

    def said(self) -> str:
        """What the engine was asked in the last request with tools, and what the tools answered."""
        bodies = [body for _, body in self.received if body.get("tools")]
        return json.dumps(bodies[-1]["messages"], ensure_ascii=False) if bodies else ""


class GitHub(Loopback):
    """Takes the statuses of commits, or with `broken` fails with 500. `statuses` is what was posted, by commit."""

    def __init__(self) -> None:
        super().__init__()
        self.broken = False
        self.statuses: dict[str, str] = {}

    def answer(self, path: str, headers: Mapping[str, str], body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if self.broken:
            return 500, {"message": "Server Error"}
        found = re.fullmatch(rf"/repos/{REPOSITORY}/statuses/([0-9a-f]{{40}})", path)
        if found is None or headers.get("authorization") != f"Bearer {TOKEN}":
            return 404, {"message": "Not Found"}
        if body.get("context") != "braindex/review" or len(body["description"]) > 140:
            return 422, {"message": "Validation Failed"}
        self.statuses[found[1]] = body["state"]
        return 201, {"id": 1, **body}


def cited(asked: str) -> tuple[str, int]:
    """The first line of the diff that was added, with its file; else the last file's first line."""
    path = ""
    for text in asked.partition("<diff>")[2].splitlines():
        if found := _FILE.match(text):
            path = found[1]
        elif path and (line := _LINE.match(text)):
            return path, int(line[1])
    return path, 1


def _call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"tool_calls": [{"id": f"call_{name}", "type": "function", "function": function}]}
