from dataclasses import replace

import pytest

from braindex.domain.entities import CodeEntity
from braindex.domain.penalties import path_penalty
from braindex.domain.question import analyse
from braindex.domain.ranking import (
    WEIGHTS,
    Candidate,
    cosine,
    exact_match,
    inverse_frequency,
    name_share,
    rank,
    stem_share,
)


def _entity(name: str, path: str = "src/a.py", kind: str = "function", line: int = 1, parent: str = "") -> CodeEntity:
    qualified = f"{parent}.{name}" if parent else name
    language = {"md": "markdown", "css": "css", "html": "html"}.get(path.rsplit(".", 1)[-1], "python")
    return CodeEntity(path, kind, name, qualified, parent, language, line, line + 5, f"def {name}()")


def _candidate(entity: CodeEntity, dense: float = 0.5, lexical: float = 1.0) -> Candidate:
    return Candidate(row=1, id=entity.qualified_name, entity=entity, distance=1.0, dense=dense, lexical=lexical)


def _order(question: str, *candidates: Candidate) -> list[str]:
    analysis = analyse(question)
    idf = dict.fromkeys(analysis.terms, 1.0)
    return [f"{one.entity.path}:{one.entity.name}" for one in rank(analysis, candidates, idf)]


@pytest.mark.parametrize(("distance", "value"), [(0.0, 1.0), (1.0, 0.5), (2.0, 0.0), (1.8, 0.0), (None, 0.0)])
def test_a_distance_of_unit_vectors_is_turned_into_their_cosine(distance: float | None, value: float) -> None:
    assert cosine(distance) == pytest.approx(value)


def test_rare_words_weigh_more_than_common_ones() -> None:
    assert inverse_frequency(1, 1000) > inverse_frequency(100, 1000) > inverse_frequency(1000, 1000) > 0


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        ("send", 1.0), ("Session.send", 1.0), ("a.send", 1.0), ("send()", 1.0), ("Send", 0.6), ("sending", 0.0), ("", 0.0),
    ],
)  # fmt: skip
def test_a_name_matches_bare_with_its_parent_or_with_its_file(asked: str, value: float) -> None:
    assert exact_match(asked, _entity("send", parent="Session")) == value


def test_one_selector_of_a_list_matches_almost_as_well_as_the_whole() -> None:
    rule = _entity("h1, .title", "a.css", "rule")
    assert exact_match("h1, .title", rule) == 1.0
    assert exact_match(".title", rule) == 0.9


def test_the_share_of_a_question_that_stands_in_a_name_is_weighted_by_rarity() -> None:
    idf = {"merg": 3.0, "cooki": 1.0}
    assert stem_share(idf, "merge_settings") == 0.75
    assert name_share(idf, "merge_cookies") == pytest.approx(2 / 3)
    assert name_share(idf, "unrelated") == 0.0


def test_a_definition_of_the_asked_name_comes_before_what_mentions_it() -> None:
    named = _candidate(_entity("merge_cookies", "src/z.py"), dense=0.3, lexical=0.5)
    mentions = _candidate(_entity("prepare", "src/a.py"), dense=0.9, lexical=9.0)
    assert _order("merge_cookies", mentions, named)[0] == "src/z.py:merge_cookies"


@pytest.mark.parametrize(
    "path",
    [
        "tests/test_a.py",
        "src/a.test.ts",
        "examples/a.py",
        "docs/a.py",
        "dist/a.js",
        "types/a.d.ts",
        "README.md",
        "vendor/a.py",
    ],
)
def test_files_that_are_seldom_the_answer_are_held_back(path: str) -> None:
    language = "markdown" if path.endswith(".md") else "python"
    assert path_penalty(analyse("how are cookies of sessions merged"), path, language) < 1.0


@pytest.mark.parametrize(
    ("question", "path", "language"),
    [
        ("tests for merging cookies", "tests/test_a.py", "python"),
        ("example of a cookie jar", "examples/a.py", "python"),
        ("installation section of the readme", "README.md", "markdown"),
        ("legacy cookie merging", "legacy/a.py", "python"),
    ],
)
def test_a_question_that_names_the_thing_waives_the_penalty(question: str, path: str, language: str) -> None:
    assert path_penalty(analyse(question), path, language) == 1.0


def test_a_question_that_only_speaks_of_tests_waives_half_of_what_holds_them_back() -> None:
    held = path_penalty(analyse("sending requests over a socket"), "tests/test_a.py", "python")
    spoken_of = path_penalty(analyse("mocking requests while testing"), "tests/test_a.py", "python")
    assert held < spoken_of < 1.0


def test_files_called_index_are_not_held_back() -> None:
    for path in ("lib/mailer/index.js", "pkg/__init__.py"):
        assert path_penalty(analyse("Send the message to the server"), path, "javascript") == 1.0


def test_the_kind_asked_for_counts_in_a_sentence() -> None:
    rule = _candidate(_entity(".sidebar", "a.css", "rule"))
    function = _candidate(_entity("sidebar", "src/a.py"))
    assert _order("which CSS rule hides the bar", function, rule)[0] == "a.css:.sidebar"


def test_a_place_that_the_question_names_is_not_held_back() -> None:
    frame = _candidate(_entity("test_load", "tests/test_a.py"), dense=0.1)
    frame.pointed = 1.0
    other = _candidate(_entity("load", "src/a.py"), dense=0.9)
    assert _order('File "tests/test_a.py", line 2, in test_load\nTypeError: wrong', other, frame)[0] == (
        "tests/test_a.py:test_load"
    )


def test_a_heading_that_bears_the_name_of_a_function_comes_right_behind_it() -> None:
    function, heading = _candidate(_entity("render")), _candidate(_entity("render", "docs/a.md", "heading"))
    like = [_candidate(_entity(f"render_{number}", f"src/b{number}.py")) for number in range(5)]
    assert _order("render", *like, heading, function)[:2] == ["src/a.py:render", "docs/a.md:render"]


def test_a_heading_asked_for_by_its_own_text_is_not_held_back_as_prose() -> None:
    heading = _candidate(_entity("Running Tests", "Readme.md", "heading"), dense=0.4, lexical=2.0)
    code = _candidate(_entity("run_tests", "src/a.py"), dense=0.9, lexical=2.0)
    assert _order("Running Tests", code, heading)[0] == "Readme.md:Running Tests"


def test_a_second_source_of_one_file_counts_less_for_a_broad_question() -> None:
    assert WEIGHTS["how"].saturation < 1.0
    first = _candidate(_entity("a", "src/a.py", line=1), dense=0.90)
    second = _candidate(_entity("b", "src/a.py", line=20), dense=0.89)
    other = _candidate(_entity("c", "src/b.py"), dense=0.85)
    assert _order("how does something work here", first, second, other)[1].startswith("src/b.py")


def test_equal_scores_are_ordered_by_path_line_and_name_however_they_came() -> None:
    twins = [
        _candidate(_entity(name, path, line=line))
        for name, path, line in [("x", "b.py", 1), ("y", "a.py", 9), ("x", "a.py", 2)]
    ]
    orders = {
        tuple(_order("unrelated words in python", *[replace(one) for one in order])) for order in (twins, twins[::-1])
    }
    assert orders == {("a.py:x", "a.py:y", "b.py:x")}


def test_no_candidates_have_no_order() -> None:
    assert _order("anything at all") == []
