"""What each client's hooks say and how they are answered, by the shapes that their documentation gives."""

import json
from pathlib import Path
from typing import Any

import pytest

from braindex.cli.clients import CLIENTS, client_called
from braindex.cli.clients.transcript import last_turn
from braindex.cli.commands.hook import CLIENT_NAMES
from braindex.domain.turns import Told

CLAUDE = {"session_id": "s1", "transcript_path": "/t.jsonl", "cwd": "/work", "permission_mode": "default"}
CURSOR = {
    "conversation_id": "c1", "generation_id": "g1", "model": "m", "cursor_version": "3.0", "workspace_roots": ["/work"],
}  # fmt: skip
GEMINI = {"session_id": "g1", "transcript_path": "", "cwd": "/work", "timestamp": "2026-12-01T10:00:00Z"}
VSCODE = {"sessionId": "v1", "cwd": "/work", "timestamp": "2026-12-01T10:00:00Z"}
ANTIGRAVITY = {"conversationId": "a1", "workspacePaths": ["/work"], "transcriptPath": "/a.jsonl"}


@pytest.mark.parametrize(
    ("client", "event", "given", "told"),
    [
        (
            "claude-code", "SessionStart", {**CLAUDE, "hook_event_name": "SessionStart", "source": "startup"},
            {"moment": "start", "session": "s1", "cwd": "/work"},
        ),
        (
            "claude-code", "UserPromptSubmit", {**CLAUDE, "hook_event_name": "UserPromptSubmit", "prompt": "Fix it"},
            {"moment": "prompt", "session": "s1", "prompt": "Fix it"},
        ),
        (
            "claude-code", "Stop", {**CLAUDE, "stop_hook_active": False, "last_assistant_message": "Fixed"},
            {"moment": "end", "answer": "Fixed", "transcript": "/t.jsonl"},
        ),
        ("claude-code", "PreToolUse", {**CLAUDE, "tool_name": "Bash"}, {"moment": "other"}),
        ("vscode", "SessionStart", {**VSCODE, "hookEventName": "SessionStart"}, {"moment": "start", "session": "v1"}),
        (
            "vscode", "UserPromptSubmit", {**VSCODE, "hookEventName": "UserPromptSubmit", "prompt": "Fix it"},
            {"moment": "prompt", "prompt": "Fix it", "cwd": "/work"},
        ),
        ("vscode", "Stop", {**VSCODE, "stop_hook_active": False}, {"moment": "end", "session": "v1"}),
        ("cursor", "sessionStart", CURSOR, {"moment": "start", "session": "c1", "roots": ("/work",)}),
        ("cursor", "beforeSubmitPrompt", {**CURSOR, "prompt": "Fix it"}, {"moment": "prompt", "prompt": "Fix it"}),
        ("cursor", "afterAgentResponse", {**CURSOR, "text": "Fixed"}, {"moment": "answer", "answer": "Fixed"}),
        ("cursor", "stop", {**CURSOR, "status": "completed"}, {"moment": "end", "answer": ""}),
        ("antigravity", "PreInvocation", {**ANTIGRAVITY, "invocationNum": 0}, {"moment": "prompt", "session": "a1"}),
        ("antigravity", "PreInvocation", {**ANTIGRAVITY, "invocationNum": 3}, {"moment": "other"}),
        ("antigravity", "Stop", ANTIGRAVITY, {"moment": "end", "roots": ("/work",), "transcript": "/a.jsonl"}),
        ("gemini", "BeforeAgent", {**GEMINI, "prompt": "Fix it"}, {"moment": "prompt", "prompt": "Fix it"}),
        (
            "gemini", "AfterAgent", {**GEMINI, "prompt": "Fix it", "prompt_response": "Fixed"},
            {"moment": "end", "prompt": "Fix it", "answer": "Fixed"},
        ),
        (
            "pi", "before_agent_start", {"sessionId": "p1", "cwd": "/work", "prompt": "Fix it"},
            {"moment": "prompt", "session": "p1", "prompt": "Fix it"},
        ),
        (
            "pi", "agent_end", {"sessionId": "p1", "cwd": "/work", "response": "Fixed"},
            {"moment": "end", "answer": "Fixed"},
        ),
    ],
)  # fmt: skip
def test_a_hooks_input_is_read_in_its_clients_shape(client: str, event: str, given: Any, told: dict[str, Any]) -> None:
    row = client_called(client)
    assert row is not None
    found = row.told(event, given)
    assert {name: getattr(found, name) for name in told} == told


