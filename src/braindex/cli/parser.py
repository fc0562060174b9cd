"""The argument parser: of the commands, it knows the arguments of those alone that are asked for."""

import argparse
from collections.abc import Collection
from typing import Any, Final, NoReturn

from braindex.cli.commands import COMMANDS, command_called
from braindex.cli.errors import USAGE
from braindex.cli.output import line, note
from braindex.cli.version import installed_version
from braindex.domain.display import safe_line, shortened

LONGEST_ARGUMENT_ERROR: Final = 300  # characters: argparse repeats an argument as it was given


class OneLineParser(argparse.ArgumentParser):
    """Reports a wrong argument on one line, as every other error."""

    def error(self, message: str) -> NoReturn:
        shown = shortened(safe_line(message), LONGEST_ARGUMENT_ERROR)
        note(f"braindex: {shown}; see `{self.prog} --help`")
        raise SystemExit(USAGE)

    def print_help(self, file: Any = None) -> None:
        """Through the same door as results, so that a reader that is gone or a full disk is noticed."""
        if file is None:
            line(self.format_help().rstrip("\n"))
        else:
            super().print_help(file)


class VersionAction(argparse.Action):
    """Prints the version; reading it from the installation is left until it is asked for."""

    def __call__(self, *_: Any) -> NoReturn:
        line(f"braindex {installed_version()}")
        raise SystemExit(0)


def build_parser(known: Collection[str] = tuple(COMMANDS)) -> argparse.ArgumentParser:
    """A parser that lists every command, and imports the `known` ones for their arguments."""
    parser = OneLineParser(
        prog="braindex",
        description="One local memory of a codebase for every IDE agent: exact citations, offline.",
    )
    parser.add_argument("--version", action=VersionAction, nargs=0, help="print the version and leave")
    rows = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=OneLineParser)
    for name, about in COMMANDS.items():
        row = rows.add_parser(name, help=about, description=about)
        if name in known:
            command = command_called(name)
            command.add_arguments(row)
            row.set_defaults(command=command, whole_parser=build_parser)  # the whole is for `completion`
    return parser
