"""A commit's status: what a review says beside a commit, and the port to the site that shows it."""

from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from braindex.domain.opinions import Verdict
from braindex.domain.review_text import status_description
from braindex.domain.reviews import Review

State = Literal["success", "failure", "error"]
CONTEXT: Final = "braindex/review"
_STATES: Final[dict[Verdict | None, State]] = {
    "approve": "success", "comment": "success", "request_changes": "failure", None: "error",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CommitStatus:
    """What is shown beside a commit. A change that nobody judged is an error: it is neither good nor bad."""

    commit: str
    state: State
    description: str

    def as_json(self) -> dict[str, Any]:
        return {"commit": self.commit, "state": self.state, "description": self.description}


def status_of(review: Review) -> CommitStatus | None:
    """The status of the commit that was reviewed; None where the changes are not committed."""
    commit = review.changes.commit
    return CommitStatus(commit, _STATES[review.verdict], status_description(review)) if commit else None


class StatusBoard(Protocol):
    """Where statuses are shown."""

    def post(self, status: CommitStatus, *, stays_local: bool = False) -> None:
        """Shows a status; `stays_local` allows this machine alone. Raises a BraindexError, whatever goes wrong."""
        ...
