import pytest

from braindex.domain.question import analyse


@pytest.mark.parametrize(
    ("question", "name", "kind"),
    [
        ("Session", "Session", ""),
        ("where is process_data defined?", "process_data", ""),
        ("Where is the `merge_cookies` function defined", "merge_cookies", "function"),
        ("definition of $ZodCheckLessThanDef", "$ZodCheckLessThanDef", ""),
        ("ConnectionError class", "ConnectionError", "class"),
        ("class HTTPAdapter", "HTTPAdapter", "class"),
        (".carbon-poweredby", ".carbon-poweredby", ""),
        ("@media print", "@media print", ""),
        ("Session.send", "Session.send", ""),
    ],
)
def test_a_question_for_a_symbol_is_told_by_its_form(question: str, name: str, kind: str) -> None:
    found = analyse(question)
    assert (found.type, found.name, found.kind_hint) == ("symbol", name, kind)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("how are cookies merged into a prepared request", "how"),
        ("where is the retry logic", "how"),
        ("Convert a string to a boolean value", "action"),
        ("Returns the names for the help option", "action"),
        ("Represents a parsed URL of a request", "phrase"),
        ("network types like URLs and email addresses", "phrase"),
        ("python read a file line by line", "web"),
        ("how to sort a list in javascript", "web"),
    ],
)
def test_other_questions_are_told_apart_by_their_first_words(question: str, kind: str) -> None:
    assert analyse(question).type == kind


def test_language_words_of_a_web_question_are_not_searched_for() -> None:
    assert analyse("how to sort a list in python").words == ("sort", "list")


def test_code_like_words_inside_a_question_are_kept_as_written() -> None:
    assert analyse("how does HTTPAdapter.send use retry_count").identifiers == ("HTTPAdapter.send", "retry_count")


@pytest.mark.parametrize("text", ['foo:bar "unbalanced AND *x', "(((", "\0\ud800", "'; DROP TABLE x; --", "NEAR(a b)"])
def test_any_text_is_a_valid_question(text: str) -> None:
    analyse(text)


def test_forty_kilobytes_are_a_question_of_bounded_size() -> None:
    found = analyse("merge cookies of sessions " * 1600 + "unique_name")
    assert len(found.terms) <= 64
    assert len(found.text) <= 4000


def test_a_heading_of_several_words_is_a_name_where_it_is_said_to_be_defined() -> None:
    found = analyse("where is Running the test suite defined")
    assert (found.type, found.name) == ("symbol", "Running the test suite")
