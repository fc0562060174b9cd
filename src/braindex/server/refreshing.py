"""Scans that end in a new brief: asked for by `force_refresh_brief`, and at work after their call has returned."""

import logging
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final, Literal

from braindex.domain.errors import BraindexError
from braindex.domain.results import BriefState, Workspace
from braindex.services.brief import Briefs, BriefView
from braindex.services.scan import ScanHandle, Scans
from braindex.services.threads import begun

LOG: Final = logging.getLogger(__name__)

BUG: Final = "the brief was left as it was, since making the new one failed; the log has the details"


@dataclass(frozen=True, slots=True)
class Refreshed:
    """How a brief that was to be made anew stands. `note` says it in one line; `brief` is the new one's state."""

    state: Literal["running", "done", "failed"]
    note: str
    brief: BriefState | None = None


class Refreshes:
    """The briefs that this server was told to make anew, one at a time a workspace."""

    def __init__(self, scans: Scans, briefs: Briefs) -> None:
        self._scans = scans
        self._briefs = briefs
        self._lock = threading.Lock()
        self._begun: dict[str, Future[BriefView]] = {}

    def start(self, workspace: Workspace) -> tuple[ScanHandle, Future[BriefView]]:
        """Starts (or joins) a scan, and the making of a brief that follows it. Blocks no longer than a look at disk."""
        with self._lock:
            handle = self._scans.start(workspace)
            if not self._is_running(workspace):
                self._begun[workspace.id] = begun(lambda: self._refresh(workspace, handle))
            return handle, self._begun[workspace.id]

    def upgrade_later(self, workspace: Workspace) -> None:
        """Has an engine replace a brief made from the index alone, in the background, unless that is on its way.

        Never raises: an answer or a scan that has come so far is not lost to its brief.
        """
        with self._lock:
            if self._is_running(workspace):
                return
        try:
            self._briefs.upgrade_later(workspace)
        except BraindexError as error:
            LOG.warning("the brief was not looked at: %s", type(error).__name__)

    def of(self, workspace: Workspace) -> Refreshed | None:
        """How the last one of a workspace stands, None where there was none."""
        future = self._begun.get(workspace.id)
        return None if future is None else outcome(future)

    def _is_running(self, workspace: Workspace) -> bool:
        future = self._begun.get(workspace.id)
        return future is not None and not future.done()

    def _refresh(self, workspace: Workspace, handle: ScanHandle) -> BriefView:
        handle.wait(None)
        try:
            return self._briefs.update(workspace)
        except BraindexError as error:
            LOG.warning("the brief was not made anew: %s", type(error).__name__)
            raise


def outcome(future: Future[BriefView]) -> Refreshed:
    """How it stands now."""
    if not future.done():
        return Refreshed("running", "the brief is being made anew in the background; scan_status says how that went")
    error = future.exception()
    if error is None:
        state = future.result().state
        return Refreshed("done", f"the brief was made anew ({state.origin}, {state.tokens:,} tokens)", state)
    if isinstance(error, BraindexError):
        return Refreshed("failed", f"the brief was left as it was: {error}")
    LOG.error("a brief could not be made", exc_info=error)
    return Refreshed("failed", BUG)
