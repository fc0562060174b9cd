"""Whatever happens to the index of a workspace, its notes and episodes stay as they are."""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.fakes.embedders import OneEmbedder

from braindex.bootstrap import App
from braindex.domain.entities import KINDS
from braindex.domain.memories import About, Episode, MemoryVector, Note
from braindex.domain.options import WorkspaceOptions
from braindex.domain.results import Question, Workspace
from braindex.embedding.bundled import BundledEmbedder
from braindex.registry.index import INDEX_FILE, set_aside
from braindex.registry.memory import MemoryStore
from braindex.registry.memory_file import MEMORY_FILE
from braindex.services.scan import ScanParts, Scans
from braindex.vectors.index import DenseIndexes

TIME = "2026-11-01T10:00:00.000000Z"
FILES = {"cart.py": "def add_item(cart, item):\n    cart.append(item)\n", "README.md": "# Shop\n\n## Refunds\n"}


class OtherModel(BundledEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.model = "another-model"


def remembered(folder: Path) -> str:
    """A digest of every row that cannot be made again, and of the vectors that nobody asked to make again."""
    with MemoryStore.open(folder, create=False) as store:
        ids, matrix = store.vectors("m")
        found = [*(one.as_json() for one in store.each_note()), *(one.as_json() for one in store.each_episode()), ids]
        return hashlib.sha256(json.dumps(found).encode() + matrix).hexdigest()


@pytest.fixture
def workspace(app: App, make_project: Callable[..., Path]) -> Iterator[Workspace]:
    made = app.workspaces.open(make_project(FILES))
    app.scans.run(made)
    folder = app.workspaces.folder(made)
    with MemoryStore.open(folder) as store:
        for number, kind in enumerate(sorted(KINDS)):
            about = (About("cart.py", "add_item", "ff"), About("README.md"))
            store.add_note(Note(f"{number:016x}", f"of {kind}", kind, "cursor", TIME, TIME, about))
            store.add_episode(
                Episode(f"e{number:015x}", kind, "cursor", "s", TIME, "asked", "done", files=("cart.py",))
            )
        pending = store.without_vector("m", 500)
        store.put_vectors("m", [MemoryVector(one.memory.id, one.stamp, bytes(16)) for one in pending])
    before = remembered(folder)
    yield made
    assert remembered(folder) == before
    with MemoryStore.open(folder) as store:
        assert (store.counts().notes, store.counts().categories) == (len(KINDS), dict.fromkeys(sorted(KINDS), 1))
    assert [one.name for one in folder.glob(f"{MEMORY_FILE}*")] == [MEMORY_FILE]


def test_notes_of_every_category_outlive_scans_of_what_changed_and_what_is_gone(app: App, workspace: Workspace) -> None:
    root = Path(workspace.path)
    (root / "cart.py").unlink()
    (root / "new.py").write_text("def newest():\n    pass\n")
    app.scans.run(workspace)
    (root / ".memignore").write_text("*\n")
    app.scans.run(workspace)


def test_notes_outlive_an_index_that_is_cleared(app: App, workspace: Workspace) -> None:
    with app.workspaces.open_index(workspace) as store:
        store.clear()
    app.scans.run(workspace)


def test_notes_outlive_an_index_that_is_damaged_and_heals(app: App, workspace: Workspace) -> None:
    folder = app.workspaces.folder(workspace)
    (folder / INDEX_FILE).write_bytes(b"not a database" * 500)
    app.asking.ask(workspace, Question("add_item"))
    app.scans.run(workspace)
    assert app.asking.ask(workspace, Question("add_item")).sources[0].name == "add_item"
    assert len(list(folder.glob(f"{INDEX_FILE}.damaged-*"))) >= 1


def test_notes_outlive_an_index_that_is_set_aside_or_deleted(app: App, workspace: Workspace) -> None:
    folder = app.workspaces.folder(workspace)
    assert set_aside(folder) is not None
    app.scans.run(workspace)
    app.close()
    for one in folder.glob(f"{INDEX_FILE}*"):
        one.unlink()
    app.scans.run(workspace)
    assert app.scans.status(workspace).state == "complete"


def test_notes_outlive_a_change_of_the_embedding_model(app: App, workspace: Workspace) -> None:
    parts = ScanParts(OneEmbedder(OtherModel()), DenseIndexes().of, lambda _: WorkspaceOptions())
    Scans(app.workspaces, parts).run(workspace)
    with app.workspaces.open_index(workspace) as store:
        assert (store.model() or "").startswith("another-model/")


def test_notes_outlive_a_damaged_registry(app: App, workspace: Workspace, brain: Path) -> None:
    (brain / "registry.db").write_bytes(b"not a database" * 500)
    assert [one.workspace for one in app.workspaces.list()] == [workspace]
    app.scans.run(workspace)


def test_notes_saved_while_a_scan_is_at_work_stay(app: App, make_project: Callable[..., Path]) -> None:
    files = {f"m{number}.py": f"def merge_{number}():\n    pass\n" for number in range(300)}
    made = app.workspaces.open(make_project(files, "large"))
    app.workspaces.register(made)
    handle = app.scans.start(made)
    with MemoryStore.open(app.workspaces.folder(made)) as store:
        for number in range(20):
            store.add_note(Note(f"{number:016x}", "saved meanwhile", "function", created=TIME, updated=TIME))
        handle.wait(60)
        assert store.counts().notes == 20


def test_dropping_a_workspace_takes_its_notes_and_no_other_s(app: App, workspace: Workspace, make_project) -> None:
    other = app.workspaces.open(make_project(FILES, "other"))
    app.scans.run(other)
    folder = app.workspaces.folder(other)
    with MemoryStore.open(folder) as store:
        store.add_note(Note("f" * 16, "goes", created=TIME, updated=TIME))
    app.workspaces.drop(other)
    assert not folder.exists()
