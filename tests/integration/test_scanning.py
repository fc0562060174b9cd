import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.fakes.embedders import OneEmbedder
from tests.fakes.first_scan import FirstScan, many_files

from braindex.bootstrap import App
from braindex.domain.memories import Note
from braindex.domain.options import WorkspaceOptions
from braindex.domain.ports import Passage, Vector
from braindex.domain.results import Question, Workspace
from braindex.embedding.bundled import BundledEmbedder
from braindex.indexing import passages
from braindex.indexing.walk import RootEmptied
from braindex.registry.memory import MemoryStore
from braindex.services import ingest, reading
from braindex.services.counts import ScanStopped
from braindex.services.roots import PathMissing
from braindex.services.scan import ScanParts, Scans
from braindex.services.workspaces import StillThere
from braindex.vectors.index import DenseIndexes

T = "2026-11-01T10:00:00.000000Z"
SHOP = {
    "cart.py": '"""The shopping cart."""\n\n\ndef add_item(cart, item):\n    """Put an item into the cart."""\n    cart.append(item)\n\n\ndef total(cart):\n    return sum(one.price for one in cart)\n',
    "web/pay.js": "// Charges a card.\nexport function chargeCard(card, amount) {\n  return gateway.charge(card, amount);\n}\n",
    "README.md": "# Shop\n\n## Refunds\n\nHow money goes back.\n",
    "style.css": ".price-tag { color: red; }\n",
    "notes.txt": "Remember the VAT number.\n",
}


class CountingEmbedder(BundledEmbedder):
    """The real model, counting what it embeds."""

    def __init__(self, model: str = "counting-1") -> None:
        super().__init__()
        self.model = model
        self.embedded: list[str] = []

    def passages(self, passages: Sequence[Passage]) -> list[Vector | None]:
        self.embedded += [one.name for one in passages]
        return super().passages(passages)


def _scans(app: App, embedder: CountingEmbedder) -> Scans:
    return Scans(app.workspaces, ScanParts(OneEmbedder(embedder), DenseIndexes().of, lambda _: WorkspaceOptions()))


def _found(app: App, workspace: Workspace, text: str) -> list[str]:
    return [f"{one.path}:{one.name}" for one in app.asking.ask(workspace, Question(text)).sources]


def _digest(app: App, workspace: Workspace) -> dict[str, tuple[int, bytes | None]]:
    with app.workspaces.open_index(workspace) as store:
        rows = store.rows_of([one.id for one in store.entities(store.rows()).values()])
        vectors = store.vectors(rows.values())
        return {identifier: (row, vectors.get(row)) for identifier, row in rows.items()}


def test_a_scan_finds_entities_of_every_language_and_says_what_it_did(app: App, make_project) -> None:
    workspace = app.workspaces.open(make_project(SHOP))
    summary = app.scans.run(workspace)
    assert (summary.files, summary.added, summary.changed, summary.removed) == (5, 5, 0, 0)
    status = app.scans.status(workspace)
    assert status.state == "complete"
    assert status.complete
    assert {"python", "javascript", "markdown", "css", "text"} <= set(status.languages)


def test_a_second_scan_of_an_unchanged_tree_parses_and_embeds_nothing(app: App, make_project, monkeypatch) -> None:
    root = make_project(SHOP)
    for file in root.rglob("*"):
        os.utime(file, ns=(1_700_000_000_000_000_000, 1_700_000_000_000_000_000))
    embedder = CountingEmbedder()
    scans = _scans(app, embedder)
    workspace = app.workspaces.open(root)
    scans.run(workspace)
    before = _digest(app, workspace)
    embedder.embedded.clear()
    read: list[str] = []
    monkeypatch.setattr(reading, "read_text", lambda *given: read.append(given[1].path))
    summary = scans.run(workspace)
    assert (summary.added, summary.changed, summary.removed) == (0, 0, 0)
    assert (read, embedder.embedded) == ([], [])
    assert _digest(app, workspace) == before


def test_a_file_that_was_only_touched_is_read_and_not_embedded(app: App, make_project) -> None:
    root = make_project(SHOP)
    embedder = CountingEmbedder()
    scans = _scans(app, embedder)
    workspace = app.workspaces.open(root)
    scans.run(workspace)
    embedder.embedded.clear()
    os.utime(root / "cart.py", (1, 1))
    assert scans.run(workspace).changed == 0
    assert embedder.embedded == []


