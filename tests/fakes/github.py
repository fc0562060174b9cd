"""A stand-in for GitHub's API: the statuses of commits, strict about what it receives."""

import re
import threading
from collections.abc import Callable
from typing import Any

from tests.fakes.server import Received, Reply, StandIn, as_json

TOKEN = "ghs_standin"
REPOSITORY = "owner/shop"
STATES = {"error", "failure", "pending", "success"}
_PATH = re.compile(r"/repos/([^/]+/[^/]+)/statuses/([0-9a-f]{40})")


class FakeGitHub(StandIn):
    """`statuses` are those that were posted, by commit; `asked` is set with the first request that comes in."""

    def __init__(self, port: int = 0) -> None:
        self.statuses: dict[str, list[dict[str, Any]]] = {}
        self.asked = threading.Event()
        super().__init__(port)

    def reply_to(self, received: Received) -> Reply:
        reply = super().reply_to(received)
        self.asked.set()
        return reply

    def answer(self, received: Received) -> Reply:
        match = _PATH.fullmatch(received.path)
        if received.method != "POST" or match is None or match[1] != REPOSITORY:
            self.violation(f"no such address: {received.method} {received.path}")
            return self.error(404, "Not Found")
        if received.headers.get("authorization") != f"Bearer {TOKEN}":
            return self.error(401, "Bad credentials")
        body = received.body
        wrong = set(body) - {"state", "description", "context", "target_url"} or body["state"] not in STATES
        if wrong or len(body["description"]) > 140 or received.headers.get("accept") != "application/vnd.github+json":
            self.violation(f"a body that GitHub refuses: {body}")
            return self.error(422, "Validation Failed")
        self.statuses.setdefault(match[2], []).append(body)
        return as_json({"id": 1, **body}, 201)

    def error(self, status: int, message: str) -> Reply:
        return as_json({"message": message, "documentation_url": "https://docs.github.com"}, status)

    def with_text(self, _received: Received, text: str) -> Reply:
        return as_json({"message": text}, 201)

    def without_message(self) -> Any:
        return {}

    def failures(self) -> dict[str, Callable[..., Reply]]:
        return {
            **super().failures(),
            "moved here": lambda _: Reply(b"", 307, headers={"Location": f"/repos/{REPOSITORY}/statuses/{'b' * 40}"}),
            "moved away": lambda _, to: Reply(b"", 307, headers={"Location": to}),
        }
