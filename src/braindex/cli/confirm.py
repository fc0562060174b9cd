"""Asks before something is destroyed."""

import sys

from braindex.cli.output import is_terminal
from braindex.domain.errors import UsageError


class ConfirmationNeeded(UsageError):
    def __init__(self, question: str) -> None:
        super().__init__(
            f"this needs a confirmation and there is no terminal to ask on; repeat with --yes ({question})"
        )


def confirm(question: str, *, yes: bool) -> bool:
    """Whether the user agrees: `--yes`, or a `y` typed on the terminal. The question goes to standard error.

    Raises:
        ConfirmationNeeded: neither `--yes` nor a terminal is there.
    """
    if yes:
        return True
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        raise ConfirmationNeeded(question)
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
