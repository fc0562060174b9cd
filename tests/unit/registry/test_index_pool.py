"""Indexes that stay open between questions: used again only while their file is what it was."""

import os
import threading
from pathlib import Path

import pytest

from braindex.registry.index import INDEX_FILE, IndexStore, set_aside
from braindex.registry.index_pool import IndexPool

pytestmark = pytest.mark.skipif(os.name != "posix", reason="elsewhere nothing stays open")


@pytest.fixture
def folder(tmp_path: Path, unit, file_of) -> Path:
    with IndexStore.open(tmp_path / "one") as store:
        store.write([file_of("src/a.py", unit())])
    return tmp_path / "one"


@pytest.fixture
def pool():
    made = IndexPool()
    yield made
    made.close()


def test_what_was_given_is_taken_again_once(pool, folder) -> None:
    store = IndexStore.open(folder)
    pool.give(folder, store)
    assert pool.take(folder) is store
    assert pool.take(folder) is None
    store.close()


def test_what_others_write_meanwhile_is_seen_by_an_index_that_waited(pool, folder, unit, file_of) -> None:
    pool.give(folder, IndexStore.open(folder))
    with IndexStore.open(folder) as other:
        other.write([file_of("src/b.py", unit(path="src/b.py", name="new"))])
    store = pool.take(folder) or IndexStore.open(folder)
    assert set(store.files()) == {"src/a.py", "src/b.py"}
    store.close()


def test_an_index_that_waited_can_be_used_by_another_thread(pool, folder) -> None:
    pool.give(folder, IndexStore.open(folder))
    seen: list[int] = []

    def use() -> None:
        store = pool.take(folder)
        assert store is not None
        seen.append(store.entity_count())
        pool.give(folder, store)

    for _ in range(2):
        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
    assert seen == [1, 1]


def test_a_file_that_was_replaced_is_opened_anew(pool, folder) -> None:
    pool.give(folder, IndexStore.open(folder))
    assert set_aside(folder) is not None
    IndexStore.open(folder).close()
    assert pool.take(folder) is None


@pytest.mark.parametrize("bytes_left", [0, 100, 5000])
def test_a_file_that_was_cut_off_under_it_is_opened_anew(bytes_left: int, pool, folder) -> None:
    pool.give(folder, IndexStore.open(folder))
    os.truncate(folder / INDEX_FILE, bytes_left)
    assert pool.take(folder) is None


def test_a_folder_that_is_gone_leaves_nothing_to_take(pool, folder) -> None:
    pool.give(folder, IndexStore.open(folder))
    (folder / INDEX_FILE).unlink()
    assert pool.take(folder) is None


def test_a_schema_that_another_version_changed_is_checked_by_opening_anew(pool, folder) -> None:
    pool.give(folder, IndexStore.open(folder))
    with IndexStore.open(folder) as other, other.transaction():
        other._database.run("CREATE TABLE of_a_newer_version (x)")
    assert pool.take(folder) is None


def test_only_a_few_wait_and_what_is_forgotten_is_closed(pool, folder, tmp_path) -> None:
    for _ in range(4):
        pool.give(folder, IndexStore.open(folder))
    assert [pool.take(folder) is not None for _ in range(3)] == [True, True, False]
    for number in range(5):
        other = tmp_path / f"other{number}"
        pool.give(other, IndexStore.open(other))
    assert [pool.take(tmp_path / f"other{number}") is not None for number in range(5)] == [
        False,
        False,
        True,
        True,
        True,
    ]
    pool.give(folder, IndexStore.open(folder))
    pool.forget(folder)
    assert pool.take(folder) is None


def test_an_index_in_a_transaction_does_not_wait(pool, folder) -> None:
    store = IndexStore.open(folder)
    with store.transaction():
        assert not store.leave()
    store.close()
