import pytest

from braindex.domain.units import EntityFilter, Terms, Unit
from braindex.registry.index import IndexStore


def names(store: IndexStore, found: list[tuple[int, float]]) -> list[str]:
    entities = store.entities([row for row, _ in found])
    return [entities[row].entity.name for row, _ in found]


def search(store: IndexStore, *terms: str, limit: int = 10, narrowed: EntityFilter | None = None) -> list[str]:
    return names(store, store.search(terms, limit, narrowed or EntityFilter()))


@pytest.fixture
def filler(unit, file_of, store: IndexStore):
    """Unrelated entities, so that a word of a few is a rare one."""
    store.write([file_of("filler.py", *[unit("filler.py", f"filler{i}", terms=f"pad{i} common") for i in range(30)])])


@pytest.mark.parametrize(
    "term",
    [
        "parse", "parse_file", "café", "ativação", "привет", "мир2", "记忆", "メモリ", "한국어", "नमस्ते", "µm", "x86",
        "2fast", "a-b", "c++", "$scope", "it's", 'say"so', "a.b", "foo:bar", "near", "and", "or", "not", "*x", "😀",
        "e\u0301te", "name", "-", "^x", "(a)", "{a}", "a,b", "a\\b",
    ],
)  # fmt: skip
def test_a_term_of_any_script_is_found_as_it_was_given_and_counted(term, unit, file_of, store, filler) -> None:
    store.write([file_of("src/a.py", unit(name="wanted", terms=f"first {term} last"))])
    assert search(store, term) == ["wanted"]
    assert store.frequencies([term]) == {term: 1}


@pytest.mark.parametrize("part", ["pars", "记", "file", "caf", "привe"])
def test_a_part_of_a_term_is_not_that_term(part, unit, file_of, store, filler) -> None:
    store.write([file_of("src/a.py", unit(terms="parse_file 记忆 café привет"))])
    assert search(store, part) == []


def test_operators_and_quotes_in_terms_are_only_characters(unit, file_of, store, filler) -> None:
    store.write([file_of("src/a.py", unit(name="wanted", terms='foo:bar "unbalanced and *x'))])
    assert search(store, *'foo:bar "unbalanced AND *x'.split()) == ["wanted"]
    assert search(store, 'foo:bar "unbalanced AND *x') == ["wanted"]
    for hostile in (
        '"',
        '""',
        "NEAR(",
        "name:",
        "-",
        "*",
        "a OR",
        "^",
        "{name body}:x",
        "\0",
        "\udcff",
        "",
        " ",
        "\x01",
    ):
        search(store, hostile)


def test_a_term_with_spaces_is_several_terms(unit, file_of, store, filler) -> None:
    store.write([file_of("src/a.py", unit(name="one", terms="alpha"), unit(name="two", terms="beta"))])
    assert set(search(store, "alpha\tbeta\n")) == {"one", "two"}


def test_no_term_and_no_limit_find_nothing(unit, file_of, store) -> None:
    store.write([file_of("src/a.py", unit())])
    assert search(store) == []
    assert search(store, "run", limit=0) == []
    assert search(store, "run", limit=-1) == []


def test_a_name_counts_more_than_a_path_and_a_path_more_than_a_body(unit, file_of, store, filler) -> None:
    def one(name: str, column: str) -> Unit:
        made = unit(name=name)
        fields = dict.fromkeys(("name", "parent", "signature", "path", "doc", "body"), "x y z")
        terms = Terms(**{**fields, column: "wanted y z"})
        return Unit(made.id, made.entity, made.digest, terms, made.vector)

    columns = ("body", "doc", "name", "path")
    store.write([file_of("src/a.py", *[one(f"in_{column}", column) for column in columns])])
    assert search(store, "wanted") == ["in_name", "in_path", "in_doc", "in_body"]


