"""`braindex scan`: take in what changed since the last scan."""

import argparse
import logging
from typing import Final

from braindex.cli.errors import DONE
from braindex.cli.invocation import Command, Invocation, add_json_option, add_workspace_arguments
from braindex.cli.layout import scan_lines
from braindex.cli.output import json_line, line, note
from braindex.cli.progress import scan_progress
from braindex.domain.display import safe_line
from braindex.domain.errors import BraindexError
from braindex.domain.results import Workspace

BRIEF_SECONDS: Final = 30.0  # for the requests that keep the provider's cache warm


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_workspace_arguments(parser)
    parser.add_argument("--no-brief", action="store_true", help="make no project brief")
    add_json_option(parser)


def run(invocation: Invocation) -> int:
    workspace = invocation.workspace()
    with scan_progress(f"scanning {workspace.name}") as report:
        summary = invocation.app.scans.run(workspace, report, brief=not invocation.arguments.no_brief)
    if not invocation.arguments.no_brief:
        _brief(invocation, workspace)
    if invocation.arguments.json:
        json_line(summary.as_json())
    else:
        line("\n".join(scan_lines(workspace, summary)))
    return DONE


def _brief(invocation: Invocation, workspace: Workspace) -> None:
    """Has an engine write the brief that was made from the index alone; where that fails, it stays as it is."""
    try:
        if invocation.app.briefs.upgrade(workspace, at_once=True):
            state = invocation.app.briefs.state(workspace)
            note(f"braindex: the brief was replaced: {state.standing if state else ''}")
    except BraindexError as error:
        note(f"braindex: the brief was not replaced; the next scan tries again: {safe_line(str(error))}")
    invocation.app.finish(BRIEF_SECONDS)


COMMAND: Final = Command(
    "scan",
    "scan a workspace: parse, embed and store what changed",
    add_arguments,
    run,
    logs_from=logging.WARNING,
)
