"""The clients, one row each. A new client is one file and one row."""

from typing import Final

from braindex.cli.clients.antigravity import ANTIGRAVITY
from braindex.cli.clients.claude_code import CLAUDE_CODE
from braindex.cli.clients.cursor import CURSOR
from braindex.cli.clients.gemini import GEMINI
from braindex.cli.clients.pi import PI
from braindex.cli.clients.spec import Client
from braindex.cli.clients.vscode import VSCODE

CLIENTS: Final[tuple[Client, ...]] = (CLAUDE_CODE, VSCODE, CURSOR, ANTIGRAVITY, GEMINI, PI)


def client_called(name: str) -> Client | None:
    """The row of a client, None where there is none of that name."""
    return next((one for one in CLIENTS if one.name == name.strip().lower()), None)