@pytest.mark.parametrize(
    ("client", "event", "answer"),
    [
        ("claude-code", "UserPromptSubmit", {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "C"}}),
        ("vscode", "SessionStart", {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "C"}}),
        ("gemini", "BeforeAgent", {"hookSpecificOutput": {"hookEventName": "BeforeAgent", "additionalContext": "C"}}),
        ("cursor", "sessionStart", {"additional_context": "C"}),
        ("antigravity", "PreInvocation", {"injectSteps": [{"ephemeralMessage": "C"}]}),
        ("pi", "before_agent_start", {"message": {"customType": "braindex", "content": "C", "display": False}}),
    ],
)  # fmt: skip
def test_context_is_given_in_the_clients_shape(client: str, event: str, answer: Any) -> None:
    row = client_called(client)
    assert row is not None
    assert row.injected(event, "C") == answer


@pytest.mark.parametrize("row", CLIENTS, ids=lambda row: row.name)
@pytest.mark.parametrize("given", [{}, {"session_id": 3, "prompt": [], "cwd": None, "workspace_roots": "x"}])
def test_what_is_missing_or_of_another_type_counts_as_not_said(row: Any, given: dict[str, Any]) -> None:
    told = row.told(next(iter(row.events)), given)
    assert (told.session, told.prompt, told.cwd, told.roots) == ("", "", "", ())


@pytest.mark.parametrize("event", ["user-prompt-submit", "USER_PROMPT_SUBMIT", "userPromptSubmit"])
def test_an_event_may_be_spelt_in_any_case(event: str) -> None:
    row = client_called("Claude-Code")
    assert row is not None
    assert row.told(event, {}).moment == "prompt"


def test_no_client_has_the_name_of_another() -> None:
    assert len({one.name for one in CLIENTS}) == len(CLIENTS)
    assert tuple(one.name for one in CLIENTS) == CLIENT_NAMES
    assert client_called("emacs") is None


def _transcript(path: Path, rows: list[Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_the_last_turn_is_read_from_claude_codes_transcript(tmp_path: Path) -> None:
    rows = [
        {"type": "user", "message": {"role": "user", "content": "First"}},
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "Old"}]}},
        {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "Second"}]}},
        {"type": "user", "isMeta": True, "message": {"role": "user", "content": "injected"}},
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "tool_use", "name": "Bash"}]}},
        {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": "ok"}]}},
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "Done"}]}},
    ]
    assert last_turn(_transcript(tmp_path / "t.jsonl", rows)) == ("Second", "Done")


def test_the_last_turn_is_read_from_antigravitys_transcript(tmp_path: Path) -> None:
    rows = [
        {"type": "USER_INPUT", "source": "USER_EXPLICIT", "content": "Second"},
        {"type": "PLANNER_RESPONSE", "source": "MODEL", "content": "Done", "thinking": "hidden"},
        {"type": "SYSTEM_MESSAGE", "source": "SYSTEM", "content": "no"},
    ]
    assert last_turn(_transcript(tmp_path / "t.jsonl", rows)) == ("Second", "Done")


def test_a_transcript_that_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_bytes(b"\xff{{{\n[1]\nnull\n" + b"[" * 5000)
    assert last_turn(str(tmp_path / "bad.jsonl")) == ("", "")
    assert last_turn(str(tmp_path)) == last_turn(str(tmp_path / "none")) == last_turn("\0") == ("", "")


def test_of_a_long_transcript_the_end_is_read(tmp_path: Path) -> None:
    rows = [{"type": "user", "message": {"content": "x" * 300_000}}] * 3
    rows.append({"type": "user", "message": {"content": "Last"}})
    assert last_turn(_transcript(tmp_path / "t.jsonl", rows)) == ("Last", "")


def test_what_was_told_has_a_client_and_a_moment() -> None:
    assert Told("pi", "end", "agent_end").session == ""


def test_rows_of_a_transcript_may_hold_anything(tmp_path: Path) -> None:
    rows = [
        {"type": []},
        {"type": {}, "message": 3},
        {"type": "user", "content": "Asked"},
        {"type": 3, "content": "no"},
        {
            "type": "assistant",
            "message": {"content": [{"type": ["x"], "text": 3}, 3, {"type": "text", "text": "Done"}]},
        },
    ]
    assert last_turn(_transcript(tmp_path / "t.jsonl", rows)) == ("Asked", "Done")
