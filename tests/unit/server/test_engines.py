"""The tools with engines behind them: stand-ins on loopback, the real services between."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_types import CallToolResult, TextContent
from tests.fakes.deepseek import KEY

from braindex.bootstrap import App, build_app
from braindex.config import load_settings
from braindex.domain.results import Workspace
from braindex.domain.tokens import count_tokens
from braindex.server.create import create_server

pytestmark = pytest.mark.anyio

ANSWER_TOKENS = 800  # what a default answer may cost the agent
PATIENCE = 30  # seconds after which a test counts as hung
# As long as an engine is asked to be at most: 250 words.
LONG_ANSWER = "Apples are sold in `sell_apples_0` #shop_0.py:4. " + "The cashier counts each basket twice, then. " * 35


@pytest.fixture
def deepseek_app(brain, tmp_path, fake_deepseek) -> Iterator[App]:
    settings = {
        "BRAIN_DIR": str(brain),
        "DEEPSEEK_API_KEY": KEY,
        "DEEPSEEK_BASE_URL": fake_deepseek.url,
        "BRIEF_WARMUP": "false",
    }
    app = build_app(load_settings(settings, tmp_path))
    yield app
    app.close()
    app.finish(PATIENCE)


@pytest.fixture
def shop(app, make_project) -> Workspace:
    """Scanned by an app without an engine, so that its brief is made from the index alone."""
    body = (
        '"""Sells the apples of a basket, one by one, to whoever asks for them."""\n' + "    total = total + 1\n" * 30
    )
    files = {
        f"shop_{number}.py": f"import till\n\n\ndef sell_apples_{number}(basket: list[str]) -> int:\n    {body}"
        for number in range(10)
    }
    workspace: Workspace = app.workspaces.open(make_project({"pyproject.toml": "", **files}, "shop"))
    app.scans.run(workspace)
    return workspace


Connect = Callable[[App], AbstractAsyncContextManager[Client]]


@pytest.fixture(params=["auto", "legacy"])
def connect(request, shop, tmp_path) -> Connect:
    @asynccontextmanager
    async def open_client(app: App) -> AsyncIterator[Client]:
        server = create_server(app, shop.path, environ={}, cwd=tmp_path, home=tmp_path)
        async with Client(server, mode=request.param) as client:
            yield client

    return open_client


def text_of(result: CallToolResult) -> str:
    (only,) = result.content
    assert isinstance(only, TextContent)
    return only.text


def structure_of(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, text_of(result)
    return result.structured_content or {}


def cost_of(structured: dict[str, Any]) -> int:
    return count_tokens(json.dumps(structured, ensure_ascii=False, separators=(",", ":")))


async def test_a_default_answer_costs_an_agent_little_in_either_form(app, deepseek_app, connect, fake_deepseek):
    fake_deepseek.answer_text = LONG_ANSWER
    question = {"query": "where are the apples of a basket sold?"}
    async with connect(app) as client:
        without = await client.call_tool("query_memory", question)
    async with connect(deepseek_app) as client:
        answered = await client.call_tool("query_memory", question)
    assert len(structure_of(without)["sources"]) == len(structure_of(answered)["sources"]) == 8
    assert structure_of(without)["answer"] is None
    assert structure_of(answered)["answer"] == LONG_ANSWER.strip()
    assert structure_of(answered)["sources"][0].keys() == structure_of(without)["sources"][0].keys()
    for result in (without, answered):
        assert count_tokens(text_of(result)) <= ANSWER_TOKENS
        assert cost_of(structure_of(result)) <= ANSWER_TOKENS * 1.05  # of about so many


async def test_the_answer_of_an_engine_stands_below_its_sources_and_says_who_gave_it(deepseek_app, connect):
    async with connect(deepseek_app) as client:
        result = await client.call_tool("query_memory", {"query": "where are apples sold?", "limit": 1})
    sources, answer, foot = text_of(result).split("\n\n")
    assert sources.startswith("Sources:\n`sell_apples_")
    assert answer == "The answer."
    assert foot.endswith("\nEngine: deepseek-flash (the only engine configured)")


async def test_an_engine_that_fails_is_said_in_one_line_below_the_sources(deepseek_app, connect, fake_deepseek):
    fake_deepseek.fail_always("402")
    async with connect(deepseek_app) as client:
        result = await client.call_tool("query_memory", {"query": "where are apples sold?"})
    assert structure_of(result)["sources"]
    assert structure_of(result)["engine"] == "none"
    (line,) = [one for one in text_of(result).splitlines() if one.startswith("No written answer: ")]
    assert line == f"No written answer: {structure_of(result)['reason']}"


@pytest.mark.parametrize(("use_cloud", "engine"), [(True, "deepseek-flash"), (False, "ollama")])
async def test_the_call_chooses_between_the_engines(  # noqa: PLR0917 - fixtures
    brain, tmp_path, connect, fake_deepseek, fake_ollama, use_cloud, engine
):
    settings = {
        "BRAIN_DIR": str(brain),
        "DEEPSEEK_API_KEY": KEY,
        "DEEPSEEK_BASE_URL": fake_deepseek.url,
        "OLLAMA_HOST": fake_ollama.url,
        "OLLAMA_MODEL": "llama3.2",
    }
    both = build_app(load_settings(settings, tmp_path))
    async with connect(both) as client:
        result = await client.call_tool("query_memory", {"query": "sell apples", "use_cloud": use_cloud})
    both.finish(PATIENCE)
    assert structure_of(result)["engine"] == engine
    assert fake_deepseek.violations + fake_ollama.violations == []


async def test_a_cancelled_question_cancels_the_call_to_its_engine(deepseek_app, connect, shop, fake_deepseek):
    deepseek_app.briefs.update(shop, "# Mine\n")  # which no engine replaces: the one request is the question's
    fake_deepseek.fail_always("slow", seconds=PATIENCE)
    async with connect(deepseek_app) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "query_memory", {"query": "where are apples sold?"})
            assert await anyio.to_thread.run_sync(fake_deepseek.waiting.wait, PATIENCE)
            group.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(fake_deepseek.hung_up.wait, PATIENCE)
        fake_deepseek.fail_always(None)
        assert structure_of(await client.call_tool("query_memory", {"query": "sell apples"}))["answer"]


async def test_a_cancelled_update_hangs_up_and_leaves_the_old_brief(deepseek_app, connect, shop, fake_deepseek):
    old = deepseek_app.briefs.text(shop)
    fake_deepseek.fail_always("slow", seconds=PATIENCE)
    async with connect(deepseek_app) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "update_brief", {})
            assert await anyio.to_thread.run_sync(fake_deepseek.waiting.wait, PATIENCE)
            group.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(fake_deepseek.hung_up.wait, PATIENCE)
    assert deepseek_app.briefs.text(shop) == old


async def test_a_brief_made_from_the_index_is_replaced_by_the_engine_after_an_answer(deepseek_app, connect, shop):
    async with connect(deepseek_app) as client:
        before = structure_of(await client.call_tool("get_brief", {}))
        await client.call_tool("query_memory", {"query": "where are apples sold?"})
        await anyio.to_thread.run_sync(deepseek_app.briefs.wait, PATIENCE)
        after = structure_of(await client.call_tool("get_brief", {}))
    assert (before["engine"], after["engine"]) == ("none", "deepseek-flash")
    assert "The answer." in after["brief"]


async def test_a_brief_follows_the_scan_by_itself(deepseek_app, connect, shop):
    async with connect(deepseek_app) as client:
        await client.call_tool("scan_workspace", {})
        with anyio.fail_after(PATIENCE):
            while structure_of(await client.call_tool("scan_status", {}))["brief"]["engine"] == "none":
                await anyio.to_thread.run_sync(deepseek_app.briefs.wait, PATIENCE)


async def test_a_forced_refresh_is_paid_once_though_the_scan_asks_for_a_brief_too(deepseek_app, connect, fake_deepseek):
    async with connect(deepseek_app) as client:
        result = structure_of(
            await client.call_tool("scan_workspace", {"force_refresh_brief": True, "wait_seconds": 50})
        )
    deepseek_app.finish(PATIENCE)
    assert (result["state"], result["brief_refresh"], result["brief"]["engine"]) == (
        "complete",
        "done",
        "deepseek-flash",
    )
    assert len(fake_deepseek.requests) == 9


async def test_a_forced_refresh_that_an_engine_fails_leaves_the_old_brief(deepseek_app, connect, shop, fake_deepseek):
    old = deepseek_app.briefs.text(shop)
    fake_deepseek.fail_always("402")
    async with connect(deepseek_app) as client:
        scan = await client.call_tool("scan_workspace", {"force_refresh_brief": True, "wait_seconds": 50})
        update = await client.call_tool("update_brief", {})
    assert (structure_of(scan)["state"], structure_of(scan)["brief_refresh"]) == ("complete", "failed")
    assert "the brief was left as it was: its section" in text_of(scan)
    assert update.is_error
    assert "and the old brief stands" in text_of(update)
    assert deepseek_app.briefs.text(shop) == old


async def test_a_brief_edited_by_hand_is_shown_and_not_replaced(app, connect, shop):
    brief = app.workspaces.folder(shop) / "brief.md"
    brief.write_text("# Mine\n", encoding="utf-8")
    async with connect(app) as client:
        shown = await client.call_tool("get_brief", {})
        update = await client.call_tool("update_brief", {})
        scan = await client.call_tool("scan_workspace", {"force_refresh_brief": True})
    assert text_of(shown).startswith("# Mine\n\nBrief: ")
    assert "edited by hand since" in text_of(shown)
    assert update.is_error
    assert "edited by hand" in text_of(update)
    assert structure_of(scan)["brief_refresh"] == "failed"
    assert "edited by hand" in text_of(scan)
    assert brief.read_text(encoding="utf-8") == "# Mine\n"


@pytest.mark.parametrize(
    ("content", "said"), [("", "empty"), ("word " * 5_000, "at most 1,200"), ("a\u202eb", "bidirectional")]
)
async def test_a_given_text_that_cannot_be_a_brief_is_refused(app, connect, shop, content, said):
    old = app.briefs.text(shop)
    async with connect(app) as client:
        result = await client.call_tool("update_brief", {"content": content})
    assert result.is_error
    assert said in text_of(result)
    assert app.briefs.text(shop) == old


async def test_a_workspace_that_was_never_scanned_has_no_brief_to_replace(app, connect, make_project):
    new = make_project({"pyproject.toml": ""}, "new")
    async with connect(app) as client:
        result = await client.call_tool("update_brief", {"workspace": str(new)})
    assert result.is_error
    assert text_of(result).startswith(
        "new has no brief yet: it is made at the end of the first scan; query_memory answ"
    )
