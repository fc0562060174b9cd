"""What follows a review that was shown: it is stored, always, and its commit's status is posted where that is set up.

Both are done side by side, and neither can fail or hold up the other.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from braindex.domain.errors import BraindexError
from braindex.domain.memories import Episode, episode_of, new_id, now
from braindex.domain.results import Workspace
from braindex.domain.review_text import episode_summary
from braindex.domain.reviews import Review
from braindex.domain.secrets import redacted
from braindex.domain.statuses import CommitStatus, StatusBoard, status_of
from braindex.registry.failures import StoreLocked
from braindex.services.reviewing.review import KIND

ATTEMPTS: Final = 3  # to store a review while others write; each waits as long as the store waits for a lock


class Recorder(Protocol):
    """What keeps episodes."""

    def record(self, workspace: Workspace, episode: Episode, keep_days: int | None = None) -> bool: ...


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What is left to do for one review; secrets are out of it, and it can be handed to another process. `episode` is
    None where it is not to be remembered, `status` where none is to be posted.
    """

    workspace: Workspace
    episode: Episode | None
    status: CommitStatus | None = None

    @property
    def is_nothing(self) -> bool:
        return self.episode is None and self.status is None

    def as_json(self) -> dict[str, Any]:
        one = self.workspace
        return {
            "workspace": {"id": one.id, "name": one.name, "path": one.path, "created": one.created},
            "episode": self.episode.as_json() if self.episode else None,
            "status": self.status.as_json() if self.status else None,
        }

    @classmethod
    def of_json(cls, found: dict[str, Any]) -> "Aftermath":
        """The same again. Raises KeyError, TypeError or AttributeError for what is none."""
        episode, status = found["episode"], found["status"]
        return cls(
            Workspace(**found["workspace"]),
            episode_of(episode) if episode else None,
            CommitStatus(**status) if status else None,
        )


@dataclass(frozen=True, slots=True)
class Done:
    """How it went, in a line each: what was done, and what was not."""

    stored: str = ""
    posted: str = ""
    troubles: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(one for one in (self.stored, self.posted, *self.troubles) if one)


class Afterwards:
    """`board` is None where no status is to be posted; `stays_local` says of a workspace that nothing may leave this
    machine for it; `keep_days` is the limit that the user set on the age of episodes, if any.
    """

    def __init__(
        self,
        recorder: Recorder,
        board: StatusBoard | None,
        stays_local: Callable[[Path], bool],
        keep_days: int | None = None,
    ) -> None:
        self._recorder = recorder
        self._board = board
        self._stays_local = stays_local
        self._keep_days = keep_days

    def of(self, review: Review, client: str = "", *, store: bool = True) -> Aftermath:
        """What is to be done for a review. `client` is who asked for it; without `store` it is not remembered."""
        episode = Episode(
            id=new_id(),
            kind=KIND,
            client=client,
            created=now(),
            prompt=redacted(review.subject),
            summary=redacted(episode_summary(review)),
            outcome=review.verdict or "",
            files=tuple(dict.fromkeys(one.diff.path for one in review.files)),
            commit=review.changes.commit,
        )
        status = status_of(review) if self._board is not None else None
        return Aftermath(review.workspace, episode if store else None, status)

    def run(self, aftermath: Aftermath) -> Done:
        """Does both, and returns when both have ended. Raises nothing that is an expected failure of either."""
        with ThreadPoolExecutor(2, thread_name_prefix="after-review") as pool:
            parts = (pool.submit(self._store, aftermath), pool.submit(self._post, aftermath))
        failures = [one.exception() for one in parts]
        for failure in failures:
            if failure is not None and not isinstance(failure, BraindexError):
                raise failure
        troubles = tuple(str(one) for one in failures if one is not None)
        said = ["" if failure else one.result() for one, failure in zip(parts, failures, strict=True)]
        return Done(said[0], said[1], troubles)

    def _store(self, aftermath: Aftermath) -> str:
        episode = aftermath.episode
        if episode is None:
            return ""
        for left in reversed(range(ATTEMPTS)):
            try:
                self._recorder.record(aftermath.workspace, episode, self._keep_days)
            except StoreLocked:
                if not left:
                    raise
            else:
                break
        return f"the review is stored: episode {episode.id}"

    def _post(self, aftermath: Aftermath) -> str:
        status = aftermath.status
        if self._board is None or status is None:
            return ""
        self._board.post(status, stays_local=self._stays_local(Path(aftermath.workspace.path)))
        return f"the status of {status.commit[:10]} is posted: {status.state}"
