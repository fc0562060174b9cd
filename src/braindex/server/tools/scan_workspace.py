"""`scan_workspace`: start or join a scan, and wait for it within bounds."""

import time
from concurrent.futures import Future
from dataclasses import replace
from typing import Annotated, Any, Final

from mcp.server.mcpserver import Context, Resolve
from mcp_types import CallToolResult, ListRootsResult, ToolAnnotations
from pydantic import Field

from braindex.domain.results import ScanProgress, ScanSummary, Workspace
from braindex.server.definitions import WorkspaceArgument, bounded, define, result
from braindex.server.errors import GuardedTool
from braindex.server.refreshing import Refreshed, outcome
from braindex.server.render import SKIPPED_IN_SUMMARY, progress_text, running_text, scan_text
from braindex.server.surroundings import ToolContext
from braindex.services.brief import BriefView
from braindex.services.scan import ScanHandle
from braindex.services.threads import ends_within, in_thread

DESCRIPTION: Final = (
    "Scan a workspace into memory, incrementally: parses what changed; indexing calls no model. "
    "Rarely needed, since query_memory refreshes by itself; use it to prepare a large project or one that is new. "
    "Returns the summary, or state `running` after wait_seconds, while the work goes on by itself."
)
OUTPUT: Final[dict[str, dict[str, Any]]] = {"workspace_id": {"type": "string"}, "state": {"type": "string"}}
# Half a second between two looks is often enough for a progress bar and costs nothing.
PROGRESS_SECONDS: Final = 0.5


def build(context: ToolContext, log_path: str) -> GuardedTool:
    async def scan_workspace(
        *,
        ctx: Context[Any, Any],
        workspace: WorkspaceArgument = None,
        force_refresh_brief: Annotated[
            bool, Field(description="Then replace the brief by a new one, as update_brief does")
        ] = False,
        wait_seconds: Annotated[float, Field(ge=0, le=50, description="How long to wait for the end")] = 20,
        roots: Annotated[ListRootsResult | None, Resolve(context.client_roots)],
    ) -> CallToolResult:
        def start() -> tuple[Workspace, ScanHandle, Future[BriefView] | None]:
            one = context.workspace(workspace, roots)
            if force_refresh_brief:
                return one, *context.refreshes.start(one)
            return one, context.app.scans.start(one), None

        meant, handle, refresh = await in_thread(start)
        waiting = _Waiting(ctx, time.monotonic() + wait_seconds)
        summary = await waiting.for_scan(handle)
        if summary is None:
            progress = handle.progress()
            return result(
                running_text(meant, progress, refreshes=refresh is not None), _running(meant, progress, refresh)
            )
        if refresh is None:
            return result(scan_text(meant, summary), _complete(meant, summary))
        refreshed = await waiting.for_brief(refresh)
        summary = replace(summary, notes=(*summary.notes, refreshed.note))
        return result(scan_text(meant, summary), {**_complete(meant, summary), **_brief(refreshed)})

    return define(
        scan_workspace,
        title="Scan a workspace",
        description=DESCRIPTION,
        # A scan by itself destroys nothing; with force_refresh_brief the old brief's text is gone.
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=context.reaches_out
        ),
        output=OUTPUT,
        log_path=log_path,
    )


class _Waiting:
    """Waits until a deadline, and tells a client that asked for it how far things are."""

    def __init__(self, ctx: Context[Any, Any], deadline: float) -> None:
        self._ctx = ctx
        self._deadline = deadline
        self._told = -1.0

    async def for_scan(self, handle: ScanHandle) -> ScanSummary | None:
        """The summary, or None when the scan outlasts the wait. Raises the scan's own error."""
        while True:
            left = self._left()
            pause = min(PROGRESS_SECONDS, left)
            summary = await in_thread(lambda pause=pause: handle.wait(pause))  # type: ignore[misc]
            progress = handle.progress()
            await self._tell(progress.files_done, progress.files_total or None, progress_text(progress))
            if summary is not None or left <= pause:
                return summary

    async def for_brief(self, refresh: Future[BriefView]) -> Refreshed:
        """How the brief stands when it is made, or when the wait is over."""

        async def tell() -> None:
            await self._tell(self._told + 1, None, "writing the brief")

        await ends_within(refresh, self._left(), tell)
        return outcome(refresh)

    def _left(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    async def _tell(self, done: float, total: float | None, message: str) -> None:
        # The protocol wants each notification to be further than the last.
        if done > self._told:
            self._told = done
            await self._ctx.report_progress(done, total, message)


def _brief(refreshed: Refreshed) -> dict[str, Any]:
    return {"brief_refresh": refreshed.state, "brief": refreshed.brief.as_json() if refreshed.brief else None}


def _complete(workspace: Workspace, summary: ScanSummary) -> dict[str, Any]:
    found = bounded(summary.as_json(), SKIPPED_IN_SUMMARY)
    return {**found, "workspace": workspace.name, "path": workspace.path, "state": "complete"}


def _running(workspace: Workspace, progress: ScanProgress, refresh: Future[BriefView] | None) -> dict[str, Any]:
    return {
        **({} if refresh is None else {"brief_refresh": "running"}),
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
