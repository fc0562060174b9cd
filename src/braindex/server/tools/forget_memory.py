"""`forget_memory`: delete one note."""

from typing import Annotated, Any, Final

from mcp.server.mcpserver import Resolve
from mcp_types import CallToolResult, ListRootsResult, ToolAnnotations
from pydantic import Field

from braindex.domain.memories import Note
from braindex.domain.results import Workspace
from braindex.server.definitions import WorkspaceArgument, define, result
from braindex.server.errors import GuardedTool
from braindex.server.render import forgotten_text
from braindex.server.surroundings import ToolContext
from braindex.services.threads import in_thread

DESCRIPTION: Final = "Delete a note for good: one that is wrong, outdated or doubled, or that the user wants gone."
OUTPUT: Final[dict[str, dict[str, Any]]] = {"workspace_id": {"type": "string"}, "forgotten": {"type": "object"}}


def build(context: ToolContext, log_path: str) -> GuardedTool:
    async def forget_memory(
        *,
        id: Annotated[str, Field(description="The note's id, or how it begins")],  # noqa: A002 - the tool's argument
        workspace: WorkspaceArgument = None,
        roots: Annotated[ListRootsResult | None, Resolve(context.client_roots)],
    ) -> CallToolResult:
        def forget() -> tuple[Workspace, Note]:
            meant = context.workspace(workspace, roots)
            return meant, context.app.notes.forget(meant, id)

        meant, note = await in_thread(forget)
        return result(forgotten_text(meant, note), {"workspace_id": meant.id, "forgotten": note.as_json()})

    return define(
        forget_memory,
        title="Forget a note",
        description=DESCRIPTION,
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
        ),
        output=OUTPUT,
        log_path=log_path,
    )
