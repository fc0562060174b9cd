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
