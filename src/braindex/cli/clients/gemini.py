"""Gemini CLI: https://geminicli.com/docs/hooks/reference."""

from typing import Final

from braindex.cli.clients.spec import Client, hook_specific

GEMINI: Final = Client(
    name="gemini",
    events={"sessionstart": "start", "beforeagent": "prompt", "afteragent": "end"},
    injecting=frozenset({"start", "prompt"}),
    injected=hook_specific,
)
