"""`braindex note`: notes and episodes looked through, shown, deleted and moved on the command line."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import MakeProject, scanned

from braindex.bootstrap import App
from braindex.cli.main import main
from braindex.domain.memories import Episode, derived_id
from braindex.domain.results import Workspace
from braindex.registry.memory_file import MEMORY_FILE

FILES = {
    "shop/dates.py": "def parse_date(text):\n    return text\n",
    "shop/cart/lines.py": "def total(lines):\n    return sum(lines)\n",
    "lines.py": "def other():\n    return 1\n",
}
NOTE = "Dates are kept in UTC; parse_date must never guess a zone"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def workspace(app: App, make_project: MakeProject, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    root = make_project(FILES, name="work")
    monkeypatch.setenv("BRAIN_DIR", str(app.settings.brain_dir))
    monkeypatch.chdir(root)
    return scanned(app, root)


@pytest.fixture
def run(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        told = capsys.readouterr()
        return code, told.out, told.err

    assert workspace.id
    return run


def episode(number: int, client: str = "claude-code", created: str = "2026-11-01T10:00:00Z", **more: str) -> Episode:
    made = {"kind": "turn", "prompt": f"Question {number}", "summary": f"Answer {number}", **more}
    return Episode(id=derived_id(str(number)), client=client, created=created, files=("shop/dates.py",), **made)


@pytest.fixture
def episodes(app: App, workspace: Workspace) -> list[Episode]:
    made = [
        episode(1, created="2026-10-01T10:00:00Z"),
        episode(2, client="cursor"),
        episode(3, kind="review", outcome="approve", created="2026-11-02T10:00:00Z"),
    ]
    for one in made:
        app.memories.record(workspace, one)
    return made


def listed(run: Run, *arguments: str) -> list[str]:
    code, out, _ = run("note", "list", "--episodes", "--json", *arguments)
    assert code == 0
    return [one["prompt"] for one in json.loads(out)["episodes"]]


@pytest.mark.usefixtures("episodes")
def test_episodes_are_listed_newest_first_and_narrowed(run: Run) -> None:
    assert listed(run) == ["Question 3", "Question 2", "Question 1"]
    assert listed(run, "--client", "cursor") == ["Question 2"]
    assert listed(run, "--kind", "review") == ["Question 3"]
    assert listed(run, "--since", "2026-11-01") == ["Question 3", "Question 2"]
    assert listed(run, "--since", "2026-11-02T09:00") == ["Question 3"]
    assert listed(run, "--since", "all") == ["Question 3", "Question 2", "Question 1"]
    assert listed(run, "--limit", "1", "--offset", "1") == ["Question 2"]


@pytest.mark.usefixtures("episodes")
def test_a_page_says_how_to_see_the_next_one(run: Run) -> None:
    _, out, err = run("note", "list", "--episodes", "--limit", "2")
    assert "review  by claude-code  approve\n    asked: Question 3\n    said: Answer 3\n    files: shop/dates.py" in out
    assert err == "braindex: 1 to 2 of 3 episodes; --offset 2 shows the next\n"
    assert run("note", "list", "--episodes", "--offset", "2")[2] == ""
    assert run("note", "list", "--episodes", "--offset", "9")[1] == "No more episodes: there are 3.\n"
    assert run("note", "list")[1] == "No notes.\n"
    assert run("note", "list", "--episodes", "--offset", "9" * 25)[1] == "No more episodes: there are 3.\n"
    assert "Question 1" in run("note", "list", "--episodes", "--limit", "9" * 25)[1]


@pytest.mark.usefixtures("episodes")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--client", "cursor"], "add --episodes"),
        (["--episodes", "--category", "bug"], "--kind"),
        (["--episodes", "--since", "soon"], "--since is not a time"),
        (["--episodes", "--limit", "0"], "a limit of 1 or more"),
    ],
)
def test_what_cannot_be_listed_is_a_usage_error(run: Run, arguments: list[str], said: str) -> None:
    code, out, err = run("note", "list", *arguments)
    assert (code, out) == (2, "")
    assert said in err


def test_all_of_a_note_or_an_episode_is_shown_by_the_beginning_of_its_id(
    run: Run, app: App, workspace: Workspace, episodes: list[Episode]
) -> None:
    saved = app.notes.save(workspace, NOTE, "decision", "ada", ["parse_date"])
    long = "x" * 400 + "\nend"
    app.memories.record(workspace, episode(9, summary=long))
    _, out, _ = run("note", "show", saved.note.id[:8])
    assert f"decision  about shop/dates.py::parse_date\n    {NOTE}\n    by ada" in out
    assert long.replace("\n", "\n    ") in run("note", "show", derived_id("9")[:8])[1]
    shown = json.loads(run("note", "show", episodes[1].id, "--json")[1])
    assert (shown["type"], shown["summary"], shown["workspace_id"]) == ("episode", "Answer 2", workspace.id)
    assert json.loads(run("note", "show", saved.note.id, "--json")[1])["type"] == "note"


def test_a_note_that_is_shown_says_that_its_code_has_changed(run: Run, app: App, workspace: Workspace) -> None:
    saved = app.notes.save(workspace, NOTE, about=["parse_date"])
    (Path(workspace.path) / "shop" / "dates.py").write_text("def parse_date(text):\n    return text.strip()\n")
    assert "(may be stale: `parse_date` changed since)" in run("note", "show", saved.note.id)[1]


def test_notes_and_episodes_are_deleted_by_their_ids_and_a_mistyped_one_deletes_nothing(
    run: Run, app: App, workspace: Workspace, episodes: list[Episode]
) -> None:
    saved = app.notes.save(workspace, NOTE)
    unknown = "0" * 16
    code, out, err = run("note", "remove", episodes[0].id, unknown, "--yes")
    assert (code, out) == (1, "")
    assert f"no note or episode has the id '{unknown}'" in err
    assert app.memories.counts(workspace) == (1, 3)
    code, out, _ = run("note", "remove", episodes[0].id[:8], saved.note.id, "--yes")
    assert (code, out) == (0, f"Forgotten: {episodes[0].id}\nForgotten: {saved.note.id}\n")
    assert app.memories.counts(workspace) == (0, 2)
    assert "no terminal to ask on" in run("note", "remove", episodes[1].id)[2]


def test_an_export_with_episodes_is_taken_in_again(
    run: Run, app: App, workspace: Workspace, episodes: list[Episode], tmp_path: Path
) -> None:
    _, out, _ = run("note", "export", "--episodes")
    assert [json.loads(one)["type"] for one in out.splitlines()] == ["episode"] * 3
    (tmp_path / "export.jsonl").write_text(out)
    run("note", "remove", *(one.id for one in episodes), "--yes")
    assert "0 notes and 3 episodes" in run("note", "import", str(tmp_path / "export.jsonl"))[1]
    assert sorted(app.memories.all_episodes(workspace), key=lambda one: one.prompt) == [
        app.memories.memory(workspace, one.id) for one in episodes
    ]


def test_status_counts_notes_and_episodes(run: Run, app: App, workspace: Workspace, episodes: list[Episode]) -> None:
    assert episodes
    assert "notes 0 episodes 3" in " ".join(run("status")[1].split())
    app.notes.save(workspace, NOTE)
    found = json.loads(run("status", "--json")[1])
    assert (found["notes"], found["episodes"], found["memory_error"]) == (1, 3, None)


def test_status_says_that_a_memory_cannot_be_read_and_everything_else(run: Run, app: App, workspace: Workspace) -> None:
    (app.workspaces.folder(workspace) / MEMORY_FILE).write_bytes(b"this is no database at all" * 100)
    found = json.loads(run("status", "--json")[1])
    assert (found["notes"], found["episodes"], found["files"]) == (None, None, 3)
    assert MEMORY_FILE in found["memory_error"]
    assert "memory cannot be read: " in " ".join(run("status")[1].split())


@pytest.mark.parametrize(
    "case",
    [
        ("lines.py", "shop/cart/lines.py"),
        ("lines.py:1", "shop/cart/lines.py::total"),
        ("lines.py::total", "shop/cart/lines.py::total"),
        ("./lines.py", "shop/cart/lines.py"),
        ("../dates.py:1", "shop/dates.py::parse_date"),
        ("../../lines.py", "lines.py"),
        ("..", "shop"),
        ("shop/dates.py", "shop/dates.py"),
        ("shop/dates.py:2", "shop/dates.py::parse_date"),
        ("parse_date", "shop/dates.py::parse_date"),
        ("total()", "shop/cart/lines.py::total"),
        ("{root}/shop/dates.py", "shop/dates.py"),
    ],
)
def test_what_a_note_is_about_is_meant_from_here_and_else_from_the_root(
    run: Run, app: App, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, case: tuple[str, str]
) -> None:
    about, meant = case
    monkeypatch.chdir(Path(workspace.path) / "shop" / "cart")
    said = about.format(root=workspace.path)
    assert run("note", "add", NOTE, "--about", said, "--workspace", workspace.path)[0] == 0
    [note] = app.memories.notes(workspace)
    assert [one.written for one in note.about] == [meant]


def test_help_tells_what_a_note_may_be_about(run: Run) -> None:
    _, out, _ = run("note", "add", "--help")
    assert "an entity's name, a path, `path:line` or" in " ".join(out.split())