def test_scores_are_positive_and_the_best_comes_first(unit, file_of, store, filler) -> None:
    store.write(
        [
            file_of(
                "src/a.py",
                unit(name="weak", terms="alpha" + " x" * 50),
                unit(name="strong", terms="alpha beta"),
            )
        ]
    )
    found = store.search(["alpha", "beta"], 10)
    assert names(store, found) == ["strong", "weak"]
    assert found[0][1] > found[1][1] > 0


def test_the_filter_comes_before_the_cut(unit, file_of, store, filler) -> None:
    store.write([file_of(f"noise/n{i}.py", unit(f"noise/n{i}.py", f"noisy{i}", terms="token " * 9)) for i in range(8)])
    store.write([file_of("src/deep/quiet.py", unit("src/deep/quiet.py", "quiet", terms="token" + " x" * 80))])
    assert "quiet" not in search(store, "token", limit=3)
    for path in ("src", "src/deep/quiet.py", "*quiet.py", "src/**"):
        assert search(store, "token", limit=3, narrowed=EntityFilter(path=path)) == ["quiet"]


def test_kind_and_language_narrow_a_search(unit, file_of, store, filler) -> None:
    units = [
        unit(name="a", terms="token", kind="class"),
        unit(name="b", terms="token", language="css"),
        unit(name="c", terms="token", kind="class", language="css"),
    ]
    store.write([file_of("src/a.py", *units)])
    assert set(search(store, "token", narrowed=EntityFilter(kind="class"))) == {"a", "c"}
    assert set(search(store, "token", narrowed=EntityFilter(language="css"))) == {"b", "c"}
    assert search(store, "token", narrowed=EntityFilter(path="src", kind="class", language="css")) == ["c"]


@pytest.mark.parametrize("order", [1, -1])
def test_ties_come_by_path_line_and_name_however_the_index_was_built(order, unit, file_of, store, filler) -> None:
    batch = [
        file_of(
            path,
            *[unit(path, name, line=line, terms="token") for line, name in ((9, "x"), (2, "z"), (2, "y"))][::order],
        )
        for path in ("b.py", "a.py", "c/d.py")
    ][::order]
    for one in batch:
        store.write([one])
    expected = ["y", "z", "x"] * 3
    assert search(store, "token") == expected
    for limit in (1, 2, 4, 8):
        found = store.search(["token"], limit)
        assert names(store, found) == expected[:limit]
        assert [store.entities([row])[row].entity.path for row, _ in found] == (
            ["a.py"] * 3 + ["b.py"] * 3 + ["c/d.py"] * 3
        )[:limit]


def test_a_long_tie_at_the_cut_is_decided_by_path_too(unit, file_of, store, filler) -> None:
    for number in reversed(range(300)):
        path = f"p{number:03}.py"
        store.write([file_of(path, unit(path, f"n{number:03}", terms="token"))])
    store.write([file_of("more.py", *[unit("more.py", f"m{i}", terms="other") for i in range(400)])])
    assert search(store, "token", limit=3) == ["n000", "n001", "n002"]


def test_a_word_of_most_entities_is_still_found_when_nothing_else_is(unit, file_of, store, filler) -> None:
    store.write([file_of("src/a.py", unit(name="rare", terms="token common"))])
    assert search(store, "common", "token", limit=1) == ["rare"]
    assert len(search(store, "common", limit=100)) == 31
    assert search(store, "common", "token", limit=100)[0] == "rare"
    assert len(search(store, "common", "token", limit=100)) == 31


def test_forty_kilobytes_of_words_are_a_question_like_any_other(unit, file_of, store, filler) -> None:
    store.write([file_of("src/a.py", unit(name="wanted", terms="needle"))])
    assert "wanted" in search(store, *[f"word{i}" for i in range(6000)], "needle")


def test_frequencies_count_entities_not_occurrences(unit, file_of, store) -> None:
    store.write([file_of("src/a.py", unit(name="a", terms="token token"), unit(name="b", terms="token"))])
    assert store.frequencies(["token", "absent", "TOKEN", ""]) == {"token": 2, "absent": 0, "TOKEN": 2, "": 0}


