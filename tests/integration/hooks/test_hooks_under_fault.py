"""Hooks among hostile input, broken stores and a busy machine: no client is broken, and no turn is lost."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import MakeProject, scanned
from tests.fakes.hook_client import ANSWERED, ASKED, FILES, HUNG, SOURCE, Client, stored

from braindex import light
from braindex.bootstrap import App, build_app
from braindex.cli.clients import client_called
from braindex.config import load_settings
from braindex.domain.results import Workspace
from braindex.domain.turns import Told
from braindex.loop import around
from braindex.registry.conversations import Conversations

LONGEST_NAME = 1_000_000


def left(app: App, path: str, answer: str = ANSWERED, **more: Any) -> bool:
    turn = replace(Told("pi", "end", "agent_end", "s1", path, prompt=ASKED, answer=answer), **more)
    return light.endings(app.settings).after(turn)


def told(app: App, workspace: Workspace, session: str) -> str:
    given = {"session_id": session, "cwd": workspace.path, "prompt": "Does parse_date take the zone of the shop now?"}
    row = client_called("claude-code")
    assert row is not None
    return light.loop(app.settings).before(row.told("UserPromptSubmit", given), at_prompts=True)


def summaries(app: App, workspace: Workspace) -> list[str]:
    return [one.summary for one in stored(app, workspace)]


@pytest.mark.parametrize(
    "given",
    [
        {"cwd": "a\0b"}, {"cwd": "/\ud800"}, {"cwd": "/" + "x" * LONGEST_NAME}, {"workspace_roots": ["a\0b"]},
        {"workspace_roots": ["\udcff\ud800", 3]}, {"workspace_roots": ["/" + "y" * LONGEST_NAME], "cwd": None},
    ],
    ids=lambda given: next(iter(given)) + str(next(iter(given.values())))[:6],
)  # fmt: skip
def test_a_folder_that_can_be_none_is_not_said_and_the_hooks_own_counts(
    client: Client, app: App, workspace: Workspace, given: dict[str, Any]
) -> None:
    said = {"session_id": "s1", "cwd": "", **given}
    client.hook("UserPromptSubmit", **said, prompt=ASKED)
    client.hook("Stop", **said, last_assistant_message=ANSWERED)
    assert [(one.prompt, one.summary) for one in stored(app, workspace)] == [(ASKED, ANSWERED)]


def test_a_turn_of_a_client_that_names_no_folder_belongs_to_where_its_hook_ran(
    client: Client, app: App, workspace: Workspace, make_project: MakeProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = scanned(app, make_project(FILES, name="other"))
    client.run("claude-code", "Stop", json.dumps({"session_id": "s1", "last_assistant_message": ANSWERED}))
    monkeypatch.chdir(other.path)  # whoever stores it may work elsewhere
    assert summaries(app, workspace) == [ANSWERED]
    assert app.memories.all_episodes(other) == []


def test_a_folder_that_was_deleted_meanwhile_belongs_to_the_project_around_it(
    client: Client, app: App, workspace: Workspace
) -> None:
    gone = Path(workspace.path) / "gone"
    client.hook("Stop", session_id="s1", cwd=str(gone), last_assistant_message=ANSWERED)
    assert summaries(app, workspace) == [ANSWERED]


@pytest.mark.parametrize("session", ["../../etc/passwd", "é" * LONGEST_NAME, "\0\ud800\u202e", "two\nlines", "a  b"])
def test_a_conversation_may_be_called_anything(client: Client, app: App, workspace: Workspace, session: str) -> None:
    client.context(ASKED, session)
    client.hook("Stop", session_id=session, last_assistant_message=ANSWERED)
    assert summaries(app, workspace) == [ANSWERED]
    assert [ANSWERED in told(app, workspace, name) for name in (session, "another")] == [False, True]


@pytest.mark.parametrize("letter", ["\ud800", "\n", "x "])
def test_of_twenty_megabytes_of_prompt_the_turn_is_still_known(
    client: Client, app: App, workspace: Workspace, letter: str
) -> None:
    client.hook("UserPromptSubmit", session_id="s1", prompt=ASKED + letter * (20_000_000 // len(json.dumps(letter))))
    client.hook("Stop", session_id="s1", last_assistant_message=ANSWERED)
    assert summaries(app, workspace) == [ANSWERED]


def test_a_prompt_is_kept_whatever_becomes_of_the_recall(
    app: App, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = light.loop(app.settings)
    monkeypatch.setattr(loop, "_context", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        loop.before(Told("pi", "prompt", "", "s1", workspace.path, prompt=ASKED), at_prompts=True)
    assert Conversations(app.settings.brain_dir).of("s1").prompt == ASKED


def test_a_turn_that_cannot_be_stored_keeps_no_other_one_waiting(
    app: App, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    left(app, workspace.path, "The first")
    left(app, workspace.path, "The second")
    record = app.memories.record

    def failing(place: Workspace, episode: Any, days: int | None = None) -> bool:
        if episode.summary == "The first":
            raise RuntimeError("a bug")
        return record(place, episode, days)

    monkeypatch.setattr(app.memories, "record", failing)
    assert app.recorder().drain() == 1
    monkeypatch.setattr(app.memories, "record", record)
    assert sorted(summaries(app, workspace)) == ["The first", "The second"]


def test_a_turn_waits_for_a_registry_that_a_newer_version_wrote(app: App, workspace: Workspace) -> None:
    left(app, workspace.path)
    registry = sqlite3.connect(app.settings.brain_dir / "registry.db", isolation_level=None)
    registry.execute("INSERT INTO migrations VALUES ('workspaces-9', '9.9', 'now')")
    assert app.recorder().drain() == 0
    assert Conversations(app.settings.brain_dir).has_waiting()
    registry.execute("DELETE FROM migrations WHERE name = 'workspaces-9'")
    registry.close()
    assert summaries(app, workspace) == [ANSWERED]


def test_a_turn_waits_for_a_setting_to_be_corrected(app: App, workspace: Workspace, brain: Path, root: Path) -> None:
    left(app, workspace.path)
    mistaken = build_app(load_settings({"BRAIN_DIR": str(brain), "BRAIN_WORKSPACE": "no-such"}, root))
    assert mistaken.recorder().drain() == 0
    mistaken.close()
    assert summaries(app, workspace) == [ANSWERED]


def test_a_turn_waits_for_a_folder_to_come_back(app: App, workspace: Workspace, root: Path, tmp_path: Path) -> None:
    left(app, "", roots=(str(tmp_path / "unmounted"),))
    assert app.recorder().drain() == 0
    assert Conversations(app.settings.brain_dir).has_waiting()
    root.rename(tmp_path / "unmounted")
    app.recorder().drain()
    assert not Conversations(app.settings.brain_dir).has_waiting()


def test_what_waits_with_an_id_that_is_none_is_set_aside(app: App, workspace: Workspace) -> None:
    left(app, workspace.path)
    [path] = (app.settings.brain_dir / "hooks" / "waiting").iterdir()
    path.write_text(path.read_text().replace(path.stem, "no-id"))
    assert app.recorder().drain() == 0
    assert [one.name for one in (app.settings.brain_dir / "hooks" / "refused").iterdir()] == [path.name]


def test_more_days_than_there_are_keep_every_episode(brain: Path, root: Path) -> None:
    app = build_app(load_settings({"BRAIN_DIR": str(brain), "EPISODE_DAYS": "99999999999"}, root))
    workspace = scanned(app, root)
    left(app, workspace.path)
    assert summaries(app, workspace) == [ANSWERED]
    app.close()


def test_of_many_turns_that_end_at_once_one_starts_a_process(app: App, workspace: Workspace) -> None:
    assert [left(app, workspace.path, f"Answer {number}") for number in range(5)] == [True] + [False] * 4
    assert app.recorder().drain() == 5
    assert left(app, workspace.path, "Answer 6")


def test_where_no_process_can_be_started_the_next_turn_tries(app: App, workspace: Workspace) -> None:
    def fails() -> None:
        raise OSError("no more processes")

    assert left(app, workspace.path)
    with pytest.raises(OSError, match="no more processes"):
        light.endings(app.settings).stored_by(fails)
    assert left(app, workspace.path, "Another")


@pytest.mark.parametrize("moved", [-7_200, 7_200], ids=["killed long ago", "the clock was set back"])
def test_what_a_killed_process_left_behind_does_not_count_for_ever(app: App, workspace: Workspace, moved: int) -> None:
    assert left(app, workspace.path)
    kept = Conversations(app.settings.brain_dir)
    with kept.held("s1"):
        marks = [kept.folder / "recorder.starting", *(kept.folder / "conversations").glob("*.busy")]
        half = kept.folder / "waiting" / ".x.json.half"
        half.write_text("{")
        for one in (*marks, half):
            os.utime(one, (one.stat().st_mtime + moved,) * 2)
        with kept.held("s1") as mine:
            assert mine
        assert left(app, workspace.path, "Another")
    app.recorder().drain()
    assert not half.exists()


def test_a_client_without_prompts_is_not_told_twice_where_there_is_no_brief(
    client: Client, app: App, root: Path
) -> None:
    app.notes.save(app.workspaces.open(root), "parse_date must never guess a time zone", "decision")
    base = {"conversation_id": "c1", "workspace_roots": [str(root)]}
    assert "must never guess" in client.hook("sessionStart", "cursor", **base)["additional_context"]
    assert client.hook("sessionStart", "cursor", **base) == {}


@pytest.mark.skipif(os.name != "posix", reason="shells and signals of POSIX")
class TestStreamsAndSignals:
    @pytest.mark.parametrize("streams", [">&-", "<&-", "<&- >&- 2>&-", ">/dev/full"])
    def test_a_stream_that_is_closed_or_full_breaks_nothing(
        self, client: Client, workspace: Workspace, streams: str
    ) -> None:
        assert workspace.id
        command = f'"$0" -P -m braindex hook claude-code UserPromptSubmit {streams}'
        done = subprocess.run(
            ["/bin/sh", "-c", command, sys.executable], input=json.dumps({"session_id": "s1", "prompt": ASKED}).encode(),
            cwd=client.root, env=client.environ, capture_output=True, timeout=HUNG, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, b"")
        for path in (client.brain / "hooks" / "conversations").glob("*.json"):
            json.loads(path.read_text())

    @pytest.mark.parametrize("event", ["UserPromptSubmit", "Stop"])
    def test_input_that_never_ends_and_an_interrupt_are_answered_with_nothing(self, client: Client, event: str) -> None:
        with subprocess.Popen(
            [sys.executable, "-P", "-c", _INTERRUPTED, event], cwd=client.root, env=client.environ,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as hook:  # fmt: skip
            assert hook.stdin is not None
            assert hook.stdout is not None
            assert hook.stderr is not None
            hook.stdin.write(b"{")
            hook.stdin.flush()
            assert hook.stdout.read() == b"{}\n"  # and nobody else has it open
            assert (hook.wait(HUNG), hook.stderr.read()) == (0, b"")

    def test_work_that_must_come_to_its_end_does_so_unwatched(self) -> None:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _UNWATCHED], env={"PYTHONPATH": str(SOURCE)}, capture_output=True, text=True,
            timeout=HUNG, check=False,
        )  # fmt: skip
        assert (done.stdout.split(), done.stderr) == (["None", "None", "answer", "went", "on"], "")


_INTERRUPTED = f"""
import os, signal, sys
from braindex.cli import hooking, main
start = hooking.start_hook_log
hooking.start_hook_log = lambda folder: (start(folder), os.kill(os.getpid(), {int(signal.SIGINT)}))
main.main(["hook", "claude-code", sys.argv[1]])
"""
_UNWATCHED = """
import os
from braindex.cli.deadline import answer_within
going, go = os.pipe()
said, say = os.pipe()
def work():
    os.read(going, 1)
    os.write(say, b"went on")
    return b"late"
