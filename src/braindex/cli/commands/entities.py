"""`braindex entities`: what a scan would find, parsed now and stored nowhere."""

import argparse
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from braindex.cli.errors import DONE
from braindex.cli.invocation import (
    Command,
    Invocation,
    WorkspaceNamedTwice,
    add_json_option,
    add_workspace_arguments,
)
from braindex.cli.layout import entity_line, left_out_lines
from braindex.cli.output import json_line, line, note
from braindex.domain.entities import CodeEntity
from braindex.domain.results import Skipped


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_workspace_arguments(parser, "the workspace's folder, or a file (default: the working directory's)")
    add_json_option(parser)


def run(invocation: Invocation) -> int:
    """Prints every entity, and on standard error what is left out. The workspace is not registered, and need not be
    known.
    """
    left_out: list[Skipped] = []
    found = _kept(_found(invocation), left_out)
    if invocation.arguments.json:
        json_line([one.as_json() for one in found])
    else:
        count = 0
        for entity in found:
            line(entity_line(entity))
            count += 1
        if not count:
            line("No entities: nothing here is scanned, or it is all left out")
    if left_out:
        note("\n".join(left_out_lines(left_out)))
    return DONE


def _found(invocation: Invocation) -> Iterator[CodeEntity | Skipped]:
    from braindex.services.entities import entities_of_file, list_entities  # noqa: PLC0415 - brings the parser

    settings = invocation.settings
    file = _named_file(invocation)
    if file is None:
        root = invocation.folder()
        return list_entities(root, settings.options(root), settings.brain_dir)
    around = invocation.place(str(file))
    return entities_of_file(file, settings.options(file.parent), settings.brain_dir, around)


def _named_file(invocation: Invocation) -> Path | None:
    """The file that PATH names, None where it names none. Raises WorkspaceNamedTwice."""
    named: str | None = invocation.arguments.path_argument
    if not named or "\0" in named:
        return None
    file = invocation.place(named) / os.path.expanduser(named)
    if not os.path.isfile(file):  # Path.is_file raises for a long name
        return None
    if invocation.arguments.workspace:
        raise WorkspaceNamedTwice
    return file


def _kept(found: Iterator[CodeEntity | Skipped], left_out: list[Skipped]) -> Iterator[CodeEntity]:
    """The entities; what is left out is added to a list."""
    for one in found:
        if isinstance(one, Skipped):
            left_out.append(one)
        else:
            yield one


COMMAND: Final = Command(
    "entities",
    "list the entities of a folder or a file without storing them",
    add_arguments,
    run,
    logs_from=logging.WARNING,
)
