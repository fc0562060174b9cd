import os
from pathlib import Path

import pytest

from braindex.bootstrap import App
from braindex.domain.options import WorkspaceOptions
from braindex.services.behind import Behind, behind

NOW_AND_THEN = 1_700_000_000


@pytest.fixture
def scanned(app: App, make_project) -> Path:
    root: Path = make_project({"a.py": "A = 1\n", "b.py": "B = 1\n", "c.bin": b"\x00"})
    for one in root.iterdir():
        os.utime(one, (NOW_AND_THEN, NOW_AND_THEN))
    app.scans.run(app.workspaces.open(root))
    return root


def look(app: App, root: Path) -> Behind:
    with app.workspaces.open_index(app.workspaces.open(root)) as store:
        return behind(root, store, WorkspaceOptions(), app.workspaces.data_folder)


def test_nothing_is_behind_after_a_scan(app: App, scanned: Path) -> None:
    found = look(app, scanned)
    assert not found
    assert (found.words, found.seen, found.unsettled) == ("", 3, 0)


def test_what_changed_is_counted_and_said_in_words(app: App, scanned: Path) -> None:
    (scanned / "a.py").write_text("A = 22\n")
    assert look(app, scanned).words == "1 file changed since the last scan"
    (scanned / "b.py").rename(scanned / "d.py")
    (scanned / "c.bin").write_text("text by now\n")
    assert look(app, scanned) == Behind(seen=3, changed=2, added=1, removed=1, unsettled=0)
    assert look(app, scanned).words == "2 files changed, 1 added, 1 removed since the last scan"


def test_a_file_of_the_moment_of_the_scan_is_read_and_not_taken_for_changed(app: App, make_project) -> None:
    root = make_project({"a.py": "A = 1\n"})
    app.scans.run(app.workspaces.open(root))
    before = (root / "a.py").stat()
    assert not look(app, root)
    (root / "a.py").write_text("A = 2\n")
    os.utime(root / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert look(app, root).changed == 1
