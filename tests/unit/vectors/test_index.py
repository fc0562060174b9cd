import shutil
import threading
from array import array
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.fakes.chroma import RealChroma

from braindex.registry.index import IndexStore
from braindex.vectors.backing import VectorIndexBusy
from braindex.vectors.chroma import ChromaVectors
from braindex.vectors.index import DenseIndexes, WorkspaceVectors
from braindex.vectors.server import ChromaServer

on_both = pytest.mark.parametrize("world", ["embedded", "server"], indirect=True)


class World:
    """One workspace, searched as a small one (`exact`) and as a large one (`large`), embedded or on a server."""

    def __init__(
        self, folder: Path, store: IndexStore, fill: Callable[..., dict[str, int]], server: ChromaServer | None
    ) -> None:
        self.folder = folder
        self.store = store
        self.fill = partial(fill, store)
        self.small_indexes = DenseIndexes()
        self.large_indexes = DenseIndexes(exact_limit=0, server=server)

    @property
    def exact(self) -> WorkspaceVectors:
        return self.small_indexes.of(self.folder, self.store)

    @property
    def large(self) -> WorkspaceVectors:
        return self.large_indexes.of(self.folder, self.store)

    def close(self) -> None:
        self.small_indexes.close()
        self.large_indexes.close()


@pytest.fixture
def world(
    request: pytest.FixtureRequest, folder: Path, store: IndexStore, fill: Callable[..., dict[str, int]]
) -> Iterator[World]:
    server = None
    if getattr(request, "param", "embedded") == "server":
        real: RealChroma = request.getfixturevalue("real_chroma")
        server = ChromaServer(real.url)
    opened = World(folder, store, fill, server)
    yield opened
    opened.close()


@on_both
def test_both_arms_give_the_same_answer(world, crowd, pack) -> None:
    world.fill(crowd(300))
    index = world.large
    assert index.sync() == 300
    for seed in range(5):
        question = pack(np.random.default_rng(seed).normal(size=16).tolist())
        expected = world.exact.nearest(question, 20)
        assert len(expected) == 20
        assert index.nearest(question, 20) == expected
        assert index.remark == ""


@on_both
def test_distances_are_true_and_of_the_rows_that_have_a_vector(world, pack) -> None:
    rows = world.fill({"same": [1, 0], "right": [0, 1], "none": None})
    for index in (world.exact, world.large):
        found = index.distances(pack([1, 0]), [*rows.values(), 999])
        assert found == pytest.approx({rows["same"]: 0, rows["right"]: 2**0.5}, abs=1e-6)
        assert index.distances(pack([1, 0]), []) == {}


@on_both
def test_a_search_among_some_rows_finds_the_nearest_of_them(world, crowd, pack) -> None:
    rows = list(world.fill(crowd(100)).values())
    question = pack([1.0] * 16)
    everything = world.exact.nearest(question, 100)
    scope = rows[::7]
    expected = [one for one in everything if one[0] in scope][:3]
    for index in (world.exact, world.large):
        assert index.nearest(question, 3, among=[*scope, 10**6]) == expected
        assert index.nearest(question, 3, among=[]) == []


def test_feedback_uses_the_stored_vectors(world, pack) -> None:
    rows = world.fill({"a": [0, 1, 0], "none": None})
    index = world.exact
    mixed = np.frombuffer(index.blend(pack([1, 0, 0]), [(rows["a"], 2.0), (rows["none"], 9.0), (999, 9.0)], 1.0), "<f4")
    assert mixed == pytest.approx([2**-0.5, 2**-0.5, 0], abs=1e-6)


@on_both
def test_an_empty_store_and_no_limit_find_nothing(world, pack) -> None:
    for index in (world.exact, world.large):
        assert index.nearest(pack([1, 0]), 5) == []
    world.fill({"a": [1, 0]})
    for index in (world.exact, world.large):
        assert index.nearest(pack([1, 0]), 0) == []


