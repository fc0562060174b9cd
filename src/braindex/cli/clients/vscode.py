"""VS Code's agents: https://code.visualstudio.com/docs/agents/reference/hooks-reference. What the prompt's hook may add
is not documented there; its source takes it.
"""

from typing import Final

from braindex.cli.clients.spec import Client, hook_specific

VSCODE: Final = Client(
    name="vscode",
    events={"SessionStart": "start", "UserPromptSubmit": "prompt", "Stop": "end"},
    injecting=frozenset({"start", "prompt"}),
    injected=hook_specific,
)
