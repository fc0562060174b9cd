"""Reads the arguments, and has one command run inside the error boundary.

The command that is asked for is the only one imported, and `--help` and `--version` import none.
"""

import os
from collections.abc import Sequence

from braindex.cli.commands import COMMANDS
from braindex.cli.errors import guarded
from braindex.cli.output import prepare_streams
from braindex.cli.parser import build_parser
from braindex.domain.errors import UsageError


class NoCommand(UsageError):
    def __init__(self) -> None:
        super().__init__(f"name a command: {', '.join(COMMANDS)}; `braindex --help` explains them")


def run(argv: Sequence[str]) -> int:
    """Runs the command line. Returns 0 done, 1 expected failure, 2 usage, 3 bug, 130 interrupted."""
    prepare_streams()
    # One vector times one matrix gains nothing from BLAS's thread pool, which spins on cores that parsing needs and
    # takes memory for each thread. Has to be said before numpy is imported; a user's own choice wins.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return guarded(lambda: _parsed_and_run(argv))


def _parsed_and_run(argv: Sequence[str]) -> int:
    try:
        arguments = build_parser([word for word in argv if not word.startswith("-")][:1]).parse_args(argv)
    except SystemExit as leaving:
        # argparse's own way out, after --help, --version or a wrong argument.
        return leaving.code if isinstance(leaving.code, int) else 0
    if not hasattr(arguments, "command"):
        raise NoCommand
    from braindex.cli.running import run_command  # noqa: PLC0415 - not for --help

    return run_command(arguments)
