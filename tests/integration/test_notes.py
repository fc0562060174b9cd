"""Notes: remembered on purpose, tied to code, found with it, moved between stores. Real index, real memory."""

import json
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult, TextContent

from braindex.bootstrap import App, build_app
from braindex.config import load_settings
from braindex.domain.errors import BraindexError
from braindex.domain.memories import Episode, derived_id, now
from braindex.domain.results import Question, Source, Workspace
from braindex.registry.memory_file import MEMORY_FILE
from braindex.server.create import create_server
from braindex.services.notes import NotAnExport
from braindex.services.ties import NothingTiedTo, TiedToMany

SOURCE = '''\
def parse_date(text):
    """Parse a date."""
    return text


def other():
    return 1
'''
DECISION = "Dates are kept in UTC: parse_date must never guess a zone"


@pytest.fixture
def app(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "dates.py").write_text(SOURCE)
    made = build_app(load_settings({"BRAIN_DIR": str(tmp_path / "brain")}, tmp_path))
    yield made
    made.close()


@pytest.fixture
def workspace(app, tmp_path):
    return app.workspaces.open(tmp_path / "work")


def text_of(result: CallToolResult) -> str:
    [only] = result.content
    assert isinstance(only, TextContent)
    return only.text


def sources(app: App, workspace: Workspace, text: str, **more: Any) -> tuple[Source, ...]:
    return app.asking.ask(workspace, Question(text, **more)).sources


def test_a_note_comes_back_with_the_code_that_answers_the_question(app, workspace):
    saved = app.notes.save(workspace, DECISION, "decision", "pi")
    found = sources(app, workspace, "which zone are dates kept in?")
    note = next(one for one in found if one.kind == "note")
    assert note.id == saved.note.id
    assert DECISION in note.excerpt
    assert "decision" in note.signature
    assert "pi" in note.signature
    shown = note.as_json()
    assert (shown["path"], shown["line"], shown["end_line"]) == (None, None, None)
    assert any(one.name == "parse_date" for one in found)


def test_a_note_that_has_nothing_to_do_with_the_question_stays_away(app, workspace):
    app.notes.save(workspace, "The release is made by hand every second Friday")
    assert all(one.kind != "note" for one in sources(app, workspace, "parse_date"))


def test_notes_never_crowd_out_the_code(app, workspace):
    for number in range(20):
        app.notes.save(
            workspace, f"parse_date, observation {number}: the {'abcdefghijklmnopqrst'[number]}{number} case"
        )
    found = sources(app, workspace, "parse_date", limit=4)
    assert sum(one.kind == "note" for one in found) <= 1
    assert any(one.name == "parse_date" and one.kind == "function" for one in found)


def test_kind_note_asks_for_notes_alone_and_any_other_kind_for_code_alone(app, workspace):
    app.notes.save(workspace, DECISION)
    assert {one.kind for one in sources(app, workspace, "date zone", kind="note")} == {"note"}
    assert {one.kind for one in sources(app, workspace, "parse date zone", kind="function")} == {"function"}
    assert all(one.kind != "note" for one in sources(app, workspace, "parse date zone", language="python"))


def test_a_path_lets_through_the_notes_about_what_is_there(app, workspace, tmp_path):
    (tmp_path / "work" / "zones").mkdir()
    (tmp_path / "work" / "zones" / "a.py").write_text("def zone_of(date):\n    return 0\n")
    app.notes.save(workspace, "The zone of a date is never guessed", about=["zones"])
    assert any(one.kind == "note" for one in sources(app, workspace, "zone of a date", path="zones"))
    assert all(one.kind != "note" for one in sources(app, workspace, "zone of a date", path="dates.py"))


@pytest.mark.parametrize("about", ["parse_date", "dates.py::parse_date", "dates.py:2", "parse_date()"])
def test_a_note_about_a_function_is_marked_once_the_function_has_changed(app, workspace, tmp_path, about):
    app.notes.save(workspace, DECISION, about=[about])
    assert app.notes.list(workspace)[0].stale == ""
    (tmp_path / "work" / "dates.py").write_text("import os\n\n\n" + SOURCE.replace("return 1", "return 2"))
    assert app.notes.list(workspace)[0].stale == "", "it moved, and another function changed"
    (tmp_path / "work" / "dates.py").write_text(SOURCE.replace("return text", "return text.strip()"))
    assert app.notes.list(workspace)[0].stale == "`parse_date` changed since"
    [note] = [one for one in sources(app, workspace, "which zone are dates kept in?") if one.kind == "note"]
    assert note.stale
    assert "may be stale: `parse_date` changed since" in note.remark
    (tmp_path / "work" / "dates.py").write_text("x = 1\n")
    assert app.notes.list(workspace)[0].stale == "`parse_date` is gone since"


