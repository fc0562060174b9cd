import pytest

from braindex.domain.duplicates import NotACosine, NothingToMerge, checked_cosine, grouped, merge_plan
from braindex.domain.memories import About, Note

OLD, NEW = "2026-01-01T00:00:00.000000Z", "2026-02-01T00:00:00.000000Z"
NOW = "2026-03-01T00:00:00.000000Z"


def note(number: int, text: str, **more) -> Note:
    return Note(f"{number:016x}", text, **{"created": NEW, "updated": NEW, **more})


def test_the_first_of_an_order_gathers_what_is_like_it() -> None:
    pairs = [("a", "b", 0.95), ("b", "c", 0.97), ("c", "d", 0.9)]
    assert grouped(["a", "b", "c", "d"], pairs) == [("a", [("b", 0.95)]), ("c", [("d", 0.9)])]
    assert grouped(["b", "a", "c", "d"], pairs) == [("b", [("c", 0.97), ("a", 0.95)])]
    assert grouped([], []) == []


def test_a_merge_keeps_every_text_once_and_everything_that_notes_are_about() -> None:
    keep = note(1, "Dates are UTC.", about=(About("a.py", "f", "1"),), category="decision")
    longer = note(2, "Dates  are UTC. Never guess a zone.", about=(About("a.py", "f", "0"), About("b.py")), created=OLD)
    other = note(3, "Clocks lie.", author="pi")
    plan = merge_plan(keep, [longer, other], NOW)
    assert plan.note.text == "Dates  are UTC. Never guess a zone.\n\nClocks lie."
    assert (plan.note.id, plan.note.created, plan.note.updated) == (keep.id, OLD, NOW)
    assert set(plan.note.about) == {About("a.py", "f", "1"), About("b.py")}
    assert (plan.note.category, plan.note.author) == ("decision", "pi")
    assert "every text, each once" in plan.kept
    assert plan.lost == (f"the ids {longer.id}, {other.id}",)


def test_what_a_merge_loses_is_said() -> None:
    keep = note(1, "Dates are UTC.", category="decision", author="cursor")
    other = note(2, "Dates are in UTC, always.", category="rule", author="pi")
    plan = merge_plan(keep, [other], NOW, "Dates are UTC.")
    assert plan.note.text == "Dates are UTC."
    assert plan.lost == (
        f"the ids {other.id}", f"what only the texts of {other.id} say", "the category rule", "the author pi",
    )  # fmt: skip
    assert "every text, each once" not in plan.kept


def test_a_note_cannot_be_merged_with_itself_alone() -> None:
    one = note(1, "text")
    with pytest.raises(NothingToMerge):
        merge_plan(one, [one], NOW)


@pytest.mark.parametrize("least", [0.2, 1.01, float("nan")])
def test_how_alike_notes_have_to_be_is_a_cosine(least: float) -> None:
    with pytest.raises(NotACosine):
        checked_cosine(least)
