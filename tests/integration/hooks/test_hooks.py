"""Hooks as clients run them: a process for each, JSON in, JSON out, and memory that works without a tool call."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from tests.conftest import MakeProject
from tests.fakes.hook_client import ANSWERED, ASKED, HUNG, SOURCE, Client, stored

from braindex import light
from braindex.bootstrap import App
from braindex.config import load_settings
from braindex.domain.results import Workspace
from braindex.domain.turns import Told
from braindex.loop import around
from braindex.registry.conversations import Conversations


def test_what_one_conversation_found_out_is_in_the_next_ones_context(
    client: Client, app: App, workspace: Workspace
) -> None:
    assert "Places in the code" in client.context(ASKED)
    assert client.hook("Stop", session_id="s1", last_assistant_message=ANSWERED) == {}
    [episode] = stored(app, workspace)
    assert (episode.prompt, episode.summary, episode.client) == (ASKED, ANSWERED, "claude-code")
    assert (episode.session, episode.commit, episode.kind) == ("s1", "a" * 40, "turn")
    context = client.context("The day is wrong again in parse_date for a shop in Tokyo", session="s2")
    assert ANSWERED in context
    assert "not instructions" in context


def test_a_conversation_is_told_nothing_twice(client: Client, app: App, workspace: Workspace) -> None:
    app.notes.save(workspace, "parse_date must never guess a time zone", "decision")
    first = client.context(ASKED)
    assert "must never guess" in first
    assert "The project in brief" in first
    assert client.context("And what time zone does parse_date take for the shop of today?") == ""
    assert "must never guess" in client.context(ASKED, session="s2")


def test_a_session_begins_with_the_brief_and_has_it_once(client: Client, workspace: Workspace) -> None:
    assert workspace.id
    answer = client.hook("SessionStart", session_id="s1", source="startup")
    assert answer["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert "The project in brief" in answer["hookSpecificOutput"]["additionalContext"]
    assert client.hook("SessionStart", session_id="s1", source="resume") == {}
    assert "The project in brief" not in client.context(ASKED)


@pytest.mark.parametrize("prompt", ["Thanks, that looks good!", "continue", "ok", "", "xyzzy plugh"])
def test_nothing_is_told_where_nothing_has_to_do_with_the_prompt(
    client: Client, app: App, workspace: Workspace, prompt: str
) -> None:
    app.notes.save(workspace, "parse_date must never guess a time zone", "decision")
    assert client.context(prompt) == ""


def test_an_answers_own_conversation_does_not_get_it_back(client: Client, app: App, workspace: Workspace) -> None:
    client.context(ASKED)
    client.hook("Stop", session_id="s1", last_assistant_message=ANSWERED)
    assert len(stored(app, workspace)) == 1
    assert ANSWERED not in client.context("Does parse_date take the zone of the shop now?")


def test_cursor_is_told_at_the_start_and_its_turn_is_put_together(
    client: Client, app: App, workspace: Workspace, root: Path
) -> None:
    app.notes.save(workspace, "parse_date must never guess a time zone", "decision")
    base = {"conversation_id": "c1", "workspace_roots": [str(root)], "cwd": None}
    answer = client.hook("sessionStart", "cursor", **base)
    assert "must never guess" in answer["additional_context"]
    assert client.hook("beforeSubmitPrompt", "cursor", **base, prompt=ASKED) == {}
    assert client.hook("afterAgentResponse", "cursor", **base, text="I look.") == {}
    assert client.hook("afterAgentResponse", "cursor", **base, text=ANSWERED) == {}
    assert client.hook("stop", "cursor", **base, status="completed") == {}
    [episode] = stored(app, workspace)
    assert (episode.prompt, episode.summary, episode.client) == (ASKED, ANSWERED, "cursor")


def test_a_client_that_runs_anothers_hooks_too_stores_once_and_is_told_once(
    client: Client, app: App, workspace: Workspace
) -> None:
    told = [
        client.hook("UserPromptSubmit", name, session_id="s1", sessionId="s1", prompt=ASKED)
        for name in ("claude-code", "vscode")
    ]
    assert [bool(one) for one in told] == [True, False]
    for name in ("claude-code", "vscode"):
        client.hook("Stop", name, session_id="s1", last_assistant_message=ANSWERED)
        stored(app, workspace)
    assert len(stored(app, workspace)) == 1


def test_antigravity_is_told_by_its_transcript_and_only_before_the_first_call(
    client: Client, app: App, workspace: Workspace, tmp_path: Path, root: Path
) -> None:
    transcript = tmp_path / "a.jsonl"
    transcript.write_text(json.dumps({"type": "USER_INPUT", "content": ASKED}) + "\n")
    base = {"conversationId": "a1", "workspacePaths": [str(root)], "transcriptPath": str(transcript)}
    first = client.hook("PreInvocation", "antigravity", **base, invocationNum=0)
    assert "parse_date" in first["injectSteps"][0]["ephemeralMessage"]
    assert client.hook("PreInvocation", "antigravity", **base, invocationNum=1) == {}
    with transcript.open("a") as file:
        file.write(json.dumps({"type": "PLANNER_RESPONSE", "content": ANSWERED}) + "\n")
    client.hook("Stop", "antigravity", **base)
    [episode] = stored(app, workspace)
    assert (episode.prompt, episode.summary) == (ASKED, ANSWERED)


def test_gemini_and_pi_are_told_in_their_own_shapes(client: Client, workspace: Workspace) -> None:
    assert workspace.id
    gemini = client.hook("BeforeAgent", "gemini", session_id="g1", prompt=ASKED)
    assert "parse_date" in gemini["hookSpecificOutput"]["additionalContext"]
    pi = client.hook("before_agent_start", "pi", sessionId="p1", prompt=ASKED)
    assert "parse_date" in pi["message"]["content"]


def test_an_episode_names_the_files_that_its_turn_wrote(
    client: Client, app: App, workspace: Workspace, root: Path
) -> None:
    os.utime(root / "shop" / "cart.py", (1, 1))
    client.context(ASKED)
    (root / "shop" / "dates.py").write_text("def parse_date(text, zone):\n    return text\n")
    client.hook("Stop", session_id="s1", last_assistant_message=ANSWERED)
    [episode] = stored(app, workspace)
    assert episode.files == ("shop/dates.py",)


def test_secrets_in_a_prompt_are_nowhere_in_the_data_folder(client: Client, app: App, workspace: Workspace) -> None:
    secrets = ("sk-proj-Zx81Kq0aBcDeFgHiJkLmNoPq", "ghp_0123456789abcdefghijABCDEFGHIJ012345", "hunter2-but-longer")
    client.context(f"{ASKED} The key is {secrets[0]}, the token {secrets[1]}")
    client.hook("Stop", session_id="s1", last_assistant_message=f"{ANSWERED} DB_PASSWORD={secrets[2]}")
    [episode] = stored(app, workspace)
    assert episode.summary.count("[redacted]") == 1
    held = b"".join(path.read_bytes() for path in app.settings.brain_dir.rglob("*") if path.is_file())
    assert ASKED.encode() in held
    assert [one for one in secrets if one.encode() in held] == []


def _locked(path: Path) -> sqlite3.Connection:
    held = sqlite3.connect(path, isolation_level=None)
    held.execute("PRAGMA locking_mode = EXCLUSIVE")
    held.execute("BEGIN EXCLUSIVE")
    return held


@pytest.fixture(params=["registry.db", "index.db", "memory.db"])
def lock(request: pytest.FixtureRequest, app: App, workspace: Workspace) -> Iterator[None]:
    app.notes.save(workspace, "parse_date must never guess a time zone", "decision")
    app.close()
    [path] = app.settings.brain_dir.rglob(request.param)
    held = _locked(path)
    yield
    held.close()


@pytest.mark.usefixtures("lock")
def test_a_locked_database_makes_no_client_wait_and_breaks_none(client: Client) -> None:
    answer = client.hook("UserPromptSubmit", session_id="s1", prompt=ASKED)
    assert set(answer) <= {"hookSpecificOutput"}  # what the others know, or nothing
    assert client.hook("Stop", session_id="s1", last_assistant_message=ANSWERED) == {}


def test_what_ends_while_the_memory_is_locked_is_stored_later(client: Client, app: App, workspace: Workspace) -> None:
    app.notes.save(workspace, "parse_date must never guess a time zone", "decision")
    [path] = app.settings.brain_dir.rglob("memory.db")
    held = _locked(path)
    endings = light.endings(app.settings)
    assert endings.after(Told("pi", "end", "agent_end", "s9", workspace.path, prompt=ASKED, answer=ANSWERED))
    assert Conversations(app.settings.brain_dir).has_waiting()
    held.close()
    assert [one.summary for one in stored(app, workspace)] == [ANSWERED]
    assert client.log() == ""


def test_a_memory_that_is_locked_costs_what_is_remembered_and_not_the_places_in_the_code(
    client: Client, app: App, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.notes.save(workspace, "parse_date must never guess a time zone", "decision")
    monkeypatch.setattr("braindex.services.memories.UNASKED_LOOK_SECONDS", 0.0)
    [path] = app.settings.brain_dir.rglob("memory.db")
    held = _locked(path)
    told = Told("pi", "prompt", "before_agent_start", "s1", str(client.root), prompt=ASKED)
    text = light.loop(app.settings).before(told, at_prompts=True)
    held.close()
    assert "Places in the code" in text
    assert "must never guess" not in text


def test_a_prompt_whose_search_was_given_up_is_in_its_episode(client: Client, app: App, workspace: Workspace) -> None:
    app.close()
    [path] = app.settings.brain_dir.rglob("index.db")
    held = _locked(path)
    assert workspace.id
    client.context(ASKED)
    assert "no answer within" in client.log()
    held.close()
    client.hook("Stop", session_id="s1", last_assistant_message=ANSWERED)
    assert [(one.prompt, one.summary) for one in stored(app, workspace)] == [(ASKED, ANSWERED)]


def test_turns_that_end_while_a_recorder_starts_need_no_other(app: App, workspace: Workspace) -> None:
    waiting, endings = Conversations(app.settings.brain_dir), light.endings(app.settings)

    def ends(session: str) -> bool:
        return endings.after(Told("pi", "end", "agent_end", session, workspace.path, prompt=ASKED, answer=ANSWERED))

    assert [ends("s1"), ends("s2"), ends("s3")] == [True, False, False]
    assert app.recorder().drain() == 3
    assert ends("s4")  # it has looked already
    os.utime(waiting.folder / "recorder.starting", (1, 1))
    assert ends("s5")  # the one that was started never came
    with FileLock(waiting.folder / "recorder.lock", mode=0o600):
        assert app.recorder().drain() == 0
        assert ends("s6")
    assert app.recorder().drain() == 3


def test_a_hook_loads_nothing_heavy(client: Client, app: App, workspace: Workspace) -> None:
    app.notes.save(workspace, "parse_date must never guess a time zone", "decision")
    client.python = ("-X", "importtime")
    heavy = {"numpy", "chromadb", "openai", "ollama", "mcp", "tree_sitter", "httpx", "pathspec"}
    for event, given in (("SessionStart", {}), ("UserPromptSubmit", {"prompt": ASKED}), ("Stop", {"prompt": ASKED})):
        done = client.run("claude-code", event, json.dumps({"cwd": str(client.root), "session_id": "s1", **given}))
        loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.decode().splitlines()}
        assert "braindex" in loaded
        assert loaded & heavy == set()
    stored(app, workspace)


@pytest.mark.parametrize(
    "given",
    [b"", b"no json", b"[1, 2]", b"null", b'{"prompt": "\xff\xfe"}', b"[" * 100_000, b'{"cwd": 3, "prompt": {}}'],
)
@pytest.mark.parametrize("event", ["UserPromptSubmit", "Stop", "Nonsense"])
def test_input_that_is_none_is_answered_with_nothing(client: Client, given: bytes, event: str) -> None:
    done = client.run("claude-code", event, given)
    assert (done.returncode, json.loads(done.stdout), done.stderr) == (0, {}, b"")


@pytest.mark.parametrize("arguments", [("emacs", "Stop"), ("--bad", "x"), ("claude-code", "")])
def test_a_client_or_event_that_is_unknown_is_answered_with_nothing(client: Client, arguments: tuple[str, str]) -> None:
    done = client.run(*arguments, "{}")
    assert (done.returncode, json.loads(done.stdout), done.stderr) == (0, {}, b"")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("emacs", "Stop"), "no client is called 'emacs'; use `braindex hook CLIENT EVENT` with one of claude-code, "),
        (
            ("claude-code", "UserPromptSubmitt"),
            "has no event 'UserPromptSubmitt' at which anything is told or recorded; those it has are SessionStart, User",
        ),
        (("pi", "agent_start"), "those it has are before_agent_start, agent_end"),
        (("claude-code", "a\u202eb\nc"), "'a\\\\u202eb"),
    ],
)
def test_a_hook_that_is_written_down_wrongly_is_in_the_log_once(
    client: Client, arguments: tuple[str, str], said: str
) -> None:
    for _ in range(2):
        done = client.run(*arguments, json.dumps({"prompt": "x" * 300_000}))  # which is taken: its pipe does not break
        assert (done.returncode, json.loads(done.stdout), done.stderr) == (0, {}, b"")
    [line] = client.log().splitlines()
    assert said in line


def test_an_event_may_be_written_in_any_case(client: Client, workspace: Workspace) -> None:
    assert workspace.id
    given = json.dumps({"cwd": str(client.root), "session_id": "s1", "prompt": ASKED})
    assert b"Places in the code" in client.run("claude-code", "user-prompt-submit", given).stdout
    assert client.log() == ""


@pytest.mark.skipif(os.name != "posix", reason="a pseudo-terminal")
def test_a_person_on_a_terminal_is_told_what_is_wrong_each_time(client: Client) -> None:
    for _ in range(2):
        ours, theirs = os.openpty()
        done = subprocess.run(
            [sys.executable, "-P", "-m", "braindex", "hook", "claude-code", "Sotp"], stdin=theirs, stderr=theirs,
            stdout=subprocess.PIPE, cwd=client.root, env=client.environ, timeout=HUNG, check=False,
        )  # fmt: skip
        os.close(theirs)
        said = os.read(ours, 10_000).decode()
        os.close(ours)
        assert (done.returncode, json.loads(done.stdout)) == (0, {})
        assert said.startswith("braindex: claude-code has no event 'Sotp'")


def test_a_hook_makes_no_workspace_and_says_once_how_one_begins(
    client: Client, app: App, workspace: Workspace, make_project: MakeProject
) -> None:
    other = make_project({".git/HEAD": "ref: refs/heads/main\n"}, name="other")
    for session in ("s1", "s2"):
        base = {"session_id": session, "cwd": str(other)}
        assert client.hook("UserPromptSubmit", **base, prompt=ASKED) == {}
        assert client.hook("Stop", **base, last_assistant_message=ANSWERED) == {}
        assert stored(app, workspace) == []
    assert [one.workspace.id for one in app.workspaces.list()] == [workspace.id]
    [line] = client.log().splitlines()
    assert f"`braindex scan {other}` makes it one" in line


def test_a_workspace_of_which_something_is_remembered_is_known_without_a_scan(
    client: Client, app: App, root: Path
) -> None:
    workspace = app.workspaces.open(root)
    app.notes.save(workspace, "parse_date must never guess a time zone", "decision")
    client.hook("Stop", session_id="s1", prompt=ASKED, last_assistant_message=ANSWERED)
    assert [one.summary for one in stored(app, workspace)] == [ANSWERED]


def test_what_ends_in_a_workspace_that_was_dropped_brings_it_not_back(
    client: Client, app: App, workspace: Workspace, caplog: pytest.LogCaptureFixture
) -> None:
    app.workspaces.drop(workspace)
    client.hook("Stop", session_id="s1", prompt=ASKED, last_assistant_message=ANSWERED)
    assert stored(app, workspace) == []
    assert app.workspaces.list() == []
    assert "is no workspace that braindex knows" in client.log() + caplog.text  # whoever stored it says so


def test_a_broken_env_is_answered_with_nothing_and_named_in_the_log(client: Client, workspace: Workspace) -> None:
    assert workspace.id
    client.environ["QUERY_DISTANCE_THRESHOLD"] = "far"
    assert client.hook("UserPromptSubmit", session_id="s1", prompt=ASKED) == {}
    assert "QUERY_DISTANCE_THRESHOLD" in client.log()


def test_five_megabytes_of_prompt_are_taken_in_their_stride(client: Client, app: App, workspace: Workspace) -> None:
    prompt = ASKED + " parse_date" * 480_000
    assert set(client.hook("UserPromptSubmit", session_id="s1", prompt=prompt)) <= {"hookSpecificOutput"}
    client.hook("Stop", session_id="s1", last_assistant_message=ANSWERED)
    [episode] = stored(app, workspace)
    assert episode.summary == ANSWERED
    assert len(episode.prompt) <= 20_000


def test_where_nothing_is_known_a_hook_makes_nothing(client: Client, brain: Path) -> None:
    assert client.context(ASKED) == ""
    assert not (brain / "registry.db").exists()
    assert not (brain / "workspaces").exists()


def test_a_folder_that_is_no_project_has_no_episodes(app: App, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    waiting = Conversations(app.settings.brain_dir)
    light.endings(app.settings).after(Told("pi", "end", "agent_end", "s1", str(plain), prompt="Hi", answer="Ho"))
    assert app.recorder().drain() == 0
    assert not waiting.has_waiting()
    assert app.workspaces.list() == []


def test_what_waits_and_is_damaged_is_set_aside(app: App, workspace: Workspace) -> None:
    waiting = Conversations(app.settings.brain_dir)
    endings = light.endings(app.settings)
    endings.after(Told("pi", "end", "agent_end", "s1", workspace.path, prompt=ASKED, answer=ANSWERED))
    (waiting.folder / "waiting" / "0.json").write_text('{"episode": 3}')
    assert app.recorder().drain() == 1
    assert not waiting.has_waiting()
    assert [path.name for path in (waiting.folder / "refused").iterdir()] == ["0.json"]


def test_only_one_process_stores_at_a_time(app: App, workspace: Workspace) -> None:
    waiting = Conversations(app.settings.brain_dir)
    endings = light.endings(app.settings)
    endings.after(Told("pi", "end", "agent_end", "s1", workspace.path, prompt=ASKED, answer=ANSWERED))
    with FileLock(waiting.folder / "recorder.lock", mode=0o600):
        assert app.recorder().drain() == 0
    assert waiting.has_waiting()
    assert app.recorder().drain() == 1


def test_only_the_owner_can_read_what_hooks_keep(client: Client, app: App, workspace: Workspace) -> None:
    client.context(ASKED)
    client.hook("Stop", session_id="s1", last_assistant_message=ANSWERED)
    stored(app, workspace)
    kept = [path for path in (app.settings.brain_dir / "hooks").rglob("*") if path.is_file()]
    assert kept
    assert {oct(path.stat().st_mode & 0o077) for path in kept} == {"0o0"}


class TestAroundAnAgent:
    @pytest.fixture(autouse=True)
    def _settings(self, monkeypatch: pytest.MonkeyPatch, app: App) -> None:
        monkeypatch.setenv("BRAIN_DIR", str(app.settings.brain_dir))
        monkeypatch.setenv("PYTHONPATH", str(SOURCE))

    def test_the_next_call_knows_what_came_of_the_last(self, app: App, workspace: Workspace) -> None:
        given: list[str] = []

        def agent(prompt: str) -> str:
            given.append(prompt)
            return ANSWERED

        remembering = around(agent, workspace=workspace.path, client="mine")
        assert remembering(ASKED) == ANSWERED
        [episode] = stored(app, workspace)
        assert (episode.prompt, episode.summary, episode.outcome, episode.client) == (ASKED, ANSWERED, "done", "mine")
        remembering("parse_date is a day off in the shop's zone")
        assert given[0].endswith(f"\n\n{ASKED}")
        assert ANSWERED in given[1]

    def test_an_agent_that_fails_is_recorded_and_fails(self, app: App, workspace: Workspace) -> None:
        def agent(prompt: str) -> str:
            raise RuntimeError("out of tokens")

        with pytest.raises(RuntimeError, match="out of tokens"):
            around(agent, workspace=workspace.path)(ASKED)
        [episode] = stored(app, workspace)
        assert (episode.outcome, episode.summary) == ("failed", "RuntimeError: out of tokens")

    def test_an_async_agent_stays_async(self, app: App, workspace: Workspace) -> None:
        import asyncio

        async def agent(prompt: str, *, tone: str) -> dict[str, str]:
            return {"text": f"{tone}: {ANSWERED}"}

        remembering = around(agent, workspace=workspace.path, said=lambda one: str(one["text"]))
        assert asyncio.run(remembering(ASKED, tone="short"))["text"].startswith("short")
        assert [one.summary for one in stored(app, workspace)] == [f"short: {ANSWERED}"]

    def test_settings_that_are_mistaken_cost_the_memory_and_not_the_call(
        self, monkeypatch: pytest.MonkeyPatch, workspace: Workspace, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setenv("MAX_FILE_BYTES", "many")
        assert around(lambda prompt: prompt, workspace=workspace.path)(ASKED) == ASKED
        assert "MAX_FILE_BYTES" in caplog.text

    def test_a_result_that_cannot_be_told_is_still_returned(self, app: App, workspace: Workspace) -> None:
        assert around(lambda _: 3, workspace=workspace.path, said=lambda one: one.text)(ASKED) == 3
        assert [one.summary for one in stored(app, workspace)] == [""]


def test_settings_name_the_days_that_episodes_are_kept(tmp_path: Path) -> None:
    assert load_settings({"EPISODE_DAYS": "30", "BRAIN_DIR": str(tmp_path)}, tmp_path).episode_days == 30
