"""The tools as a client sees them, in both protocol eras, over services that hold still."""

import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult, ListRootsResult, Root, TextContent
from pydantic import FileUrl

from braindex.domain.prices import PriceTable
from braindex.domain.results import ScanProgress, ScanSummary, Skipped
from braindex.domain.tokens import count_tokens
from braindex.server.create import INSTRUCTIONS, create_server
from braindex.services.brief import NoBrief
from braindex.services.usage import UsageService

pytestmark = pytest.mark.anyio

Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture(params=["auto", "legacy"])
def connect(request, held, project, tmp_path) -> Connect:
    """Opens a client on a server whose working directory is the project, in one era and the other."""

    @asynccontextmanager
    async def open_client(*, cwd: Path = project, flag: str | None = None, **client: Any) -> AsyncIterator[Client]:
        server = create_server(
            held.app, flag, environ={}, cwd=cwd, home=tmp_path / "home", log_path="/logs/server-1.log"
        )
        async with Client(server, mode=request.param, **client) as one:
            yield one

    return open_client


def text_of(result: CallToolResult) -> str:
    (only,) = result.content
    assert isinstance(only, TextContent)
    return only.text


class HeldNotes:
    """Takes what a note is said to be about, and nothing else."""

    about: Any = None

    def save(self, *given: Any) -> Any:
        self.about = given[-1]
        raise NoBrief("shop")


def roots(*paths: Path) -> Any:
    async def listed(context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl(path.as_uri())) for path in paths])

    return listed


async def test_the_definitions_are_lean_and_plain_enough_for_every_vendor(connect):
    async with connect() as client:
        tools = (await client.list_tools()).tools
    dumped = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    assert len(json.dumps(dumped, separators=(",", ":")).encode()) <= 10_000
    for tool in dumped:
        assert len(tool["name"]) < 37
        assert tool["title"]
        assert {"readOnlyHint", "idempotentHint", "openWorldHint"} <= tool["annotations"].keys()
        for name, schema in tool["inputSchema"]["properties"].items():
            assert schema["description"], name
            assert isinstance(schema["type"], str), name
            assert not {"anyOf", "title", "$ref"} & schema.keys()


async def test_the_instructions_fit_what_clients_show_and_name_every_tool(connect):
    async with connect() as client:
        tools = (await client.list_tools()).tools
        assert client.instructions == INSTRUCTIONS
    assert len(INSTRUCTIONS.encode()) < 2_000
    assert all(tool.name in INSTRUCTIONS for tool in tools)


async def test_an_answer_lists_its_sources_and_then_the_excerpts_under_the_same_names(connect, project):
    async with connect() as client:
        result = await client.call_tool("query_memory", {"query": "where are files read?"})
    assert text_of(result) == (
        "Sources:\n"
        "`load` #src/app.py:4 (0.72)\n"
        "`save` #docs/Ativação b.md:9\n"
        "\n"
        "`load`\n"
        "def load(path: str) -> bytes\n"
        "    with open(path) as file:\n"
        "        return file.read()\n"
        "\n"
        "`save`\n"
        "def save(path: str) -> bytes\n"
        "Reads a file.\n"
        "\n"
        f"Workspace: проект ({project})"
    )
    structured = result.structured_content
    assert structured is not None
    assert structured["workspace_id"] == "id-проект"
    assert structured["workspace"] == "проект"
    assert structured["engine"] == "none"
    assert structured["reason"]
    assert [one["path"] for one in structured["sources"]] == ["src/app.py", "docs/Ativação b.md"]
    assert structured["sources"][0]["excerpt"].startswith("    with open")


async def test_a_written_answer_follows_its_sources_and_names_its_engine(connect, held):
    held.asking.answer = "Files are read in `load` #src/app.py:4."
    held.asking.reason = "the only engine configured"
    async with connect() as client:
        text = text_of(await client.call_tool("query_memory", {"query": "where?"}))
    head, answer, foot = text.split("\n\n")
    assert head.startswith("Sources:\n")
    assert answer == "Files are read in `load` #src/app.py:4."
    assert foot.endswith("Engine: ollama (the only engine configured)")


