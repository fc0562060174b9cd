"""Reads arguments and settings, and runs one command inside the error boundary."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from braindex.cli import logs
from braindex.cli.commands import COMMANDS, doctor
from braindex.cli.errors import USAGE, guarded
from braindex.cli.invocation import NOWHERE, Command, Invocation, NoWorkingDirectory
from braindex.cli.output import line, note, prepare_streams
from braindex.cli.version import installed_version
from braindex.config import InvalidSettings, load_settings
from braindex.domain.display import safe_line, shortened
from braindex.domain.errors import UsageError

LONGEST_ARGUMENT_ERROR: Final = 300  # characters: argparse repeats an argument as it was given


class NoCommand(UsageError):
    def __init__(self) -> None:
        names = ", ".join(command.name for command in COMMANDS)
        super().__init__(f"name a command: {names}; `braindex --help` explains them")


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


def build_parser() -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="braindex",
        description="One local memory of a codebase for every IDE agent: exact citations, offline.",
    )
    parser.set_defaults(parser=parser)  # for `completion`, which is made of it
    parser.add_argument("--version", action=VersionAction, nargs=0, help="print the version and leave")
    rows = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=OneLineParser)
    for command in COMMANDS:
        row = rows.add_parser(command.name, help=command.help, description=command.help)
        command.add_arguments(row)
        row.set_defaults(command=command)
    return parser


def run(argv: Sequence[str] | None = None) -> int:
    """Runs the command line. Returns 0 done, 1 expected failure, 2 usage, 3 bug, 130 interrupted."""
    prepare_streams()
    # One vector times one matrix gains nothing from BLAS's thread pool, which spins on cores that parsing needs and
    # takes memory for each thread. Has to be said before numpy is imported; a user's own choice wins.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return guarded(lambda: _parsed_and_run(argv))


def _parsed_and_run(argv: Sequence[str] | None) -> int:
    try:
        arguments = build_parser().parse_args(argv)
    except SystemExit as leaving:
        # argparse's own way out, after --help, --version or a wrong argument.
        return leaving.code if isinstance(leaving.code, int) else 0
    return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    command: Command | None = getattr(arguments, "command", None)
    if command is None:
        raise NoCommand
    cwd = _working_directory()
    if cwd is None and _is_relative(os.environ.get("BRAIN_DIR", "")):
        raise NoWorkingDirectory
    try:
        settings = load_settings(os.environ, cwd or NOWHERE)
    except InvalidSettings as mistakes:
        if command is not doctor.COMMAND:  # which has to say what is wrong, and what else it can
            raise
        return doctor.without_settings(arguments, mistakes.mistakes)
    for one in settings.notes:
        note(f"braindex: {safe_line(one)}")
    log_path = logs.start(settings.brain_dir, command.logs_from)
    logs.remove_old(settings.brain_dir)
    invocation = Invocation(arguments, settings, os.environ, cwd, log_path)
    try:
        invocation.check_paths()
        return command.run(invocation)
    finally:
        invocation.close()


def _working_directory() -> Path | None:
    """None where it was deleted: what needs none still works."""
    try:
        return Path.cwd()
    except OSError:
        return None


def _is_relative(path: str) -> bool:
    return bool(path.strip()) and not os.path.isabs(os.path.expanduser(path.strip()))
