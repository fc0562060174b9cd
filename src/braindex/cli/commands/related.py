"""`braindex related NAME`: who calls it, what it calls, what it derives from and what derives from it."""

import argparse
import logging
from typing import Final

from braindex.cli.errors import DONE
from braindex.cli.invocation import Command, Invocation, add_json_option, add_workspace_option
from braindex.cli.output import json_line, line, note
from braindex.domain.relations import MOST_LINKS, relatives_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name",
        metavar="NAME",
        help="bare (`parse`), qualified (`Parser.parse`) or with its module (`app.parsing.parse`); or a file's name",
    )
    add_workspace_option(parser)
    parser.add_argument(
        "--limit", type=int, default=MOST_LINKS, metavar="N", help="of each relation (default: %(default)s)"
    )
    add_json_option(parser)


def run(invocation: Invocation) -> int:
    workspace = invocation.workspace()
    relatives = invocation.app.relations.of(workspace, invocation.arguments.name, invocation.arguments.limit)
    if invocation.arguments.json:
        found = [one.as_json() for one in relatives.found]
        told = {"definitions": relatives.definitions, "coverage": relatives.coverage}
        json_line({"workspace_id": workspace.id, "entities": found, **told})
        return DONE
    line("\n".join(relatives_lines(relatives)))
    if relatives.coverage:
        note(relatives.coverage)
    return DONE


COMMAND: Final = Command(
    "related",
    "say who calls an entity, what it calls, and what derives from it",
    add_arguments,
    run,
    logs_from=logging.WARNING,
)
