"""Claude Code: https://code.claude.com/docs/en/hooks."""

from typing import Final

from braindex.cli.clients.spec import Client, hook_specific

CLAUDE_CODE: Final = Client(
    name="claude-code",
    events={"SessionStart": "start", "UserPromptSubmit": "prompt", "Stop": "end"},
    injecting=frozenset({"start", "prompt"}),
    injected=hook_specific,
)
