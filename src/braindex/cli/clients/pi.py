"""pi: its extension asks for the message that `before_agent_start` returns, and tells what `agent_end` was given."""

from typing import Any, Final

from braindex.cli.clients.spec import Client


def _message(_: str, context: str) -> dict[str, Any]:
    return {"message": {"customType": "braindex", "content": context, "display": False}}


PI: Final = Client(
    name="pi",
    events={"before_agent_start": "prompt", "agent_end": "end"},
    injecting=frozenset({"prompt"}),
    injected=_message,
)
