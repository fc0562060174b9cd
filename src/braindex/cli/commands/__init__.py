"""The commands, in the order in which `--help` lists them. A new command is one file and one row.

The rows are all that `--help` needs. A command's file is imported when it is asked for: the imports of all of them
would cost a question a tenth of its time.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from braindex.cli.invocation import Command

COMMANDS: Final[Mapping[str, str]] = {
    "ask": "ask a question about a workspace",
    "related": "say who calls an entity, what it calls, and what derives from it",
    "scan": "scan a workspace: parse, embed and store what changed",
    "status": "say what a workspace holds and how its scan stands",
    "entities": "list the entities of a folder or a file without storing them",
    "brief": "show or replace the locked project brief",
    "note": "notes and episodes: add, list, show, remove, export, import",
    "recall": "what is remembered of a text or a change, as hooks put it before a turn",
    "record": "store what a turn did, from standard input",
    "review": "review a change: what it touches, similar reviews, and an engine's verdict",
    "hook": "answer a client's hook: recall before a turn, record after it",
    "setup": "connect IDEs and agents: write their MCP entry, hooks and rules, after showing them",
    "workspaces": "list, drop or merge known workspaces",
    "usage": "show what engines used and cost",
    "config": "list every setting: its value, where it came from and what it does",
    "doctor": "examine the installation, the data folder and every workspace's stores, and say what to do",
    "dashboard": "open the local page: look at the memory and correct it",
    "serve": "run the MCP server on standard input and output",
    "completion": "print the script that completes commands in a shell",
}


def command_called(name: str) -> "Command":
    """A command of the table: `COMMAND` in the file of that name."""
    found: Command = import_module(f"{__name__}.{name}").COMMAND
    return found
