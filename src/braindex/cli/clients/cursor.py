"""Cursor: https://cursor.com/docs/hooks. Only the start of a conversation takes context."""

from typing import Any, Final

from braindex.cli.clients.spec import Client


def _additional(_: str, context: str) -> dict[str, Any]:
    return {"additional_context": context}


CURSOR: Final = Client(
    name="cursor",
    events={"sessionStart": "start", "beforeSubmitPrompt": "prompt", "afterAgentResponse": "answer", "stop": "end"},
    injecting=frozenset({"start"}),
    injected=_additional,
)
