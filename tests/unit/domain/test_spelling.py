import pytest

from braindex.domain.spelling import meant, slips, starts


@pytest.mark.parametrize(
    ("word", "other", "count"),
    [
        ("parse", "parse", 0), ("prase", "parse", 1), ("pars", "parse", 1), ("parsee", "parse", 1), ("perse", "parse", 1),
        ("parse", "sparse", 1), ("parse", "prose", 2), ("", "ab", 2), ("kitten", "sitting", 3),
    ],
)  # fmt: skip
def test_slips_are_counted_with_swapped_neighbours_as_one(word: str, other: str, count: int) -> None:
    assert slips(word, other, 3) == count
    assert slips(other, word, 3) == count


def test_counting_ends_where_it_is_too_many() -> None:
    assert slips("abcdefgh", "zyxwvuts", 2) == 3
    assert slips("a", "abcdef", 2) == 3


def test_the_fewest_slips_win_and_then_the_more_frequent_name() -> None:
    assert meant("parse_cokie", {"parse_cookie": 1, "parse_cookies": 9, "parse_rule": 3}) == [
        "parse_cookie",
        "parse_cookies",
    ]
    assert meant("sesion", {"session": 2, "sesiom": 5}) == ["sesiom", "session"]


def test_the_beginning_of_a_name_means_the_name() -> None:
    assert meant("parse_coo", {"parse_cookie": 1, "parse": 4}) == ["parse_cookie"]


@pytest.mark.parametrize("word", ["", "ab", "abc"])
def test_a_short_word_means_nothing_else(word: str) -> None:
    assert meant(word, {"abcd": 1, "abd": 1}) == []


def test_words_far_apart_do_not_mean_each_other() -> None:
    assert meant("session", {"cookie": 3, "request": 1}) == []


def test_names_are_looked_for_by_their_first_letters_or_those_swapped() -> None:
    assert starts("parse") == ("pa", "ap", "pr")
    assert starts("aaa") == ("aa",)
    assert starts("x") == ("x",)
