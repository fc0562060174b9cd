"""`braindex hook`: as the list of commands shows it. `cli.hooking` runs it, without the other commands."""

import argparse
import logging
from typing import Final

from braindex.cli.clients import CLIENTS
from braindex.cli.hooking import run_hook
from braindex.cli.invocation import Command, Invocation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("client", metavar="CLIENT", help=", ".join(one.name for one in CLIENTS))
    parser.add_argument("event", metavar="EVENT", help="the name that the client gives to the hook's event")


def run(invocation: Invocation) -> int:
    return run_hook([invocation.arguments.client, invocation.arguments.event])


COMMAND: Final = Command(
    "hook", "answer a client's hook: recall before a turn, record after it", add_arguments, run,
    logs_from=logging.WARNING,
)  # fmt: skip
