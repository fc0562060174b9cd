from typing import Any

import pytest

from braindex.domain.units import Unit
from braindex.registry.failures import StoreFailed
from braindex.registry.index import IndexStore
from braindex.registry.stored_vectors import VectorMismatch
from braindex.registry.writing import WriteCounts


def changes(store: IndexStore) -> dict[str, bytes | None]:
    return {one.id: one.vector for one in store.outbox(1000)}


def settle(store: IndexStore) -> None:
    store.outbox_done(store.outbox(1000))


def test_new_units_get_a_row_terms_a_vector_and_an_outbox_entry(unit, file_of, store, vector) -> None:
    one = unit(vector=vector(0.5, 0.25))
    assert store.write([file_of("src/a.py", one)]) == WriteCounts(added=1)
    row = store.rows_of([one.id])[one.id]
    assert store.vectors([row]) == {row: vector(0.5, 0.25)}
    assert list(store.vectors(store.rows_of([one.id]).values()).values()) == [vector(0.5, 0.25)]
    assert store.known_units("src/a.py") == {one.id: one.digest}
    assert changes(store) == {one.id: vector(0.5, 0.25)}
    assert store.vector_count() == 1


def test_an_unchanged_unit_keeps_its_row_and_vector_and_gets_its_new_lines(unit, file_of, store, vector) -> None:
    old = unit(line=1, vector=vector(1, 0))
    store.write([file_of("src/a.py", old)])
    settle(store)
    row, generation = store.rows_of([old.id])[old.id], store.vector_generation()
    moved = unit(line=50, terms="not read", vector=None)
    assert store.write([file_of("src/a.py", moved, digest=b"new")]) == WriteCounts(kept=1)
    stored = store.entities([row])[row]
    assert (stored.entity.line, stored.entity.end_line, stored.file_digest) == (50, 53, b"new")
    assert store.vectors([row]) == {row: vector(1, 0)}
    assert changes(store) == {}
    assert store.vector_generation() == generation
    assert store.search(["run"], 5)[0][0] == row


def test_a_changed_unit_gets_new_terms_and_a_new_vector_under_its_row(unit, file_of, store, vector) -> None:
    old = unit(digest=b"1", vector=vector(1, 0))
    store.write([file_of("src/a.py", old)])
    settle(store)
    row, generation = store.rows_of([old.id])[old.id], store.vector_generation()
    assert store.write([file_of("src/a.py", unit(digest=b"2", vector=vector(0, 1), terms="fresh"))]) == WriteCounts(
        changed=1
    )
    assert store.vectors([row]) == {row: vector(0, 1)}
    assert changes(store) == {old.id: vector(0, 1)}
    assert store.search(["fresh"], 5)[0][0] == row
    assert store.vector_generation() > generation
    assert store.vector_count() == 1


def test_a_unit_that_lost_its_vector_leaves_the_dense_index_too(unit, file_of, store, vector) -> None:
    old = unit(digest=b"1", vector=vector(1, 0))
    store.write([file_of("src/a.py", old)])
    settle(store)
    store.write([file_of("src/a.py", unit(digest=b"2", vector=None))])
    assert changes(store) == {old.id: None}
    assert store.vector_count() == 0


def test_a_unit_without_a_vector_is_stored_and_never_sent(unit, file_of, store) -> None:
    store.write([file_of("src/a.py", unit(vector=None))])
    assert store.search(["run"], 5) != []
    assert changes(store) == {}
    assert (store.vector_count(), store.entity_count()) == (0, 1)


def test_what_a_file_no_longer_has_is_gone_everywhere(unit, file_of, store) -> None:
    stays, goes = unit(name="stays"), unit(name="goes")
    store.write([file_of("src/a.py", stays, goes)])
    settle(store)
    row = store.rows_of([goes.id])[goes.id]
    assert store.write([file_of("src/a.py", stays)]) == WriteCounts(kept=1, removed=1)
    assert store.entities([row]) == store.vectors([row]) == {}
    assert store.search(["goes"], 5) == store.rows_by_name(["goes"]) == []
    assert changes(store) == {goes.id: None}
    assert store.vector_count() == 1


def test_removing_files_removes_all_of_theirs_and_nothing_else(unit, file_of, store) -> None:
    first, other = unit("src/a.py", "first"), unit("src/b.py", "other")
    store.write([file_of("src/a.py", first), file_of("src/b.py", other)])
    settle(store)
    assert store.remove(["src/a.py", "src/unknown.py"]) == 1
    assert list(store.files()) == ["src/b.py"]
    assert store.search(["first"], 5) == []
    assert store.search(["other"], 5) != []
    assert changes(store) == {first.id: None}
    generation = store.generation()
    assert store.remove(["src/unknown.py"]) == 0
    assert store.generation() == generation


