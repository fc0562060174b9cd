"""`query_memory`: ask the memory of a workspace."""

from collections.abc import Callable
from typing import Annotated, Any, Final

from mcp.server.mcpserver import Context, Resolve
from mcp_types import CallToolResult, ListRootsResult, ToolAnnotations
from pydantic import Field

from braindex.domain.display import shortened
from braindex.domain.results import Answer, Question
from braindex.server.definitions import WorkspaceArgument, define, result
from braindex.server.errors import GuardedTool
from braindex.server.render import answer_text
from braindex.server.surroundings import ToolContext
from braindex.services.threads import in_cancellable_thread

DESCRIPTION: Final = (
    "Ask the memory of this codebase before searching or reading files. Answers where things are defined, "
    "how they work and what belongs together, with citations exact to the line (#path:line). "
    "Changes on disk are taken in first; an unscanned workspace is scanned on the way."
)
OUTPUT: Final[dict[str, dict[str, Any]]] = {
    "workspace_id": {"type": "string"},
    "query": {"type": "string"},
    "engine": {"type": "string"},
    "reason": {"type": "string"},
    "answer": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "sources": {"type": "array", "items": {"type": "object"}},
}


def build(context: ToolContext, log_path: str) -> GuardedTool:
    async def query_memory(
        *,
        ctx: Context[Any, Any],
        query: Annotated[str, Field(description="A question in plain words, or a name to find")],
        workspace: WorkspaceArgument = None,
        limit: Annotated[int, Field(ge=1, le=50, description="Sources at most")] = 8,
        use_cloud: Annotated[
            bool | None,
            Field(description="Who writes the answer: true cloud, false local; default: by the question"),
        ] = None,
        show_sources: Annotated[bool, Field(description="false: leave out the list of sources")] = True,
        path: Annotated[str | None, Field(description="Folder, file or glob below the root, e.g. src/**/*.py")] = None,
        kind: Annotated[str | None, Field(description="function, method, class, heading, rule, …")] = None,
        language: Annotated[str | None, Field(description="python, typescript, markdown, …")] = None,
        roots: Annotated[ListRootsResult | None, Resolve(context.client_roots)],
    ) -> CallToolResult:
        question = Question(query, limit, path or None, kind or None, language or None, use_cloud)

        def ask(cancelled: Callable[[], bool]) -> Answer:
            meant = context.workspace(workspace, roots)
            answer = context.app.asking.ask(meant, question, cancelled)
            context.refreshes.upgrade_later(meant)
            return answer

        async def tell(seconds: float) -> None:
            await ctx.report_progress(seconds, None, f"looking for an answer, {seconds:.0f} s")

        answer = await in_cancellable_thread(ask, tell)
        return result(answer_text(answer, show_sources=show_sources), _structured(answer, show_sources=show_sources))

    return define(
        query_memory,
        title="Ask the codebase memory",
        description=DESCRIPTION,
        annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=context.reaches_out),
        output=OUTPUT,
        log_path=log_path,
    )


def _structured(answer: Answer, *, show_sources: bool) -> dict[str, Any]:
    """The answer's JSON. Sources that an engine's answer already cites may be left out; without one they are it."""
    found = {**answer.as_json(), "query": shortened(answer.query)}  # the agent knows its own question
    if answer.answer is None:
        return found
    return {**found, "sources": [_beside(one) for one in found["sources"]] if show_sources else []}


def _beside(source: dict[str, Any]) -> dict[str, Any]:
    """A source beside an answer: where to look. All its keys stay; what it says would cost the agent as much again."""
    numbers = {key: source[key] and round(source[key], 2) for key in ("distance", "score")}
    return {**source, "signature": "", "excerpt": "", "id": "", **numbers}
