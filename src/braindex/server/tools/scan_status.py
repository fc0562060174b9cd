"""`scan_status`: what a workspace holds and how far a scan is."""

from typing import Annotated, Any, Final

from mcp.server.mcpserver import Resolve
from mcp_types import CallToolResult, ListRootsResult, ToolAnnotations

from braindex.server.definitions import WorkspaceArgument, bounded, define, result
from braindex.server.errors import GuardedTool
from braindex.server.render import SKIPPED_IN_STATUS, status_text
from braindex.server.surroundings import ToolContext
from braindex.services.threads import in_thread

DESCRIPTION: Final = (
    "How far a scan is and what the workspace holds: phase, files done and total, entities, files skipped "
    "and why, the last scan and error, how the brief stands, what is behind the disk."
)
OUTPUT: Final[dict[str, dict[str, Any]]] = {
    "workspace_id": {"type": "string"},
    "path": {"type": "string"},
    "state": {"type": "string"},
    "files": {"type": "integer"},
    "entities": {"type": "integer"},
    "complete": {"type": "boolean"},
}


def build(context: ToolContext, log_path: str) -> GuardedTool:
    async def scan_status(
        *,
        workspace: WorkspaceArgument = None,
        roots: Annotated[ListRootsResult | None, Resolve(context.client_roots)],
    ) -> CallToolResult:
        status = await in_thread(lambda: context.app.status.of(context.workspace(workspace, roots)))
        found = bounded(status.as_json(), SKIPPED_IN_STATUS)
        refreshed = context.refreshes.of(status.workspace)
        if refreshed is None:
            return result(status_text(status), found)
        return result(status_text(status, refreshed.note), {**found, "brief_refresh": refreshed.state})

    return define(
        scan_status,
        title="Scan status",
        description=DESCRIPTION,
        annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
        output=OUTPUT,
        log_path=log_path,
    )
