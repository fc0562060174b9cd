from braindex.registry.index import IndexStore


def test_changes_come_oldest_first_and_only_as_many_as_asked_for(unit, file_of, store) -> None:
    units = [unit(name=f"n{i}") for i in range(5)]
    store.write([file_of("src/a.py", *units)])
    assert [one.id for one in store.outbox(3)] == [one.id for one in units[:3]]


def test_what_is_done_is_forgotten_and_the_applied_generation_moves(unit, file_of, store) -> None:
    store.write([file_of("src/a.py", *[unit(name=f"n{i}") for i in range(5)])])
    before = store.applied_generation()
    assert store.outbox_done(store.outbox(3)) == store.applied_generation() > before
    assert len(store.outbox(10)) == 2
    assert len(store.pending_rows()) == 2


def test_a_change_that_was_replaced_meanwhile_stays(unit, file_of, store, vector) -> None:
    store.write([file_of("src/a.py", unit(digest=b"1", vector=vector(1, 0)))])
    taken = store.outbox(10)
    store.write([file_of("src/a.py", unit(digest=b"2", vector=vector(0, 1)))])
    store.outbox_done(taken)
    [newer] = store.outbox(10)
    assert newer.vector == vector(0, 1)


def test_a_new_entity_that_is_gone_before_it_was_sent_is_a_removal(unit, file_of, store) -> None:
    store.write([file_of("src/a.py", unit())])
    store.remove(["src/a.py"])
    assert [one.vector for one in store.outbox(10)] == [None]
    assert store.pending_rows() == []


def test_everything_can_be_asked_for_again(unit, file_of, store) -> None:
    with_vector, without = unit(name="with"), unit(name="without", vector=None)
    store.write([file_of("src/a.py", with_vector, without)])
    store.outbox_done(store.outbox(10))
    before = store.applied_generation()
    assert store.outbox_all() > before
    assert [one.id for one in store.outbox(10)] == [with_vector.id]


def test_all_vectors_come_in_the_order_of_their_rows(unit, file_of, store, vector) -> None:
    units = [unit(name=f"n{i}", vector=vector(i, -i) if i % 2 else None) for i in range(6)]
    store.write([file_of("src/a.py", *units)])
    [(rows, matrix)] = store.stream_vectors()
    assert list(rows) == sorted(store.vectors(store.rows()))
    assert bytes(matrix) == vector(1, -1, 3, -3, 5, -5)


def test_a_new_index_notes_no_changes_until_everything_was_asked_for(unit, file_of, tmp_path) -> None:
    with IndexStore.open(tmp_path) as fresh:
        fresh.write([file_of("src/a.py", unit(name="before"))])
        assert not fresh.outbox_kept()
        assert fresh.outbox(10) == []
        fresh.outbox_all()
        fresh.write([file_of("src/b.py", unit(path="src/b.py", name="after"))])
        assert [bool(one.vector) for one in fresh.outbox(10)] == [True, True]


def test_after_the_dense_index_was_given_up_nothing_waits_for_it(unit, file_of, store) -> None:
    store.write([file_of("src/a.py", unit())])
    before = store.applied_generation()
    store.outbox_ends()
    assert not store.outbox_kept()
    assert store.applied_generation() > before
    store.write([file_of("src/b.py", unit(path="src/b.py"))])
    assert store.outbox(10) == []