async def test_without_the_source_block_the_excerpts_carry_their_citations(connect):
    async with connect() as client:
        result = await client.call_tool("query_memory", {"query": "where?", "show_sources": False})
    assert "Sources:" not in text_of(result)
    assert text_of(result).startswith("`load` #src/app.py:4 (0.72)\ndef load")
    assert len((result.structured_content or {})["sources"]) == 2


async def test_without_the_source_block_a_written_answer_stands_alone(connect, held):
    held.asking.answer = "In `load` #src/app.py:4."
    async with connect() as client:
        result = await client.call_tool("query_memory", {"query": "where?", "show_sources": False})
    assert text_of(result).startswith("In `load` #src/app.py:4.")
    assert (result.structured_content or {})["sources"] == []


async def test_nothing_found_says_why_and_does_not_invite_a_scan(connect, held):
    held.asking.sources, held.asking.reason = (), "nothing relevant was found; try a symbol's name"
    async with connect() as client:
        result = await client.call_tool("query_memory", {"query": "moon phases"})
    assert not result.is_error
    assert text_of(result).startswith("Nothing found: nothing relevant was found; try a symbol's name")
    assert "will not help" in text_of(result)
    assert "Workspace: проект" in text_of(result)


async def test_a_partial_index_is_said_in_text_and_structure(connect, held):
    held.asking.coverage = "the first scan is running: 3 of 9 files are searched"
    async with connect() as client:
        result = await client.call_tool("query_memory", {"query": "where?"})
    assert "3 of 9 files are searched" in text_of(result)
    assert (result.structured_content or {})["coverage"] == held.asking.coverage


async def test_every_argument_reaches_the_service(connect, held):
    arguments = {
        "query": "q",
        "limit": 3,
        "path": "src",
        "kind": "class",
        "language": "python",
        "use_cloud": False,
    }
    async with connect() as client:
        await client.call_tool("query_memory", arguments)
        await client.call_tool("query_memory", {"query": "q", "path": None, "workspace": None, "kind": ""})
    first, second = (question for _, question in held.asking.asked)
    assert (first.limit, first.path, first.kind, first.language, first.use_cloud) == (
        3,
        "src",
        "class",
        "python",
        False,
    )
    assert (second.limit, second.path, second.kind, second.language, second.use_cloud) == (8, None, None, None, None)


async def test_hostile_characters_are_shown_escaped_in_text_and_structure(connect, held, source_of):
    held.asking.sources = (source_of(name="pay\u202egnp", excerpt="x = 'a\u200bb\x1b[31m'"),)
    async with connect() as client:
        result = await client.call_tool("query_memory", {"query": "pay"})
    for shown in (text_of(result), json.dumps(result.structured_content, ensure_ascii=False)):
        assert not {"\u202e", "\u200b", "\x1b"} & set(shown)
        assert "\\u202e" in shown


async def test_emoji_and_other_scripts_come_through_unchanged(connect, held, source_of):
    held.asking.sources = (source_of(name="приветствие", excerpt="你好 🌍"),)
    async with connect() as client:
        result = await client.call_tool("query_memory", {"query": "где 你好 🌍?"})
    assert "你好 🌍" in text_of(result)
    assert (result.structured_content or {})["query"] == "где 你好 🌍?"


async def test_a_long_question_is_not_echoed_in_full(connect, held):
    async with connect() as client:
        result = await client.call_tool("query_memory", {"query": "word " * 8_000})
    assert len(held.asking.asked[0][1].text) == 40_000
    assert count_tokens(json.dumps(result.structured_content)) < 500


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"query": "q", "top_k": 3}, "has no argument `top_k`; it takes: query, workspace, limit"),
        ({"query": "q", "limit": 0}, "`limit`: input should be greater than or equal to 1"),
        ({"query": "q", "limit": "many"}, "`limit`: input should be a valid integer"),
        ({}, "`query`: field required"),
    ],
)
async def test_a_wrong_argument_is_named(connect, held, arguments, said):
    async with connect() as client:
        result = await client.call_tool("query_memory", arguments)
    assert result.is_error
    assert said in text_of(result)
    assert "pydantic" not in text_of(result)
    assert held.asking.asked == []


