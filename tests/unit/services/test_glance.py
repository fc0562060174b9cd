"""A glance at a folder in which nothing was behind: it notices whatever a walk would notice."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from braindex.bootstrap import App
from braindex.domain.options import WorkspaceOptions
from braindex.services import glance as glances
from braindex.services.behind import behind
from braindex.services.glance import Glance

OPTIONS = WorkspaceOptions()
LONG_AGO = 1_500_000_000 * 10**9


def aged(root: Path) -> None:
    """Everything as if it had been written long ago, in its own order."""
    for number, one in enumerate(sorted([root, *root.rglob("*")], key=lambda one: -len(one.parts))):
        os.utime(one, ns=(LONG_AGO + number, LONG_AGO + number))


@pytest.fixture
def root(make_project) -> Path:
    files = {
        "a.py": "def a():\n    pass\n", "src/b.py": "b = 1\n", "logo.png": "not text", ".gitignore": "/built/\n",
        "built/c.py": "c = 1\n",
    }  # fmt: skip
    project: Path = make_project(files)
    (project / "docs" / "empty").mkdir(parents=True)
    aged(project)
    return project


@pytest.fixture
def look(app: App, root: Path) -> Callable[[], Glance | None]:
    """A look that finds nothing behind, and what it leaves for the next one."""
    workspace = app.workspaces.open(root)
    app.scans.run(workspace)

    def looked() -> Glance | None:
        found = app.workspaces.with_index(
            workspace, lambda store: behind(root, store, OPTIONS, app.workspaces.data_folder)
        )
        assert not found
        return found.glance

    return looked


@pytest.fixture
def glance(look: Callable[[], Glance | None]) -> Glance:
    found = look()
    assert found is not None
    return found


def test_where_nothing_changes_a_glance_holds(glance) -> None:
    assert glance.still_holds(OPTIONS, glance.generation)


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "a.py").write_text("def other():\n    pass\n"),
        lambda root: (root / "new.py").write_text("new = 1\n"),
        lambda root: (root / "docs" / "empty" / "new.md").write_text("# New\n"),
        lambda root: (root / "docs" / "more").mkdir(),
        lambda root: (root / "src" / "b.py").unlink(),
        lambda root: (root / "src" / "b.py").rename(root / "src" / "z.py"),
        lambda root: (root / "src").rename(root / "lib"),
        lambda root: (root / ".gitignore").write_text("/nothing/\n"),
        lambda root: (root / "logo.png").write_text("another"),
        lambda root: os.utime(root / "a.py", ns=(LONG_AGO, LONG_AGO - 5)),
    ],
    ids=["edit", "new", "new in an empty folder", "folder", "gone", "renamed", "moved", "rules", "left out", "touched"],
)
def test_no_change_passes_a_glance_by(change, glance, root) -> None:
    change(root)
    assert not glance.still_holds(OPTIONS, glance.generation)


def test_what_is_left_out_as_a_whole_is_not_looked_at(glance, root) -> None:
    (root / "built" / "c.py").write_text("c = 2\n")
    assert glance.still_holds(OPTIONS, glance.generation)


def test_another_index_and_other_settings_need_a_walk(glance) -> None:
    assert not glance.still_holds(OPTIONS, glance.generation + 1)
    assert not glance.still_holds(replace(OPTIONS, skip_bare_files=(".txt",)), glance.generation)


def test_what_was_written_just_now_needs_a_walk_the_next_time_too(look, root, app) -> None:
    (root / "a.py").write_text("def a():\n    return 1\n")
    app.scans.run(app.workspaces.open(root))
    assert look() is None


def test_rules_from_outside_the_folder_are_seen_after_some_seconds(glance) -> None:
    old = replace(glance, made=glance.made - glances.VALID_SECONDS - 1)
    assert not old.still_holds(OPTIONS, glance.generation)
