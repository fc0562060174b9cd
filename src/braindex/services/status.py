"""What a workspace holds and what is happening to it: its scan, its index, its memory, its brief, what is behind."""

from dataclasses import replace
from typing import Final

from braindex.domain.errors import BraindexError
from braindex.domain.results import ScanStatus, Workspace
from braindex.services.brief import Briefs
from braindex.services.looks import Looks
from braindex.services.memories import Memories
from braindex.services.scan import Scans

LOOK_TIME: Final = 0.1  # seconds that a status waits for a look at the disk
_GOES_ON: Final = "the next scan or question goes on from there"
_LOOKING: Final = "the folder is still being looked through for changes"


class Status:
    """The status of any workspace."""

    def __init__(self, scans: Scans, briefs: Briefs, looks: Looks, memories: Memories) -> None:
        self._scans = scans
        self._briefs = briefs
        self._looks = looks
        self._memories = memories

    def of(self, workspace: Workspace, look_seconds: float = LOOK_TIME) -> ScanStatus:
        """Waits for nothing but a short look at the disk and at the memory, and starts no scan.

        Raises what opening the workspace's index raises.
        """
        status = replace(self._scans.status(workspace), brief=self._briefs.state(workspace))
        return replace(self._with_memory(status), freshness=self._freshness(status, look_seconds))

    def _with_memory(self, status: ScanStatus) -> ScanStatus:
        """How much is remembered; a memory that cannot be read hides nothing else."""
        try:
            notes, episodes = self._memories.counts(status.workspace)
        except BraindexError as error:
            return replace(status, memory_error=str(error))
        return replace(status, notes=notes, episodes=episodes)

    def _freshness(self, status: ScanStatus, look_seconds: float) -> str:
        """One line of what is known to be behind, "current" when nothing is."""
        if status.state == "never":
            return "never scanned; the first question or scan indexes it"
        if status.state == "running":
            return _running(status)
        look = self._looks.begun(status.workspace)
        look.done.wait(look_seconds)
        seen, words = (look.behind.seen, look.behind.words) if look.behind is not None else (None, "")
        if status.state == "complete":
            return _unknown(look.done.is_set(), look.error) or words or "current"
        cut = "failed" if status.state == "failed" else "was cut short"
        if not status.complete:
            total = seen or status.files_known or "?"
            return f"an earlier scan {cut}: {status.files} of {total} files are indexed; {_GOES_ON}"
        held = words or _unknown(look.done.is_set(), look.error) or "all files are indexed as they are"
        return f"an earlier scan {cut}: {held}; {_GOES_ON}"


def _unknown(looked: bool, error: str) -> str:
    """Why it is not known what is behind, else ""."""
    if not looked:
        return _LOOKING
    return f"not known: {error}" if error else ""


def _running(status: ScanStatus) -> str:
    progress = status.progress
    done = f"{progress.files_done} of {progress.files_total or '?'} files" if progress is not None else "some files"
    if not status.complete:
        return f"the first scan is running: {done} are indexed"
    return f"a scan is running: {done} are up to date"
