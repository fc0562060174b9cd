"""`braindex serve`: the MCP server, as IDEs start it."""

import argparse
import logging
import sys
from importlib import import_module
from typing import Final

from braindex.cli import STARTED_BY
from braindex.cli.errors import DONE
from braindex.cli.invocation import Command, Invocation
from braindex.cli.output import is_terminal, note
from braindex.cli.version import installed_version


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workspace", metavar="W", help="the workspace of calls that name none: a path, an id or a name"
    )


def run(invocation: Invocation) -> int:
    """Serves until the client leaves; the process ends there."""
    if is_terminal(sys.stdin):
        note("braindex: serving MCP on standard input; IDEs start this by themselves. Ctrl-C ends it")
    # By name: the two surfaces never import each other, and the server claims standard output before it
    # imports anything that might print.
    server = import_module("braindex.server.stdio")
    server.serve(
        invocation.settings,
        workspace_flag=invocation.arguments.workspace,
        environ=invocation.environ,
        cwd=invocation.place(invocation.arguments.workspace),
        log_path=invocation.log_path,
        version=installed_version(),
        parent=STARTED_BY,
    )
    return DONE


COMMAND: Final = Command(
    "serve", "run the MCP server on standard input and output", add_arguments, run, logs_from=logging.INFO
)
