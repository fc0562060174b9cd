"""`braindex completion`: the script that makes a shell complete braindex's commands."""

import argparse
import logging
from typing import Final

from braindex.cli.commands.hook import CLIENT_NAMES
from braindex.cli.completion import SCRIPTS
from braindex.cli.completion.tree import Known, Value, place_of
from braindex.cli.errors import DONE
from braindex.cli.invocation import Command, Invocation
from braindex.cli.output import line
from braindex.domain.display import safe
from braindex.domain.entities import KINDS
from braindex.domain.errors import UsageError
from braindex.languages import LANGUAGE_NAMES

_WORKSPACES: Final = Value("workspaces")
_KNOWN: Final[Known] = {
    "W": _WORKSPACES,
    "REF": _WORKSPACES,
    "OLD": _WORKSPACES,
    "NEW": _WORKSPACES,
    "PATH": Value("files"),
    "FILE": Value("files"),
    "P": Value("files"),
    "CLIENT": Value("words", CLIENT_NAMES),
    "K": Value("words", tuple(sorted(KINDS))),
    "L": Value("words", tuple(sorted(LANGUAGE_NAMES))),
}

_EXPANDED: Final = frozenset("$`")


class NoShell(UsageError):
    def __init__(self) -> None:
        super().__init__(f"name a shell: {', '.join(SCRIPTS)}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", nargs="?", choices=tuple(SCRIPTS), metavar="SHELL", help=", ".join(SCRIPTS))
    parser.add_argument("--workspaces", action="store_true", help=argparse.SUPPRESS)  # asked by the scripts


def run(invocation: Invocation) -> int:
    arguments = invocation.arguments
    if arguments.workspaces:
        for name in _workspace_names(invocation):
            line(name)
        return DONE
    if arguments.shell is None:
        raise NoShell
    line(SCRIPTS[arguments.shell](place_of(arguments.whole_parser(), _KNOWN)).rstrip("\n"))
    return DONE


def _workspace_names(invocation: Invocation) -> list[str]:
    """Those that can be typed: a shell would act on control characters, and bash leaves a `$` as it is."""
    from braindex.light import workspace_names  # noqa: PLC0415 - a script needs none of it

    return [name for name in workspace_names(invocation.settings) if safe(name) == name and not _EXPANDED & set(name)]


COMMAND: Final = Command(
    "completion", "print the script that completes commands in a shell", add_arguments, run, logs_from=logging.WARNING
)
