"""A review as people read it: on a terminal, in a pull request, beside a commit."""

import pytest

from braindex.domain.changes import Changes
from braindex.domain.diffs import new_file, parse_diff
from braindex.domain.entities import EntityHead
from braindex.domain.opinions import Finding, Opinion
from braindex.domain.relations import Link
from braindex.domain.results import Workspace
from braindex.domain.review_text import (
    episode_summary,
    quoted_markdown,
    review_lines,
    review_markdown,
    structural_subject,
)
from braindex.domain.reviews import Callers, FileSummary, PastReview, Reminder, Review, Spent, Touched
from braindex.domain.statuses import status_of
from braindex.domain.usage import Usage

RENAMED = parse_diff("diff --git a/old.py b/new.py\nsimilarity index 100%\nrename from old.py\nrename to new.py\n")[0]
ADD = Touched(EntityHead("1", "cart.py", "function", "add", "add", "", "python", 4, 9), "def add(cart)")
FILES = (
    FileSummary(new_file("cart.py", "a\nb\n"), added=(ADD,)),
    FileSummary(RENAMED),
    FileSummary(new_file(".env", "x\n"), withheld="never indexed: may hold secrets"),
)
OPINION = Opinion(
    "request_changes",
    "Adds add.",
    (Finding("cart.py", 4, 5, "Loses items.\nSecond line.", "high"),),
    (Finding("", 0, 0, "Nobody tests it.", "low"),),
    dropped=1,
)
PAST = PastReview("9", "2026-11-01T08:00:00Z", "approve", "Adds remove.", "Fine.", "c" * 40, ("cart.py",), 0.5)


def review(**more) -> Review:
    changes = Changes("commit HEAD (aaaaaaaaaa)", commit="a" * 40)
    return Review(Workspace("w", "shop", "/shop"), changes, FILES, reason="no engine is configured", **more)


def text(found: Review) -> str:
    return "\n".join(review_lines(found))


def markdown(found: Review) -> str:
    return "\n".join(review_markdown(found))


def test_without_an_engine_the_structure_speaks():
    assert text(review()) == (
        "no verdict on commit HEAD (aaaaaaaaaa), 3 files\n\nchanged:\n  added cart.py (+2 -0)\n"
        "    added function `add` #cart.py:4\n  renamed new.py (from old.py) (+0 -0)\n"
        "  added .env: content withheld, never indexed: may hold secrets\n\nno engine is configured"
    )


def test_a_verdict_comes_first_then_its_findings_with_their_places():
    shown = text(review(opinion=OPINION, engine="deepseek-flash", spent=Spent(3, 10, 10, 0, 2_000_000_000)))
    assert shown.startswith(
        "request_changes: 1 finding and 1 remark in commit HEAD (aaaaaaaaaa), 3 files\n\nAdds add.\n"
    )
    assert "\n 1. [high] #cart.py:4-5\n    Loses items.\n    Second line.\n" in shown
    assert "remarks, whose place is none of the diff:\n  [low]\n    Nobody tests it." in shown
    assert "deepseek-flash: no engine is configured · 3 calls, $0.002000 · 1 finding without a place" in shown


def test_similar_reviews_and_callers_are_told():
    shown = text(review(similar=(PAST,), callers=(Callers(ADD, (Link("pay", "function", "pay.py", 2, 1),), 1),)))
    assert "  2026-11-01 approve of cccccccccc (0.50): Adds remove. → Fine." in shown
    assert "  `add` #cart.py:4\n    `pay` #pay.py:2 (one of 2 of this name)\n    … and 1 caller more" in shown


def test_markdown_keeps_who_calls_what_apart():
    pay = Touched(EntityHead("2", "pay.py", "function", "pay", "pay", "", "python", 2, 3), "def pay(c)")
    found = (
        Callers(ADD, (Link("pay", "function", "pay.py", 2, 1),), 1),
        Callers(pay, (Link("buy", "function", "buy.py", 7, 0), Link("order", "function", "buy.py", 9, 0))),
    )
    assert (
        "\n### Called by, by name\n\n- `add` #cart.py:4\n  - `pay` #pay.py:2 (one of 2 of this name)\n"
        "  - … and 1 caller more\n- `pay` #pay.py:2\n  - `buy` #buy.py:7\n  - `order` #buy.py:9\n\n"
    ) in markdown(review(callers=found))


def test_notes_are_told_with_what_has_changed_since():
    found = review(
        reminders=(Reminder("7", "2026-10-01T08:00:00Z", "decision", "Carts are\nlists.", "`add` changed since"),)
    )
    line = "2026-10-01 decision (may be stale: `add` changed since): Carts are lists."
    assert f"\nnotes that have to do with it:\n  {line}\n" in text(found)
    assert f"\n### Notes that have to do with it\n\n- {line}\n" in markdown(found)
    assert found.as_json()["reminders"][0]["stale"] == "`add` changed since"