def test_of_a_changed_file_only_the_changed_entities_are_embedded_anew(app: App, make_project) -> None:
    root = make_project(SHOP)
    embedder = CountingEmbedder()
    scans = _scans(app, embedder)
    workspace = app.workspaces.open(root)
    scans.run(workspace)
    before = _digest(app, workspace)
    embedder.embedded.clear()
    source = (root / "cart.py").read_text().replace("return sum", "\n    # counts everything\n    return 2 * sum")
    (root / "cart.py").write_text(source)
    summary = scans.run(workspace)
    after = _digest(app, workspace)
    assert (summary.added, summary.changed, summary.removed) == (0, 1, 0)
    assert embedder.embedded == ["total"]
    assert set(before) == set(after)
    assert sum(before[one] != after[one] for one in before) == 1
    assert all(before[one][0] == after[one][0] for one in before)


def test_deleted_renamed_and_newly_ignored_files_leave_nothing_behind(app: App, make_project) -> None:
    root = make_project(SHOP)
    workspace = app.workspaces.open(root)
    app.scans.run(workspace)
    assert "web/pay.js:chargeCard" in _found(app, workspace, "chargeCard")
    (root / "web/pay.js").rename(root / "web/bill.js")
    (root / "style.css").unlink()
    (root / ".memignore").write_text("*.txt\n")
    summary = app.scans.run(workspace)
    assert summary.removed == 3
    found = _found(app, workspace, "chargeCard")
    assert "web/bill.js:chargeCard" in found
    assert not any(one.startswith("web/pay.js") for one in found)
    for question in ("price-tag", "VAT number", "remember the number"):
        assert not [one for one in _found(app, workspace, question) if one.startswith(("style.css", "notes.txt"))]
    with app.workspaces.open_index(workspace) as store:
        assert set(store.files()) == {".memignore", "README.md", "cart.py", "web/bill.js"}
        assert len(store.rows()) == store.entity_count() == len(_digest(app, workspace))


def test_a_file_that_turned_binary_leaves_nothing_behind_and_has_a_reason(app: App, make_project) -> None:
    root = make_project(SHOP)
    workspace = app.workspaces.open(root)
    app.scans.run(workspace)
    (root / "cart.py").write_bytes(b"\x00\x01binary")
    summary = app.scans.run(workspace)
    assert [one.path for one in summary.skipped] == ["cart.py"]
    assert not [one for one in _found(app, workspace, "add_item") if one.startswith("cart.py")]


def test_a_file_that_was_refused_is_indexed_once_it_is_mended(app: App, make_project) -> None:
    root = make_project({**SHOP, "late.py": b"\x00"})
    workspace = app.workspaces.open(root)
    assert [one.path for one in app.scans.run(workspace).skipped] == ["late.py"]
    assert app.scans.status(workspace).files == len(SHOP)
    (root / "late.py").write_text("def late_arrival():\n    pass\n")
    summary = app.scans.run(workspace)
    assert (summary.added, summary.changed, summary.removed, summary.skipped) == (1, 0, 0, ())
    assert "late.py:late_arrival" in _found(app, workspace, "late_arrival")
    (root / "late.py").write_bytes(b"\x00")
    assert app.scans.run(workspace).removed == 1
    (root / "late.py").unlink()
    summary = app.scans.run(workspace)
    assert (summary.removed, summary.skipped) == (0, ())


def test_a_changed_list_of_bare_files_counts_for_files_that_did_not_change(app: App, make_project) -> None:
    workspace = app.workspaces.open(make_project(SHOP))
    embedder = CountingEmbedder()

    def scans(*bare: str) -> Scans:
        parts = ScanParts(OneEmbedder(embedder), DenseIndexes().of, lambda _: WorkspaceOptions(skip_bare_files=bare))
        return Scans(app.workspaces, parts)

    scans().run(workspace)
    assert "notes.txt:notes.txt" in _found(app, workspace, "VAT number")
    scans(".txt").run(workspace)
    with app.workspaces.open_index(workspace) as store:
        assert (store.of_file("notes.txt"), "notes.txt" in store.files()) == ([], True)
    scans().run(workspace)
    with app.workspaces.open_index(workspace) as store:
        assert [one.entity.name for one in store.of_file("notes.txt")] == ["notes.txt"]