@on_both
def test_what_chroma_has_not_taken_in_yet_is_found(world, crowd, pack) -> None:
    old = crowd(50)
    world.fill(old)
    index = world.large
    index.sync()
    rows = world.fill({**old, "n3": [9.0] + [0.1] * 15, "new": [10.0] + [0.0] * 15})
    found = index.nearest(pack([1.0] + [0.0] * 15), 3)
    assert [row for row, _ in found[:2]] == [rows["new"], rows["n3"]]


@on_both
def test_what_was_deleted_is_not_found_and_takes_no_place(world, crowd, pack) -> None:
    everything = crowd(200)
    rows = world.fill(everything)
    index = world.large
    index.sync()
    question = pack(everything["n0"])
    nearest = [row for row, _ in index.nearest(question, 60)]
    gone = set(nearest[:40])
    world.fill({name: numbers for name, numbers in everything.items() if rows[name] not in gone})
    found = index.nearest(question, 20)
    assert len(found) == 20
    assert not gone & {row for row, _ in found}
    assert [row for row, _ in found] == nearest[40:60]


@on_both
def test_syncing_again_does_nothing(world, crowd) -> None:
    world.fill(crowd(20))
    index = world.large
    assert (index.sync(), index.sync()) == (20, 0)
    assert world.store.outbox(5) == []
    assert world.store.pending_rows() == []


@on_both
def test_a_stopped_sync_goes_on_at_the_next(world, crowd, pack) -> None:
    world.fill(crowd(4500, 4))
    index = world.large
    assert index.sync(stop=lambda: len(world.store.pending_rows()) < 4500) == 2000
    question = pack([1, 2, 3, 4])
    expected = world.exact.nearest(question, 10)
    assert index.nearest(question, 10) == expected
    assert index.sync() == 2500
    assert index.nearest(question, 10) == expected


@pytest.mark.parametrize("what", ["writing", "reading"])
def test_an_index_that_a_process_died_in_is_answered_exactly_and_then_built_anew(what, world, crowd, pack) -> None:
    world.fill(crowd(100))
    index = world.large
    index.sync()
    (world.folder / f"vector_db.{what}").touch()
    question = pack([1.0] * 16)
    assert index.nearest(question, 10) == world.exact.nearest(question, 10)
    assert index.sync() == 100
    assert not (world.folder / f"vector_db.{what}").exists()
    assert index.nearest(question, 10) == world.exact.nearest(question, 10)


@pytest.mark.parametrize("damage", ["gone", "not a database", "no vectors"])
def test_a_lost_or_damaged_chroma_is_answered_exactly_and_built_anew(world, damage, crowd, pack) -> None:
    vectors = crowd(100)
    world.fill(vectors)
    index = world.large
    index.sync()
    world.large_indexes.close()
    if damage == "gone":
        shutil.rmtree(world.folder / "vector_db")
    elif damage == "not a database":
        (world.folder / "vector_db" / "chroma.sqlite3").write_bytes(b"not a database" * 99)
    else:
        (world.folder / "vector_db" / "chroma.sqlite3").unlink()
    question = pack([1.0] * 16)
    expected = world.exact.nearest(question, 10)
    assert index.nearest(question, 10) == expected
    world.fill({**vectors, "new": [1.0] * 16})
    assert index.sync() >= 101
    assert index.sync() == 0
    found = index.nearest(question, 10)
    assert found == world.exact.nearest(question, 10)
    assert found[0][1] == 0.0


def test_while_chroma_is_busy_the_stored_vectors_answer(world, crowd, pack) -> None:
    world.fill(crowd(50))
    index = world.large
    index.sync()
    question = pack([1.0] * 16)
    expected = world.exact.nearest(question, 5)
    holder, inside, leave = ChromaVectors(world.folder), threading.Event(), threading.Event()

    def hold() -> None:
        with holder.turn():
            inside.set()
            leave.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait()
    try:
        assert index.nearest(question, 5) == expected
        with pytest.raises(VectorIndexBusy):
            index.sync()
    finally:
        leave.set()
        thread.join()
    assert index.sync() == 0


