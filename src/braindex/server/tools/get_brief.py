"""`get_brief`: the brief of a workspace, and how it stands."""

from typing import Annotated, Any, Final

from mcp.server.mcpserver import Resolve
from mcp_types import CallToolResult, ListRootsResult, ToolAnnotations

from braindex.domain.results import Workspace
from braindex.server.definitions import WorkspaceArgument, define, result
from braindex.server.errors import GuardedTool
from braindex.server.render import brief_text
from braindex.server.surroundings import ToolContext
from braindex.services.brief import BriefView
from braindex.services.threads import in_thread

DESCRIPTION: Final = (
    "The project's brief: what it is, its stack, architecture, conventions, key files and tests, in about 1,000 "
    "tokens. Read it once, before work on a project that is new to you."
)
OUTPUT: Final[dict[str, dict[str, Any]]] = {
    "workspace_id": {"type": "string"},
    "brief": {"type": "string"},
    "engine": {"type": "string"},
    "locked": {"type": "string"},
    "edited": {"type": "boolean"},
}


def build(context: ToolContext, log_path: str) -> GuardedTool:
    async def get_brief(
        *,
        workspace: WorkspaceArgument = None,
        roots: Annotated[ListRootsResult | None, Resolve(context.client_roots)],
    ) -> CallToolResult:
        def read() -> tuple[Workspace, BriefView]:
            meant = context.workspace(workspace, roots)
            return meant, context.app.briefs.view(meant)

        meant, view = await in_thread(read)
        return result(brief_text(meant, view), {**structured(meant, view), "brief": view.text})

    return define(
        get_brief,
        title="Project brief",
        description=DESCRIPTION,
        annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
        output=OUTPUT,
        log_path=log_path,
    )


def structured(workspace: Workspace, view: BriefView) -> dict[str, Any]:
    """How a brief stands, without its text."""
    named = {"workspace_id": workspace.id, "workspace": workspace.name, "path": workspace.path}
    return {**named, **view.state.as_json()}
