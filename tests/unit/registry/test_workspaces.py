import json
from pathlib import Path

import pytest

from braindex.domain.identity import short_id, workspace_id
from braindex.domain.results import Workspace, WorkspaceInfo
from braindex.registry.index import INDEX_FILE, IndexStore
from braindex.registry.workspaces import REGISTRY_FILE, WORKSPACE_FILE, Workspaces


def workspace(path: str, created: str = "2026-11-01T10:00:00+00:00") -> Workspace:
    return Workspace(workspace_id(path), path.rsplit("/", 1)[-1], path, created)


def corrupt(brain: Path) -> None:
    (brain / REGISTRY_FILE).write_bytes(b"not a database" * 500)


def test_a_workspace_is_remembered_with_a_description_beside_its_data(tmp_path: Path) -> None:
    one = workspace("/projects/記憶")
    with Workspaces.open(tmp_path) as known:
        assert known.upsert(one) == one
        assert known.get(one.id) == one
        described = json.loads((known.folder(one.id) / WORKSPACE_FILE).read_text(encoding="utf-8"))
    assert described == {"id": one.id, "name": "記憶", "path": "/projects/記憶", "created": one.created}
    with Workspaces.open(tmp_path) as known:
        assert known.get(one.id) == one


def test_a_known_workspace_keeps_its_creation_and_its_counts(tmp_path: Path) -> None:
    one = workspace("/projects/shop")
    with Workspaces.open(tmp_path) as known:
        known.upsert(one)
        assert known.record_scan(one.id, 3, 40, "2026-11-02")
        again = known.upsert(Workspace(one.id, "renamed", one.path, "2030"))
        assert again == Workspace(one.id, "renamed", one.path, one.created)
        assert known.info(one.id) == WorkspaceInfo(again, 3, 40, "2026-11-02", exists=False)


def test_the_list_is_by_name_and_says_whose_folder_is_gone(tmp_path: Path) -> None:
    there = tmp_path / "alive"
    there.mkdir()
    with Workspaces.open(tmp_path / "brain") as known:
        known.upsert(workspace("/gone/zebra"))
        known.upsert(workspace(str(there)))
        assert [(one.workspace.name, one.exists) for one in known.list()] == [
            ("alive", True),
            ("zebra", False),
        ]


def test_a_workspace_is_found_by_id_short_id_name_and_path(tmp_path: Path) -> None:
    one, other = workspace("/projects/Shop"), workspace("/projects/other")
    with Workspaces.open(tmp_path) as known:
        known.upsert(one)
        known.upsert(other)
        for text in (one.id, one.id.upper(), short_id(one.id), one.id[:4], "Shop", "shop", "/projects/Shop"):
            assert known.find(text) == [one], text
        for text in (one.id[:3], "sho", "/projects", "", "%", "____", "nothing"):
            assert known.find(text) == [], text


def test_all_workspaces_of_one_name_are_found(tmp_path: Path) -> None:
    one, other = workspace("/a/shop"), workspace("/b/shop")
    with Workspaces.open(tmp_path) as known:
        known.upsert(one)
        known.upsert(other)
        assert known.find("shop") == [one, other]
        assert known.find("/b/shop") == [other]


def test_a_name_that_looks_like_the_start_of_an_id_finds_both(tmp_path: Path) -> None:
    one = workspace("/a/one")
    named = workspace(f"/b/{short_id(one.id)}")
    with Workspaces.open(tmp_path) as known:
        known.upsert(one)
        known.upsert(named)
        assert {found.id for found in known.find(short_id(one.id))} == {one.id, named.id}


def test_a_removed_workspace_does_not_come_back_with_a_rebuilt_registry(tmp_path: Path) -> None:
    one, other = workspace("/a/one"), workspace("/a/other")
    with Workspaces.open(tmp_path) as known:
        known.upsert(one)
        known.upsert(other)
        assert known.remove(one.id)
        assert not known.remove(one.id)
        assert not known.record_scan(one.id, 1, 1, "now")
    corrupt(tmp_path)
    with Workspaces.open(tmp_path) as known:
        assert [found.workspace for found in known.list()] == [other]