async def test_an_expected_failure_keeps_its_words(connect, held, refused):
    held.asking.error = refused("the index is locked; ask again in a moment")
    async with connect() as client:
        result = await client.call_tool("query_memory", {"query": "q"})
    assert result.is_error
    assert text_of(result) == "the index is locked; ask again in a moment"


async def test_a_bug_names_the_log_and_keeps_its_own_text_to_itself(connect, held, caplog):
    held.asking.error = KeyError("secret question text")
    async with connect() as client:
        result = await client.call_tool("query_memory", {"query": "q"})
    assert result.is_error
    assert "bug in braindex (KeyError in query_memory)" in text_of(result)
    assert "/logs/server-1.log" in text_of(result)
    assert "secret" not in text_of(result)
    assert any(record.exc_info for record in caplog.records if record.name == "braindex.server.errors")


async def test_a_scan_that_ends_in_time_is_complete(connect, held):
    held.scans.skipped = tuple(Skipped(f"file{number}.bin", "binary") for number in range(80))
    async with connect() as client:
        result = await client.call_tool("scan_workspace", {})
    structured = result.structured_content
    assert structured is not None
    assert structured["state"] == "complete"
    assert {
        "workspace_id",
        "files",
        "entities",
        "added",
        "changed",
        "removed",
        "seconds",
    } <= structured.keys()
    assert (len(structured["skipped"]), structured["skipped_count"]) == (10, 80)
    assert "Skipped: 80\n" in text_of(result)
    assert text_of(result).count("file") == 11  # ten names, and "3 files"
    assert "Scan complete: 3 files, 30 entities" in text_of(result)
    assert "file0.bin: binary" in text_of(result)
    assert "and 70 more" in text_of(result)


async def test_a_scan_that_outlasts_the_wait_is_running_and_says_how_to_follow_it(connect, released, held_scan):
    released.scans.scan = held_scan()
    async with connect() as client:
        result = await client.call_tool("scan_workspace", {"wait_seconds": 0})
    structured = result.structured_content
    assert structured is not None
    assert (structured["state"], structured["files_done"], structured["files_total"]) == ("running", 1, 4)
    assert "scan_status" in text_of(result)
    assert "do not start it again" in text_of(result)


async def test_a_question_that_takes_long_tells_that_it_is_being_worked_on(connect, held):
    told = threading.Event()
    seen: list[tuple[float, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, message))
        told.set()

    held.asking.wait_for = told
    async with connect() as client:
        await client.call_tool("query_memory", {"query": "q"}, progress_callback=on_progress)
    assert seen[0][0] > 0
    assert "looking for an answer" in (seen[0][1] or "")


async def test_a_workspace_that_nobody_knows_is_said_in_words_of_an_agent_s_tools(connect):
    async with connect() as client:
        text = text_of(await client.call_tool("scan_status", {"workspace": "nobody"}))
    assert text.startswith("no workspace is known as 'nobody'. Call again with `workspace`: the absolute path")
    assert "braindex scan" not in text


async def test_progress_only_ever_moves_forward(connect, released, held_scan):
    steps = [ScanProgress("parsing", done, 4, done * 10) for done in (0, 0, 2, 1, 2, 4)]
    released.scans.scan = scan = held_scan(steps=steps)
    seen: list[tuple[float, float | None, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))
        if progress == 4:
            scan.done.set()

    async with connect() as client:
        result = await client.call_tool("scan_workspace", {}, progress_callback=on_progress)
    assert (result.structured_content or {})["state"] == "complete"
    assert [done for done, _, _ in seen] == [0, 2, 4]
    assert seen[-1][1:] == (4, "parsing, 4 of 4 files, 40 entities")


async def test_a_failed_scan_is_an_error_with_its_reason(connect, released, held_scan, refused):
    released.scans.scan = scan = held_scan(error=refused("the drive is not mounted"))
    scan.done.set()
    async with connect() as client:
        result = await client.call_tool("scan_workspace", {})
    assert result.is_error
    assert text_of(result) == "the drive is not mounted"


