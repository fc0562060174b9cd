"""A damaged index heals by itself: the next question or scan rebuilds it, whenever the damage shows."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from braindex.bootstrap import App
from braindex.domain.results import Question, ScanStatus, Workspace

FILES = {f"m{number}.py": f"def merge_{number}(left, right):\n    return left + right\n" for number in range(60)}


def lose_search(index: Path) -> None:
    connection = sqlite3.connect(index)
    connection.execute("UPDATE fulltext_data SET block = x'0102' WHERE id > 10")
    connection.commit()
    connection.close()


def lose_a_table(index: Path) -> None:
    connection = sqlite3.connect(index)
    connection.execute("DROP TABLE fulltext")
    connection.commit()
    connection.close()


def lose_counters(index: Path) -> None:
    connection = sqlite3.connect(index)
    connection.execute("DELETE FROM meta")
    connection.commit()
    connection.close()


def lose_all_but_the_first_page(index: Path) -> None:
    content = index.read_bytes()
    index.write_bytes(content[:4096] + bytes(len(content) - 4096))


def settled(app: App, workspace: Workspace) -> ScanStatus:
    """The status when the scan that a question started has ended."""
    running = app.scans.running(workspace)
    if running is not None:
        running.wait(60)
    return app.scans.status(workspace)


DAMAGES = [lose_search, lose_a_table, lose_counters, lose_all_but_the_first_page]


@pytest.fixture
def damaged(app: App, make_project: Callable[..., Path]) -> Callable[[Callable[[Path], None]], Workspace]:
    def make(damage: Callable[[Path], None]) -> Workspace:
        workspace = app.workspaces.open(make_project(FILES))
        app.scans.run(workspace)
        damage(app.workspaces.folder(workspace) / "index.db")
        return workspace

    return make


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_question_rebuilds_a_damaged_index_and_answers(damage, damaged, app: App) -> None:
    workspace = damaged(damage)
    answer = app.asking.ask(workspace, Question("merge_7"))
    assert answer.sources[0].name == "merge_7"
    assert settled(app, workspace).state == "complete"
    assert len(list(app.workspaces.folder(workspace).glob("index.db.damaged-*[!lm]"))) == 1


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_scan_rebuilds_a_damaged_index(damage, damaged, app: App) -> None:
    workspace = damaged(damage)
    (Path(workspace.path) / "new.py").write_text("def newest():\n    pass\n")
    app.scans.run(workspace)
    assert app.asking.ask(workspace, Question("newest")).sources[0].name == "newest"
    status = settled(app, workspace)
    assert (status.state, status.files) == ("complete", len(FILES) + 1)


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_status_of_a_damaged_index_is_no_crash_and_hides_nothing(damage, damaged, app: App) -> None:
    workspace = damaged(damage)
    status = app.scans.status(workspace)
    if damage is not lose_search:  # which the status does not read
        assert status.state == "failed"
        assert "damaged" in str(status.last_error)
    app.scans.run(workspace)
    app.asking.ask(workspace, Question("merge_7"))
    assert settled(app, workspace).files == len(FILES)
