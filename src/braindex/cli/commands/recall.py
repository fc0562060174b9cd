"""`braindex recall`: what is remembered of a text or of a change, as the hooks put it before a turn."""

import argparse
import logging
import sys
from pathlib import Path
from typing import Final

from braindex.cli.errors import DONE
from braindex.cli.invocation import Command, Invocation, add_json_option, add_workspace_option
from braindex.cli.output import json_line, line
from braindex.domain.citations import citation

_LONGEST: Final = 400_000  # characters of a text from standard input


def add_arguments(parser: argparse.ArgumentParser) -> None:
    about = parser.add_mutually_exclusive_group(required=True)
    about.add_argument("--text", metavar="TEXT", help="what is to be done; - reads it from standard input")
    about.add_argument(
        "--diff", nargs="?", const="", metavar="REV",
        help="a change: REV..REV, one commit, or without either the uncommitted work, else the last commit",
    )  # fmt: skip
    parser.add_argument("--no-brief", action="store_true", help="without the project's brief")
    add_workspace_option(parser)
    add_json_option(parser)


def run(invocation: Invocation) -> int:
    arguments = invocation.arguments
    arguments.path_argument = None
    workspace = invocation.workspace()
    text = _text(arguments.text) if arguments.text is not None else _change(invocation, Path(workspace.path))
    found = invocation.app.recalling().context(workspace, text, brief=not arguments.no_brief)
    if not arguments.json:
        line(found.text or "Nothing is remembered that has to do with it.")
        return DONE
    places = [
        {"name": one.name, "path": one.path, "line": one.line, "citation": citation(one.name, one.path, one.line, None)}
        for one in found.places
    ]
    json_line(
        {
            "workspace_id": workspace.id,
            "context": found.text,
            "memories": [one.as_json() for one in found.memories],
            "places": places,
        }
    )
    return DONE


def _text(given: str) -> str:
    return sys.stdin.read(_LONGEST) if given == "-" else given


def _change(invocation: Invocation, root: Path) -> str:
    from braindex.domain.changes import Wanted  # noqa: PLC0415 - no other command's start needs it
    from braindex.services.recalling import question_of  # noqa: PLC0415 - the same

    return question_of(invocation.app.changes(root, Wanted(invocation.arguments.diff)).files)


COMMAND: Final = Command(
    "recall", "what is remembered of a text or a change, as hooks put it before a turn", add_arguments, run,
    logs_from=logging.WARNING,
)  # fmt: skip