@pytest.mark.parametrize("seconds", [-1, 51])
async def test_a_wait_outside_its_bounds_is_refused(connect, held, seconds):
    async with connect() as client:
        result = await client.call_tool("scan_workspace", {"wait_seconds": seconds})
    assert result.is_error
    assert "`wait_seconds`" in text_of(result)
    assert held.scans.scan is None


async def test_status_says_what_is_held_and_what_was_skipped(connect, held):
    held.scans.skipped = (Skipped("logo.png", "binary"),)
    async with connect() as client:
        result = await client.call_tool("scan_status", {})
    assert "State: complete" in text_of(result)
    assert "\nBrief: made from the index, 12 tokens, locked 2026-11-30T09:00:00+00:00\n" in text_of(result)
    assert "- logo.png: binary" in text_of(result)
    structured = result.structured_content
    assert structured is not None
    assert (structured["state"], structured["files"], structured["complete"]) == ("complete", 3, True)
    assert structured["skipped"] == [{"path": "logo.png", "reason": "binary"}]
    assert structured["brief"]["engine"] == "none"


async def test_known_workspaces_are_listed_with_id_name_and_path(connect, held, project):
    async with connect() as client:
        empty = await client.call_tool("list_workspaces", {})
        held.workspaces.open(project)
        result = await client.call_tool("list_workspaces", {})
    assert "No workspace is known yet" in text_of(empty)
    assert text_of(result).startswith("id-проек")
    (only,) = (result.structured_content or {})["workspaces"]
    assert (only["id"], only["name"], only["path"]) == ("id-проект", "проект", str(project))


async def test_the_root_of_the_client_is_the_workspace_of_a_call_without_one(connect, held, tmp_path):
    shop = tmp_path / "shop"
    shop.mkdir()
    async with connect(cwd=tmp_path, list_roots_callback=roots(shop)) as client:
        result = await client.call_tool("query_memory", {"query": "q"})
    assert not result.is_error
    assert held.asking.asked[0][0].path == str(shop)


async def test_several_roots_without_a_hint_are_an_error_that_lists_them(connect, tmp_path):
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    async with connect(cwd=tmp_path, list_roots_callback=roots(*folders)) as client:
        result = await client.call_tool("query_memory", {"query": "q"})
    assert result.is_error
    assert all(str(folder) in text_of(result) for folder in folders)


async def test_roots_are_not_asked_for_where_they_cannot_matter(connect, held, project):
    asked = []

    async def never(context: Any) -> ListRootsResult:
        asked.append(True)
        return ListRootsResult(roots=[])

    async with connect(flag=str(project), list_roots_callback=never) as client:
        await client.call_tool("query_memory", {"query": "q"})
        await client.call_tool("query_memory", {"query": "q", "workspace": "проект"})
        await client.call_tool("query_memory", {"query": "q", "workspace": str(project)})
    assert len(held.asking.asked) == 3
    assert asked == []


