"""`usage_report`: what the engines used, cost and saved."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from mcp_types import CallToolResult, ToolAnnotations
from pydantic import Field

from braindex.domain.display import safe_line
from braindex.domain.results import Workspace
from braindex.domain.spending import DIMENSIONS, Sums, UsageReport, UsageRow, cost_text
from braindex.server.definitions import define, result
from braindex.server.errors import GuardedTool
from braindex.server.render import workspace_line
from braindex.server.surroundings import ToolContext
from braindex.services.threads import in_thread

DESCRIPTION: Final = (
    "What the memory's engines used and cost, by operation and engine: tokens, cache hits and misses, dollars, "
    "and tokens saved against reading the cited files. Days are UTC days."
)
ROWS_AT_MOST: Final = 50  # of the structured result, some 60 tokens each; the sums stay exact
OUTPUT: Final[dict[str, dict[str, Any]]] = {
    "totals": {"type": "object"},
    "rows": {"type": "array", "items": {"type": "object"}},
}


def build(context: ToolContext, log_path: str) -> GuardedTool:
    async def usage_report(
        *,
        workspace: Annotated[str | None, Field(description="Path, id or name; default: all workspaces")] = None,
        period: Annotated[
            Literal["today", "week", "month", "all"], Field(description="week is 7 days, month 30, up to today")
        ] = "all",
    ) -> CallToolResult:
        def read() -> tuple[Workspace | None, UsageReport, UsageReport]:
            one = context.app.workspaces.find(workspace) if workspace else None
            usage, identifier = context.app.usage, one.id if one else None
            by_engine = usage.report(period, identifier, ("operation", "engine"))
            return one, by_engine, usage.report(period, identifier, DIMENSIONS)

        meant, by_engine, found = await in_thread(read)
        return result(_text(meant, period, by_engine), _structured(meant, by_engine, found))

    return define(
        usage_report,
        title="Usage and cost",
        description=DESCRIPTION,
        annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
        output=OUTPUT,
        log_path=log_path,
    )


def _structured(workspace: Workspace | None, by_engine: UsageReport, found: UsageReport) -> dict[str, Any]:
    """The command line's JSON, of its rows the newest ones; where some are left out, the sums of all by engine."""
    structured = {**found.as_json(), "workspace_id": workspace.id if workspace else None}
    if len(found.rows) <= ROWS_AT_MOST:
        return structured
    by_engine_rows = [row.as_json() for row in by_engine.rows]
    newest = structured["rows"][-ROWS_AT_MOST:]
    return {**structured, "rows": newest, "rows_count": len(found.rows), "by_engine": by_engine_rows}


def _text(workspace: Workspace | None, period: str, by_engine: UsageReport) -> str:
    span = "all time" if by_engine.since is None else f"{period}, since {by_engine.since} (UTC days)"
    totals = by_engine.totals
    lines = [workspace_line(workspace) if workspace else "All workspaces"]
    lines.append(f"Usage, {span}: {_sums(totals) if totals.calls else 'no calls'}")
    lines += _rows(by_engine.rows)
    if totals.unknown_cost_calls:
        lines.append(f"Calls whose cost is not known, and not in the sums: {totals.unknown_cost_calls:,}")
    return "\n".join(lines)


def _rows(rows: Sequence[UsageRow]) -> list[str]:
    return [f"- {safe_line(row.operation or '')} by {safe_line(row.engine or '')}: {_sums(row.sums)}" for row in rows]


def _sums(sums: Sums) -> str:
    cached = f"{sums.cache_hit_tokens:,} cache hits, {sums.cache_miss_tokens:,} misses"
    tokens = f"{sums.tokens_in:,} tokens in ({cached}), {sums.tokens_out:,} out"
    calls = "1 call" if sums.calls == 1 else f"{sums.calls:,} calls"
    return f"{calls}, {tokens}, cost {cost_text(sums)}, {sums.tokens_saved:,} tokens saved"
