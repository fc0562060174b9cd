"""What a workspace holds and what is happening to it: its scan, its index, its brief."""

from dataclasses import replace

from braindex.domain.results import ScanStatus, Workspace
from braindex.services.brief import Briefs
from braindex.services.scan import Scans


class Status:
    """The status of any workspace."""

    def __init__(self, scans: Scans, briefs: Briefs) -> None:
        self._scans = scans
        self._briefs = briefs

    def of(self, workspace: Workspace) -> ScanStatus:
        """Raises what opening the workspace's index raises."""
        return replace(self._scans.status(workspace), brief=self._briefs.state(workspace))
