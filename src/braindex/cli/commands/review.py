"""`braindex review`: what a change touches, similar reviews, and an engine's verdict; stored and posted afterwards."""

import argparse
import json
import logging
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from braindex.cli.errors import DONE, FAILED
from braindex.cli.invocation import Command, Invocation, add_workspace_option
from braindex.cli.output import json_line, line, note
from braindex.cli.refreshing import refresh
from braindex.domain.display import safe_line
from braindex.domain.errors import UsageError
from braindex.services.detached import detached

if TYPE_CHECKING:
    from braindex.domain.reviews import Review
    from braindex.services.reviewing.afterwards import Aftermath

log = logging.getLogger(__name__)

CLIENT: Final = "braindex review"
FINISH_SECONDS: Final = 5.0  # for the ledger
_FORMATS: Final = ("text", "markdown", "json")
_FAIL_ON: Final = ("comment", "request_changes")  # from the milder to the worse
_AFTERWARDS: Final = "--afterwards"


class NothingHandedOver(UsageError):
    def __init__(self) -> None:
        super().__init__(f"{_AFTERWARDS} is what `braindex review` calls itself with: it takes a review as JSON")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "revision",
        nargs="?",
        metavar="REV..REV",
        help="the changes between two revisions, or of one commit (default: uncommitted work, else the last commit)",
    )
    which.add_argument("--staged", action="store_true", help="what is about to be committed")
    which.add_argument("--pr-base", metavar="BRANCH", help="what HEAD has beyond this branch, as a pull request to it")
    add_workspace_option(parser)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--format", choices=_FORMATS, default="text", help="how to print it (default: %(default)s)")
    how.add_argument("--json", action="store_const", const="json", dest="format", help="print JSON")
    parser.add_argument("--no-engine", action="store_true", help="structure, similar reviews and callers alone")
    parser.add_argument(
        "--fail-on",
        choices=_FAIL_ON,
        metavar="VERDICT",
        help="end with 1 at this verdict: request_changes, comment",
    )
    parser.add_argument("--no-store", action="store_true", help="do not remember this review; its status is posted")
    parser.add_argument("--wait", action="store_true", help="end when the review is stored and its status is posted")
    parser.add_argument(_AFTERWARDS, action="store_true", help=argparse.SUPPRESS)


def run(invocation: Invocation) -> int:
    """Prints the review at once; storing it and posting its status come after that, and change nothing of it."""
    from braindex.domain.changes import Wanted  # noqa: PLC0415 - no other command's start needs it

    arguments = invocation.arguments
    if arguments.afterwards:
        return _finish(invocation)
    app, workspace = invocation.app, invocation.workspace()
    review = app.reviews.review(
        workspace,
        Wanted(arguments.revision or "", arguments.staged, arguments.pr_base or ""),
        with_engine=not arguments.no_engine,
        refresh=lambda: refresh(app, workspace),
    )
    _print(review, arguments.format)
    aftermath = app.afterwards.of(review, CLIENT, store=not arguments.no_store)
    if not aftermath.is_nothing and (arguments.wait or hand_over(aftermath) is None):
        for one in app.afterwards.run(aftermath).lines:
            note(f"braindex: {safe_line(one)}")
    app.finish(FINISH_SECONDS)
    return FAILED if _fails(review, arguments.fail_on) else DONE


def hand_over(aftermath: "Aftermath") -> "subprocess.Popen[bytes] | None":
    """The process that does what follows a review; None where none can be started."""
    try:
        return detached(("review", _AFTERWARDS), aftermath.as_json())
    except OSError:
        return None


def _finish(invocation: Invocation) -> int:
    """What the process that was handed a review does. What goes wrong is in its log."""
    from braindex.services.reviewing.afterwards import Aftermath  # noqa: PLC0415 - not to print a review

    try:
        aftermath = Aftermath.of_json(json.load(sys.stdin))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise NothingHandedOver from None
    troubles = invocation.app.afterwards.run(aftermath).troubles
    for one in troubles:
        log.warning("after a review: %s", one)
    return FAILED if troubles else DONE


def _print(review: "Review", how: str) -> None:
    from braindex.domain.review_text import review_lines, review_markdown  # noqa: PLC0415 - the same

    if how == "json":
        json_line(review.as_json())
    else:
        line("\n".join(review_markdown(review) if how == "markdown" else review_lines(review)))


def _fails(review: "Review", fail_on: str | None) -> bool:
    """Whether the review ends as badly as that, or worse. Without a verdict nothing fails."""
    return fail_on is not None and review.verdict in _FAIL_ON[_FAIL_ON.index(fail_on) :]


COMMAND: Final = Command(
    "review", "review a change: what it touches, similar reviews, and an engine's verdict", add_arguments, run,
    logs_from=logging.WARNING,
)  # fmt: skip