def test_an_unknown_cost_and_notes_are_said():
    shown = text(review(spent=Spent().plus(Usage(1, 1), None), notes=("cut short",)))
    assert "1 call, cost unknown · cut short" in shown
    lowered = Opinion("comment", "", lowered=True)
    assert "it counts as a comment" in text(review(opinion=lowered, engine="ollama"))


def test_markdown_says_the_same_and_leads_nowhere():
    shown = markdown(review(opinion=OPINION, engine="ollama", similar=(PAST,)))
    assert shown.startswith("## Review: request_changes: 1 finding and 1 remark in commit HEAD")
    assert "- **high** `#cart.py:4-5`\n  Loses items.\n  Second line." in shown
    assert "- **low**\n  Nobody tests it." in shown
    hostile = Opinion("comment", "<img src=x> [click](http://evil) ![x](y) `code <b>`\n```\n<b>\n")
    shown = markdown(review(opinion=hostile, engine="ollama"))
    assert "&lt;img src=x> [click]\\(http://evil) !\\[x]\\(y) `code <b>`" in shown
    assert shown.count("```") == 2


@pytest.mark.parametrize("given", ["`", "``x", "[a][b]", "<!-- x", "```py\n<x>", "a ``b`` c"])
def test_text_in_markdown_begins_no_tag_outside_of_code(given):
    shown = quoted_markdown(given)
    assert "<!" not in shown
    assert "][" not in shown.replace("]\\[", "")


def test_unsafe_characters_are_shown_and_not_obeyed():
    bad = Opinion("comment", "a\x1b[31m\u202eb", (Finding("x\n.py", 1, 1, "\x07", "low"),))
    for shown in (text(review(opinion=bad, engine="ollama")), markdown(review(opinion=bad, engine="ollama"))):
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert "x\\n.py" in shown


def test_long_lists_are_counted():
    many = tuple(FileSummary(new_file(f"{number}.py", "x\n"), added=(ADD,) * 30) for number in range(60))
    shown = text(Review(Workspace("w", "shop", "/shop"), Changes("x"), many))
    assert "    added … and 22 entities more" in shown
    assert "… and 10 files more" in shown


def test_what_is_stored_tells_the_verdict_and_every_finding_in_a_line():
    assert episode_summary(review(opinion=OPINION)) == (
        "Adds add.\nhigh: #cart.py:4-5 Loses items. Second line.\nlow: Nobody tests it."
    )
    assert episode_summary(review()) == "not judged"
    assert episode_summary(review(opinion=Opinion("approve", ""))) == "approved"


def test_the_structure_in_words_says_each_word_of_ours_once_and_no_number():
    test = Touched(EntityHead("2", "tests/test_cart.py", "function", "test_add", "test_add", "", "python", 4, 9))
    gone = Touched(
        EntityHead("3", "a/b/c/cart.py", "method", "drop", "Cart.drop", "Cart", "python", 9, 9), "", "Drops\x07 it."
    )
    files = (
        FileSummary(new_file("tests/test_cart.py", "x\n"), added=(test,)),
        FileSummary(new_file("a/b/c/cart.py", "x\n"), added=(ADD, ADD), removed=(gone,)),
    )
    assert structural_subject(files) == (
        "added: add, test_add\nremoved: Cart.drop; Drops\\x07 it.\nfiles: c/cart.py, tests/test_cart.py"
    )
    assert structural_subject(FILES[1:]) == "files: new.py, .env"


@pytest.mark.parametrize(
    ("verdict", "state"), [("approve", "success"), ("comment", "success"), ("request_changes", "failure")]
)
def test_a_status_has_the_colour_of_its_verdict(verdict, state):
    found = status_of(review(opinion=Opinion(verdict, ""), engine="ollama"))
    assert found is not None
    assert (found.commit, found.state) == ("a" * 40, state)


def test_a_change_that_nobody_judged_is_an_error_and_one_without_a_commit_has_no_status():
    found = status_of(review())
    assert found is not None
    assert (found.state, found.description) == ("error", "not reviewed: no engine is configured")
    assert status_of(Review(Workspace("w", "shop", "/shop"), Changes("uncommitted"), FILES)) is None


def test_json_has_every_key_also_without_an_opinion():
    found = review(similar=(PAST,)).as_json()
    assert set(found) == {
        "workspace_id", "changes", "subject", "commit", "verdict", "summary", "findings", "remarks", "dropped", "engine", "reason",
        "files", "similar", "reminders", "callers", "usage", "notes",
    }  # fmt: skip
    assert (found["verdict"], found["findings"], found["similar"][0]["verdict"]) == (None, [], "approve")
    assert found["files"][1]["old_path"] == "old.py"
    assert found["files"][0]["old_path"] is None
