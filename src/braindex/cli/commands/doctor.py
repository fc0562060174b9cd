"""`braindex doctor`: what is wrong, and what to do about it."""

import argparse
import logging
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final

from braindex.cli.errors import DONE, FAILED
from braindex.cli.invocation import Command, Invocation, Mistaken, WorkspaceNamedTwice, add_json_option
from braindex.cli.output import Style, json_line, line, style
from braindex.cli.setup.checking import client_checks
from braindex.domain.display import safe_line, safe_path
from braindex.domain.errors import BraindexError, UsageError
from braindex.domain.health import Check, is_sound, report_as_json
from braindex.domain.names import UnknownWorkspace
from braindex.services.resolution import NothingThere, names_a_path

_STATE: Final = 6  # characters of the longest state
_INDENT: Final = " " * (_STATE + 2)


class NothingToRepairQuickly(UsageError):
    def __init__(self) -> None:
        super().__init__("--repair needs the full checks: leave --quick out")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path_argument", nargs="?", metavar="PATH", help="examine this workspace alone (default: every known one)"
    )
    parser.add_argument("--workspace", metavar="W", help="the same: a path, an id or a name")
    parser.add_argument("--quick", action="store_true", help="leave out what reads whole databases")
    parser.add_argument(
        "--repair",
        action="store_true",
        help="set a damaged index.db aside, so that the next scan rebuilds it; nothing is deleted",
    )
    add_json_option(parser)


def run(invocation: Invocation) -> int:
    """Exit code 1 where something is broken."""
    given = invocation.arguments
    if given.path_argument and given.workspace:
        raise WorkspaceNamedTwice
    if given.quick and given.repair:
        raise NothingToRepairQuickly
    try:
        app = invocation.app
    except BraindexError as trouble:  # settings that are right by themselves, and name a file that is not
        return mistaken(Mistaken(given, invocation.environ, None, [str(trouble)]))
    reference = given.path_argument or given.workspace
    try:
        found = app.doctor().examine(reference, full=not given.quick, repair=given.repair)
    except UnknownWorkspace:
        if not given.path_argument or names_a_path(given.path_argument):
            raise
        raise NothingThere(given.path_argument) from None
    checks = chain(client_checks(invocation.environ, invocation.cwd_if_any), found)
    return _told(checks, invocation.environ, as_json=given.json)


def mistaken(call: Mistaken) -> int:
    """What can be said where the settings are mistaken, which no other check can do without."""
    from braindex.services.doctor.examination import machine_checks  # noqa: PLC0415 - of use to this command alone

    remedy = "correct it (`braindex config` says where it was set); what else there is to examine depends on it"
    wrong = [Check("settings", "broken", one, remedy) for one in call.mistakes]
    found = (*wrong, *machine_checks(), *client_checks(call.environ, call.cwd))
    return _told(found, call.environ, as_json=call.arguments.json)


def _told(checks: Iterable[Check], environ: Mapping[str, str], *, as_json: bool) -> int:
    found: list[Check] = []
    shown = style(sys.stdout, environ)
    for check in checks:
        if not as_json:
            if check.workspace_id and check.workspace_id != (found[-1].workspace_id if found else ""):
                line(f"\n{heading(check)}")
            for one in check_lines(check, shown):
                line(one)
        found.append(check)
    if as_json:
        json_line(report_as_json(found))
    else:
        line(f"\n{_summary(found)}")
    return DONE if is_sound(found) else FAILED


def heading(check: Check) -> str:
    """Whose findings follow: the name and path that its user knows, and the id that its folder has."""
    named = f"{_one_line(check.workspace_name)}  {_one_line(check.workspace_path)}  " if check.workspace_name else ""
    return f"workspace {named}{check.workspace_id}"


def check_lines(check: Check, shown: Style) -> Iterator[str]:
    """One line a finding, and below it what to do where something is to be done."""
    state = f"{check.state:<{_STATE}}"
    yield f"{state if check.state == 'ok' else shown.bold(state)}  {check.name:<13}  {_one_line(check.detail)}"
    if check.remedy:
        yield _INDENT + shown.dim(f"-> {_one_line(check.remedy)}")


def _one_line(text: str) -> str:
    return safe_line(safe_path(text))


def _summary(found: list[Check]) -> str:
    broken = sum(one.state == "broken" for one in found)
    notes = sum(one.state == "note" for one in found)
    noted = f", {notes} to note" if notes else ""
    if not broken:
        return f"nothing is broken{noted}"
    return f"{broken} {'is' if broken == 1 else 'are'} broken{noted}"


COMMAND: Final = Command(
    "doctor",
    "examine the installation, the data folder and every workspace's stores, and say what to do",
    add_arguments,
    run,
    logs_from=logging.WARNING,
    mistaken=mistaken,
)
