"""`braindex scan`: take in what changed since the last scan."""

import argparse
import logging
from typing import Final

from braindex.cli.errors import DONE
from braindex.cli.invocation import Command, Invocation, add_json_option, add_workspace_arguments
from braindex.cli.layout import scan_lines
from braindex.cli.output import json_line, line
from braindex.cli.progress import scan_progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_workspace_arguments(parser)
    add_json_option(parser)


def run(invocation: Invocation) -> int:
    workspace = invocation.workspace()
    with scan_progress(f"scanning {workspace.name}") as report:
        summary = invocation.app.scans.run(workspace, report)
    if invocation.arguments.json:
        json_line(summary.as_json())
    else:
        line("\n".join(scan_lines(workspace, summary)))
    return DONE


COMMAND: Final = Command(
    "scan",
    "scan a workspace: parse, embed and store what changed",
    add_arguments,
    run,
    logs_from=logging.WARNING,
)
