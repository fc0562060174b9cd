"""How the scan of a workspace stands, as its index, the writer's lock and the record of the last scan tell."""

from pathlib import Path

from braindex.domain.results import ScanProgress, ScanStatus, State, Workspace
from braindex.registry.disk import unwritable
from braindex.registry.index import INDEX_FILE
from braindex.registry.scan_record import read_record
from braindex.services.scan_handle import ScanHandle
from braindex.services.workspaces import LOCK_FILE, Workspaces, drop_requested, is_being_scanned


def scan_state(workspaces: Workspaces, workspace: Workspace, handle: ScanHandle | None) -> ScanStatus:
    """What the workspace holds, and how far a scan of it is. `handle` is of the one that runs in this process, if any.

    Raises what opening the index raises. A workspace without an index gets none by this.
    """
    folder = workspaces.folder(workspace)
    parent = workspaces.parent_of(workspace)
    locked = handle is None and is_being_scanned(folder) and not drop_requested(folder)
    record = read_record(folder)
    left = record.progress if record is not None and record.summary is None else None  # of a scan that has not ended
    progress = handle.progress() if handle else left if locked else None
    if not workspaces.has_index(workspace):
        state: State = "never" if progress is None else "running"
        return ScanStatus(workspace, state, 0, 0, complete=False, progress=progress, known_parent=parent)
    marks, totals, skipped = workspaces.with_index(
        workspace, lambda store: (store.scan_marks(), store.totals(), store.skipped())
    )
    is_running = progress is not None or (locked and marks.state == "interrupted")
    return ScanStatus(
        workspace=workspace,
        state="running" if is_running else marks.state,
        files=totals.files,
        entities=totals.entities,
        complete=marks.last_scan is not None,
        skipped=skipped,
        progress=progress,
        last_scan=marks.last_scan,
        last_error=_last_error(folder, marks.last_error),
        known_parent=parent,
        languages=totals.languages,
        kinds=totals.kinds,
        files_known=_known(left),
    )


def _last_error(folder: Path, noted: str | None) -> str | None:
    """Of the last scan; and why there can be no other, since that cannot be noted."""
    closed = unwritable(folder / INDEX_FILE) or unwritable(folder / LOCK_FILE)
    return noted if closed is None else f"changes cannot be taken in: {closed}"


def _known(progress: ScanProgress | None) -> int | None:
    """How many files the walk of a scan that has not ended came to, as far as it had come."""
    return progress.files_total or None if progress is not None else None
