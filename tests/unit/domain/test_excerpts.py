import pytest

from braindex.domain.excerpts import excerpt, shares
from braindex.domain.tokens import count_tokens
from braindex.domain.words import terms


def test_a_text_that_fits_is_shown_whole_without_its_indentation() -> None:
    assert excerpt(["    a = 1", "", "        b = 2", ""], [], 50) == "a = 1\n\n    b = 2"


def test_the_lines_that_the_question_is_about_are_kept_and_gaps_are_marked() -> None:
    lines = [f"filler_{number} = {number}" for number in range(60)]
    lines[40] = "merge_cookies(jar)"
    shown = excerpt(lines, terms("merge cookies"), 30)
    assert "merge_cookies(jar)" in shown
    assert "…" in shown
    assert shown.index("filler_0") < shown.index("merge_cookies")


@pytest.mark.parametrize("at", [0, 1, 30, 59, 250, 399])
def test_the_line_that_is_asked_for_is_there_whatever_it_costs(at: int) -> None:
    lines = [f"filler_{number} = merge_cookies(jar, {number})" for number in range(400)]
    for budget in (1, 30, 100):
        assert lines[at] in excerpt(lines, terms("merge cookies"), budget, [at]).splitlines()
    shown = excerpt(lines, terms("merge cookies"), 60, [at])
    assert lines[min(at + 1, 399)] in shown
    assert count_tokens(shown) <= 70


def test_of_lines_that_are_asked_for_all_are_shown_as_far_as_they_fit() -> None:
    lines = [f"filler_{number} = {number}" for number in range(300)]
    shown = excerpt(lines, [], 60, [270, 40, 999, -1])
    assert shown.index("filler_40 ") < shown.index("filler_270 ")


def test_a_blank_line_at_the_end_may_be_asked_for() -> None:
    assert excerpt(["a = 1", "", ""], [], 2, [2]) == "a = 1"


def test_the_budget_is_kept() -> None:
    lines = ["x = some_long_function_name(with_arguments)"] * 500
    assert count_tokens(excerpt(lines, [], 100)) <= 110


def test_a_line_of_a_megabyte_is_cut() -> None:
    assert len(excerpt(["x" * 1_000_000], [], 100)) <= 160


def test_nothing_to_show_is_an_empty_excerpt() -> None:
    assert excerpt([], [], 100) == ""
    assert excerpt(["", "  "], [], 100) == ""


def test_the_first_source_gets_the_largest_share_and_the_budget_is_not_overspent() -> None:
    found = shares(8, 320)
    assert found == sorted(found, reverse=True)
    assert found[0] > 2 * found[-1]
    assert sum(found) <= 320
    assert shares(0, 320) == []
