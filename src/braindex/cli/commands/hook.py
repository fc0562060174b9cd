"""`braindex hook`: as the list of commands shows it. `cli.main` runs it without the other commands."""

import argparse
import logging
from typing import Final

from braindex.cli.invocation import Command, Invocation

CLIENT_NAMES: Final = ("claude-code", "vscode", "cursor", "antigravity", "gemini", "pi")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("client", metavar="CLIENT", help=", ".join(CLIENT_NAMES))
    parser.add_argument("event", metavar="EVENT", help="the name that the client gives to the hook's event")


def run(invocation: Invocation) -> int:
    from braindex.cli.hooking import run_hook  # noqa: PLC0415 - no other command's start needs it

    return run_hook([invocation.arguments.client, invocation.arguments.event])


COMMAND: Final = Command(
    "hook", "answer a client's hook: recall before a turn, record after it", add_arguments, run,
    logs_from=logging.WARNING,
)  # fmt: skip