async def test_a_path_that_nothing_vouches_for_is_refused(connect, held, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    async with connect() as client:
        for path in ("/etc", "..", str(tmp_path / "elsewhere")):
            result = await client.call_tool("query_memory", {"query": "q", "workspace": path})
            assert result.is_error
            assert "refused" in text_of(result)
            assert "braindex scan" in text_of(result)
    assert held.asking.asked == []


async def test_a_client_that_declares_roots_but_cannot_list_them_still_gets_its_answer(held, project, tmp_path):
    async def broken(context: Any) -> ListRootsResult:
        raise RuntimeError

    server = create_server(held.app, environ={}, cwd=project, home=tmp_path / "home")
    async with Client(server, mode="legacy", list_roots_callback=broken) as client:
        result = await client.call_tool("query_memory", {"query": "q"})
    assert not result.is_error
    assert held.asking.asked[0][0].path == str(project)


async def test_the_summary_of_a_scan_is_the_same_object_as_on_the_command_line(connect, held, held_scan):
    summary = ScanSummary("w", 3, 30, 3, 1, 0, (), 0.25, notes=("a note",))
    held.scans.scan = held_scan(summary)
    held.scans.scan.done.set()
    async with connect() as client:
        result = await client.call_tool("scan_workspace", {})
    assert summary.as_json().items() <= (result.structured_content or {}).items()
    assert "a note" in text_of(result)


async def test_the_variables_name_the_workspace_of_calls_without_one(held, tmp_path):
    named, other = tmp_path / "named", tmp_path / "other"
    named.mkdir()
    other.mkdir()
    environ = {"CLAUDE_PROJECT_DIR": str(named)}
    async with Client(create_server(held.app, environ=environ, cwd=tmp_path, home=tmp_path)) as client:
        await client.call_tool("query_memory", {"query": "q"})
        held.settings.brain_workspace = str(other)
    async with Client(create_server(held.app, environ=environ, cwd=tmp_path, home=tmp_path)) as client:
        await client.call_tool("query_memory", {"query": "q"})
    assert [workspace.name for workspace, _ in held.asking.asked] == ["named", "other"]


async def test_a_server_started_in_the_home_directory_says_why_it_answers_nothing(held, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    async with Client(create_server(held.app, environ={}, cwd=tmp_path, home=tmp_path)) as client:
        result = await client.call_tool("query_memory", {"query": "q"})
    assert result.is_error
    assert "the home directory" in text_of(result)


@pytest.mark.parametrize("named", [{}, {"workspace": "nobody-knows-it"}, {"BRAIN_WORKSPACE": "nobody-knows-it"}])
async def test_an_agent_whose_call_finds_no_workspace_is_told_which_argument_to_pass(held, tmp_path, named):
    plain = tmp_path / "plain"
    plain.mkdir()
    held.settings.brain_workspace = named.get("BRAIN_WORKSPACE", "")
    arguments = {"query": "q", **({"workspace": named["workspace"]} if "workspace" in named else {})}
    async with Client(create_server(held.app, environ={}, cwd=plain, home=tmp_path)) as client:
        result = await client.call_tool("query_memory", arguments)
    assert result.is_error
    assert "Call again with `workspace`: the absolute path" in text_of(result)
    assert "`list_workspaces`" in text_of(result)


async def test_excerpts_of_sources_with_one_name_are_told_apart(connect, held, source_of):
    held.asking.sources = (
        source_of("load", "src/app.py", 4),
        source_of("load", "src/net.py", 9),
        source_of("save", "a/x.py", 1),
        source_of("save", "b/x.py", 1),
        source_of("only", "src/app.py", 30),
    )
    async with connect() as client:
        text = text_of(await client.call_tool("query_memory", {"query": "load"}))
    headings = [block.splitlines()[0] for block in text.split("\n\n")[1:-1]]
    assert headings == [
        "`load` #app.py:4",
        "`load` #net.py:9",
        "`save` #a/x.py:1",
        "`save` #b/x.py:1",
        "`only`",
    ]


@pytest.mark.parametrize(
    ("tool", "optional"),
    [
        ("query_memory", ("workspace", "limit", "use_cloud", "show_sources", "path", "kind", "language")),
        ("scan_workspace", ("workspace", "force_refresh_brief", "wait_seconds")),
        ("get_brief", ("workspace",)),
        ("update_brief", ("workspace", "content")),
        ("usage_report", ("workspace", "period")),
        ("scan_status", ("workspace",)),
    ],
)
async def test_null_means_an_argument_left_out(connect, held, tmp_path, tool, optional):
    held.usage = UsageService(tmp_path / "brain", PriceTable())
    held.briefs.go.set()
    needed = {"query": "where?"} if tool == "query_memory" else {}
    async with connect() as client:
        left_out = await client.call_tool(tool, needed)
        nulls = await client.call_tool(tool, {**needed, **dict.fromkeys(optional)})
        (listed,) = [one for one in (await client.list_tools()).tools if one.name == tool]
    assert set(optional) == set(listed.input_schema["properties"]) - set(needed)
    assert not nulls.is_error, text_of(nulls)
    assert text_of(nulls) == text_of(left_out)


async def test_arguments_may_come_as_their_json_text(connect, held, project):
    arguments = {"query": "8", "limit": "3", "show_sources": "true", "use_cloud": "False", "kind": "null"}
    async with connect() as client:
        result = await client.call_tool("query_memory", arguments)
        await client.call_tool("query_memory", {"query": '{"a": 1}', "limit": 4.0, "path": "[id]", "kind": "[1]"})
        waited = await client.call_tool("scan_workspace", {"wait_seconds": "0.5", "force_refresh_brief": "false"})
    assert not result.is_error, text_of(result)
    assert not waited.is_error, text_of(waited)
    first, second = (question for _, question in held.asking.asked)
    assert (first.text, first.limit, first.use_cloud, first.kind) == ("8", 3, False, None)
    assert (second.text, second.limit, second.path, second.kind) == ('{"a": 1}', 4, "[id]", "[1]")


@pytest.mark.parametrize("about", [["shop.py"], "shop.py", '["shop.py"]', ["shop.py", "pay.py"]])
async def test_what_a_note_is_about_may_be_one_name_a_list_or_its_text(held, project, tmp_path, about):
    held.notes = HeldNotes()
    async with Client(create_server(held.app, environ={}, cwd=project, home=tmp_path)) as client:
        await client.call_tool("save_to_memory", {"text": "Apples are counted.", "about": about})
    assert held.notes.about == (["shop.py", "pay.py"] if "pay.py" in about else ["shop.py"])


async def test_null_for_a_required_argument_is_refused_by_its_name(connect):
    async with connect() as client:
        result = await client.call_tool("query_memory", {"query": None})
    assert result.is_error
    assert "`query`" in text_of(result)


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "q", "workspace": "n" * 100_000},
        {"query": "q", "workspace": "/" + "p" * 100_000},
        {"query": "q", "workspace": "file://[" + "u" * 100_000},
        {"query": "q", "x" * 100_000: 1},
        {"query": "q", "limit": "9" * 100_000},
        {"query": {"k" * 100_000: "v" * 100_000}},
    ],
)
async def test_no_error_repeats_an_argument_at_length(connect, arguments):
    async with connect() as client:
        result = await client.call_tool("query_memory", arguments)
    assert result.is_error
    assert "bug" not in text_of(result)
    assert len(text_of(result)) < 600


