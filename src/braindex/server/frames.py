"""What a client's line may be: a message for the protocol's library, or an error that answers it at once.

The library drops what it cannot validate, and a client whose request is dropped waits for ever. So each line is
checked before the library sees it, by the library's own rules.
"""

import json
import logging
import math
import re
from collections.abc import Iterable
from typing import Any, Final

from mcp_types import INVALID_REQUEST, PARSE_ERROR, jsonrpc_message_adapter
from pydantic import ValidationError

from braindex.server.intake import LONGEST_LINE, Checked

LOG: Final = logging.getLogger(__name__)

Identifier = str | int | float | None

_JSON_SPACE: Final = " \t\r\n"
_BYTE_ORDER_MARK: Final = "\ufeff"
# One escape of a JSON string: a surrogate pair, half of one, or any other. A backslash occurs only in strings.
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.",
    re.DOTALL,
)


class _Refused(Exception):
    """A message that is answered here; `identifier` is echoed where it is one that JSON can hold."""

    def __init__(self, code: int, why: str, identifier: Identifier = None) -> None:
        super().__init__(why)
        self.reply = _error_reply(code, why, identifier)


def checked(line: bytes | None) -> Checked:
    """What is to be done with a line as it was read; None is one that was too long to keep. Never raises.

    Bytes that are not UTF-8 and halves of surrogate pairs, which no text can hold, become U+FFFD; a byte order mark
    is left out; blank lines say nothing. A batch, which the protocol had in 2025-03-26 only, counts as its
    messages one by one, each answered in a line of its own. Notifications and responses are never answered, so
    broken ones are dropped.
    """
    if line is None:
        return Checked(replies=(_error_reply(INVALID_REQUEST, f"a line is longer than {LONGEST_LINE} bytes"),))
    text = line.decode("utf-8", "replace").lstrip(_BYTE_ORDER_MARK).strip(_JSON_SPACE)
    if not text:
        return Checked()
    try:
        whole = _whole(text)
        message = _parsed(whole)
    except _Refused as refused:
        return Checked(replies=(refused.reply,))
    if isinstance(message, list) and message:
        return _joined(_one(one, _dumped(one)) for one in message)
    return _one(message, whole)


def _error_reply(code: int, why: str, identifier: Identifier = None) -> bytes:
    """A JSON-RPC error as one line, without its end."""
    names = {PARSE_ERROR: "Parse error", INVALID_REQUEST: "Invalid Request"}
    error = {"code": code, "message": f"{names[code]}: {why}"}
    return json.dumps({"jsonrpc": "2.0", "id": identifier, "error": error}, separators=(",", ":")).encode()


def _whole(text: str) -> str:
    if not _SURROGATE.search(text):
        return text
    return _ESCAPE.sub(lambda match: r"\ufffd" if match["half"] else match[0], text)


def _parsed(text: str) -> Any:
    """Raises _Refused."""
    try:
        return json.loads(text)
    except RecursionError:
        raise _Refused(PARSE_ERROR, "the line is nested too deeply") from None
    except json.JSONDecodeError as error:
        why = f"the line is not JSON ({error.msg[:1].lower()}{error.msg[1:]} at character {error.pos + 1})"
        raise _Refused(PARSE_ERROR, why) from None
    except ValueError:  # a number of thousands of digits
        raise _Refused(PARSE_ERROR, "the line holds a number that is too long") from None


def _dumped(message: Any) -> str:
    try:
        return json.dumps(message)
    except RecursionError:
        return ""  # which is no message, and so refused as one that is nested too deeply


def _joined(parts: Iterable[Checked]) -> Checked:
    done = list(parts)
    return Checked(
        tuple(line for one in done for line in one.passed), tuple(line for one in done for line in one.replies)
    )


def _one(message: Any, text: str) -> Checked:
    try:
        line = _acceptable(message, text)
    except _Refused as refused:
        return Checked(replies=(refused.reply,))
    return Checked() if line is None else Checked(passed=(line,))


def _acceptable(message: Any, text: str) -> bytes | None:
    """The line for the library, or None for what is dropped. Raises _Refused."""
    if not isinstance(message, dict):
        raise _Refused(INVALID_REQUEST, "a message has to be a JSON object")
    answered = _is_answered(message)
    if answered:
        _check_request(message)
        if isinstance(message["id"], float):
            text = _dumped({**message, "id": int(message["id"])})
    # A raw carriage return can only be white space between tokens; left in, it would end the line.
    line = text.replace("\r", " ").encode()
    try:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        if answered:
            why = "the message cannot be read; it may be nested too deeply"
            raise _Refused(INVALID_REQUEST, why, message["id"]) from None
        LOG.warning("a notification or response of a wrong form was dropped")
        return None
    return line


def _is_answered(message: dict[str, Any]) -> bool:
    """Whether JSON-RPC owes an answer: to requests, and to what is neither notification nor response."""
    if "method" not in message and ("result" in message or "error" in message):
        return False
    return "id" in message or not isinstance(message.get("method"), str)


def _check_request(message: dict[str, Any]) -> None:
    """Raises _Refused with the first thing that is wrong with a request."""
    given = message.get("id")
    identifier = _echoed(given)
    if identifier is None or (isinstance(identifier, float) and not identifier.is_integer()):
        raise _Refused(INVALID_REQUEST, "`id` has to be a string or an integer", identifier)
    if message.get("jsonrpc") != "2.0":
        raise _Refused(INVALID_REQUEST, '`jsonrpc` has to be "2.0"', identifier)
    if not isinstance(message.get("method"), str):
        raise _Refused(INVALID_REQUEST, "`method` has to be a string", identifier)
    if not isinstance(message.get("params"), dict | None):
        raise _Refused(INVALID_REQUEST, "`params` has to be an object", identifier)


def _echoed(given: object) -> Identifier:
    """The id as an answer repeats it; None for what is none."""
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        return None
    return None if isinstance(given, float) and not math.isfinite(given) else given
