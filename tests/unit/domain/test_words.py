import pytest

from braindex.domain.words import content_words, stem, subwords, terms


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("getUserName", ["get", "user", "name"]),
        ("HTTPServer2", ["http", "server", "2"]),
        ("snake_case-and.dots", ["snake", "case", "and", "dots"]),
        ("Ativação", ["ativa", "çã", "o"]),
    ],
)
def test_identifiers_are_split_the_way_the_vocabulary_was_built(text: str, words: list[str]) -> None:
    assert subwords(text) == words


@pytest.mark.parametrize(
    "family",
    [
        "parse parses parsed parser parsers parsing",
        "encode encodes encoded encoder encoding",
        "validate validates validation validator validators",
        "query queries",
        "run runs running",
        "merge merged merging",
        "class classes",
    ],
)
def test_forms_of_one_word_have_one_stem(family: str) -> None:
    assert len({stem(word) for word in family.split()}) == 1


@pytest.mark.parametrize("word", ["bus", "is", "status", "class", "x", "ß", "42", "naïve"])
def test_short_and_foreign_words_are_left_alone(word: str) -> None:
    assert stem(word) in {word, word.removesuffix("s")}


def test_a_compound_identifier_is_indexed_by_its_parts_and_whole() -> None:
    assert terms("getUserName") == ["get", "user", "nam", "getusername"]
    assert terms("_private_thing")[-1] == "privatething"


def test_text_without_spaces_is_indexed_in_pairs_of_signs() -> None:
    assert terms("数据库连接") == ["数据", "据库", "库连", "连接"]
    assert set(terms("数据库")) & set(terms("连接数据库")) == {"数据", "据库"}


def test_russian_words_are_indexed_in_lower_case() -> None:
    assert terms("Слияние куков") == ["слияние", "куков"]


def test_data_that_looks_like_one_endless_word_is_not_indexed() -> None:
    assert terms("A" * 500) == []


def test_a_question_of_stop_words_alone_keeps_them() -> None:
    assert content_words(["what", "is", "this"]) == ["what", "is", "this"]
    assert content_words(["what", "is", "routing"]) == ["routing"]
