"""The stored references: who refers to a name, and what an entity refers to."""

from dataclasses import replace

CALLS = (("import", "os", 1), ("call", "load", 3), ("call", "weigh", 4), ("base", "Vehicle", 2))


def row_of(store, name: str) -> int:
    [row] = store.rows_by_name([name])
    return int(row)


def test_references_come_back_in_the_order_of_their_lines(unit, file_of, store) -> None:
    store.write([file_of("a.py", replace(unit("a.py", "van"), references=CALLS), unit("a.py", "plain"))])
    van, plain = row_of(store, "van"), row_of(store, "plain")
    assert store.references([van, plain, 999]) == {
        van: (("import", "os", 1), ("base", "Vehicle", 2), ("call", "load", 3), ("call", "weigh", 4))
    }


def test_a_name_is_found_by_kind_and_in_its_own_case(unit, file_of, store) -> None:
    odd = (("call", "Load", 7), ("call", 'a"b', 8), ("call", "größe", 9))
    store.write(
        [file_of("a.py", replace(unit("a.py", "van"), references=CALLS), replace(unit("a.py", "odd"), references=odd))]
    )
    van, other = row_of(store, "van"), row_of(store, "odd")
    assert store.referring("call", "load", 10) == [(van, 3)]
    assert store.referring("call", "Load", 10) == [(other, 7)]
    assert store.referring("import", "load", 10) == []
    assert store.referring("call", 'a"b', 10) == [(other, 8)]
    assert store.referring("call", "größe", 10) == [(other, 9)]
    assert store.referring("call", "load OR weigh", 10) == []
    assert store.referring("call", "", 10) == []


def test_at_most_so_many_are_read(unit, file_of, store) -> None:
    store.write([file_of("a.py", *(replace(unit("a.py", f"f{one}"), references=CALLS) for one in range(5)))])
    assert len(store.referring("call", "load", 3)) == 3


def test_references_follow_their_entity_through_changes_and_leave_with_it(unit, file_of, store) -> None:
    one = replace(unit("a.py", "van"), references=CALLS)
    store.write([file_of("a.py", one)])
    moved = replace(one, references=(("call", "load", 30),))  # the same text, further down
    store.write([file_of("a.py", moved)])
    assert store.references(store.rows_by_name(["van"])) == {row_of(store, "van"): (("call", "load", 30),)}
    assert store.referring("base", "Vehicle", 10) == []
    store.write([file_of("a.py", replace(moved, digest=b"2", references=()))])
    assert store.referring("call", "load", 10) == []
    store.write([file_of("a.py", one)])
    store.remove(["a.py"])
    assert store.referring("call", "load", 10) == []
    store.write([file_of("a.py", one)])
    store.clear()
    assert store.referring("call", "load", 10) == []
