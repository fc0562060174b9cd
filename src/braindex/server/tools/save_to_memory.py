"""`save_to_memory`: remember something on purpose."""

from typing import Annotated, Any, Final

from mcp.server.mcpserver import Context, Resolve
from mcp_types import CallToolResult, ListRootsResult, ToolAnnotations
from pydantic import BeforeValidator, Field

from braindex.domain.results import Workspace
from braindex.server.definitions import WorkspaceArgument, define, result
from braindex.server.errors import GuardedTool
from braindex.server.render import saved_text
from braindex.server.surroundings import ToolContext
from braindex.services.notes import Saved
from braindex.services.threads import in_thread

DESCRIPTION: Final = (
    "Remember a decision, convention, cause of a bug or the user's wish, for every later chat. One fact a note, in "
    "plain words. Not for what the code says itself, nor for secrets. query_memory brings notes back with code."
)
OUTPUT: Final[dict[str, dict[str, Any]]] = {
    "workspace_id": {"type": "string"},
    "note": {"type": "object"},
    "known": {"type": "boolean"},
    "similar": {"type": "array", "items": {"type": "object"}},
}


def _listed(given: Any) -> Any:
    """One name alone, as some agents give it, is a list of one."""
    return [given] if isinstance(given, str) else given


def build(context: ToolContext, log_path: str) -> GuardedTool:
    async def save_to_memory(
        *,
        ctx: Context[Any, Any],
        text: Annotated[str, Field(description="What to remember")],
        workspace: WorkspaceArgument = None,
        category: Annotated[str | None, Field(description="One word, e.g. decision, convention, bug")] = None,
        about: Annotated[
            list[str] | None,
            BeforeValidator(_listed),
            Field(description="Paths, path::name or names it is about: it is marked when these change"),
        ] = None,
        roots: Annotated[ListRootsResult | None, Resolve(context.client_roots)],
    ) -> CallToolResult:
        author = client_name(ctx)

        def save() -> tuple[Workspace, Saved]:
            meant = context.workspace(workspace, roots)
            return meant, context.app.notes.save(meant, text, category or "", author, about or ())

        meant, saved = await in_thread(save)
        return result(saved_text(meant, saved), {"workspace_id": meant.id, **saved.as_json()})

    return define(
        save_to_memory,
        title="Remember",
        description=DESCRIPTION,
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
        output=OUTPUT,
        log_path=log_path,
    )


def client_name(ctx: Context[Any, Any]) -> str:
    """What the client calls itself, "" where it does not say."""
    known = ctx.session.client_params
    return known.client_info.name[:100] if known is not None else ""