def test_what_was_replaced_or_removed_is_not_found_or_counted(unit, file_of, store, filler) -> None:
    store.write([file_of("src/a.py", unit(terms="before", digest=b"1"), unit(name="gone", terms="leaving"))])
    store.write([file_of("src/a.py", unit(terms="after", digest=b"2"))])
    assert search(store, "before") == search(store, "leaving") == []
    assert search(store, "after") == ["run"]
    assert store.frequencies(["before", "leaving", "after"]) == {"before": 0, "leaving": 0, "after": 1}
    store.optimize()
    assert search(store, "after") == ["run"]


def test_the_terms_of_rows_come_back_column_by_column(unit, file_of, store, filler) -> None:
    store.write([file_of("a.py", unit("a.py", "one", terms="merge cookies"), unit("a.py", "two", terms="open socket"))])
    rows = {one.entity.name: one.row for one in store.of_file("a.py")}
    texts = store.texts([rows["one"], 999_999])
    assert set(texts) == {rows["one"]}
    assert len(texts[rows["one"]]) == 6
    assert texts[rows["one"]][-1] == "merge cookies"
    assert store.texts([]) == {}


def test_a_phrase_is_found_only_where_its_words_follow_each_other(unit, file_of, store, filler) -> None:
    units = [
        unit("a.py", "exact", terms="the body cannot be empty here"),
        unit("a.py", "shuffled", terms="empty body cannot here be the"),
        unit("a.py", "quoted", terms='say "x" and body'),
    ]
    store.write([file_of("a.py", *units)])
    rows = {one.row: one.entity.name for one in store.of_file("a.py")}
    assert [rows[row] for row in store.search_phrase(["body", "cannot", "be", "empty"], 10)] == ["exact"]
    assert [rows[row] for row in store.search_phrase(['"x"', "and"], 10)] == ["quoted"]
    assert store.search_phrase([], 10) == []
    assert store.search_phrase(["body"], 10, EntityFilter(path="elsewhere")) == []


def test_rare_words_decide_a_search_when_frequent_ones_stand_almost_everywhere(unit, file_of, store) -> None:
    many = [unit("m.py", f"common_{number}", terms="value common") for number in range(2500)]
    store.write([file_of("m.py", *many), file_of("r.py", unit("r.py", "rare", terms="value common exceptional odd"))])
    assert search(store, "value", "common", "exceptional", "odd", limit=1) == ["rare"]
    assert len(store.search(["value", "common", "exceptional", "odd"], 50)) == 50


def test_where_two_terms_are_in_very_many_rows_those_with_both_come_first_and_then_the_rarer(
    unit, file_of, store
) -> None:
    texts = ["load"] * 3_100 + ["valid"] * 3_000 + ["load valid"] * 50
    units = [unit(name=f"n{at:05}", line=at + 1, terms=text, vector=None) for at, text in enumerate(texts)]
    store.write([file_of("src/a.py", *units)])
    found = names(store, store.search(["load", "valid"], 80))
    assert found[:50] == [f"n{at:05}" for at in range(6_100, 6_150)]
    assert found[50:] == [f"n{at:05}" for at in range(3_100, 3_130)]


def test_a_frequent_term_is_left_out_where_looking_at_its_rows_would_take_long(unit, file_of, store) -> None:
    units = [unit(name=f"n{at:05}", terms="self" if at else "self rare odd", vector=None) for at in range(6_100)]
    store.write([file_of("src/a.py", *units)])
    assert len(store.search(["self", "rare", "odd"], 50)) == 1


def test_counts_of_terms_follow_what_other_processes_store(unit, file_of, store) -> None:
    store.write([file_of("src/a.py", unit(terms="cart"))])
    assert store.frequencies(["cart"]) == {"cart": 1}
    with IndexStore.open(store.folder) as other:
        other.write([file_of("src/b.py", unit(path="src/b.py", terms="cart"))])
    assert store.frequencies(["cart"]) == {"cart": 2}