def test_a_damaged_registry_is_kept_aside_and_rebuilt_from_the_descriptions(tmp_path: Path) -> None:
    one = workspace("/a/one")
    with Workspaces.open(tmp_path) as known:
        known.upsert(one)
        known.record_scan(one.id, 1, 2, "now")
    corrupt(tmp_path)
    broken = known.folder("broken")
    broken.mkdir()
    (broken / WORKSPACE_FILE).write_text("{", encoding="utf-8")
    foreign = known.folder("foreign")
    foreign.mkdir()
    (foreign / WORKSPACE_FILE).write_text(
        (known.folder(one.id) / WORKSPACE_FILE).read_text(encoding="utf-8"), encoding="utf-8"
    )
    with Workspaces.open(tmp_path) as known:
        assert [found.workspace for found in known.list()] == [one]
    [kept] = tmp_path.glob("registry.db.damaged-*")
    assert kept.read_bytes() == b"not a database" * 500


def test_a_rebuilt_registry_has_the_counts_of_the_indexes_that_are_there(unit, file_of, tmp_path: Path) -> None:
    scanned, begun, never, damaged = (workspace(f"/a/{name}") for name in ("scanned", "begun", "never", "damaged"))
    with Workspaces.open(tmp_path) as known:
        for one in (scanned, begun, never, damaged):
            known.upsert(one)
    for one in (scanned, begun):
        with IndexStore.open(known.folder(one.id)) as store:
            store.write([file_of("a.py", unit("a.py"), unit("a.py", "two")), file_of("b.md")])
            if one is scanned:
                store.scan_finished("2026-11-02")
    (known.folder(damaged.id) / INDEX_FILE).write_bytes(b"not a database" * 500)
    corrupt(tmp_path)
    with Workspaces.open(tmp_path) as known:
        found = {one.workspace.name: (one.files, one.entities, one.last_scan) for one in known.list()}
    assert found == {
        "scanned": (2, 2, "2026-11-02"),
        "begun": (2, 2, None),
        "never": (0, 0, None),
        "damaged": (0, 0, None),
    }
    assert not (known.folder(never.id) / INDEX_FILE).exists()


def test_damage_that_shows_only_later_is_healed_on_the_spot(tmp_path: Path) -> None:
    one = workspace("/a/one")
    with Workspaces.open(tmp_path) as known:
        known.upsert(one)
        known._database.run("DROP TABLE workspaces")
        assert known.get(one.id) == one
        assert known.upsert(workspace("/a/two")).name == "two"
        assert len(known.list()) == 2
    assert len(list(tmp_path.glob("registry.db.damaged-*"))) == 1


def test_a_registry_that_was_deleted_is_rebuilt_from_the_descriptions(tmp_path: Path) -> None:
    one = workspace("/a/one")
    with Workspaces.open(tmp_path) as known:
        known.upsert(one)
    (tmp_path / REGISTRY_FILE).unlink()
    with Workspaces.open(tmp_path) as known:
        assert known.get(one.id) == one


@pytest.mark.parametrize("text", ["nothing", "\udcff", ""])
def test_what_is_not_known_is_none(tmp_path: Path, text: str) -> None:
    with Workspaces.open(tmp_path) as known:
        assert known.get(text) is None
        assert known.find(text) == []
    assert not (tmp_path / "workspaces").exists()


@pytest.mark.parametrize("described", [None, "{}", '{"id": "another"}'])
def test_a_workspace_whose_description_is_lost_is_not_known_as_it_is(tmp_path: Path, described: str | None) -> None:
    one = workspace("/a/one")
    with Workspaces.open(tmp_path) as known:
        assert not known.is_current(one)
        known.upsert(one)
        assert known.is_current(one)
        file = known.folder(one.id) / "workspace.json"
        file.unlink() if described is None else file.write_text(described)
        assert known.get(one.id) == one
        assert not known.is_current(one)
        known.upsert(one)
        assert known.is_current(one)