def test_one_bad_file_never_ends_a_scan(app: App, make_project, monkeypatch) -> None:
    def index_file(path: str, *rest):
        if path == "cart.py":
            raise RuntimeError("the grammar lost its mind")
        return real(path, *rest)

    real = passages.index_file
    monkeypatch.setattr(reading, "index_file", index_file)
    workspace = app.workspaces.open(make_project(SHOP))
    summary = app.scans.run(workspace)
    assert summary.added == 4
    assert [(one.path, "RuntimeError" in one.reason) for one in summary.skipped] == [("cart.py", True)]


def test_another_embedding_model_is_noticed_and_everything_is_embedded_anew(app: App, make_project) -> None:
    workspace = app.workspaces.open(make_project(SHOP))
    _scans(app, CountingEmbedder("old-model")).run(workspace)
    other = CountingEmbedder("new-model")
    summary = _scans(app, other).run(workspace)
    assert summary.added == 5
    assert {"add_item", "total", "chargeCard"} <= set(other.embedded)
    with app.workspaces.open_index(workspace) as store:
        assert (store.model() or "").startswith("new-model/")


def test_an_upgrade_that_indexes_differently_indexes_every_file_anew(app: App, make_project, monkeypatch) -> None:
    workspace = app.workspaces.open(make_project(SHOP))
    app.scans.run(workspace)
    monkeypatch.setattr(ingest, "VERSION", passages.VERSION + 1)
    summary = app.scans.run(workspace)
    assert summary.added == 5
    assert "cart.py:add_item" in _found(app, workspace, "add_item")


def test_a_root_that_is_gone_or_emptied_is_an_error_and_purges_nothing(app: App, make_project, tmp_path: Path) -> None:
    root = make_project(SHOP)
    workspace = app.workspaces.open(root)
    entities = app.scans.run(workspace).entities
    root.rename(tmp_path / "elsewhere")
    with pytest.raises(PathMissing):
        app.scans.run(workspace)
    root.mkdir()
    with pytest.raises(RootEmptied):
        app.scans.run(workspace)
    status = app.scans.status(workspace)
    assert status.entities == entities
    assert status.state == "failed"
    assert "empty" in (status.last_error or "")


def test_secrets_are_neither_indexed_nor_found(app: App, make_project) -> None:
    kind = "PRIVATE " + "KEY"  # in two parts, so that this file is not taken for what it tests
    line = "MIIEvQIBADAN" + "BgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n"
    key = f"-----BEGIN {kind}-----\n{line * 8}-----END {kind}-----\n"
    root = make_project({**SHOP, "prod.env": "SECRET_TOKEN=hunter2hunter2\n", ".env": "A=hunter2\n", "keys.txt": key})
    workspace = app.workspaces.open(root)
    summary = app.scans.run(workspace)
    assert {"prod.env", ".env", "keys.txt"} <= {one.path for one in summary.skipped}
    for file in app.workspaces.folder(workspace).rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            assert b"hunter2" not in content, file
            assert b"MIIEvQIBADANBgkqhkiG9w0" not in content, file


def test_a_background_scan_is_joined_by_whoever_asks_for_the_same(app: App, make_project) -> None:
    workspace = app.workspaces.open(make_project(SHOP))
    first, second = app.scans.start(workspace), app.scans.start(workspace)
    summary = first.wait(60)
    assert summary is not None
    assert second.wait(60) is not None
    assert summary.files == 5


def test_nothing_starts_after_the_scans_were_stopped(app: App, make_project) -> None:
    workspace = app.workspaces.open(make_project(SHOP))
    app.scans.stop()
    with pytest.raises(ScanStopped):
        app.scans.start(workspace).wait(60)


def _many(count: int) -> dict[str, str]:
    return {
        f"pkg/module_{number}.py": f"def function_{number}(value):\n    return value + {number}\n" * 3
        for number in range(count)
    }


def test_a_killed_scan_is_said_to_be_partial_and_the_next_one_heals_it(app: App, brain: Path, make_project) -> None:
    root = make_project(many_files())
    with FirstScan(brain, root) as first:
        first.kill()
    workspace = app.workspaces.open(root)
    status = app.scans.status(workspace)
    assert status.state == "interrupted"
    assert not status.complete
    assert 0 < status.files < first.total
    summary = app.scans.run(workspace)
    assert summary.files == first.total
    assert app.scans.status(workspace).state == "complete"
    with app.workspaces.open_index(workspace) as store:
        names = {one.entity.name for one in store.entities(store.rows()).values()}
    assert {f"function_{number}" for number in range(first.total)} <= names


