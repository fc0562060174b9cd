"""`scan_workspace`: start or join a scan, and wait for it within bounds."""

import time
from typing import Annotated, Any, Final

from mcp.server.mcpserver import Context, Resolve
from mcp_types import CallToolResult, ListRootsResult, ToolAnnotations
from pydantic import Field

from braindex.domain.results import ScanProgress, ScanSummary, Workspace
from braindex.server.definitions import WorkspaceArgument, bounded, define, result
from braindex.server.errors import GuardedTool
from braindex.server.render import SKIPPED_IN_SUMMARY, progress_text, running_text, scan_text
from braindex.server.surroundings import ToolContext
from braindex.server.threads import in_thread
from braindex.services.scan import ScanHandle

DESCRIPTION: Final = (
    "Scan a workspace into memory, incrementally: parses what changed, costs nothing, calls no model. Rarely "
    "needed, since query_memory refreshes by itself; use it to prepare a large project or one that is new. "
    "Returns the summary, or state `running` after wait_seconds, while the scan goes on by itself."
)
OUTPUT: Final[dict[str, dict[str, Any]]] = {"workspace_id": {"type": "string"}, "state": {"type": "string"}}
# Half a second between two looks is often enough for a progress bar and costs nothing.
PROGRESS_SECONDS: Final = 0.5


def build(context: ToolContext, log_path: str) -> GuardedTool:
    async def scan_workspace(
        *,
        ctx: Context[Any, Any],
        workspace: WorkspaceArgument = None,
        wait_seconds: Annotated[float, Field(ge=0, le=50, description="How long to wait for the end")] = 20,
        roots: Annotated[ListRootsResult | None, Resolve(context.client_roots)],
    ) -> CallToolResult:
        def start() -> tuple[Workspace, ScanHandle]:
            one = context.workspace(workspace, roots)
            return one, context.app.scans.start(one)

        meant, handle = await in_thread(start)
        summary = await _awaited(handle, wait_seconds, ctx)
        if summary is None:
            progress = handle.progress()
            return result(running_text(meant, progress), _running(meant, progress))
        return result(scan_text(meant, summary), _complete(meant, summary))

    return define(
        scan_workspace,
        title="Scan a workspace",
        description=DESCRIPTION,
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
        output=OUTPUT,
        log_path=log_path,
    )


async def _awaited(handle: ScanHandle, seconds: float, ctx: Context[Any, Any]) -> ScanSummary | None:
    """The summary, or None when the scan outlasts the wait. Progress goes to a client that asked for it."""
    deadline = time.monotonic() + seconds
    told = -1
    while True:
        left = max(0.0, deadline - time.monotonic())
        pause = min(PROGRESS_SECONDS, left)
        summary = await in_thread(lambda pause=pause: handle.wait(pause))  # type: ignore[misc]
        progress = handle.progress()
        # The protocol wants each notification to be further than the last.
        if progress.files_done > told:
            told = progress.files_done
            await ctx.report_progress(told, progress.files_total or None, progress_text(progress))
        if summary is not None or left <= pause:
            return summary


def _complete(workspace: Workspace, summary: ScanSummary) -> dict[str, Any]:
    found = bounded(summary.as_json(), SKIPPED_IN_SUMMARY)
    return {**found, "workspace": workspace.name, "path": workspace.path, "state": "complete"}


def _running(workspace: Workspace, progress: ScanProgress) -> dict[str, Any]:
    return {
        "workspace_id": workspace.id,
        "workspace": workspace.name,
        "path": workspace.path,
        "state": "running",
        "phase": progress.phase,
        "files_done": progress.files_done,
        "files_total": progress.files_total,
        "entities": progress.entities,
        "next": "the scan goes on by itself; follow it with scan_status",
    }
