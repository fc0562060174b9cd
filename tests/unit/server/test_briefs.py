"""The brief as tools, a prompt and a forced refresh, in both protocol eras, over services that hold still."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp_types import CallToolResult, GetPromptResult, ListRootsResult, Root, TextContent
from pydantic import FileUrl

from braindex.server.create import create_server
from braindex.services.brief import BriefByHand

pytestmark = pytest.mark.anyio

Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture(params=["auto", "legacy"])
def connect(request, released, project, tmp_path) -> Connect:
    @asynccontextmanager
    async def open_client(*, cwd: Path = project, **client: Any) -> AsyncIterator[Client]:
        server = create_server(released.app, environ={}, cwd=cwd, home=tmp_path / "home")
        async with Client(server, mode=request.param, **client) as one:
            yield one

    return open_client


def text_of(result: CallToolResult) -> str:
    (only,) = result.content
    assert isinstance(only, TextContent)
    return only.text


def prompt_of(result: GetPromptResult) -> str:
    (only,) = result.messages
    assert only.role == "user"
    assert isinstance(only.content, TextContent)
    return only.content.text


async def test_the_brief_comes_with_a_line_on_how_it_stands(connect, held, project):
    held.briefs.state = replace(held.briefs.state, moved="3 of 9 files changed", failure="no\ncredit", edited=True)
    async with connect() as client:
        result = await client.call_tool("get_brief", {})
    assert text_of(result) == (
        "# shop\n\n## Overview\n\nSells apples.\n\n"
        "Brief: made from the index, 12 tokens, locked 2026-11-30T09:00:00+00:00; edited by hand since; "
        "3 of 9 files changed; an engine could not replace it: no credit\n"
        f"Workspace: проект ({project})"
    )
    assert result.structured_content == {
        "workspace_id": "id-проект",
        "workspace": "проект",
        "path": str(project),
        "brief": held.briefs.brief,
        **held.briefs.state.as_json(),
    }


async def test_a_workspace_without_a_brief_says_when_it_gets_one(connect, held):
    held.briefs.brief = ""
    async with connect() as client:
        result = await client.call_tool("get_brief", {})
        status = await client.call_tool("scan_status", {})
    assert result.is_error
    assert "has no brief yet: it is made at the end of the first scan" in text_of(result)
    assert "\nBrief: none\n" in text_of(status) + "\n"
    assert (status.structured_content or {})["brief"] is None


async def test_a_brief_with_hostile_characters_is_shown_escaped_everywhere(connect, held, project):
    held.briefs.brief = "pay\u202egnp \x1b[31m"
    held.workspaces.open(project)
    async with connect() as client:
        tool = text_of(await client.call_tool("get_brief", {}))
        prompt = prompt_of(await client.get_prompt("onboard"))
        (read,) = (await client.read_resource("brain://id-проект/brief")).contents
    for shown in (tool, prompt, read.text):
        assert "pay\\u202egnp \\x1b[31m" in shown
        assert "\u202e" not in shown


async def test_a_given_text_replaces_the_brief(connect, held):
    held.briefs.go.set()
    async with connect() as client:
        result = await client.call_tool("update_brief", {"content": "# mine\n"})
    assert held.briefs.updates == ["# mine\n"]
    assert text_of(result).startswith("The brief was replaced: given by hand, 12 tokens")
    assert "Workspace: проект" in text_of(result)
    assert (result.structured_content or {})["given"] is True


async def test_a_long_update_tells_its_progress_until_it_is_done(connect, held):
    seen: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)
        assert total is None
        assert message
        assert "writing the brief" in message
        if len(seen) == 2:
            held.briefs.go.set()

    async with connect() as client:
        result = await client.call_tool("update_brief", {}, progress_callback=on_progress)
    assert not result.is_error
    assert held.briefs.updates == [None]
    assert seen == sorted(set(seen))
    assert len(seen) >= 2


async def test_a_brief_edited_by_hand_is_left_and_says_how_it_can_be_replaced(connect, held, tmp_path):
    held.briefs.error = BriefByHand(tmp_path / "brief.md", given=False)
    held.briefs.go.set()
    async with connect() as client:
        result = await client.call_tool("update_brief", {"content": "x"})
    assert result.is_error
    assert "was edited by hand" in text_of(result)
    assert "brief --update" in text_of(result)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, False),
        ({"deepseek_api_key": "k"}, True),
        ({"deepseek_api_key": "k", "memory_mode": "local"}, False),
        ({"ollama_model": "m"}, False),
        ({"ollama_model": "m", "ollama_stays_here": False}, True),
    ],
)
async def test_the_annotations_say_which_calls_may_reach_beyond_this_machine(connect, held, changes, expected):
    vars(held.settings).update(changes)
    async with connect() as client:
        tools = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
    assert {name for name, one in tools.items() if one.open_world_hint} == (
        {"query_memory", "scan_workspace", "update_brief"} if expected else set()
    )
    assert {name for name, one in tools.items() if one.destructive_hint} == {
        "scan_workspace",
        "update_brief",
        "forget_memory",
    }
    assert {name for name, one in tools.items() if not one.read_only_hint} == {
        "scan_workspace",
        "update_brief",
        "save_to_memory",
        "forget_memory",
    }


async def test_a_forced_refresh_makes_the_brief_anew_after_the_scan(connect, held):
    held.briefs.go.set()
    async with connect() as client:
        result = await client.call_tool("scan_workspace", {"force_refresh_brief": True})
        plain = await client.call_tool("scan_workspace", {})
    structured = result.structured_content or {}
    assert held.briefs.updates == [None]
    assert (structured["state"], structured["brief_refresh"]) == ("complete", "done")
    assert structured["brief"]["engine"] == "none"
    assert "the brief was made anew (made from the index, 12 tokens)" in text_of(result)
    assert "brief_refresh" not in (plain.structured_content or {})


async def test_a_refresh_that_fails_is_a_note_of_a_scan_that_succeeded(connect, held, refused):
    held.briefs.error = refused("flash is out of credit")
    held.briefs.go.set()
    async with connect() as client:
        result = await client.call_tool("scan_workspace", {"force_refresh_brief": True})
        status = await client.call_tool("scan_status", {})
    structured = result.structured_content or {}
    assert not result.is_error
    assert (structured["state"], structured["brief_refresh"]) == ("complete", "failed")
    assert structured["notes"] == ["the brief was left as it was: flash is out of credit"]
    assert "the brief was left as it was: flash is out of credit" in text_of(result)
    assert "Last asked for: the brief was left as it was: flash is out of credit" in text_of(status)
    assert (status.structured_content or {})["brief_refresh"] == "failed"


async def test_a_refresh_that_fails_by_a_bug_keeps_its_text_to_itself(connect, held):
    held.briefs.error = KeyError("secret")
    held.briefs.go.set()
    async with connect() as client:
        result = await client.call_tool("scan_workspace", {"force_refresh_brief": True})
    assert (result.structured_content or {})["brief_refresh"] == "failed"
    assert "the log has the details" in text_of(result)
    assert "secret" not in text_of(result)


async def test_a_refresh_that_outlasts_the_wait_goes_on_and_is_made_once(connect, held, held_scan):
    held.scans.scan = held_scan()
    call = {"force_refresh_brief": True, "wait_seconds": 0}
    seen: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)
        if message == "writing the brief":
            held.briefs.go.set()

    async with connect() as client:
        scanning = await client.call_tool("scan_workspace", call)
        held.scans.scan.done.set()
        making = await client.call_tool("scan_workspace", call)
        status = await client.call_tool("scan_status", {})
        done = await client.call_tool("scan_workspace", {**call, "wait_seconds": 50}, progress_callback=on_progress)
    first, second, last = (one.structured_content or {} for one in (scanning, making, done))
    assert (first["state"], first["brief_refresh"]) == ("running", "running")
    assert "The brief is made anew when it has ended" in text_of(scanning)
    assert (second["state"], second["brief_refresh"]) == ("complete", "running")
    assert "made anew in the background" in text_of(status)
    assert last["brief_refresh"] == "done"
    assert len(held.briefs.updates) == 1
    assert seen == sorted(set(seen))


async def test_the_end_of_a_scan_and_every_answer_let_an_engine_take_over_the_brief(connect, held, project):
    workspace = held.workspaces.open(project)
    async with connect() as client:
        (finished,) = held.scans.listeners
        finished(workspace)
        await client.call_tool("query_memory", {"query": "q"})
    assert held.briefs.upgrades == [workspace, workspace]


async def test_an_answer_and_a_scan_are_not_lost_to_a_brief_that_cannot_be_read(connect, held, project, refused):
    held.briefs.error = refused("brief.md cannot be read")
    async with connect() as client:
        (finished,) = held.scans.listeners
        finished(held.workspaces.open(project))
        result = await client.call_tool("query_memory", {"query": "q"})
    assert not result.is_error


async def test_a_brief_on_its_way_is_not_written_by_an_engine_twice(connect, held, project):
    workspace = held.workspaces.open(project)
    async with connect() as client:
        await client.call_tool("scan_workspace", {"force_refresh_brief": True, "wait_seconds": 0})
        (finished,) = held.scans.listeners
        finished(workspace)
        await client.call_tool("query_memory", {"query": "q"})
    assert held.briefs.upgrades == []


async def test_the_prompt_gives_the_brief_and_how_to_use_the_memory(connect, project):
    async with connect() as client:
        listed = (await client.list_prompts()).prompts[0]
        text = prompt_of(await client.get_prompt("onboard"))
        named = prompt_of(await client.get_prompt("onboard", {"workspace": str(project)}))
    assert listed.name == "onboard"
    assert [(one.name, one.required, bool(one.description)) for one in listed.arguments] == [("workspace", False, True)]
    assert text.startswith(f"You are about to work on проект ({project}). This is its brief (made from the index")
    assert "Sells apples." in text
    assert "query_memory" in text
    assert named == text


async def test_the_prompt_says_what_to_do_where_there_is_no_brief(connect, held):
    held.briefs.brief = ""
    async with connect() as client:
        text = prompt_of(await client.get_prompt("onboard"))
    assert "has no brief yet" in text
    assert "Call scan_workspace" in text
    assert "query_memory" in text


async def test_the_prompt_means_the_folder_that_the_client_has_open(connect, tmp_path):
    shop = tmp_path / "shop"
    shop.mkdir()

    async def listed(_: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl(shop.as_uri()))])

    async with connect(cwd=tmp_path, list_roots_callback=listed) as client:
        text = prompt_of(await client.get_prompt("onboard"))
    assert str(shop) in text


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("onboard", {"workspace": "nowhere"}, "nowhere"),
        ("onboard", {"workspace": "/etc"}, "refused"),
        ("onboard", {"wörkspace": "x" * 9_000}, "has no argument `wörkspace`; it takes: workspace"),
        ("onboard" * 9_000, None, "there are: onboard, review"),
    ],
)
async def test_a_wrong_prompt_is_a_clear_error_of_bounded_length(connect, name, arguments, said):
    async with connect() as client:
        with pytest.raises(MCPError) as failed:
            await client.get_prompt(name, arguments)
    assert said in failed.value.message
    assert failed.value.code == -32602
    assert len(failed.value.message) < 600