@on_both
def test_a_model_of_another_dimension_replaces_the_old_vectors(world, crowd, pack) -> None:
    world.fill(crowd(50, 16))
    index = world.large
    index.sync()
    world.store.clear()
    world.fill(crowd(30, 8))
    question = pack([1.0] * 8)
    expected = world.exact.nearest(question, 5)
    assert index.nearest(question, 5) == expected
    index.sync()
    assert index.nearest(question, 5) == expected
    assert world.store.outbox(1) == []


def test_a_model_of_the_same_dimension_leaves_nothing_of_the_old_behind(world, crowd, pack) -> None:
    world.fill(crowd(50))
    index = world.large
    index.sync()
    world.store.clear()
    world.fill(crowd(30, seed=8))
    index.sync()
    chroma = ChromaVectors(world.folder)
    world.large_indexes.close()
    with chroma.turn():
        chroma.refresh(world.store.applied_generation())
        assert chroma.count() == 30
    chroma.close()


def test_a_change_is_seen_at_the_next_question(world, crowd, pack) -> None:
    vectors = crowd(20)
    rows = world.fill(vectors)
    index = world.exact
    question = pack(vectors["n4"])
    assert index.nearest(question, 1) == [(rows["n4"], 0.0)]
    world.fill({name: numbers for name, numbers in vectors.items() if name != "n4"})
    assert index.nearest(question, 1)[0][0] != rows["n4"]


def test_after_any_change_the_answer_is_that_of_an_index_that_was_never_open(world, crowd, pack) -> None:
    vectors = crowd(200)
    world.fill(vectors)
    question = pack([1.0] * 16)
    for step in range(12):
        changed = {f"n{step}": [1.0] * 16, f"new{step}": [0.9] * 8 + [1.0] * 8, f"none{step}": None}
        vectors = {**vectors, **changed}
        del vectors[f"n{step + 50}"]
        world.fill(vectors)
        fresh = DenseIndexes().of(world.folder, world.store)
        assert world.exact.nearest(question, 250) == fresh.nearest(question, 250)
    world.store.clear()
    world.fill({"only": [1.0, 0.0]})
    assert [distance for _, distance in world.exact.nearest(pack([1, 0]), 5)] == [0.0]
    world.fill({})
    assert world.exact.nearest(pack([1, 0]), 5) == []


def test_a_small_change_does_not_read_all_vectors_again(world, crowd, pack) -> None:
    read: list[int] = []

    class Counting(IndexStore):
        def stream_vectors(self) -> "Iterator[tuple[array[int], bytearray]]":
            read.append(1)
            return super().stream_vectors()

    vectors = crowd(200)
    world.fill(vectors)
    indexes = DenseIndexes()
    with Counting.open(world.folder) as counting:
        for _ in range(3):
            vectors = {**vectors, f"new{len(vectors)}": [1.0] * 16}
            world.fill(vectors)
            assert indexes.of(world.folder, counting).nearest(pack([1.0] * 16), 1)[0][1] == 0.0
    assert read == [1]


@pytest.mark.parametrize("exact_limit", [0, 100])
def test_two_workspaces_are_searched_apart(exact_limit, tmp_path, fill, pack) -> None:
    indexes = DenseIndexes(exact_limit=exact_limit)
    found = {}
    for name, numbers in (("one", [1.0, 0.0]), ("two", [0.0, 1.0])):
        with IndexStore.open(tmp_path / name) as store:
            fill(store, {name: numbers})
            index = indexes.of(tmp_path / name, store)
            index.sync()
            found[name] = [distance for _, distance in index.nearest(pack([1, 0]), 5)]
    assert found == {"one": [0.0], "two": [pytest.approx(2**0.5, abs=1e-6)]}
    indexes.close()


