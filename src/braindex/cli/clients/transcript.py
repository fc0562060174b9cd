"""The last prompt and answer of a conversation, from the file that its client writes: JSON Lines of messages."""

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, Final

_TAIL: Final = 400_000  # bytes at the end that are looked at
_USERS: Final = frozenset({"user", "USER_INPUT"})
_AGENTS: Final = frozenset({"assistant", "PLANNER_RESPONSE"})
_NOT_SAID: Final = ("isMeta", "isSidechain", "isCompactSummary")  # rows that neither the user nor the agent said


def last_turn(path: str) -> tuple[str, str]:
    """(prompt, answer): the last text of a user, and of an agent after it; "" for what is not found."""
    prompt, answer = "", ""
    for who, text in _said(path):
        if who in _USERS:
            prompt, answer = text, ""
        else:
            answer = text
    return prompt, answer


def _said(path: str) -> Iterator[tuple[str, str]]:
    for line in _tail(path):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(row, dict) or any(row.get(name) for name in _NOT_SAID):
            continue
        who = row.get("type")
        if isinstance(who, str) and who in _USERS | _AGENTS and (text := _text(row)).strip():
            yield who, text


def _text(row: Mapping[str, Any]) -> str:
    message = row.get("message")
    content = (message if isinstance(message, dict) else row).get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [one.get("text") for one in parts if isinstance(one, dict) and one.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))


def _tail(path: str) -> list[bytes]:
    """The last lines of a regular file, whole ones."""
    try:
        if not os.path.isfile(path):
            return []
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL))
            lines = file.read(_TAIL).split(b"\n")
    except (OSError, ValueError):
        return []
    return lines[1:] if size > _TAIL else lines
