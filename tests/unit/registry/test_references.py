"""The stored references: who refers to a name, and what an entity refers to."""

from dataclasses import replace

CALLS = (("import", "os", 1), ("call", "load", 3), ("call", "weigh", 4), ("base", "Vehicle", 2))


def to(store, kind: str, name: str, *languages: str) -> list[int]:
    return [one.row for one in store.referring(kind, name, languages or ("python",))]


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
    assert to(store, "call", "load") == [van]
    assert to(store, "call", "Load") == [other]
    assert to(store, "import", "load") == []
    assert to(store, "call", 'a"b') == [other]
    assert to(store, "call", "größe") == [other]
    assert to(store, "call", "load OR weigh") == []
    assert to(store, "call", "") == []


def test_whoever_refers_to_a_name_comes_with_its_place_and_in_the_languages_asked_for(unit, file_of, store) -> None:
    store.write([file_of("a.py", *(replace(unit("a.py", f"f{one}"), references=CALLS) for one in range(3)))])
    found = store.referring("call", "load", ["go", "python"])
    assert [(one.path, one.kind) for one in found] == [("a.py", "function")] * 3
    assert store.reference_lines("call", "load", [found[0].row]) == {found[0].row: 3}
    assert to(store, "call", "load", "go") == []


def test_references_follow_their_entity_through_changes_and_leave_with_it(unit, file_of, store) -> None:
    one = replace(unit("a.py", "van"), references=CALLS)
    store.write([file_of("a.py", one)])
    moved = replace(one, references=(("call", "load", 30),))  # the same text, further down
    store.write([file_of("a.py", moved)])
    assert store.references(store.rows_by_name(["van"])) == {row_of(store, "van"): (("call", "load", 30),)}
    assert to(store, "base", "Vehicle") == []
    store.write([file_of("a.py", replace(moved, digest=b"2", references=()))])
    assert to(store, "call", "load") == []
    store.write([file_of("a.py", one)])
    store.remove(["a.py"])
    assert to(store, "call", "load") == []
    store.write([file_of("a.py", one)])
    store.clear()
    assert to(store, "call", "load") == []
