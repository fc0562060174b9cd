"""The life of a brief: made once, locked, replaced on request alone, and never by half."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import scanned
from tests.fakes.asked import cloud
from tests.fakes.conversations import Calls
from tests.fakes.deepseek import FakeDeepSeek
from tests.fakes.ollama import FakeOllama

from braindex.domain.brief import MAX_TOKENS, SECTIONS, check, parse
from braindex.domain.engines import EngineCancelled, EngineFailed
from braindex.domain.results import Question
from braindex.domain.tokens import count_tokens
from braindex.llm.prices import load_prices
from braindex.registry.briefs import BRIEF_FILE, MOST_RECORD_BYTES, RECORD_FILE, read_brief
from braindex.registry.failures import StoreError
from braindex.services.brief import LOCK_FILE, BriefByHand, BriefMisplaced, GivenBrief, NoBrief

PROJECT = {
    "src/cart.py": '"""The cart."""\n\n\ndef add_item(cart, item):\n    """Put an item into the cart."""\n    cart.append(item)\n',
    "README.md": "# Shop\n\nA small shop that sells things.\n",
}
SOUND = {"sha256": "0" * 64, "engine": "none", "locked": "2026-11-30T09:00:00+00:00"}
WRONG: list[dict[str, Any]] = [
    {"sha256": 5},
    {"engine": []},
    {"engine": "nobody"},
    {"files": ["a"]},
    {"files": None},
    {"files": {"a": 5}},
    {"files": {"\ud800": ""}},
    {"locked": 5},
    {"locked": "yesterday"},
    {"failed": {}},
    {"why": "\ud800"},
    {"why": 1.5},
    {"given": "yes"},
    {"kept": 1},
    {"entities": True},
    {"entities": -1},
    {"before": []},
    {"previous": 5},
    {"previous": {"edited": "no"}},
]
HOSTILE_RECORDS = [
    "",
    "{",
    "[1]",
    "5",
    "null",
    "[" * 200_000,
    "1" * 5_000,
    '{"unknown": 1}',
    *(json.dumps({**SOUND, **wrong}) for wrong in WRONG),
    json.dumps(SOUND | {"why": "x" * MOST_RECORD_BYTES}),
]


@pytest.fixture
def deepseek() -> Iterator[FakeDeepSeek]:
    def written(body: dict[str, Any]) -> str:
        title = body["messages"][-1]["content"].rsplit("“", 1)[-1].split("”")[0]
        return f"{title} as the engine sees it: `add_item` #src/cart.py:4 and #src/nowhere.py:1."

    with FakeDeepSeek(models=("deepseek-flash",), cost=load_prices().cost, answer_text=written) as stand_in:
        yield stand_in
        assert stand_in.violations == []


def sections_asked(deepseek: FakeDeepSeek) -> int:
    return sum("Write the section" in one.body["messages"][-1]["content"] for one in deepseek.requests)


def test_the_first_scan_makes_a_brief_without_any_engine(make_app, make_project):
    app = make_app()
    workspace = scanned(app, make_project(PROJECT))
    view = app.briefs.view(workspace)
    assert list(parse(view.text)) == list(SECTIONS)
    assert check(view.text) == []
    assert count_tokens(view.text) <= MAX_TOKENS
    assert (view.state.engine, view.state.edited, view.state.moved) == ("none", False, "")
    assert "src/cart.py" in view.text


def test_a_later_scan_leaves_a_locked_brief_alone_and_says_how_far_the_code_moved(make_app, make_project):
    app = make_app()
    root = make_project(PROJECT)
    workspace = scanned(app, root)
    locked = app.briefs.text(workspace)
    (root / "src/cart.py").write_text("def remove_item():\n    pass\n")
    (root / "src/new.py").write_text("def fresh():\n    pass\n")
    (root / "README.md").unlink()
    app.scans.run(workspace)
    view = app.briefs.view(workspace)
    assert view.text == locked
    assert view.state.moved.startswith("1 of 2 files changed, 1 added, 1 removed")
    assert app.status.of(workspace).brief == view.state


def test_an_empty_workspace_has_no_brief_until_there_is_something_to_say(make_app, make_project, tmp_path):
    app = make_app()
    root = make_project({})
    workspace = scanned(app, root)
    with pytest.raises(NoBrief, match="project has no brief"):
        app.briefs.view(workspace)
    assert app.briefs.state(workspace) is None
    (root / "a.py").write_text("def late():\n    pass\n")
    app.scans.run(workspace)
    assert "a.py" in app.briefs.text(workspace)


def test_a_scan_can_do_without_a_brief(make_app, make_project):
    app = make_app()
    workspace = app.workspaces.open(make_project(PROJECT))
    app.scans.run(workspace, brief=False)
    assert app.briefs.state(workspace) is None


def test_an_engine_replaces_the_brief_of_the_index_once(deepseek, make_app, make_project):
    app = make_app(**cloud(deepseek))
    workspace = scanned(app, make_project(PROJECT))
    assert app.briefs.upgrade(workspace)
    view = app.briefs.view(workspace)
    assert view.state.engine == "deepseek-flash"
    assert "Purpose as the engine sees it: `add_item` #src/cart.py:4 and." in parse(view.text)["Purpose"]
    assert "nowhere" not in view.text
    assert sections_asked(deepseek) == len(SECTIONS)
    assert not app.briefs.upgrade(workspace)
    app.scans.run(workspace)
    assert not app.briefs.upgrade(workspace)
    assert sections_asked(deepseek) == len(SECTIONS)


def test_of_many_servers_one_writes_the_brief_and_pays(deepseek, make_app, make_project):
    apps = [make_app(**cloud(deepseek)) for _ in range(4)]
    workspace = scanned(apps[0], make_project(PROJECT))
    threads = [threading.Thread(target=one.briefs.upgrade, args=(workspace,)) for one in apps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sections_asked(deepseek) == len(SECTIONS)
    assert apps[3].briefs.view(workspace).state.engine == "deepseek-flash"


@pytest.mark.parametrize("which", [1, 9])
def test_one_section_that_fails_leaves_the_old_brief(which, deepseek, make_app, make_project):
    app = make_app(**cloud(deepseek))
    workspace = scanned(app, make_project(PROJECT))
    folder = app.workspaces.folder(workspace)
    before = (folder / BRIEF_FILE).read_bytes()
    written, seen = deepseek.answer_text, []

    def failing(body: dict[str, Any]) -> str:
        seen.append(body)
        return "   " if len(seen) == which else written(body)

    deepseek.answer_text = failing
    with pytest.raises(EngineFailed, match="its section"):
        app.briefs.upgrade(workspace)
    assert (folder / BRIEF_FILE).read_bytes() == before
    state = app.briefs.view(workspace).state
    assert (state.engine, state.edited) == ("none", False)
    assert "empty text" in state.failure
    deepseek.answer_text = written
    assert not app.briefs.upgrade(workspace), "an attempt that failed is not repeated at once"
    assert app.briefs.update(workspace).state.engine == "deepseek-flash"


def test_a_given_brief_is_locked_as_it_is_and_no_engine_replaces_it(deepseek, make_app, make_project):
    app = make_app(**cloud(deepseek))
    workspace = scanned(app, make_project(PROJECT))
    view = app.briefs.update(workspace, "# Our shop\r\n\r\nWritten by hand.")
    assert (view.text, view.state.given, view.state.edited) == ("# Our shop\n\nWritten by hand.\n", True, False)
    assert not app.briefs.upgrade(workspace)
    assert sections_asked(deepseek) == 0


@pytest.mark.parametrize(
    ("content", "problem"),
    [(" \n ", "empty"), ("word " * 2000, "at most 1,200"), ("a\u202eb", "bidirectional"), ("\ud800", "UTF-8")],
)
def test_a_text_that_can_be_no_brief_is_refused_and_the_old_one_stands(content, problem, make_app, make_project):
    app = make_app()
    workspace = scanned(app, make_project(PROJECT))
    before = app.briefs.text(workspace)
    with pytest.raises(GivenBrief, match=problem):
        app.briefs.update(workspace, content)
    assert app.briefs.text(workspace) == before


def test_a_brief_edited_by_hand_is_noticed_and_never_overwritten_silently(deepseek, make_app, make_project):
    app = make_app(**cloud(deepseek))
    workspace = scanned(app, make_project(PROJECT))
    folder = app.workspaces.folder(workspace)
    (folder / BRIEF_FILE).write_text("# My own words\n")
    assert app.briefs.view(workspace).state.edited
    assert app.briefs.text(workspace) == "# My own words\n"
    assert not app.briefs.upgrade(workspace)
    for content in (None, "# Another"):
        with pytest.raises(BriefByHand, match="edited by hand"):
            app.briefs.update(workspace, content)
    assert app.briefs.text(workspace) == "# My own words\n"
    view = app.briefs.update(workspace, replace_by_hand=True)
    assert (view.state.engine, view.state.edited) == ("deepseek-flash", False)
    (kept,) = folder.glob("brief.edited-*.md")
    assert kept.read_text() == "# My own words\n"


def test_a_write_that_was_cut_between_its_two_files_is_no_edit(make_app, make_project):
    app = make_app()
    workspace = scanned(app, make_project(PROJECT))
    folder = app.workspaces.folder(workspace)
    old = (folder / BRIEF_FILE).read_bytes()
    app.briefs.update(workspace, "# New")
    (folder / BRIEF_FILE).write_bytes(old)
    stored = read_brief(folder)
    assert stored is not None
    assert not stored.edited


@pytest.mark.parametrize("record", HOSTILE_RECORDS)
def test_a_record_that_cannot_be_read_makes_an_edited_brief_and_no_bug(record, make_app, make_project):
    app = make_app()
    workspace = scanned(app, make_project(PROJECT))
    (app.workspaces.folder(workspace) / RECORD_FILE).write_text(record)
    assert app.briefs.view(workspace).state.edited
    app.scans.run(workspace)
    app.briefs.update(workspace, replace_by_hand=True)
    assert not app.briefs.view(workspace).state.edited


def test_without_an_engine_a_regenerated_brief_is_made_from_the_index(make_app, make_project):
    app = make_app()
    root = make_project(PROJECT)
    workspace = scanned(app, root)
    (root / "src/ship.py").write_text("def ship_order():\n    pass\n")
    app.scans.run(workspace)
    view = app.briefs.update(workspace)
    assert "src/ship.py" in view.text or "3 indexed files" in view.text
    assert (view.state.engine, view.state.moved) == ("none", "")


def test_in_local_mode_ollama_writes_the_brief(brain, tmp_path, make_app, make_project):
    with FakeOllama(answer_text="Plain words of a local model.") as ollama:
        app = make_app(OLLAMA_HOST=ollama.url, OLLAMA_MODEL=ollama.models[0])
        workspace = scanned(app, make_project(PROJECT))
        assert app.briefs.upgrade(workspace)
        assert app.briefs.view(workspace).state.engine == "ollama"
        assert ollama.violations == []


def test_a_brief_survives_a_rebuilt_index_and_goes_with_its_workspace(make_app, make_project):
    app = make_app()
    workspace = scanned(app, make_project(PROJECT))
    app.briefs.update(workspace, "# Kept")
    folder = app.workspaces.folder(workspace)
    (folder / "index.db").write_bytes(b"no database")
    app.scans.run(workspace)
    assert app.briefs.text(workspace) == "# Kept\n"
    app.workspaces.drop(workspace)
    assert not (folder / BRIEF_FILE).exists()


def test_whoever_listens_hears_of_each_new_brief(make_app, make_project):
    app = make_app()
    heard: list[str] = []
    app.briefs.on_change(lambda workspace: heard.append(workspace.id))
    workspace = scanned(app, make_project(PROJECT))
    app.briefs.update(workspace, "# New")
    app.scans.run(workspace)
    assert heard == [workspace.id] * 2


def test_the_record_says_what_the_brief_was_made_of(make_app, make_project):
    app = make_app()
    workspace = scanned(app, make_project(PROJECT))
    record = json.loads((app.workspaces.folder(workspace) / RECORD_FILE).read_text())
    assert (record["engine"], record["entities"], sorted(record["files"])) == ("none", 4, ["README.md", "src/cart.py"])


def test_questions_use_the_brief_that_another_process_locked(deepseek, make_app, make_project):
    first, second = make_app(**cloud(deepseek)), make_app(**cloud(deepseek))
    workspace = scanned(first, make_project(PROJECT))
    second.briefs.update(workspace, "# Locked elsewhere")
    first.asking.ask(workspace, Question("add_item"))
    sent = [one for one in deepseek.requests if len(one.body["messages"]) == 2]
    assert "# Locked elsewhere" in sent[-1].body["messages"][0]["content"]


def test_a_given_brief_is_regenerated_only_by_who_knows_of_it_and_is_kept(deepseek, make_app, make_project):
    app = make_app(**cloud(deepseek))
    workspace = scanned(app, make_project(PROJECT))
    app.briefs.update(workspace, "# My own words")
    with pytest.raises(BriefByHand, match="written by hand"):
        app.briefs.update(workspace)
    assert app.briefs.text(workspace) == "# My own words\n"
    assert app.briefs.update(workspace, replace_by_hand=True).state.engine == "deepseek-flash"
    (kept,) = app.workspaces.folder(workspace).glob("brief.edited-*.md")
    assert kept.read_text() == "# My own words\n"


def test_a_brief_from_the_index_can_be_had_back_and_stays(deepseek, make_app, make_project):
    app = make_app(**cloud(deepseek))
    workspace = scanned(app, make_project(PROJECT))
    first = app.briefs.text(workspace)
    assert app.briefs.upgrade(workspace)
    assert app.briefs.update(workspace, from_index=True).text == first
    assert not app.briefs.upgrade(workspace, at_once=True)


def test_a_person_who_scans_again_has_a_failed_replacement_tried_again(deepseek, make_app, make_project):
    app = make_app(**cloud(deepseek))
    workspace = scanned(app, make_project(PROJECT))
    deepseek.fail("401", times=9)
    with pytest.raises(EngineFailed):
        app.briefs.upgrade(workspace)
    deepseek._next.clear()
    assert not app.briefs.upgrade(workspace)
    assert app.briefs.upgrade(workspace, at_once=True)


def test_the_daily_limit_holds_for_briefs_and_warm_ups(deepseek, make_app, make_project):
    app = make_app(**cloud(deepseek, MAX_DAILY_COST="0"))
    workspace = scanned(app, make_project(PROJECT))
    with pytest.raises(EngineFailed, match="MAX_DAILY_COST"):
        app.briefs.upgrade(workspace)
    app.briefs.update(workspace, "# Given")
    app.finish(30)
    assert deepseek.requests == []


def while_it_writes(deepseek: FakeDeepSeek, act: Callable[[], object]) -> None:
    """Has something happen once, while the engine is at a section."""
    written, done = deepseek.answer_text, threading.Event()
    assert callable(written)

    def answer(body: dict[str, Any]) -> str | Calls:
        if not done.is_set():
            done.set()
            act()
        return written(body)

    deepseek.answer_text = answer


def test_an_edit_made_while_an_engine_replaces_the_first_brief_stands(deepseek, make_app, make_project):
    app = make_app(**cloud(deepseek))
    workspace = scanned(app, make_project(PROJECT))
    place = app.workspaces.folder(workspace) / BRIEF_FILE
    while_it_writes(deepseek, lambda: place.write_text("# Mine\n"))
    assert not app.briefs.upgrade(workspace)
    assert place.read_text() == "# Mine\n"
    state = app.briefs.view(workspace).state
    assert (state.engine, state.edited) == ("none", True)


def test_an_edit_made_while_a_brief_is_regenerated_is_replaced_only_by_who_said_so(deepseek, make_app, make_project):
    app = make_app(**cloud(deepseek))
    workspace = scanned(app, make_project(PROJECT))
    place = app.workspaces.folder(workspace) / BRIEF_FILE
    while_it_writes(deepseek, lambda: place.write_text("# Mine\n"))
    with pytest.raises(BriefByHand, match="edited by hand"):
        app.briefs.update(workspace)
    assert place.read_text() == "# Mine\n"
    while_it_writes(deepseek, lambda: place.write_text("# Mine, later\n"))
    assert app.briefs.update(workspace, replace_by_hand=True).state.engine == "deepseek-flash"
    (kept,) = place.parent.glob("brief.edited-*.md")
    assert kept.read_text() == "# Mine, later\n"


@pytest.mark.parametrize("bulk", [b"# Mine\n" + b"word " * 40_000 + b"the end", b"# M\xffne\r\n\xc3"])
def test_an_edited_text_is_kept_byte_for_byte(bulk, make_app, make_project):
    app = make_app()
    workspace = scanned(app, make_project(PROJECT))
    folder = app.workspaces.folder(workspace)
    (folder / BRIEF_FILE).write_bytes(bulk)
    app.briefs.update(workspace, replace_by_hand=True)
    (kept,) = folder.glob("brief.edited-*.md")
    assert kept.read_bytes() == bulk


def _as_folder(path: Path) -> None:
    path.mkdir()
    (path / "inside").write_text("kept")


def _as_pipe(path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes with a name here")
    os.mkfifo(path)


def _as_link(path: Path) -> None:
    target = path.with_name("elsewhere")
    target.write_text("not a brief")
    path.symlink_to(target)


@pytest.mark.parametrize("put", [_as_folder, _as_pipe, _as_link])
def test_what_is_no_file_in_the_place_of_the_brief_costs_no_question_and_is_moved_aside(
    put, deepseek, make_app, make_project
):
    app = make_app(**cloud(deepseek))
    workspace = scanned(app, make_project(PROJECT))
    place = app.workspaces.folder(workspace) / BRIEF_FILE
    place.unlink()
    put(place)
    assert app.briefs.text(workspace) == ""
    app.asking.ask(workspace, Question("add_item"))
    with pytest.raises(BriefMisplaced, match=r"brief\.md cannot be read as a brief \(it is a (folder|pipe|link)\)"):
        app.briefs.view(workspace)
    state = app.status.of(workspace).brief
    assert state is not None
    assert "moves it aside" in state.failure
    app.scans.run(workspace)
    assert not app.briefs.upgrade(workspace)
    assert app.briefs.update(workspace, "# Healed").text == "# Healed\n"
    assert os.path.lexists(place.with_name("brief.md.set-aside-1"))
    assert not app.briefs.view(workspace).state.edited


@pytest.mark.parametrize("put", [_as_folder, _as_pipe, _as_link])
def test_what_is_no_file_in_the_place_of_the_record_is_no_record_and_moved_aside(put, make_app, make_project):
    app = make_app()
    workspace = scanned(app, make_project(PROJECT))
    place = app.workspaces.folder(workspace) / RECORD_FILE
    place.unlink()
    put(place)
    assert app.briefs.view(workspace).state.edited
    app.scans.run(workspace)
    app.briefs.update(workspace, replace_by_hand=True)
    assert not app.briefs.view(workspace).state.edited
    assert os.path.lexists(place.with_name("brief.json.set-aside-1"))


def test_a_replacement_that_was_cut_short_is_made_by_the_next_scan(deepseek, make_app, make_project):
    app = make_app(**cloud(deepseek))
    workspace = scanned(app, make_project(PROJECT))
    place = app.workspaces.folder(workspace) / BRIEF_FILE
    old = place.read_bytes()
    assert app.briefs.upgrade(workspace)
    place.write_bytes(old)
    state = app.briefs.view(workspace).state
    assert (state.engine, state.edited) == ("none", False)
    assert app.briefs.upgrade(workspace)
    assert app.briefs.view(workspace).state.engine == "deepseek-flash"


@pytest.mark.parametrize("given", [True, False])
def test_words_of_a_hand_stay_such_where_their_replacement_was_cut_short(given, make_app, make_project):
    app = make_app()
    workspace = scanned(app, make_project(PROJECT))
    place = app.workspaces.folder(workspace) / BRIEF_FILE
    if given:
        app.briefs.update(workspace, "# Mine")
    else:
        place.write_text("# Mine\n")
    app.briefs.update(workspace, replace_by_hand=True)
    place.write_text("# Mine\n")
    with pytest.raises(BriefByHand, match="by hand"):
        app.briefs.update(workspace)
    state = app.briefs.view(workspace).state
    assert (state.given, state.edited) == (given, not given)


def test_a_cancelled_update_stops_the_engine_and_leaves_the_old_brief(deepseek, make_app, make_project):
    app = make_app(**cloud(deepseek))
    workspace = scanned(app, make_project(PROJECT))
    before, stop = app.briefs.text(workspace), threading.Event()
    while_it_writes(deepseek, stop.set)
    with pytest.raises(EngineCancelled):
        app.briefs.update(workspace, cancelled=stop.is_set)
    assert sections_asked(deepseek) < len(SECTIONS)
    with pytest.raises(EngineCancelled):
        app.briefs.update(workspace, "# Given", cancelled=stop.is_set)
    assert app.briefs.text(workspace) == before
    assert app.briefs.update(workspace).state.engine == "deepseek-flash"


def test_the_failure_that_is_told_is_the_cause_and_not_that_the_others_were_stopped(deepseek, make_app, make_project):
    app = make_app(**cloud(deepseek))
    workspace = scanned(app, make_project(PROJECT))
    written, later = deepseek.answer_text, threading.Event()

    def failing(body: dict[str, Any]) -> str:
        if f"“{next(iter(SECTIONS))}”" in body["messages"][-1]["content"].rsplit("\n", 1)[-1]:
            later.wait(2)  # until another section has failed: this one, the first in order, is then stopped
            return str(written(body))
        return "   "

    deepseek.answer_text = failing
    with pytest.raises(EngineFailed, match="empty text"):
        app.briefs.update(workspace)
    later.set()


def test_a_lock_that_cannot_be_had_is_a_plain_failure(make_app, make_project):
    app = make_app()
    workspace = scanned(app, make_project(PROJECT))
    lock = app.workspaces.folder(workspace) / LOCK_FILE
    lock.unlink(missing_ok=True)
    lock.mkdir()
    with pytest.raises(StoreError, match=r"brief\.lock"):
        app.briefs.update(workspace)
