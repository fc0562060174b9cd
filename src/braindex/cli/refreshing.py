"""Takes in what changed on disk before a command looks at the index."""

from typing import TYPE_CHECKING

from braindex.cli.output import note
from braindex.cli.progress import scan_progress
from braindex.domain.display import safe_line
from braindex.domain.errors import BraindexError
from braindex.domain.results import Workspace

if TYPE_CHECKING:
    from braindex.bootstrap import App


def refresh(app: "App", workspace: Workspace) -> None:
    """Where that fails, what an earlier scan stored still answers; without one its error is raised."""
    scans = app.scans
    never = scans.status(workspace).state == "never"
    label = "scanning" if never else "refreshing"
    try:
        with scan_progress(f"{label} {workspace.name}") as report:
            scans.run(workspace, report, sync=False)
    except BraindexError as error:
        if never:
            raise
        note(f"braindex: answering from the last scan, since refreshing failed: {safe_line(str(error))}")
