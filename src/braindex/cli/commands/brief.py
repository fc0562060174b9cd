"""`braindex brief`: the locked brief of a workspace; replacing it asks first where a hand's work would go."""

import argparse
import logging
import sys
from typing import TYPE_CHECKING, Final

from braindex.cli.confirm import confirm
from braindex.cli.errors import DONE, FAILED
from braindex.cli.invocation import Command, Invocation, add_json_option, add_workspace_arguments
from braindex.cli.output import json_line, line, note, style
from braindex.domain.display import safe
from braindex.domain.errors import UsageError
from braindex.domain.results import Workspace

if TYPE_CHECKING:
    from braindex.services.brief import BriefView

FINISH_SECONDS: Final = 30.0  # for the requests that keep the provider's cache warm


class OneBriefAction(UsageError):
    def __init__(self) -> None:
        super().__init__("give one of --update, --from-index, --from-file and --show-prompt")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_workspace_arguments(parser)
    parser.add_argument(
        "--update", action="store_true", help="make the brief anew, by the engine that is configured or from the index"
    )
    parser.add_argument("--from-index", action="store_true", help="make it anew from the index, without the engine")
    parser.add_argument("--from-file", metavar="FILE", help="replace the brief with a text of your own (- reads it)")
    parser.add_argument("--show-prompt", action="store_true", help="print what every question is prefixed with")
    parser.add_argument("--yes", action="store_true", help="do not ask before a brief of a hand is replaced")
    add_json_option(parser)


def run(invocation: Invocation) -> int:
    arguments = invocation.arguments
    wishes = (arguments.update, arguments.from_index, arguments.from_file is not None, arguments.show_prompt)
    if sum(wishes) > 1:
        raise OneBriefAction
    workspace = invocation.workspace()
    if arguments.show_prompt:
        line(safe(invocation.app.briefs.prefix(workspace)))
        return DONE
    if not any(wishes):
        return _shown(invocation, workspace, invocation.app.briefs.view(workspace))
    if not _agreed(invocation, workspace):
        note("braindex: the brief was left as it is")
        return FAILED
    content = None if arguments.from_file is None else _content(arguments.from_file)
    view = invocation.app.briefs.update(workspace, content, from_index=arguments.from_index, replace_by_hand=True)
    invocation.app.finish(FINISH_SECONDS)
    return _shown(invocation, workspace, view)


def _agreed(invocation: Invocation, workspace: Workspace) -> bool:
    """A brief that was edited by hand is replaced only by someone who knows."""
    state = invocation.app.briefs.state(workspace)
    if state is None or not (state.edited or state.given):
        return True
    question = "The brief was written or edited by hand. Replace it, and keep that text beside the new one?"
    return confirm(question, yes=invocation.arguments.yes)


class BriefFileUnreadable(UsageError):
    def __init__(self, path: str, error: Exception) -> None:
        super().__init__(f"{path} cannot be read as a brief: {error}")


def _content(path: str) -> str:
    try:
        if path == "-":
            return sys.stdin.read()
        with open(path, encoding="utf-8") as file:
            return file.read(1_000_000)
    except (OSError, UnicodeDecodeError) as error:
        raise BriefFileUnreadable(path, error) from error


def _shown(invocation: Invocation, workspace: Workspace, view: "BriefView") -> int:
    if invocation.arguments.json:
        json_line({"workspace_id": workspace.id, "brief": view.text, **view.state.as_json()})
        return DONE
    line(safe(view.text))
    line(style(sys.stdout, invocation.environ).dim(view.state.standing))
    return DONE


COMMAND: Final = Command(
    "brief", "show or replace the locked project brief", add_arguments, run, logs_from=logging.WARNING
)
