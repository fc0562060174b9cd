"""`braindex workspaces`: list, drop and merge. What destroys asks first."""

import argparse
import logging
from collections.abc import Callable
from typing import Final

from braindex.cli.confirm import confirm
from braindex.cli.errors import DONE, FAILED
from braindex.cli.invocation import Command, Invocation, add_json_option
from braindex.cli.layout import workspace_lines
from braindex.cli.output import json_line, line, note
from braindex.domain.display import safe_line, safe_path
from braindex.domain.results import Workspace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True, title="actions")
    _action(actions, "list", "the known workspaces", list_known, add_json_option)
    _action(actions, "drop", "forget a workspace: its index, brief and notes", drop, _drop_arguments)
    _action(actions, "merge", "move the memory of a moved folder to its new place", merge, _merge_arguments)


def run(invocation: Invocation) -> int:
    action: Callable[[Invocation], int] = invocation.arguments.action
    return action(invocation)


def list_known(invocation: Invocation) -> int:
    known = invocation.app.workspaces.list()
    if invocation.arguments.json:
        json_line({"workspaces": [one.as_json() for one in known]})
    else:
        line("\n".join(workspace_lines(known)))
    return DONE


def drop(invocation: Invocation) -> int:
    workspaces = invocation.app.workspaces
    workspace = workspaces.find(invocation.arguments.reference)
    question = f"Forget everything about {_named(workspace)}, its notes and episodes included? The folder itself stays."
    if not confirm(question, yes=invocation.arguments.yes):
        note("braindex: nothing was dropped")
        return FAILED
    workspaces.drop(workspace)
    line(f"Dropped {_named(workspace)}")
    return DONE


def merge(invocation: Invocation) -> int:
    workspaces = invocation.app.workspaces
    old = workspaces.find(invocation.arguments.old)
    new = workspaces.resolve(invocation.arguments.new)
    question = f"Move the notes, episodes and ledger of {_named(old)} to {_named(new)}, and forget the old one?"
    if not confirm(question, yes=invocation.arguments.yes):
        note("braindex: nothing was merged")
        return FAILED
    workspaces.merge(old, new)
    line(f"Merged {_named(old)} into {_named(new)}")
    return DONE


def _named(workspace: Workspace) -> str:
    return f"{safe_line(workspace.name)} ({safe_path(workspace.path)})"


def _action(
    actions: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    help_text: str,
    call: Callable[[Invocation], int],
    add: Callable[[argparse.ArgumentParser], None],
) -> None:
    row = actions.add_parser(name, help=help_text, description=help_text)
    add(row)
    row.set_defaults(action=call)


def _drop_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reference", metavar="REF", help="the workspace: a path, an id or a name")
    _add_yes(parser)


def _merge_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", metavar="OLD", help="the old workspace: an id, a name or its former path")
    parser.add_argument("new", metavar="NEW", help="the new workspace: a folder, an id or a name")
    _add_yes(parser)


def _add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask")


COMMAND: Final = Command(
    "workspaces", "list, drop or merge known workspaces", add_arguments, run, logs_from=logging.WARNING
)