def test_a_note_about_a_file_is_marked_when_the_file_changes(app, workspace, tmp_path):
    app.notes.save(workspace, DECISION, about=["dates.py"])
    (tmp_path / "work" / "dates.py").write_text(SOURCE + "\n")
    assert app.notes.list(workspace)[0].stale == "`dates.py` changed since"
    (tmp_path / "work" / "dates.py").unlink()
    (tmp_path / "work" / "b.py").write_text("y = 2\n")
    assert app.notes.list(workspace)[0].stale == "`dates.py` is gone since"


def test_what_a_note_is_about_has_to_be_there(app, workspace, tmp_path):
    with pytest.raises(NothingTiedTo, match="nosuch"):
        app.notes.save(workspace, DECISION, about=["nosuch"])
    for about in ("x" * 5_000, "x/" * 3_000, "nul\0", str(tmp_path), "/", "..", f"nosuch:{'9' * 5_000}"):
        with pytest.raises(NothingTiedTo):
            app.notes.save(workspace, DECISION, about=[about])
    for name in "abcd":
        (tmp_path / "work" / f"{name}.py").write_text("def run():\n    pass\n")
    with pytest.raises(TiedToMany, match=r"a\.py::run"):
        app.notes.save(workspace, DECISION, about=["run"])
    assert app.notes.list(workspace) == []


@pytest.mark.parametrize("line", ["99", "9" * 25, "9" * 5_000])
def test_a_line_beyond_a_file_means_the_file(app, workspace, line):
    saved = app.notes.save(workspace, DECISION, about=[f"dates.py:{line}"])
    assert [(one.path, one.qualified_name) for one in saved.note.about] == [("dates.py", "")]


def test_the_very_same_note_is_kept_once_and_a_similar_one_is_named(app, workspace):
    first = app.notes.save(workspace, DECISION, "decision")
    again = app.notes.save(workspace, f"  {DECISION}\n", "Decision", about=["parse_date"])
    assert again.known
    assert again.note.id == first.note.id
    assert again.note.about[0].qualified_name == "parse_date"
    similar = app.notes.save(workspace, "Dates are kept in UTC; parse_date must never guess the zone", "decision")
    assert [one.memory.id for one in similar.similar] == [first.note.id]
    found = [one for one in sources(app, workspace, "which zone are dates kept in?") if one.kind == "note"]
    assert len(found) == 1, "notes that say nearly the same are one source"
    assert "nearly the same" in found[0].remark


def test_no_secret_reaches_the_memory(app, workspace):
    app.notes.save(workspace, "The staging key is sk-abcdefghijklmnop1234 for now")
    episode = Episode("0" * 16, "turn", created=now(), prompt="PASSWORD=hunter22", summary="used ghp_" + "a1" * 20)
    app.memories.record(workspace, episode)
    stored = b"".join(one.read_bytes() for one in app.workspaces.folder(workspace).glob(f"{MEMORY_FILE}*"))
    assert b"redacted" in stored
    for secret in (b"abcdefghijklmnop1234", b"hunter22", b"a1a1a1"):
        assert secret not in stored


def test_episodes_are_recalled_by_what_was_asked_and_by_what_came_of_it(app, workspace):
    made = Episode(
        derived_id("1"), "turn", "pi", "s", now(), "fix the flaky login test", "The session cookie expired too early"
    )
    app.memories.record(workspace, made)
    for text in ("why is the login test flaky?", "session cookie expires early"):
        [found] = app.memories.similar(workspace, text, 5)
        assert found.memory.id == made.id
    assert app.memories.similar(workspace, "how are colours mixed", 5) == []


def test_an_episode_is_recalled_within_its_window_and_a_note_for_ever(app, workspace):
    old = "2020-01-01T00:00:00Z"
    episode = Episode(derived_id("1"), "review", "", "", old, "review of the date parser", "approved", "approve")
    app.memories.record(workspace, episode)
    assert app.memories.similar(workspace, "review of the date parser", 5) == []
    assert app.memories.similar(workspace, "review of the date parser", 5, days=36_500)
    assert app.memories.similar(workspace, "review of the date parser", 5, days=36_500, kind="turn") == []
    line = json.dumps({"type": "note", "text": "The date parser is by Ada", "created": old})
    app.notes.take(workspace, line)
    assert app.memories.similar(workspace, "who wrote the date parser, Ada?", 5)


