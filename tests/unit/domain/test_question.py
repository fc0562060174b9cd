import pytest

from braindex.domain.question import analyse, bare_name


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
        ("Tests whether a host name fits an entry", "action"),
        ("Migrate stored lyrics to flexible attributes", "action"),
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


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("ValueError: the sack is empty", "ValueError the sack is empty"),
        ("Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nKeyError: 'x'", "KeyError 'x'"),
        ("src/a.ts(12,5): error TS2345: Argument is wrong", "Argument is wrong"),
    ],
)
def test_an_error_is_searched_for_by_what_it_says(question: str, text: str) -> None:
    found = analyse(question)
    assert (found.type, found.text) == ("error", text)


def test_a_path_alone_asks_for_its_file_and_not_for_its_name() -> None:
    found = analyse("src/app/http.py")
    assert (found.type, found.name, found.mentions[0].path) == ("symbol", "", "src/app/http.py")
    assert analyse("http.py").name == "http.py"
    assert analyse("Session.send").name == "Session.send"


def test_a_place_in_a_file_is_no_name() -> None:
    found = analyse("app/http.py:200")
    assert (found.type, found.name, found.mentions[0].line) == ("phrase", "", 200)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("which CSS rule hides the sidebar", "rule"),
        ("what classes represent a header", "class"),
        ("show me all methods that send mail", "method"),
        ("what happens when a class is loaded later", ""),
        ("why is the function slow", ""),
    ],
)
def test_the_kind_of_thing_that_a_sentence_asks_for_is_read(question: str, kind: str) -> None:
    assert analyse(question).kind_hint == kind


def test_initials_of_runs_of_words_are_what_code_may_call_them() -> None:
    assert "ssg" in analyse("static site generation").acronyms
    assert "csrf" in analyse("protection against cross-site request forgery").acronyms
    assert "jwt" in analyse("verifying JSON web tokens").acronyms
    assert analyse("where is parse_header defined").acronyms == ()


@pytest.mark.parametrize(("name", "bare"), [("a.b.c", "c"), ("A#c", "c"), ("A::c", "c"), ("c()", "c"), ("c", "c")])
def test_the_bare_name_is_the_last_part(name: str, bare: str) -> None:
    assert bare_name(name) == bare
