"""`list_workspaces`: which codebases the memory knows."""

from typing import Any, Final

from mcp_types import CallToolResult, ToolAnnotations

from braindex.server.definitions import define, result
from braindex.server.errors import GuardedTool
from braindex.server.render import workspaces_text
from braindex.server.surroundings import ToolContext
from braindex.services.threads import in_thread

DESCRIPTION: Final = "The known workspaces: id, name, path, counts and last scan. Finds the path behind an id or name."
OUTPUT: Final[dict[str, dict[str, Any]]] = {"workspaces": {"type": "array", "items": {"type": "object"}}}


def build(context: ToolContext, log_path: str) -> GuardedTool:
    async def list_workspaces() -> CallToolResult:
        known = await in_thread(context.app.workspaces.list)
        return result(workspaces_text(known), {"workspaces": [one.as_json() for one in known]})

    return define(
        list_workspaces,
        title="List known workspaces",
        description=DESCRIPTION,
        annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
        output=OUTPUT,
        log_path=log_path,
    )