async def test_a_failure_that_repeats_its_input_keeps_both_its_ends(connect, held, refused):
    held.asking.error = refused("x" * 100_000 + "; name a known kind")
    async with connect() as client:
        text = text_of(await client.call_tool("query_memory", {"query": "q"}))
    assert len(text) <= 2_000
    assert text.endswith("; name a known kind")


async def test_a_tool_that_there_is_not_is_named_shortly_beside_those_there_are(connect):
    async with connect() as client:
        text = text_of(await client.call_tool("search" * 10_000, {}))
    assert len(text) < 600
    assert "query_memory" in text


async def test_text_that_cannot_be_encoded_never_reaches_the_wire(connect, held, source_of, refused):
    held.asking.sources = (source_of("caf\udce9", "src/\udcff.py", excerpt="\ud800"),)
    async with connect() as client:
        answer = await client.call_tool("query_memory", {"query": "q"})
        held.asking.error = refused("no \ud800 here")
        failure = await client.call_tool("query_memory", {"query": "q"})
    assert "\\udcff" in answer.model_dump_json()
    assert answer.model_dump_json().encode()
    assert "\\ud800" in text_of(failure)
    assert failure.model_dump_json().encode()


@pytest.mark.parametrize(
    "workspace", ["file://[", "file:///a%00b", "/a\0b", "~\0", "~nobody-has-this-name/x", "file://h/x"]
)
async def test_what_is_no_path_is_a_clear_error_and_no_bug(connect, workspace):
    async with connect() as client:
        result = await client.call_tool("scan_status", {"workspace": workspace})
    assert result.is_error
    assert "no path on this machine" in text_of(result)


async def test_a_root_of_everything_vouches_for_nothing(connect, tmp_path, project):
    async with connect(list_roots_callback=roots(Path(tmp_path.anchor))) as client:
        result = await client.call_tool("scan_status", {"workspace": str(tmp_path)})
    assert result.is_error
    assert "refused" in text_of(result)
