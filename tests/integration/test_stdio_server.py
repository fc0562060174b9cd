"""The MCP server as an IDE starts it: a real process, spoken to through its standard streams."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from filelock import FileLock
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types import CallToolResult, ResourceUpdatedNotification, TextContent, TextResourceContents
from tests.fakes.deepseek import KEY
from tests.fakes.first_scan import FirstScan, many_files

SOURCE = Path(__file__).resolve().parents[2] / "src"
HUNG = 60  # seconds after which a child counts as hung; nothing is expected to come near it
INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


class Box:
    """A home directory, a data folder and a project of its own."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.brain = folder / "brain"
        self.project = self.home / "shop"
        self.project.mkdir(parents=True)
        (self.project / "package.json").write_text("{}")
        (self.project / "корзина.py").write_text(
            'def total_price(items: list[float]) -> float:\n    """Считает сумму: 合計 🌍."""\n    return sum(items)\n',
            encoding="utf-8",
        )

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TEMP") if name in os.environ}
        home = str(self.home)
        own = {"HOME": home, "USERPROFILE": home, "BRAIN_DIR": str(self.brain), "PYTHONPATH": str(SOURCE)}
        return {**kept, **own, **more}

    def parameters(self, *arguments: str) -> StdioServerParameters:
        return StdioServerParameters(
            command=sys.executable,
            args=["-m", "braindex", "serve", *arguments],
            env=self.environment(),
            cwd=self.project,
        )

    def run(self, *arguments: str, given: str = "") -> str:
        """What a command prints about the project."""
        done = subprocess.run(
            [sys.executable, "-m", "braindex", *arguments],
            cwd=self.project,
            env=self.environment(),
            input=given,
            encoding="utf-8",
            capture_output=True,
            timeout=HUNG,
            check=True,
        )
        return done.stdout

    def lock(self) -> FileLock:
        """The writer's lock of the project's workspace: while it is held, a scan waits and never ends."""
        folder = self.brain / "workspaces" / json.loads(self.run("status", "--json"))["workspace_id"]
        folder.mkdir(parents=True, exist_ok=True)
        return FileLock(folder / "write.lock")