def test_a_row_is_never_used_for_another_entity(unit, file_of, store) -> None:
    store.write([file_of("src/a.py", unit(name="old"))])
    [old] = store.rows()
    store.remove(["src/a.py"])
    store.write([file_of("src/a.py", unit(name="new"))])
    assert store.rows() != [old]
    store.clear()
    store.write([file_of("src/a.py", unit(name="newer"))])
    assert old not in store.rows()


def test_of_a_path_that_comes_twice_in_a_batch_the_last_counts(unit, file_of, store) -> None:
    store.write(
        [
            file_of("src/a.py", unit(name="old"), digest=b"1"),
            file_of("src/a.py", unit(name="new"), digest=b"2"),
        ]
    )
    assert [one.entity.name for one in store.of_file("src/a.py")] == ["new"]
    assert store.files()["src/a.py"].digest == b"2"


def test_of_an_id_that_comes_twice_in_a_file_the_last_counts(unit, file_of, store) -> None:
    assert store.write([file_of("src/a.py", unit(line=1), unit(line=9, digest=b"2", terms="last"))]) == WriteCounts(
        added=1
    )
    assert [one.entity.line for one in store.of_file("src/a.py")] == [9]
    assert store.search(["last"], 5) != []


def test_an_id_that_moved_in_from_another_file_belongs_to_the_new_one(unit, file_of, store) -> None:
    one = unit("src/a.py")
    store.write([file_of("src/a.py", one)])
    row = store.rows_of([one.id])[one.id]
    moved = Unit(one.id, unit("src/b.py").entity, one.digest, one.terms, None)
    assert store.write([file_of("src/b.py", moved)]) == WriteCounts(kept=1)
    assert store.of_file("src/a.py") == []
    assert [(found.row, found.entity.path) for found in store.of_file("src/b.py")] == [(row, "src/b.py")]
    assert store.remove(["src/a.py"]) == 1
    assert store.rows_of([one.id]) == {one.id: row}


def test_an_id_that_moves_within_one_batch_is_kept(unit, file_of, store) -> None:
    one = unit("src/a.py")
    store.write([file_of("src/a.py", one)])
    moved = Unit(one.id, unit("src/b.py").entity, one.digest, one.terms, None)
    for batch in (
        [file_of("src/a.py"), file_of("src/b.py", moved)],
        [file_of("src/b.py"), file_of("src/a.py", one)],
    ):
        assert store.write(batch) == WriteCounts(kept=1)
    assert [found.id for found in store.of_file("src/a.py")] == [one.id]
    assert store.vector_count() == 1


def test_a_file_without_entities_is_known(file_of, store) -> None:
    assert store.write([file_of("empty.txt")]) == WriteCounts()
    assert list(store.files()) == ["empty.txt"]


def test_an_empty_batch_does_nothing(store) -> None:
    assert store.write([]) == WriteCounts()


def test_vectors_of_another_dimension_are_refused_and_the_batch_with_them(unit, file_of, store, vector) -> None:
    store.write([file_of("src/a.py", unit(vector=vector(1, 0)))])
    with pytest.raises(VectorMismatch, match=r"2 numbers and was given one of 3.*Scan the workspace again"):
        store.write([file_of("src/b.py", unit("src/b.py", "new", vector=vector(1, 0, 0)))])
    assert list(store.files()) == ["src/a.py"]
    with pytest.raises(VectorMismatch):
        store.write([file_of("src/b.py", unit("src/b.py", "new", vector=b""))])


def test_a_batch_that_fails_leaves_the_old_state(unit, file_of, store) -> None:
    old = unit(digest=b"1", terms="before")
    store.write([file_of("src/a.py", old)])
    settle(store)
    generation = store.generation()
    nameless: Any = None
    broken = Unit("id", unit("src/b.py").entity, nameless, old.terms, None)
    batch = [file_of("src/a.py", unit(digest=b"2", terms="after")), file_of("src/b.py", broken)]
    with pytest.raises(StoreFailed, match="NOT NULL"):
        store.write(batch)
    assert store.search(["before"], 5) != []
    assert store.search(["after"], 5) == []
    assert (list(store.files()), changes(store), store.generation()) == (["src/a.py"], {}, generation)


def test_text_that_cannot_be_encoded_is_stored_with_a_replacement(unit, file_of, store) -> None:
    store.write([file_of("src/a.py", unit(name="caf\udce9", docstring="\ud800", terms="caf\udce9"))])
    [one] = store.of_file("src/a.py")
    assert (one.entity.name, one.entity.docstring) == ("caf\ufffd", "\ufffd")
    assert store.search(["caf\udce9"], 5) != []
    assert store.rows_by_name(["caf\udce9"]) == [one.row]


def test_the_generation_moves_with_every_write(unit, file_of, store) -> None:
    seen = {store.generation()}
    for write in (
        lambda: store.write([file_of("src/a.py", unit())]),
        lambda: store.write([file_of("src/a.py", unit(line=2))]),
        lambda: store.remove(["src/a.py"]),
        store.clear,
    ):
        write()
        assert store.generation() not in seen
        seen.add(store.generation())
