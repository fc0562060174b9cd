import pytest

from braindex.domain.bm25 import Fields, bm25f, counted, occurrences


def _fields(name: str = "", path: str = "", body: str = "") -> Fields:
    return (name, "", "", path, "", body)


def _scores(texts: dict[int, Fields], idf: dict[str, float]) -> dict[int, float]:
    return bm25f(texts, counted(texts, idf), idf)


def test_a_term_is_counted_field_by_field_and_whole() -> None:
    fields = _fields("load file", "src load", "load load loader file load")
    assert occurrences(fields, ["load", "loader", "oad", "absent"]) == {
        "load": [(0, 1), (3, 1), (5, 3)],
        "loader": [(5, 1)],
    }


def test_a_term_does_not_reach_from_one_field_into_the_next() -> None:
    assert occurrences(("ab", "cd"), ["ab cd", "b c"]) == {}


def test_a_name_counts_for_more_than_a_body() -> None:
    scores = _scores({1: _fields("load", body="some text"), 2: _fields("some", body="load text")}, {"load": 2.0})
    assert scores[1] > scores[2] > 0.0


def test_a_long_body_does_not_take_from_the_name() -> None:
    long = " ".join(f"word{number}" for number in range(500))
    texts = {1: _fields("load", body=long), 2: _fields("load", body="short"), 3: _fields("other", body=f"load {long}")}
    scores = _scores(texts, {"load": 2.0})
    assert scores[1] == pytest.approx(scores[2])
    assert scores[1] > scores[3] > 0.0


def test_many_occurrences_saturate_and_a_rare_term_says_more() -> None:
    texts = {1: _fields(body="load " * 9 + "load"), 2: _fields(body="load cart" + " pad" * 8)}
    scores = _scores(texts, {"load": 1.0, "cart": 5.0})
    assert scores[2] > scores[1]
    assert scores[1] < 1.0 * 2.2


def test_rows_without_a_term_and_no_rows_at_all() -> None:
    assert _scores({1: _fields("other")}, {"load": 2.0}) == {1: 0.0}
    assert _scores({}, {"load": 2.0}) == {}
