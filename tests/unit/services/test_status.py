import os
from pathlib import Path

import pytest
from tests.conftest import scanned

from braindex.bootstrap import App
from braindex.domain.results import ScanProgress, Workspace
from braindex.registry.scan_record import ScanRecord, write_record
from braindex.services.workspaces import LOCK_FILE


@pytest.fixture
def root(make_project) -> Path:
    project: Path = make_project({"a.py": "A = 1\n", "b.py": "B = 1\n"})
    for one in project.iterdir():
        os.utime(one, (1_700_000_000, 1_700_000_000))
    return project


def test_a_workspace_that_was_never_scanned_says_so_and_stays_unknown(app: App, root: Path) -> None:
    workspace = app.workspaces.open(root)
    assert app.status.of(workspace).as_json()["freshness"].startswith("never scanned")
    assert not app.workspaces.folder(workspace).exists()


def test_what_is_behind_is_told_and_not_taken_in(app: App, root: Path) -> None:
    workspace = scanned(app, root)
    assert app.status.of(workspace).freshness == "current"
    (root / "new.py").write_text("C = 1\n")
    assert app.status.of(workspace).freshness == "1 file added since the last scan"
    status = app.status.of(workspace)
    assert (status.state, status.files, status.freshness) == ("complete", 2, "1 file added since the last scan")


def test_a_folder_that_is_gone_is_not_called_current(app: App, root: Path, tmp_path: Path) -> None:
    workspace = scanned(app, root)
    root.rename(tmp_path / "elsewhere")
    assert app.status.of(workspace).freshness.startswith("not known: ")


def interrupted(app: App, workspace: Workspace) -> None:
    with app.workspaces.open_index(workspace) as store:
        store.scan_started("2026-11-01T10:00:00+00:00")


def test_a_later_scan_that_was_cut_short_says_what_is_missing(app: App, root: Path) -> None:
    workspace = scanned(app, root)
    interrupted(app, workspace)
    line = "an earlier scan was cut short: {}; the next scan or question goes on from there"
    assert app.status.of(workspace).freshness == line.format("all files are indexed as they are")
    (root / "a.py").write_text("A = 22\n")
    assert app.status.of(workspace).freshness == line.format("1 file changed since the last scan")


def test_a_record_without_the_lock_is_no_scan_that_runs(app: App, root: Path) -> None:
    workspace = scanned(app, root)
    folder = app.workspaces.folder(workspace)
    write_record(folder, ScanRecord("one", 1, "", ScanProgress("parsing", 1, 2, 3)))
    (folder / LOCK_FILE).touch()
    status = app.status.of(workspace)
    assert (status.state, status.progress, status.freshness) == ("complete", None, "current")
