"""`braindex related NAME`: who calls it, what it calls, what it derives from and what derives from it."""

import argparse
import logging
from typing import Final

from braindex.cli.errors import DONE
from braindex.cli.invocation import Command, Invocation, add_json_option, add_workspace_option
from braindex.cli.output import json_line, line, note
from braindex.domain.relations import MOST_LINKS, related_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the entity's name, bare (`parse`) or qualified (`Parser.parse`)")
    add_workspace_option(parser)
    parser.add_argument(
        "--limit", type=int, default=MOST_LINKS, metavar="N", help="of each relation (default: %(default)s)"
    )
    add_json_option(parser)


def run(invocation: Invocation) -> int:
    workspace = invocation.workspace()
    found, coverage = invocation.app.relations.of(workspace, invocation.arguments.name, invocation.arguments.limit)
    if invocation.arguments.json:
        json_line({"workspace_id": workspace.id, "entities": [one.as_json() for one in found], "coverage": coverage})
        return DONE
    line("\n\n".join("\n".join(related_lines(one)) for one in found))
    if coverage:
        note(coverage)
    return DONE


COMMAND: Final = Command(
    "related",
    "say who calls an entity, what it calls, and what derives from it",
    add_arguments,
    run,
    logs_from=logging.WARNING,
)
