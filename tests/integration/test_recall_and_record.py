"""`braindex recall` and `braindex record`: what hooks do, for scripts."""

import io
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import MakeProject, scanned

from braindex import light
from braindex.bootstrap import App
from braindex.cli.main import main
from braindex.domain.results import Workspace
from braindex.domain.turns import Told

ASKED = "Why does parse_date shift the day when the shop is in another time zone?"
FILES = {
    "shop/dates.py": 'def parse_date(text):\n    """Parse a date in the time zone of the shop."""\n    return text\n'
}


@pytest.fixture
def workspace(app: App, make_project: MakeProject, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    root = make_project(FILES, name="shop")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    monkeypatch.setenv("BRAIN_DIR", str(app.settings.brain_dir))
    monkeypatch.chdir(root)
    return scanned(app, root)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    told = capsys.readouterr()
    return code, told.out, told.err


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda text: monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_what_was_recorded_is_recalled(
    workspace: Workspace, given: Any, capsys: pytest.CaptureFixture[str], app: App
) -> None:
    given("parse_date takes the zone of the shop now")
    code, out, _ = run(capsys, "record", "--prompt", ASKED, "--outcome", "done", "--client", "ci")
    assert (code, out.split(":")[0]) == (0, "Recorded")
    [episode] = app.memories.all_episodes(workspace)
    assert (episode.prompt, episode.outcome, episode.client, episode.kind) == (ASKED, "done", "ci", "turn")
    code, out, _ = run(capsys, "recall", "--text", ASKED)
    assert code == 0
    assert "takes the zone of the shop now" in out
    assert "`parse_date` #shop/dates.py:1" in out


def test_recall_gives_its_parts_as_json(workspace: Workspace, capsys: pytest.CaptureFixture[str], app: App) -> None:
    app.notes.save(workspace, "parse_date must never guess a time zone", "decision")
    _, out, _ = run(capsys, "recall", "--text", ASKED, "--json")
    found = json.loads(out)
    assert found["workspace_id"] == workspace.id
    assert [one["text"] for one in found["memories"]] == ["parse_date must never guess a time zone"]
    assert found["places"][0]["path"] == "shop/dates.py"
    assert "must never guess" in found["context"]


def test_recall_is_asked_with_a_change(workspace: Workspace, capsys: pytest.CaptureFixture[str], app: App) -> None:
    app.notes.save(workspace, "parse_date must never guess a time zone", "decision")
    (Path(workspace.path) / "shop" / "dates.py").write_text("def parse_date(text, zone):\n    return text\n")
    code, out, _ = run(capsys, "recall", "--diff")
    assert code == 0
    assert "must never guess" in out


def test_recall_may_leave_the_brief_out(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    assert workspace.id
    assert "The project in brief:" in run(capsys, "recall", "--text", ASKED)[1]
    _, out, _ = run(capsys, "recall", "--text", ASKED, "--no-brief")
    assert "Places in the code" in out
    assert "The project in brief:" not in out


def test_recall_says_so_where_nothing_is_remembered(
    workspace: Workspace, given: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert workspace.id
    given("xyzzy plugh")
    assert run(capsys, "recall", "--text", "-")[:2] == (0, "Nothing is remembered that has to do with it.\n")


def test_a_json_object_is_recorded_with_its_parts(
    workspace: Workspace, given: Any, capsys: pytest.CaptureFixture[str], app: App
) -> None:
    given(json.dumps({"summary": "Done", "prompt": "Do", "files": ["shop/dates.py"], "kind": "task", "commit": "abc"}))
    code, out, _ = run(capsys, "record", "--json")
    told = json.loads(out)
    [episode] = app.memories.all_episodes(workspace)
    assert code == 0
    assert told == {"workspace_id": workspace.id, "episode": episode.id, "known": False}
    assert (episode.files, episode.kind, episode.commit) == (("shop/dates.py",), "task", "abc")


def test_text_that_only_begins_like_json_is_a_summary(
    workspace: Workspace, given: Any, capsys: pytest.CaptureFixture[str], app: App
) -> None:
    given("{x} was replaced")
    assert run(capsys, "record")[0] == 0
    assert [one.summary for one in app.memories.all_episodes(workspace)] == ["{x} was replaced"]


@pytest.mark.parametrize("text", ["", "  \n", "{}", '{"summary": 3}', '{"summary": "x", "files": "a"}'])
def test_what_records_nothing_is_refused(
    workspace: Workspace, given: Any, capsys: pytest.CaptureFixture[str], app: App, text: str
) -> None:
    given(text)
    code, _, error = run(capsys, "record")
    assert code == 2
    assert "standard input" in error
    assert app.memories.all_episodes(workspace) == []


def test_record_waiting_says_what_it_does_not_keep_where_hooks_say_it_too(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], app: App, make_project: MakeProject
) -> None:
    assert workspace.id
    other = make_project({"package.json": "{}"}, name="other")
    endings = light.endings(app.settings)
    told = Told("pi", "end", "agent_end", "s1", str(other), prompt=ASKED, answer="Done")
    assert endings.after(told)
    code, out, err = run(capsys, "record", "--waiting")
    assert (code, out) == (0, "Stored: 0\n")
    assert f"`braindex scan {other}` makes it one" in err
    log = app.settings.brain_dir / "hooks" / "hooks.log"
    assert f"`braindex scan {other}` makes it one" in log.read_text()
    assert endings.after(told)
    assert run(capsys, "record", "--waiting")[1:] == ("Stored: 0\n", "")


def test_record_waiting_reads_nothing_and_says_how_many(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert workspace.id
    assert run(capsys, "record", "--waiting", "--json") == (0, '{"stored":0}\n', "")
