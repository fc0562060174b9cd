"""Gemini CLI: https://geminicli.com/docs/hooks/reference."""

from typing import Final

from braindex.cli.clients.spec import Client, hook_specific

GEMINI: Final = Client(
    name="gemini",
    events={"SessionStart": "start", "BeforeAgent": "prompt", "AfterAgent": "end"},
    injecting=frozenset({"start", "prompt"}),
    injected=hook_specific,
)