@pytest.mark.parametrize("exact_limit", [0, 100])
def test_a_forgotten_workspace_can_be_deleted_and_made_again(exact_limit, folder, fill, pack) -> None:
    indexes = DenseIndexes(exact_limit=exact_limit)
    for numbers in ([1.0, 0.0], [0.0, 1.0]):
        with IndexStore.open(folder) as store:
            fill(store, {"a": numbers})
            index = indexes.of(folder, store)
            index.sync()
            assert [distance for _, distance in index.nearest(pack(numbers), 5)] == [0.0]
        indexes.forget(folder)
        shutil.rmtree(folder)


def test_only_a_few_workspaces_stay_open(tmp_path, fill, pack) -> None:
    indexes = DenseIndexes(exact_limit=0, kept_workspaces=2)
    for name in "abcab":
        with IndexStore.open(tmp_path / name) as store:
            fill(store, {name: [1, 0]})
            index = indexes.of(tmp_path / name, store)
            index.sync()
            assert len(index.nearest(pack([1, 0]), 5)) == 1
        assert len(indexes._open) <= 2
    indexes.close()


@pytest.mark.parametrize(("numbers", "exact"), [(256, True), (1536, False)])
def test_longer_vectors_are_held_in_memory_in_smaller_numbers(numbers, exact, store, fill, crowd) -> None:
    rows = fill(store, crowd(20, numbers))
    folder, question = store._database.path.parent, store.vectors(rows.values())[rows["n0"]]
    indexes = DenseIndexes(exact_limit=100)
    found = indexes.of(folder, store).nearest(question, 3)
    assert (found[0][1], len(found)) == (0.0, 3)
    assert bool(indexes._cache._kept) == exact


@on_both
def test_an_index_that_is_as_the_store_has_no_problem_and_what_waits_is_none(world, crowd) -> None:
    assert world.large.problems() == []
    vectors = crowd(1200)
    world.fill(vectors)
    world.large.sync()
    assert world.large.problems() == []
    del vectors["n7"]
    world.fill({**vectors, "n3": [1.0] * 16, "new": [2.0] * 15 + [1.0]})
    assert world.large.problems() == []
    assert world.large.sync() == 3
    assert world.large.problems() == []


def test_an_index_that_holds_other_vectors_than_were_stored_is_not_believed_when_it_is_opened(
    world, crowd, pack
) -> None:
    vectors = crowd(200)
    world.fill(vectors)
    index = world.large
    index.sync()
    far = [(f"src.py n{number}", pack([-1.0] * 16)) for number in range(100, 200)]
    with index._backing.turn(), index._backing.changes():
        index._backing.refresh(world.store.applied_generation())
        index._backing.apply(far, [])
    world.large_indexes.close()
    lost = vectors["n150"]
    assert index.nearest(pack(lost), 5) == world.exact.nearest(pack(lost), 5)
    assert index._backing.interrupted
    assert index.sync() == 200
    assert index.nearest(pack(lost), 5) == world.exact.nearest(pack(lost), 5)
    assert not index._backing.interrupted


@on_both
def test_what_differs_from_the_store_is_said_and_the_next_sync_mends_it(world, crowd, pack) -> None:
    world.fill(crowd(60))
    index = world.large
    index.sync()
    changes = [("src.py n1", pack([1.0] * 16)), ("gone", pack([1.0] * 16)), ("gone too", pack([1.0] * 16))]
    with index._backing.turn(), index._backing.changes():
        index._backing.refresh(world.store.applied_generation())
        index._backing.apply(changes, ["src.py n2", "src.py n3", "src.py n4"])
    assert index.problems() == [
        "3 vectors are missing from the vector index",
        "2 vectors are in the vector index, and of nothing that is stored any more",
        "1 vector is different in the vector index from what is stored",
    ]
    assert "makes it anew" in index.problems()[0]
    assert index.sync() == 60
    assert index.problems() == []


@on_both
def test_an_index_that_was_never_made_is_a_problem_that_a_scan_mends(world, crowd) -> None:
    world.fill(crowd(5))
    assert "does not exist" in world.large.problems()[0]
    world.large.sync()
    assert world.large.problems() == []
