"""`list_memory`: the notes, newest first."""

from typing import Annotated, Any, Final

from mcp.server.mcpserver import Resolve
from mcp_types import CallToolResult, ListRootsResult, ToolAnnotations
from pydantic import Field

from braindex.domain.results import Workspace
from braindex.server.definitions import WorkspaceArgument, define, result
from braindex.server.errors import GuardedTool
from braindex.server.render import notes_text
from braindex.server.surroundings import ToolContext
from braindex.services.notes import Listed
from braindex.services.threads import in_thread

DESCRIPTION: Final = "The notes, newest first, with ids and what has changed of that which they are about."
PAGE: Final = 20
OUTPUT: Final[dict[str, dict[str, Any]]] = {
    "workspace_id": {"type": "string"},
    "notes": {"type": "array", "items": {"type": "object"}},
    "total": {"type": "integer"},
}


def build(context: ToolContext, log_path: str) -> GuardedTool:
    async def list_memory(
        *,
        workspace: WorkspaceArgument = None,
        category: Annotated[str | None, Field(description="Only notes of this category")] = None,
        page: Annotated[int, Field(ge=1, description=f"{PAGE} notes each")] = 1,
        roots: Annotated[ListRootsResult | None, Resolve(context.client_roots)],
    ) -> CallToolResult:
        def read() -> tuple[Workspace, list[Listed], int]:
            meant = context.workspace(workspace, roots)
            notes = context.app.notes
            listed = notes.list(meant, category=category or None, limit=PAGE, offset=(page - 1) * PAGE)
            return meant, listed, notes.count(meant, category or None)

        meant, listed, total = await in_thread(read)
        structured = {"workspace_id": meant.id, "notes": [one.as_json() for one in listed], "total": total}
        return result(notes_text(meant, listed, total), structured)

    return define(
        list_memory,
        title="List notes",
        description=DESCRIPTION,
        annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
        output=OUTPUT,
        log_path=log_path,
    )
