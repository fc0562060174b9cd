"""`braindex status`: what a workspace holds."""

import argparse
import logging
from typing import Final

from braindex.cli.errors import DONE
from braindex.cli.invocation import Command, Invocation, add_json_option, add_workspace_arguments
from braindex.cli.layout import status_lines
from braindex.cli.output import json_line, line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_workspace_arguments(parser)
    add_json_option(parser)


def run(invocation: Invocation) -> int:
    status = invocation.app.status.of(invocation.workspace())
    if invocation.arguments.json:
        json_line(status.as_json())
    else:
        line("\n".join(status_lines(status)))
    return DONE


COMMAND: Final = Command(
    "status",
    "say what a workspace holds and how its scan stands",
    add_arguments,
    run,
    logs_from=logging.WARNING,
)