class Raw:
    """A server spoken to in frames, without the SDK's client."""

    def __init__(self, box: Box, *arguments: str, python: tuple[str, ...] = (), **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *python, "-m", "braindex", "serve", *arguments],
            cwd=box.project,
            env=box.environment(**environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._said: list[bytes] = []
        self._reader = threading.Thread(target=self._read_errors, daemon=True)
        self._reader.start()

    def _read_errors(self) -> None:
        """All along: a process whose pipe is full waits."""
        assert self.process.stderr is not None
        with contextlib.suppress(ValueError):  # closed, since the test is over
            self._said += self.process.stderr

    def send(self, *frames: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        for frame in frames:
            self.process.stdin.write(json.dumps(frame).encode() + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.endswith(b"}\n"), line
        frame = json.loads(line)
        assert isinstance(frame, dict)
        return frame

    def answer(self) -> dict[str, Any]:
        """The next frame that is no notification."""
        while "id" not in (frame := self.read()):
            pass
        return frame

    def call(self, number: int, tool: str, **arguments: Any) -> None:
        params = {"name": tool, "arguments": arguments, "_meta": {"progressToken": number}}
        self.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})

    def start(self) -> None:
        self.send(INITIALIZE)
        assert self.read()["result"]["serverInfo"]["name"] == "braindex"
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def close_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def rest(self) -> tuple[bytes, bytes]:
        """What is left of both streams, when the process has ended."""
        assert self.process.stdout is not None
        self.process.wait(HUNG)
        self._reader.join(HUNG)
        return self.process.stdout.read(), b"".join(self._said)


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


@pytest.fixture
def serve(box: Box) -> Iterator[Any]:
    servers: list[Raw] = []

    def start(*arguments: str, **more: Any) -> Raw:
        servers.append(Raw(box, *arguments, **more))
        return servers[-1]

    yield start
    for server in servers:
        server.process.kill()
        server.process.wait()
        for stream in (server.process.stdin, server.process.stdout, server.process.stderr):
            if stream is not None and not stream.closed:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def text_of(result: CallToolResult) -> str:
    (only,) = result.content
    assert isinstance(only, TextContent)
    return only.text


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_scans_with_progress_asks_and_reads_the_status(box, mode):
    seen: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    async with Client(stdio_client(box.parameters()), mode=mode) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert names == {
            "query_memory", "save_to_memory", "list_memory", "forget_memory", "get_brief", "scan_workspace", "scan_status", "update_brief", "list_workspaces",
            "usage_report",
        }  # fmt: skip
        scanned = await client.call_tool("scan_workspace", {}, progress_callback=on_progress)
        assert not scanned.is_error, text_of(scanned)
        assert (scanned.structured_content or {})["state"] == "complete"
        assert (scanned.structured_content or {})["files"] == 2
        assert seen == sorted(seen)
        assert seen
        question = "где считается сумма 合計 🌍?"
        answer = await client.call_tool("query_memory", {"query": question})
        assert (answer.structured_content or {})["query"] == question
        first = (answer.structured_content or {})["sources"][0]
        assert (first["name"], first["path"], first["line"]) == ("total_price", "корзина.py", 1)
        assert "`total_price` #корзина.py:1" in text_of(answer)
        assert "合計 🌍" in text_of(answer)
        status = await client.call_tool("scan_status", {})
        assert (status.structured_content or {})["state"] == "complete"
        listed = await client.call_tool("list_workspaces", {})
        assert str(box.project) in text_of(listed)
        wrong = await client.call_tool("query_memory", {"query": "q", "workspace": "/etc"})
        assert wrong.is_error
        assert "refused" in text_of(wrong)


@pytest.mark.anyio
async def test_a_client_of_the_older_protocol_is_told_of_a_brief_that_the_command_line_replaced(box):
    told = anyio.Event()

    async def on_message(message: Any) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            told.set()

    async with Client(stdio_client(box.parameters()), mode="legacy", message_handler=on_message) as client:
        await client.call_tool("scan_workspace", {})
        (brief,) = (await client.list_resources()).resources
        with pytest.warns(MCPDeprecationWarning):
            await client.subscribe_resource(brief.uri)
        box.run("brief", "--from-file", "-", given="# From the command line\n")
        await client.call_tool("list_workspaces", {})
        with anyio.fail_after(HUNG):
            await told.wait()
        (read,) = (await client.read_resource(brief.uri)).contents
    assert isinstance(read, TextResourceContents)
    assert read.text == "# From the command line\n"


@pytest.mark.anyio
async def test_a_client_of_the_newer_protocol_is_told_of_a_brief_that_the_command_line_replaced(box):
    async with Client(stdio_client(box.parameters())) as client:
        await client.call_tool("scan_workspace", {})
        (brief,) = (await client.list_resources()).resources
        async with client.listen(resource_subscriptions=[brief.uri]) as stream:
            box.run("brief", "--from-file", "-", given="# From the command line\n")
            await client.call_tool("list_workspaces", {})
            with anyio.fail_after(HUNG):
                event = await anext(aiter(stream))
        assert event == ResourceUpdated(uri=brief.uri)


def test_a_cancelled_question_hangs_up_on_its_engine(serve, box, fake_deepseek):
    box.run("scan")
    box.run("brief", "--from-file", "-", given="# Mine\n")  # no engine replaces it: the one request is the question's
    fake_deepseek.fail_always("slow", seconds=HUNG)
    server = serve(DEEPSEEK_API_KEY=KEY, DEEPSEEK_BASE_URL=fake_deepseek.url, BRIEF_WARMUP="false")
    server.start()
    server.call(2, "query_memory", query="total_price")
    assert fake_deepseek.waiting.wait(HUNG)
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
    assert fake_deepseek.hung_up.wait(HUNG)
    server.send({"jsonrpc": "2.0", "id": 3, "method": "ping"})
    assert server.answer() == {"jsonrpc": "2.0", "id": 3, "result": {}}


def test_a_call_to_an_engine_does_not_outlive_the_client(serve, box, fake_deepseek):
    box.run("scan")
    fake_deepseek.fail_always("slow", seconds=HUNG)
    server = serve(DEEPSEEK_API_KEY=KEY, DEEPSEEK_BASE_URL=fake_deepseek.url)
    server.start()
    server.call(2, "update_brief")
    assert server.read()["method"] == "notifications/progress"
    assert fake_deepseek.waiting.wait(HUNG)
    server.close_input()
    server.rest()
    assert server.process.returncode == 0
    assert fake_deepseek.hung_up.wait(HUNG)


@pytest.mark.anyio
async def test_the_first_question_of_a_workspace_needs_no_scan_before_it(box):
    async with Client(stdio_client(box.parameters())) as client:
        answer = await client.call_tool("query_memory", {"query": "total_price", "limit": 1})
        (only,) = (answer.structured_content or {})["sources"]
        assert only["name"] == "total_price"


@pytest.mark.anyio
async def test_the_flag_names_the_workspace_of_calls_without_one(box, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.md").write_text("# Harvest\n\nWhen the apples are ripe.\n")
    async with Client(stdio_client(box.parameters("--workspace", str(other)))) as client:
        status = await client.call_tool("scan_status", {})
        assert (status.structured_content or {})["path"] == str(other)


def test_every_frame_is_json_that_ends_in_a_line_feed_alone(serve):
    server = serve()
    server.start()
    server.call(2, "query_memory", query="где 合計 🌍?")
    frame = server.read()
    while frame.get("id") != 2:
        frame = server.read()
    assert frame["result"]["structuredContent"]["query"] == "где 合計 🌍?"
    server.close_input()
    out, err = server.rest()
    assert out == b""
    assert server.process.returncode == 0, err


def test_initialize_and_the_list_of_tools_come_before_any_heavy_import(serve):
    server = serve(python=("-X", "importtime"))
    server.start()
    server.send({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    assert len(server.read()["result"]["tools"]) >= 4
    server.close_input()
    _, err = server.rest()
    imported = {line.rpartition("|")[2].strip() for line in err.decode().splitlines() if "import time:" in line}
    assert "mcp.server.mcpserver" in imported
    assert not {"numpy", "chromadb", "tree_sitter", "openai", "ollama"} & imported


def test_what_a_library_prints_on_import_stays_off_the_wire(serve, box, tmp_path):
    noisy = tmp_path / "noisy"
    noisy.mkdir()
    (noisy / "sitecustomize.py").write_text(
        "import os, sys\n"
        "class Noise:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in ('mcp', 'numpy', 'tree_sitter', 'braindex.bootstrap'):\n"
        "            print('hello from', name)\n"
        "            os.write(1, b'and from C\\n')\n"
        "sys.meta_path.insert(0, Noise())\n"
    )
    server = serve(PYTHONPATH=os.pathsep.join((str(noisy), str(SOURCE))))
    server.start()
    server.call(2, "query_memory", query="total_price")
    while server.read().get("id") != 2:
        pass
    server.close_input()
    out, err = server.rest()
    assert out == b""
    for name in (b"mcp", b"numpy", b"tree_sitter", b"braindex.bootstrap"):
        assert b"hello from " + name in err


def test_the_end_of_input_ends_the_process_while_a_scan_runs(serve, box):
    with box.lock():
        server = serve()
        server.start()
        server.call(2, "scan_workspace", wait_seconds=50)
        assert server.read()["method"] == "notifications/progress"
        server.close_input()
        server.rest()
        assert server.process.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_the_process_while_a_scan_runs_and_input_is_open(serve, box, number, code):
    with box.lock():
        server = serve()
        server.start()
        server.call(2, "scan_workspace", wait_seconds=50)
        assert server.read()["method"] == "notifications/progress"
        server.process.send_signal(number)
        server.rest()
        assert server.process.returncode == code


def test_a_client_that_only_closes_its_reading_end_is_gone_too(serve):
    server = serve()
    server.start()
    server.process.stdout.close()
    server.send({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    assert server.process.wait(HUNG) == 0


def test_a_question_is_answered_while_a_scan_waits(serve, box):
    first = serve()
    first.start()
    first.call(2, "query_memory", query="total_price")
    while first.read().get("id") != 2:
        pass
    with box.lock():
        first.call(3, "scan_workspace", wait_seconds=50)
        first.call(4, "query_memory", query="total_price")
        frame = first.read()
        while "id" not in frame:
            frame = first.read()
        assert frame["id"] == 4
        assert frame["result"]["structuredContent"]["sources"]


def test_a_scan_joins_that_of_another_process_and_tells_its_progress(serve, box):
    for path, text in many_files().items():
        (box.project / path).write_text(text)
    with FirstScan(box.brain, box.project) as first:
        server = serve()
        server.start()
        server.call(2, "scan_workspace", wait_seconds=50)
        told = server.read()["params"]
        while told.get("total") != first.total:
            told = server.read()["params"]
        server.call(3, "scan_status")
        while (frame := server.read()).get("id") != 3:
            pass
        status = frame["result"]["structuredContent"]
        assert (status["state"], status["files_total"]) == ("running", first.total)
        assert status["freshness"].startswith("the first scan is running")
        first.go_on()
        while (frame := server.read()).get("id") != 2:
            pass
        found, done = frame["result"]["structuredContent"], first.summary()
    assert (found["state"], found["files"], found["added"]) == ("complete", done["files"], done["added"])
    assert "joined the scan of another process" in frame["result"]["content"][0]["text"]


def test_a_request_that_is_no_json_does_not_end_the_server(serve):
    server = serve()
    server.start()
    server.process.stdin.write(b"this is no frame\n\n\xff\xfe\n")
    server.send({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    frame = server.read()
    while frame.get("id") != 2:
        frame = server.read()
    assert frame["result"]["tools"]


ODD: dict[str, tuple[bytes, list[tuple[Any, int | None]]]] = {
    "surrogate": (rb'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"_meta":{"a":"\ud800"}}}', [(5, None)]),
    "batch": (
        b'[{"jsonrpc":"2.0","id":5,"method":"ping"},{"jsonrpc":"2.0","id":6,"method":"ping"}]',
        [(5, None), (6, None)],
    ),
    "fraction": (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', [(1.5, -32600)]),
    "null id": (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', [(None, -32600)]),
    "params": (b'{"jsonrpc":"2.0","id":5,"method":"ping","params":[]}', [(5, -32600)]),
    "no json": (b'{"jsonrpc":', [(None, -32700)]),
    "mark": (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":5,"method":"ping"}', [(5, None)]),
    "long": (b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":"' + b"x" * 10_000_000 + b'"}}', [(5, None)]),
    "huge id": (b'{"jsonrpc":"2.0","id":' + b"9" * 400 + b',"method":"ping"}', [(int("9" * 400), None)]),
}


def test_every_odd_line_gets_exactly_its_answers(serve):
    server = serve()
    server.start()
    for name, (line, expected) in ODD.items():
        server.process.stdin.write(line + b"\n")
        server.process.stdin.flush()
        answers = [server.read() for _ in expected]
        got = sorted(((one["id"], one.get("error", {}).get("code")) for one in answers), key=repr)
        assert got == sorted(expected, key=repr), name
    server.close_input()
    out, _ = server.rest()
    assert out == b""


def test_a_byte_order_mark_before_the_first_line_is_no_part_of_it(serve):
    server = serve()
    server.process.stdin.write(b"\xef\xbb\xbf")
    server.start()


def test_a_request_before_the_handshake_is_answered_and_the_handshake_still_works(serve):
    server = serve()
    server.call(9, "list_workspaces")
    assert server.read()["error"]["code"] == -32602
    server.start()
    server.send({"jsonrpc": "2.0", "id": 2, "method": "ping"})
    assert server.read()["result"] == {}


def test_answers_to_broken_lines_are_written_before_the_end_of_input_ends_the_process(serve):
    server = serve()
    server.process.stdin.write(b"broken\n" * 50 + b"broken without an end")
    server.close_input()
    out, _ = server.rest()
    assert len(out.splitlines()) == 51
    assert all(json.loads(line)["error"]["code"] == -32700 for line in out.splitlines())


def test_a_hundred_requests_at_once_and_two_of_one_id_are_each_answered(serve):
    server = serve()
    server.start()
    server.send(*({"jsonrpc": "2.0", "id": number, "method": "ping"} for number in (*range(100), 7)))
    assert sorted(server.read()["id"] for _ in range(101)) == sorted([*range(100), 7])


def test_a_cancelled_call_is_not_answered_and_the_next_one_is(serve, box):
    with box.lock():
        server = serve()
        server.start()
        server.call(2, "scan_workspace", wait_seconds=50)
        assert server.read()["method"] == "notifications/progress"
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
        server.send({"jsonrpc": "2.0", "id": 3, "method": "ping"})
        frame = server.read()
        while "id" not in frame:
            frame = server.read()
        assert frame["id"] == 3


@pytest.mark.parametrize("end", ["input", "terminate", "gone"])
def test_a_client_that_reads_no_answer_can_still_end_the_process(serve, end):
    if end == "terminate" and sys.platform == "win32":
        pytest.skip("POSIX signals")
    server = serve()
    server.start()
    # Far more than a pipe holds, in answers of both kinds.
    server.process.stdin.write(b"broken\n" * 2_000)
    server.send(*({"jsonrpc": "2.0", "id": number, "method": "tools/list"} for number in range(40)))
    if end == "terminate":
        server.process.send_signal(signal.SIGTERM)
    if end == "gone":
        server.process.stdout.close()
    if end != "terminate":
        server.close_input()
    assert server.process.wait(HUNG) == 0


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_two_clients_at_once_are_both_served(box, mode):
    async with (
        Client(stdio_client(box.parameters()), mode=mode) as one,
        Client(stdio_client(box.parameters()), mode=mode) as other,
    ):
        for client in (one, other, one):
            answer = await client.call_tool("query_memory", {"query": "total_price", "limit": 1})
            assert not answer.is_error, text_of(answer)


def test_the_log_holds_no_question(serve, box):
    server = serve()
    server.start()
    server.call(2, "query_memory", query="unmistakable_words_of_a_question")
    while server.read().get("id") != 2:
        pass
    server.call(3, "query_memory", query="unmistakable_words_of_a_question", limit=0)
    assert server.read()["result"]["isError"]
    server.close_input()
    server.rest()
    logged = "".join(path.read_text(encoding="utf-8") for path in box.brain.glob("server-*.log*"))
    assert "query_memory" in logged
    assert "unmistakable" not in logged


PARENT = """
import subprocess, sys
server = subprocess.Popen([sys.executable, "-m", "braindex", "serve"])
print(server.pid, flush=True)
server.wait()
"""


SLOW_START = """
import subprocess, sys
server = subprocess.Popen([sys.executable, "-P", "-c", '''
import sys
from braindex import cli
print("begun", flush=True)
sys.stdin.readline()
from braindex.cli.main import main
main(["serve"])
'''])
print(server.pid, flush=True)
server.wait()
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="how a process of another parent ends is seen on Linux")
def test_a_parent_that_is_gone_before_the_server_has_started_ends_it_too(box):
    reading, writing = os.pipe()
    parent = subprocess.Popen(
        [sys.executable, "-c", SLOW_START],
        cwd=box.project,
        env=box.environment(),
        stdin=reading,
        stdout=subprocess.PIPE,
    )
    os.close(reading)
    with parent:
        assert parent.stdout is not None
        said = {parent.stdout.readline().strip(), parent.stdout.readline().strip()}
        [number] = said - {b"begun"}
        server = os.pidfd_open(int(number))
        parent.send_signal(signal.SIGKILL)
        parent.wait(HUNG)
        os.write(writing, b"go on\n")
        assert select.select([server], [], [], HUNG)[0], "it is still there"
    os.close(server)
    os.close(writing)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="how a process of another parent ends is seen on Linux")
def test_the_death_of_the_parent_ends_the_server_though_somebody_holds_its_input_open(box):
    reading, writing = os.pipe()
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], cwd=box.project, env=box.environment(), stdin=reading, stdout=subprocess.PIPE
    )
    os.close(reading)
    with parent:
        assert parent.stdout is not None
        server = os.pidfd_open(int(parent.stdout.readline()))
        os.write(writing, json.dumps(INITIALIZE).encode() + b"\n")
        assert b'"result"' in parent.stdout.readline()
        parent.send_signal(signal.SIGKILL)
        parent.wait(HUNG)
        assert select.select([server], [], [], HUNG)[0], "it is still there"
    os.close(server)
    os.close(writing)
