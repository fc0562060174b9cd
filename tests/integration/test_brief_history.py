"""The briefs that a workspace had, the way from one to the next, and how far the code has moved on. Real stores."""

from pathlib import Path

import pytest
from tests.conftest import MakeProject, scanned

from braindex.bootstrap import App
from braindex.domain.brief import EntitiesMoved
from braindex.registry.memory_file import MEMORY_FILE
from braindex.services.brief_history import UnknownVersion

SOURCE = "def first():\n    return 1\n\n\ndef second():\n    return 2\n"


@pytest.fixture
def root(make_project: MakeProject) -> Path:
    return make_project({"a.py": SOURCE, "README.md": "# Shop\n\nSells apples.\n"}, "shop")


def test_each_replaced_brief_is_kept_and_survives_a_rebuild(app: App, root: Path) -> None:
    workspace = scanned(app, root)
    first = app.briefs.text(workspace)
    assert app.brief_history.versions(workspace) == []
    app.briefs.update(workspace, "# Mine\n\nOne.\n")
    app.briefs.update(workspace, "# Mine\n\nTwo.\n")
    assert app.scans.start(workspace, afresh=True).wait(60) is not None
    found = app.brief_history.versions(workspace)
    assert [one.text for one in found] == ["# Mine\n\nOne.\n", first]
    assert [one.given for one in found] == [True, False]
    app.briefs.update(workspace, "# Mine\n\nTwo.\n")
    assert len(app.brief_history.versions(workspace)) == 2


def test_a_diff_leads_from_a_version_to_the_present_or_to_another(app: App, root: Path) -> None:
    workspace = scanned(app, root)
    for number in ("One", "Two", "Three"):
        app.briefs.update(workspace, f"# Mine\n\n{number}.\n")
    two, one, _ = app.brief_history.versions(workspace)
    assert app.brief_history.diff(workspace, one.id)[-2:] == ["-One.", "+Three."]
    assert app.brief_history.diff(workspace, one.id, two.id)[-2:] == ["-One.", "+Two."]
    assert app.brief_history.diff(workspace, one.id, one.id) == []
    for unknown in ("", "../brief", "20260101T000000000000Z-000000000000"):
        with pytest.raises(UnknownVersion):
            app.brief_history.diff(workspace, unknown)


def test_how_far_the_code_moved_is_counted_in_entities(app: App, root: Path) -> None:
    workspace = scanned(app, root)
    assert app.brief_history.moved(workspace) == EntitiesMoved(0, 0, 0)
    (root / "a.py").write_text("def first():\n    return 11\n\n\ndef third():\n    return 3\n")
    app.scans.run(workspace)
    moved = app.brief_history.moved(workspace)
    assert moved is not None
    assert (moved.added, moved.removed) == (1, 1)
    assert moved.changed >= 1
    app.briefs.update(workspace)
    assert app.brief_history.moved(workspace) == EntitiesMoved(0, 0, 0)


def test_a_workspace_without_a_brief_has_no_history(app: App, root: Path) -> None:
    workspace = app.workspaces.open(root)
    assert app.brief_history.versions(workspace) == []
    assert app.brief_history.moved(workspace) is None


def test_what_a_workspace_takes_on_disk_is_told_by_part(app: App, root: Path) -> None:
    workspace = scanned(app, root)
    app.notes.save(workspace, "a note")
    app.briefs.update(workspace, "# Mine\n\nOne.\n")
    folder = app.workspaces.folder(workspace)
    found = app.footprint.of(workspace)
    assert found.parts["memory"] >= (folder / MEMORY_FILE).stat().st_size > 0
    assert found.parts["index"] > 0
    assert found.parts["brief"] > 0
    assert found.total == sum(one.lstat().st_size for one in folder.rglob("*") if one.is_file())
    assert found.as_json()["total"] == found.total
