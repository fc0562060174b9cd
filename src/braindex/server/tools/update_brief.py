"""`update_brief`: make the brief anew, or put a given text in its place."""

from collections.abc import Callable
from typing import Annotated, Any, Final

from mcp.server.mcpserver import Context, Resolve
from mcp_types import CallToolResult, ListRootsResult, ToolAnnotations
from pydantic import Field

from braindex.domain.results import Workspace
from braindex.server.definitions import WorkspaceArgument, define, result
from braindex.server.errors import GuardedTool
from braindex.server.render import updated_text
from braindex.server.surroundings import ToolContext
from braindex.server.tools.get_brief import structured
from braindex.services.brief import BriefView
from braindex.services.threads import in_cancellable_thread

DESCRIPTION: Final = (
    "Replace the project's brief: made anew by the configured engine (up to minutes, and its cost) or from the index, "
    "or by `content`. The old text is gone. Only for a brief that is wrong or that the code has left behind; a failure "
    "leaves the old one, and one that was edited by hand is not touched."
)
OUTPUT: Final[dict[str, dict[str, Any]]] = {
    "workspace_id": {"type": "string"},
    "engine": {"type": "string"},
    "given": {"type": "boolean"},
    "tokens": {"type": "integer"},
}


def build(context: ToolContext, log_path: str) -> GuardedTool:
    async def update_brief(
        *,
        ctx: Context[Any, Any],
        workspace: WorkspaceArgument = None,
        content: Annotated[
            str | None, Field(description="The whole new text, at most 1,200 tokens; default: made anew")
        ] = None,
        roots: Annotated[ListRootsResult | None, Resolve(context.client_roots)],
    ) -> CallToolResult:
        def update(cancelled: Callable[[], bool]) -> tuple[Workspace, BriefView]:
            meant = context.workspace(workspace, roots)
            return meant, context.app.briefs.update(meant, content, cancelled=cancelled)

        async def tell(seconds: float) -> None:
            await ctx.report_progress(seconds, None, f"writing the brief, {seconds:.0f} s")

        # A call that is no longer waited for pays for no more sections, and replaces nothing.
        meant, view = await in_cancellable_thread(update, tell)
        return result(updated_text(meant, view), structured(meant, view))

    return define(
        update_brief,
        title="Replace the project brief",
        description=DESCRIPTION,
        annotations=ToolAnnotations(
            read_only_hint=False,
            destructive_hint=True,
            idempotent_hint=False,
            open_world_hint=context.reaches_out,
        ),
        output=OUTPUT,
        log_path=log_path,
    )
