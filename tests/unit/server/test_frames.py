"""Every line of a client's gets its due: passed on as it is, answered at once, or said to be nothing."""

import json
from typing import Any

import pytest
from mcp_types import jsonrpc_message_adapter

from braindex.server.frames import checked

PING = {"jsonrpc": "2.0", "id": 5, "method": "ping"}


def line(**changes: Any) -> bytes:
    return json.dumps({**PING, **changes}).encode()


def passed(given: bytes) -> list[Any]:
    """The messages that are passed on; each is one that the library accepts."""
    found = checked(given)
    assert found.replies == ()
    for one in found.passed:
        assert b"\n" not in one
        assert b"\r" not in one
        jsonrpc_message_adapter.validate_json(one, by_name=False)
    return [json.loads(one) for one in found.passed]


def answer(given: bytes) -> tuple[int, Any]:
    """Code and id of the one error that a line is answered with."""
    found = checked(given)
    assert found.passed == ()
    (reply,) = found.replies
    frame = json.loads(reply)
    assert frame["jsonrpc"] == "2.0"
    assert b"\n" not in reply
    assert len(reply) < 500
    return frame["error"]["code"], frame["id"]


@pytest.mark.parametrize("given", [line(), line(id="5"), line(id=10**400), line(params=None), line(params={"a": [1]})])
def test_a_request_passes_byte_for_byte(given):
    assert checked(given).passed == (given,)
    assert checked(given).replies == ()


@pytest.mark.parametrize(
    "given", [b'{"jsonrpc":', b"hello", b"\xff\xfe\x00", b"{}{}", b"[" * 100_000, b'{"id":' + b"9" * 5_000]
)
def test_what_is_no_json_is_a_parse_error_without_an_id(given):
    assert answer(given) == (-32700, None)


@pytest.mark.parametrize(("identifier", "echoed"), [(1.5, 1.5), (None, None), (True, None), ([], None), ({}, None)])
def test_an_id_that_is_neither_string_nor_integer_is_an_invalid_request(identifier, echoed):
    assert answer(line(id=identifier)) == (-32600, echoed)


def test_an_id_beyond_all_numbers_is_an_invalid_request():
    assert answer(b'{"jsonrpc":"2.0","id":1e400,"method":"ping"}') == (-32600, None)


def test_an_integer_that_is_written_with_a_fraction_is_an_integer():
    assert passed(b'{"jsonrpc":"2.0","id":7.0,"method":"ping"}') == [{**PING, "id": 7}]


@pytest.mark.parametrize(
    "changes",
    [
        {"params": [1]},
        {"params": "x"},
        {"params": 1},
        {"method": 5},
        {"method": None},
        {"jsonrpc": "1.0"},
        {"jsonrpc": 2},
    ],
)
def test_a_request_of_a_wrong_form_is_answered_under_its_id(changes):
    assert answer(line(**changes)) == (-32600, 5)


@pytest.mark.parametrize(
    "given", [b"5", b'"ping"', b"null", b"[]", b"{}", b'{"foo":1}', b'{"jsonrpc":"2.0","method":1}']
)
def test_what_is_no_message_is_an_invalid_request_without_an_id(given):
    assert answer(given) == (-32600, None)


def test_a_request_that_is_nested_deeper_than_the_library_reads_is_answered_under_its_id():
    for depth in (250, 900):
        deep = b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":' + b"[" * depth + b"]" * depth + b"}}"
        assert answer(deep) == (-32600, 5)
        batch = b"[" + deep.replace(b'"id":5', b'"id":5.0') + b"]"
        assert answer(batch)[0] == -32600


def test_the_halves_of_surrogate_pairs_are_replaced_and_whole_pairs_kept():
    given = rb'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"q":"\ud800 \udfff \ud83d\ude00 \\ud800 \\\ud800","\udc00":1}}'
    assert passed(given) == [{**PING, "params": {"q": "\ufffd \ufffd 😀 \\ud800 \\\ufffd", "\ufffd": 1}}]
    assert passed(rb'{"jsonrpc":"2.0","id":"a\ud800","method":"ping"}') == [{**PING, "id": "a\ufffd"}]


def test_bytes_that_are_no_utf8_are_replaced():
    assert passed(b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"q":"\xff"}}') == [
        {**PING, "params": {"q": "\ufffd"}}
    ]


def test_a_byte_order_mark_and_white_space_around_a_message_are_left_out():
    assert passed(b"\xef\xbb\xbf" + line()) == [PING]
    assert passed(b"  \t" + line() + b"\r") == [PING]
    assert passed(b'{"jsonrpc":"2.0",\r"id":5,"method":"ping"}') == [PING]


@pytest.mark.parametrize("given", [b"", b" \t", b"\r", b"\xef\xbb\xbf"])
def test_a_blank_line_says_nothing(given):
    assert passed(given) == []


def test_a_batch_counts_as_its_messages_one_by_one():
    notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    batch = [PING, notification, {**PING, "id": 6, "params": []}, 7, {**PING, "id": "x"}]
    found = checked(json.dumps(batch).encode())
    assert [json.loads(one) for one in found.passed] == [PING, notification, {**PING, "id": "x"}]
    assert [json.loads(one)["id"] for one in found.replies] == [6, None]


@pytest.mark.parametrize(
    "given",
    [
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}',
        b'{"method":"notifications/initialized"}',
        b'{"jsonrpc":"2.0","id":99,"result":5}',
        b'{"jsonrpc":"2.0","id":1.5,"error":{"code":1,"message":"no"}}',
    ],
)
def test_a_broken_notification_or_response_is_dropped_and_never_answered(given):
    assert passed(given) == []


def test_responses_and_notifications_pass():
    for given in (
        b'{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}',
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
    ):
        assert passed(given) == [json.loads(given)]


def test_a_line_that_was_too_long_to_keep_is_an_invalid_request():
    found = checked(None)
    assert found.passed == ()
    assert json.loads(found.replies[0])["error"]["code"] == -32600
