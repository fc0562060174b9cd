"""Both protocol eras in frames, as a client that is no SDK may send them, through the real server."""

import json
import re
from typing import Any

import pytest
from tests.fakes.first_scan import FirstScan, many_files
from tests.integration.test_stdio_server import HUNG, INITIALIZE, Box, Raw, box, serve  # noqa: F401 - fixtures

NEWER = "2026-07-28"
META = "io.modelcontextprotocol/"


class Newer:
    """A client of the stateless protocol: each request says again who it is."""

    def __init__(self, server: Raw) -> None:
        self.server = server

    def ask(self, number: Any, method: str, *, version: str = NEWER, token: Any = None, **params: Any) -> None:
        meta: dict[str, Any] = {
            f"{META}protocolVersion": version,
            f"{META}clientInfo": {"name": "test", "version": "1"},
            f"{META}clientCapabilities": {},
        }
        if token is not None:
            meta["progressToken"] = token
        self.server.send({"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, "_meta": meta}})

    def call(self, number: Any, tool: str, **arguments: Any) -> None:
        self.ask(number, "tools/call", token=number, name=tool, arguments=arguments)

    def answer(self) -> dict[str, Any]:
        return self.server.answer()


@pytest.fixture
def newer(serve) -> Newer:  # noqa: F811
    return Newer(serve())


@pytest.fixture(params=["2025-11-25", NEWER])
def client(request, serve) -> Any:  # noqa: F811
    """A client of one era or the other; both have `call` and `answer`."""
    if request.param == NEWER:
        return Newer(serve())
    server = serve()
    server.start()
    return server


def progress_of(client: Any, number: int) -> dict[str, Any]:
    server = client.server if isinstance(client, Newer) else client
    while (frame := server.read()).get("method") != "notifications/progress":
        assert frame.get("id") != number, frame
    params: dict[str, Any] = frame["params"]
    return params


def test_the_newer_protocol_needs_no_handshake(newer):
    newer.ask(1, "server/discover")
    found = newer.answer()["result"]
    assert NEWER in found["supportedVersions"]
    assert "query_memory" in found["instructions"]
    newer.ask("two", "tools/list")
    answer = newer.answer()
    assert (answer["id"], len(answer["result"]["tools"])) == ("two", 10)


def test_versions_that_there_are_not_are_answered_with_those_there_are(newer, serve):  # noqa: F811
    newer.ask(1, "tools/list")
    newer.answer()
    newer.ask(2, "tools/list", version="1999-01-01")
    error = newer.answer()["error"]
    assert (error["code"], error["data"]["supported"]) == (-32022, [NEWER])
    older = serve()
    older.send({**INITIALIZE, "params": {**INITIALIZE["params"], "protocolVersion": "1999-01-01"}})
    assert older.answer()["result"]["protocolVersion"] == "2025-11-25"


def test_an_era_that_has_begun_stays(newer, serve):  # noqa: F811
    newer.ask(1, "tools/list")
    newer.answer()
    newer.server.send({**INITIALIZE, "id": 2})
    assert newer.answer()["error"]["code"] == -32022
    older = serve()
    older.start()
    Newer(older).ask(2, "tools/list")
    assert older.answer()["error"]["code"] == -32600


def test_progress_is_told_with_the_token_of_its_call_in_either_era(client, box):  # noqa: F811
    with box.lock():
        client.call(7, "scan_workspace", wait_seconds=50)
        assert progress_of(client, 7)["progressToken"] == 7


def test_a_cancelled_scan_or_question_ends_at_once_in_either_era(client, box):  # noqa: F811
    server = client.server if isinstance(client, Newer) else client
    with box.lock():
        for number, tool, arguments in (
            (2, "scan_workspace", {"wait_seconds": 50}),
            (3, "query_memory", {"query": "q"}),
        ):
            client.call(number, tool, **arguments)
            progress_of(client, number)
            server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
            client.call(number + 10, "list_workspaces")
            assert client.answer()["id"] == number + 10


def test_what_is_cancelled_and_was_never_asked_changes_nothing(client):
    server = client.server if isinstance(client, Newer) else client
    for given in ({"requestId": 999}, {"requestId": "x"}, {"requestId": None}, {"requestId": [1]}, {}):
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": given})
    server.send({"jsonrpc": "2.0", "method": "notifications/nobody/knows"})
    client.call(2, "list_workspaces")
    assert client.answer()["id"] == 2


def test_a_thousand_calls_at_once_and_two_of_one_id_are_each_answered_in_either_era(client):
    numbers = [*range(1_000), 7]
    for number in numbers:
        client.call(number, "list_workspaces")
    assert sorted(client.answer()["id"] for _ in numbers) == sorted(numbers)


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "\ud800 half", "path": "\udfff"},
        {"query": "word " * 200_000},
        {"query": "\x00\x1b[31m\u202e"},
        {"query": "q", "\ud800": 1},
        {"query": ["q"]},
        {"query": {"a": {"b": 1}}},
    ],
)
def test_arguments_of_every_kind_are_answered_or_refused_and_the_next_call_is_served(client, arguments):
    client.call(2, "query_memory", **arguments)
    answer = client.answer()
    assert "result" in answer
    assert "bug in braindex" not in json.dumps(answer)
    assert len(json.dumps(answer)) < 60_000
    client.call(3, "list_workspaces")
    assert client.answer()["id"] == 3


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("list_memory", {"page": 10**30}),
        ("save_to_memory", {"text": "hi", "about": ["x" * 5_000]}),
        ("save_to_memory", {"text": "hi", "about": ["/"]}),
        ("query_memory", {"query": f"a.py:{'9' * 5_000}", "path": "x/" * 5_000}),
    ],
)
def test_what_is_beyond_a_store_or_a_disk_is_no_bug(client, tool, arguments):
    client.call(2, tool, **arguments)
    assert "bug in braindex" not in json.dumps(client.answer())