def test_a_workspace_that_is_dropped_during_its_scan_stays_dropped(app: App, make_project) -> None:
    workspace = app.workspaces.open(make_project(_many(1500)))
    handle = app.scans.start(workspace)
    while handle.running and not handle.progress().entities:
        handle.wait(0.01)
    app.workspaces.drop(workspace)
    with pytest.raises(ScanStopped):
        handle.wait(60)
    assert app.workspaces.list() == []
    assert not app.workspaces.folder(workspace).exists()


def test_two_workspaces_with_names_in_chinese_have_different_ids_and_are_found_by_path(app: App, make_project) -> None:
    one = app.workspaces.open(make_project({"a.py": "def eins(): pass\n"}, "项目一"))
    other = app.workspaces.open(make_project({"b.py": "def zwei(): pass\n"}, "项目二"))
    for new in (one, other):
        app.workspaces.register(new)
    assert one.id != other.id
    assert app.workspaces.find(one.path) == one
    assert app.workspaces.find(other.path) == other


def test_a_moved_folder_is_offered_its_old_notes(app: App, make_project, tmp_path: Path) -> None:
    root = make_project(SHOP, "old place/shop")
    old = app.workspaces.open(root)
    app.scans.run(old)
    note = Note("0123456789abcdef", "The VAT number is on file.", created=T, updated=T)
    with MemoryStore.open(app.workspaces.folder(old)) as memory:
        memory.add_note(note)
    (tmp_path / "new place").mkdir()
    moved = root.rename(tmp_path / "new place" / "shop")
    new = app.workspaces.open(moved)
    [offer] = app.scans.run(new).notes
    assert f"braindex workspaces merge {old.id[:8]} {new.id[:8]}" in offer
    app.workspaces.merge(old, new)
    with MemoryStore.open(app.workspaces.folder(new)) as memory:
        assert memory.notes() == [note]
    assert [one.workspace.id for one in app.workspaces.list()] == [new.id]


def test_everything_in_the_data_folder_is_for_its_owner_alone(app: App, brain: Path, make_project) -> None:
    workspace = app.workspaces.open(make_project(SHOP))
    app.scans.run(workspace)
    open_to_others = [
        (str(one.relative_to(brain)), oct(one.stat().st_mode & 0o777))
        for one in [brain, *brain.rglob("*")]
        if one.stat().st_mode & 0o077
    ]
    assert open_to_others == []


def test_the_vector_index_can_be_left_for_after_the_answer(app: App, make_project) -> None:
    workspace = app.workspaces.open(make_project(SHOP))
    dense = DenseIndexes(exact_limit=1)
    scans = Scans(app.workspaces, ScanParts(OneEmbedder(BundledEmbedder()), dense.of, lambda _: WorkspaceOptions()))
    scans.run(workspace, sync=False)
    folder = app.workspaces.folder(workspace)
    assert not (folder / "vector_db").exists()
    assert "cart.py:add_item" in _found(app, workspace, "add_item")
    scans.sync(workspace)
    assert (folder / "vector_db" / "chroma.sqlite3").exists()
    with app.workspaces.open_index(workspace) as store:
        assert store.outbox(1) == []
        assert store.vector_count() == store.entity_count()


def test_looking_at_a_folder_does_not_make_it_a_known_workspace(app: App, make_project) -> None:
    workspace = app.workspaces.open(make_project(SHOP))
    assert app.scans.status(workspace).state == "never"
    assert app.workspaces.list() == []
    assert not app.workspaces.folder(workspace).exists()
    app.scans.run(workspace)
    assert [one.workspace for one in app.workspaces.list()] == [workspace]


def test_two_folders_that_both_exist_are_not_merged(app: App, make_project) -> None:
    one, other = (app.workspaces.open(make_project(SHOP, name)) for name in ("one", "other"))
    app.scans.run(one)
    app.scans.run(other)
    with pytest.raises(StillThere, match="still there"):
        app.workspaces.merge(one, other)
    assert len(app.workspaces.list()) == 2