print(answer_within(0.05, lambda: os.read(going, 1)))
print(answer_within(0.05, work, must_end=True))
print(answer_within(60, lambda: b"answer").decode())
os.write(go, b"x")
print(os.read(said, 10).decode())
"""


class TestAroundAnyAgent:
    @pytest.fixture(autouse=True)
    def _settings(self, monkeypatch: pytest.MonkeyPatch, app: App) -> None:
        monkeypatch.setenv("BRAIN_DIR", str(app.settings.brain_dir))
        monkeypatch.setenv("PYTHONPATH", str(SOURCE))

    def test_messages_in_another_form_go_through_and_the_answer_is_recorded(
        self, app: App, workspace: Workspace
    ) -> None:
        messages = [{"role": "user", "content": ASKED}]
        assert around(lambda given: given, workspace=workspace.path, said=lambda _: ANSWERED)(messages) is messages  # type: ignore[arg-type,unused-ignore]
        assert summaries(app, workspace) == [ANSWERED]

    def test_an_agent_that_says_nothing_or_a_number_is_recorded(self, app: App, workspace: Workspace) -> None:
        quiet: Any = lambda _: None  # noqa: E731
        around(quiet, workspace=workspace.path, said=quiet)(ASKED)
        around(lambda _: 42, workspace=workspace.path, said=lambda one: one)(ASKED)  # type: ignore[arg-type,return-value,unused-ignore]
        assert sorted(summaries(app, workspace)) == ["", "42"]

    def test_an_error_that_cannot_be_told_goes_on_as_it_is(self, app: App, workspace: Workspace) -> None:
        class Unspeakable(Exception):
            def __str__(self) -> str:
                raise ValueError("no words")

        def agent(_: str) -> str:
            raise Unspeakable

        with pytest.raises(Unspeakable):
            around(agent, workspace=workspace.path)(ASKED)
        assert [one.outcome for one in stored(app, workspace)] == ["failed"]

    def test_an_object_whose_call_is_async_is_awaited(self, app: App, workspace: Workspace) -> None:
        import asyncio

        class Agent:
            async def __call__(self, prompt: str) -> str:
                return ANSWERED if prompt else ""

        assert asyncio.run(around(Agent(), workspace=workspace.path)(ASKED)) == ANSWERED
        assert summaries(app, workspace) == [ANSWERED]