def test_arguments_that_are_no_object_are_refused_as_the_protocol_has_it(client):
    params: dict[str, Any] = {"name": "query_memory", "arguments": ["q"]}
    if isinstance(client, Newer):
        client.ask(2, "tools/call", **params)
    else:
        client.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
    assert client.answer()["error"]["code"] == -32602


@pytest.mark.parametrize("method", ["logging/setLevel", "sampling/createMessage", "nobody/knows"])
def test_what_is_not_offered_is_said_to_be_not_there(client, method):
    if isinstance(client, Newer):
        client.ask(2, method, level="debug")
    else:
        client.send({"jsonrpc": "2.0", "id": 2, "method": method, "params": {"level": "debug"}})
    assert client.answer()["error"]["code"] == -32601


def test_the_end_of_input_ends_the_process_though_much_is_unread(serve, box):  # noqa: F811
    box.run("scan")
    server = serve()
    server.start()
    for number in range(10, 400):
        server.call(number, "query_memory", query="total_price")
    server.close_input()
    out, _ = server.rest()
    answered = [frame for line in out.splitlines() if "id" in (frame := json.loads(line))]
    # Not all of them: each question takes some milliseconds, and the process is gone within a second.
    assert len(answered) < 390
    assert server.process.returncode == 0


def test_the_first_question_of_a_fresh_workspace_is_answered_while_the_scan_runs(client, box):  # noqa: F811
    for path, text in many_files().items():
        (box.project / path).write_text(text)
    with FirstScan(box.brain, box.project) as first:
        client.call(2, "query_memory", query="function_3")
        answer = client.answer()["result"]
        assert not answer.get("isError", False)
        text, structured = answer["content"][0]["text"], answer["structuredContent"]
        said = rf"the first scan is running: \d+ of {first.total} files are searched; ask again for the rest"
        assert re.fullmatch(said, structured["coverage"])
        assert structured["coverage"] in text
        assert all(source["path"].endswith(".py") for source in structured["sources"])
        first.go_on()
        first.summary()
        client.call(3, "query_memory", query="function_119")
        later = client.answer()["result"]["structuredContent"]
    assert "coverage" not in later
    assert later["sources"][0]["name"] == "function_119"
