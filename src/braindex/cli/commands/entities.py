"""`braindex entities`: what a scan would find, parsed now and stored nowhere."""

import argparse
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from braindex.cli.errors import DONE
from braindex.cli.invocation import Command, Invocation, add_json_option, add_workspace_arguments
from braindex.cli.layout import entity_line
from braindex.cli.output import json_line, line
from braindex.domain.entities import CodeEntity


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_workspace_arguments(parser)
    add_json_option(parser)


def run(invocation: Invocation) -> int:
    """Prints every entity. The workspace is not registered, and need not be known."""
    found = _entities(invocation, invocation.folder())
    if invocation.arguments.json:
        json_line([one.as_json() for one in found])
        return DONE
    count = 0
    for entity in found:
        line(entity_line(entity))
        count += 1
    if not count:
        line("No entities: nothing here is scanned, or it is all left out by ignore rules")
    return DONE


def _entities(invocation: Invocation, root: Path) -> Iterator[CodeEntity]:
    from braindex.services.entities import list_entities  # noqa: PLC0415 - brings the parser

    return list_entities(root, invocation.settings.options(root), invocation.settings.brain_dir)


COMMAND: Final = Command(
    "entities",
    "list the entities of a folder without storing them",
    add_arguments,
    run,
    logs_from=logging.WARNING,
)