def test_a_review_that_nobody_judged_is_told_to_nobody_but_reviews(app, workspace):
    app.memories.record(
        workspace, Episode(derived_id("1"), "review", "", "", now(), "changed: parse_date", "not judged")
    )
    assert app.memories.similar(workspace, "changed: parse_date", 5) == []
    assert app.memories.similar(workspace, "changed: parse_date", 5, kind="review")


@pytest.mark.parametrize("asked", ["parse_date", "dates.py:1", "definition of parse_date"])
def test_a_question_about_a_place_has_the_code_first(app, workspace, asked):
    app.notes.save(workspace, "parse_date in dates.py:1, the definition of parse_date", "where")
    assert sources(app, workspace, asked)[0].path == "dates.py"


def test_an_answer_of_few_sources_has_no_room_for_notes(app, workspace):
    app.notes.save(workspace, DECISION, "decision")
    assert [one.kind for one in sources(app, workspace, DECISION, limit=1)] == ["function"]


def test_an_export_that_is_taken_in_again_changes_nothing(app, workspace, tmp_path):
    app.notes.save(workspace, DECISION, "decision", "pi", ["parse_date"])
    app.notes.save(workspace, "Two\n\n## with a heading\n\n```\n## and code\n```\nend")
    lines = "\n".join(app.notes.exported(workspace, markdown=False, episodes=True))
    pages = "\n".join(app.notes.exported(workspace, markdown=True, episodes=False))
    before = [one.note.text for one in app.notes.list(workspace)]
    assert app.notes.take(workspace, lines).notes == 0
    (tmp_path / "new").mkdir()
    other = app.workspaces.open(tmp_path / "new")
    assert app.notes.take(other, lines).notes == 2
    assert sorted(one.note.text for one in app.notes.list(other)) == sorted(before)
    (tmp_path / "third").mkdir()
    third = app.workspaces.open(tmp_path / "third")
    assert app.notes.take(third, pages).notes == 2
    assert app.notes.take(third, pages).notes == 0
    tied = next(one.note for one in app.notes.list(third) if one.note.text == DECISION)
    assert (tied.category, tied.about[0].written) == ("decision", "dates.py::parse_date")


@pytest.mark.parametrize("text", ['{"type": "note"}', "{broken", '{"text": 3}', '{"type": "x", "text": "y"}', "[" * 9])
def test_an_import_that_is_none_names_its_line_and_takes_nothing_in(app, workspace, text):
    good = json.dumps({"type": "note", "text": "a good one"})
    with pytest.raises(NotAnExport, match="line 2"):
        app.notes.take(workspace, f"{good}\n{text}")
    assert app.notes.list(workspace) == []


def test_markdown_from_elsewhere_is_a_note_a_heading(app, workspace):
    app.notes.take(workspace, "# Ours\n\n## bug\nThe cache is never emptied\n\n## Tabs, not spaces\n")
    found = {one.note.text: one.note.category for one in app.notes.list(workspace)}
    assert found == {"The cache is never emptied": "bug", "Tabs, not spaces": ""}


def test_a_memory_that_cannot_be_read_costs_the_answer_nothing(app, workspace):
    app.notes.save(workspace, DECISION)
    folder = app.workspaces.folder(workspace)
    (folder / MEMORY_FILE).write_bytes(b"this is no database at all" * 100)
    found = sources(app, workspace, "parse_date")
    assert found[0].name == "parse_date"


def test_forgetting_takes_the_beginning_of_an_id_and_nothing_else(app, workspace):
    saved = app.notes.save(workspace, DECISION)
    with pytest.raises(BraindexError, match="no note"):
        app.notes.forget(workspace, "ffffffff" if not saved.note.id.startswith("f") else "00000000")
    assert app.notes.forget(workspace, saved.note.id[:6]).id == saved.note.id
    assert app.notes.list(workspace) == []


@pytest.mark.anyio
async def test_an_agent_remembers_lists_and_forgets(app, workspace):
    async with Client(create_server(app, str(workspace.path))) as client:
        saved = await client.call_tool(
            "save_to_memory", {"text": DECISION, "category": "rule", "about": ["parse_date"]}
        )
        identifier = saved.structured_content["note"]["id"]
        assert identifier in text_of(saved)
        assert saved.structured_content["note"]["author"]
        listed = await client.call_tool("list_memory", {})
        assert listed.structured_content["total"] == 1
        assert DECISION in text_of(listed)
        asked = await client.call_tool("query_memory", {"query": "which zone are dates kept in?"})
        assert f"`{DECISION}`" in text_of(asked)
        assert "[note]" in text_of(asked)
        gone = await client.call_tool("forget_memory", {"id": identifier[:8]})
        assert identifier in text_of(gone)
        assert (await client.call_tool("list_memory", {})).structured_content["notes"] == []
