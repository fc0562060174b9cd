"""What broke others without any fault: many entities at once, a read that lasts, a process that has nothing to do."""

import threading
from pathlib import Path

import pytest

from braindex.bootstrap import App
from braindex.domain.results import Question
from braindex.vectors.chroma import FOLDER

MORE_THAN_ONE_CALL_TAKES = 5_461  # ids in one call of ChromaDB
FILES, FUNCTIONS = 12, 470


def test_more_entities_than_one_call_of_chroma_takes_are_stored_and_found_in_one_scan(make_app, make_project) -> None:
    app: App = make_app(EXACT_SEARCH_LIMIT="0")
    files = {
        f"m{file}.py": "".join(f"def f{file}_{one}(): return {one}\n" for one in range(FUNCTIONS))
        for file in range(FILES)
    }
    workspace = app.workspaces.open(make_project(files))
    summary = app.scans.run(workspace)
    assert summary.entities > MORE_THAN_ONE_CALL_TAKES
    assert summary.notes == ()
    assert (app.workspaces.folder(workspace) / FOLDER).is_dir()
    with app.workspaces.open_index(workspace) as store:
        assert store.outbox(1) == []
        assert len(store.entities(store.rows())) == len(store.vectors(store.rows())) == summary.entities
    found = app.asking.ask(workspace, Question("f11_469"))
    assert (found.sources[0].path, found.sources[0].line) == ("m11.py", 470)


def test_a_read_that_lasts_sees_one_moment_and_holds_up_no_writer(app: App, make_project) -> None:
    root: Path = make_project({"a.py": "def before():\n    pass\n"})
    workspace = app.workspaces.open(root)
    app.scans.run(workspace)
    with app.workspaces.open_index(workspace) as reader, reader.snapshot():
        assert reader.rows_by_name(["before"])
        for number in range(5):
            (root / "a.py").write_text(f"def after_{number}():\n    pass\n")
            assert app.scans.run(workspace).changed == 1
        assert reader.rows_by_name(["before"])
        assert not reader.rows_by_name(["after_4"])
    with app.workspaces.open_index(workspace) as reader:
        assert reader.rows_by_name(["after_4"])
        assert not reader.rows_by_name(["before"])


def test_our_own_data_and_a_dirty_tree_cause_no_work(make_app, brain: Path, make_project) -> None:
    root: Path = make_project({"a.py": "def pay():\n    pass\n", ".git/HEAD": "ref: refs/heads/main\n"})
    app: App = make_app(BRAIN_DIR=str(root / ".brain"))
    workspace = app.workspaces.open(root)
    app.scans.run(workspace)
    (root / "a.py").write_text("def pay(card):\n    pass\n")  # not committed, and taken in once
    assert app.asking.ask(workspace, Question("pay")).sources
    with app.workspaces.open_index(workspace) as store:
        generation = store.generation()
    for _ in range(3):
        (root / ".brain" / "server-1.log").write_text("more")
        assert app.asking.ask(workspace, Question("pay")).sources
    with app.workspaces.open_index(workspace) as store:
        assert store.generation() == generation
    assert not brain.exists()


def test_after_an_answer_no_thread_is_at_work(app: App, make_project) -> None:
    """What costs CPU time while idle is a thread that wakes up: a watcher, a timer, a poll."""
    before = {thread.name for thread in threading.enumerate()}
    workspace = app.workspaces.open(make_project({"a.py": "def pay():\n    pass\n"}))
    assert app.asking.ask(workspace, Question("pay")).sources
    app.scans.stop()
    app.usage.flush(5)
    left = [one for one in threading.enumerate() if one.name not in before and not one.name.startswith("nearest")]
    assert [
        one.name for one in left if isinstance(one, threading.Timer) or one.name.startswith(("scan-", "look-"))
    ] == []


@pytest.mark.parametrize("mode", ["", "local", "cloud", "hybrid"])
def test_without_any_key_every_mode_answers_with_sources(mode: str, make_app, make_project) -> None:
    app: App = make_app(MEMORY_MODE="" if mode == "local" else mode)  # local mode would confine this very process
    workspace = app.workspaces.open(make_project({"a.py": "def pay():\n    pass\n", ".env": f"MEMORY_MODE={mode}\n"}))
    answer = app.asking.ask(workspace, Question("pay"))
    assert [one.name for one in answer.sources][:1] == ["pay"]
    assert (answer.engine, answer.answer) == ("none", None)
