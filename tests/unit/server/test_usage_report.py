import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult, TextContent

from braindex.domain.prices import PriceTable
from braindex.domain.usage import Call, Usage
from braindex.server.create import create_server
from braindex.server.tools import usage_report
from braindex.services.usage import UsageService

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def usage(tmp_path: Path) -> UsageService:
    return UsageService(tmp_path / "brain", PriceTable(), now=lambda: NOW)


@pytest.fixture(params=["auto", "legacy"])
def connect(request, held, usage, project, tmp_path) -> Callable[[], AbstractAsyncContextManager[Client]]:
    held.usage = usage

    @asynccontextmanager
    async def open_client() -> AsyncIterator[Client]:
        server = create_server(held.app, environ={}, cwd=project, home=tmp_path / "home")
        async with Client(server, mode=request.param) as client:
            yield client

    return open_client


def entered(usage: UsageService, workspace_id: str, days_ago: int = 0, cost: int | None = 1_500_000_000) -> None:
    when = NOW - timedelta(days=days_ago)
    usage.record(Call(workspace_id, "deepseek-flash", "m", "ask", when, Usage(1_300, 200, 1_200, 100), cost, 4_000))


def text_of(result: CallToolResult) -> str:
    [only] = result.content
    assert isinstance(only, TextContent)
    return only.text


def structure_of(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, text_of(result)
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def test_text_and_structure_each_tell_what_was_used(connect, usage):
    entered(usage, "w1")
    entered(usage, "w2", 3, cost=None)
    async with connect() as client:
        result = await client.call_tool("usage_report", {})
    assert text_of(result) == (
        "All workspaces\n"
        "Usage, all time: 2 calls, 2,600 tokens in (2,400 cache hits, 200 misses), 400 out, cost ≥$0.001500, "
        "8,000 tokens saved\n"
        "- ask by deepseek-flash: 2 calls, 2,600 tokens in (2,400 cache hits, 200 misses), 400 out, cost ≥$0.001500, "
        "8,000 tokens saved\n"
        "Calls whose cost is not known, and not in the sums: 1"
    )
    assert usage.report().as_json().items() <= structure_of(result).items()


async def test_a_period_and_a_workspace_narrow_it(connect, usage, held, project):
    one = held.workspaces.open(project)
    entered(usage, one.id)
    entered(usage, one.id, days_ago=7)
    entered(usage, "another")
    async with connect() as client:
        result = await client.call_tool("usage_report", {"workspace": str(project), "period": "week"})
    found = structure_of(result)
    assert (found["totals"]["calls"], found["workspace_id"]) == (1, one.id)
    assert f"Workspace: {project.name} ({one.path})\nUsage, week, since 2026-11-24 (UTC days): 1 call," in text_of(
        result
    )


async def test_a_ledger_without_calls_says_so(connect):
    async with connect() as client:
        result = await client.call_tool("usage_report", {"period": "today"})
    assert text_of(result) == "All workspaces\nUsage, today, since 2026-11-30 (UTC days): no calls"
    assert structure_of(result)["rows"] == []


async def test_of_very_many_rows_the_newest_are_listed_and_the_sums_are_of_all(connect, usage):
    for number in range(usage_report.ROWS_AT_MOST + 5):
        entered(usage, "w1", days_ago=number)
    async with connect() as client:
        result = await client.call_tool("usage_report", {})
    found = structure_of(result)
    assert len(found["rows"]) == usage_report.ROWS_AT_MOST
    assert found["rows"][-1]["day"] == "2026-11-30"
    assert found["rows_count"] == found["totals"]["calls"] == usage_report.ROWS_AT_MOST + 5
    assert [(row["engine"], row["calls"]) for row in found["by_engine"]] == [("deepseek-flash", found["rows_count"])]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [({"period": "fortnight"}, "period"), ({"workspace": "nowhere"}, "nowhere"), ({"since": "7d"}, "has no argument")],
)
async def test_wrong_arguments_are_named(connect, arguments, told):
    async with connect() as client:
        result = await client.call_tool("usage_report", arguments)
    assert result.is_error
    assert told in text_of(result)


async def test_the_definition_is_lean_plain_and_honest(connect):
    async with connect() as client:
        [tool] = [one for one in (await client.list_tools()).tools if one.name == "usage_report"]
    dumped = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert len(json.dumps(dumped, separators=(",", ":")).encode()) <= 1_000
    assert dumped["annotations"]["readOnlyHint"]
    for schema in dumped["inputSchema"]["properties"].values():
        assert schema["description"]
        assert isinstance(schema["type"], str)
        assert not {"anyOf", "title"} & schema.keys()
