"""Claude Code: https://code.claude.com/docs/en/hooks."""

from typing import Final

from braindex.cli.clients.spec import Client, hook_specific

CLAUDE_CODE: Final = Client(
    name="claude-code",
    events={"sessionstart": "start", "userpromptsubmit": "prompt", "stop": "end"},
    injecting=frozenset({"start", "prompt"}),
    injected=hook_specific,
)
