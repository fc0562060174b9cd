"""The memory as a person looks after it: real SQLite, real model, a real index behind the ties."""

import contextlib
import threading
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import MakeProject, scanned

from braindex.bootstrap import App
from braindex.domain.duplicates import NothingToMerge
from braindex.domain.errors import BraindexError
from braindex.domain.memories import About, Episode, Note, NoteChanged, NotOneLine, TooLong, UnknownMemory
from braindex.domain.results import Workspace
from braindex.registry.memory import MemoryStore
from braindex.registry.memory_browsing import MemoryFilter
from braindex.services.curation import days
from braindex.services.ties import NothingTiedTo

SOURCE = 'def parse_date(text):\n    """Parse a date."""\n    return text\n\n\ndef other():\n    return 1\n'


@pytest.fixture
def root(make_project: MakeProject) -> Path:
    return make_project({"dates.py": SOURCE, "sub/zones.py": "ZONE = 'UTC'\n"})


@pytest.fixture
def workspace(app: App, root: Path) -> Workspace:
    return scanned(app, root)


def stored(app: App, workspace: Workspace, *memories: Note | Episode) -> None:
    app.memories.take(workspace, memories)


def note(number: int, text: str, day: int = 1, **more) -> Note:
    when = f"2026-05-{day:02}T12:00:00.000000Z"
    return Note(f"{number:016x}", text, **{"created": when, "updated": when, **more})


def episode(number: int, prompt: str, day: int = 1, **more) -> Episode:
    when = f"2026-05-{day:02}T12:00:00.000000Z"
    return Episode(f"{number:016x}", **{"kind": "turn", "created": when, "prompt": prompt, **more})


def found(app: App, workspace: Workspace, **narrowed) -> list[int]:
    stale, limit, offset = narrowed.pop("stale", False), narrowed.pop("limit", 50), narrowed.pop("offset", 0)
    page = app.curation.page(workspace, MemoryFilter(**narrowed), stale=stale, limit=limit, offset=offset)
    return [int(one.memory.id, 16) for one in page.items]


def test_a_workspace_without_a_memory_has_an_empty_page(app: App, workspace: Workspace) -> None:
    page = app.curation.page(workspace)
    assert (page.items, page.total) == ((), 0)
    assert app.curation.duplicates(workspace) == []
    assert app.curation.labels(workspace).categories == {}


def test_notes_and_episodes_come_together_the_newest_first(app: App, workspace: Workspace) -> None:
    stored(app, workspace, note(1, "one", 1), episode(2, "two", 3), note(3, "three", 2))
    assert found(app, workspace) == [2, 3, 1]
    assert found(app, workspace, limit=1, offset=1) == [3]
    assert app.curation.page(workspace, limit=1).total == 3


@pytest.mark.parametrize(
    ("narrowed", "expected"),
    [
        ({"what": "note"}, [4, 3, 1]),
        ({"what": "episode"}, [2]),
        ({"category": "DECISION"}, [1]),
        ({"kind": "review"}, [2]),
        ({"client": "pi"}, [3, 2]),
        ({"since": "2026-05-03T00:00:00Z"}, [4, 3]),
        ({"until": "2026-05-02T00:00:00Z"}, [1]),
        ({"path": "sub"}, [2, 3]),
        ({"path": "sub/zones.py"}, [2, 3]),
        ({"words": "parsing zones"}, [1]),
        ({"words": "parse"}, [4, 1]),
        ({"words": "the"}, [4, 1]),
        ({"words": "0000000000000002"}, [2]),
        ({"words": "nowhere"}, []),
        ({"words": "'\" OR * ( : <script>"}, [4]),
        ({"words": "???"}, []),
        ({"words": "\ud800"}, []),
        ({"client": "\ud800"}, []),
        ({"words": "parse", "what": "episode"}, []),
    ],
)
def test_the_memory_is_filtered_in_the_database(
    app: App, workspace: Workspace, narrowed: dict[str, Any], expected: list[int]
) -> None:
    stored(
        app, workspace,
        note(1, "parse the zones", 1, category="decision"),
        episode(2, "review it", 2, kind="review", client="pi", files=("sub/zones.py",)),
        note(3, "clocks", 3, author="pi", about=(About("sub/zones.py"),)),
        note(4, "parse the <script>", 4),
    )  # fmt: skip
    assert sorted(found(app, workspace, **narrowed)) == sorted(expected)


def test_labels_count_what_there_is_to_filter_by(app: App, workspace: Workspace) -> None:
    stored(app, workspace, note(1, "a", category="decision", author="pi"), note(2, "b"), episode(3, "c", client="pi"))
    labels = app.curation.labels(workspace)
    assert labels.categories == {"": 1, "decision": 1}
    assert labels.kinds == {"turn": 1}
    assert labels.clients == {"pi": 2}


def test_notes_on_code_that_moved_on_are_found_alone(app: App, workspace: Workspace, root: Path) -> None:
    stale = app.notes.save(workspace, "dates are never guessed", about=["dates.py::parse_date"]).note
    app.notes.save(workspace, "this one holds", about=["dates.py::other"])
    app.notes.save(workspace, "about nothing")
    assert found(app, workspace, stale=True) == []
    (root / "dates.py").write_text(SOURCE.replace("return text", "return text.strip()"))
    page = app.curation.page(workspace, stale=True)
    assert ([one.memory.id for one in page.items], page.total) == ([stale.id], 1)
    assert "`parse_date` changed since" in page.items[0].stale
    assert app.curation.page(workspace).total == 3


def test_an_edited_note_keeps_its_id_and_creation_and_is_found_by_its_new_meaning(
    app: App, workspace: Workspace
) -> None:
    old = app.notes.save(workspace, "payments are refunded within a week", "decision", about=["dates.py"]).note
    new = app.curation.edit(workspace, old.id, text="dates are parsed in UTC  ", category="rule")
    assert (new.id, new.created, new.text, new.category, new.about) == (
        old.id, old.created, "dates are parsed in UTC", "rule", old.about,
    )  # fmt: skip
    assert new.updated > old.updated
    assert [one.memory.id for one in app.memories.similar(workspace, "how are dates parsed?", 5)] == [old.id]
    assert app.memories.similar(workspace, "are payments refunded within a week?", 5) == []


def test_a_secret_that_is_edited_in_is_redacted(app: App, workspace: Workspace) -> None:
    old = app.notes.save(workspace, "the key is in the vault").note
    assert "sk-abcdefghijklmnopqrstuv" not in app.curation.edit(
        workspace, old.id, text="the key is sk-abcdefghijklmnopqrstuv"
    ).text  # fmt: skip


def test_what_a_note_is_about_stays_as_it_was_made_until_it_is_renewed(
    app: App, workspace: Workspace, root: Path
) -> None:
    old = app.notes.save(workspace, "dates are never guessed", about=["dates.py::parse_date"]).note
    (root / "dates.py").write_text(SOURCE.replace("return text", "return text.strip()"))
    edited = app.curation.edit(workspace, old.id, about=["dates.py::parse_date", "dates.py::other"])
    assert edited.about[0] == old.about[0]
    assert app.curation.kept(workspace, old.id).stale
    renewed = app.curation.edit(workspace, old.id, renew=True)
    assert [one.written for one in renewed.about] == ["dates.py::parse_date", "dates.py::other"]
    assert app.curation.kept(workspace, old.id).stale == ""
    assert app.curation.edit(workspace, old.id, about=[]).about == ()


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"text": "x" * 100_001}, TooLong),
        ({"text": "  "}, BraindexError),
        ({"category": "two\nlines"}, NotOneLine),
        ({"about": ["no/such/thing.py"]}, NothingTiedTo),
        ({"seen": "2020-01-01T00:00:00.000000Z"}, NoteChanged),
    ],
)
def test_a_refused_edit_changes_nothing(
    app: App, workspace: Workspace, changes: dict[str, Any], error: type[Exception]
) -> None:
    old = app.notes.save(workspace, "as it was", "decision").note
    with pytest.raises(error):
        app.curation.edit(workspace, old.id, **changes)
    assert app.memories.note(workspace, old.id) == old


def test_of_two_edits_of_one_state_the_second_is_refused(app: App, workspace: Workspace) -> None:
    old = app.notes.save(workspace, "as it was").note
    app.curation.edit(workspace, old.id, text="first", seen=old.updated)
    with pytest.raises(NoteChanged):
        app.curation.edit(workspace, old.id, text="second", seen=old.updated)
    with pytest.raises(UnknownMemory):
        app.curation.edit(workspace, "ffffffffffffffff", text="x")


def test_notes_that_say_nearly_the_same_are_listed_around_the_newest(app: App, workspace: Workspace) -> None:
    stored(
        app, workspace,
        note(1, "Dates are stored in UTC, the zone is never guessed.", 1),
        note(2, "Dates are stored in UTC; the zone must never be guessed.", 3),
        note(3, "Payments are refunded within a week.", 2),
        episode(4, "Dates are stored in UTC, the zone is never guessed."),
    )  # fmt: skip
    [group] = app.curation.duplicates(workspace)
    assert int(group.note.id, 16) == 2
    assert [int(one.id, 16) for one, _ in group.others] == [1]
    assert 0.9 <= group.others[0][1] <= 1.0
    assert app.curation.duplicates(workspace, 1.0) == []
    with pytest.raises(BraindexError):
        app.curation.duplicates(workspace, 0.1)


def test_a_merge_leaves_one_note_that_says_and_is_about_all(app: App, workspace: Workspace) -> None:
    one = app.notes.save(workspace, "Dates are stored in UTC.", about=["dates.py"]).note
    two = app.notes.save(workspace, "Zones are never guessed.", "rule", about=["sub/zones.py"]).note
    assert app.curation.plan_merge(workspace, one.id, [two.id]).lost == (f"the ids {two.id}",)
    assert app.curation.page(workspace).total == 2
    app.curation.merge(workspace, one.id, [two.id])
    [left] = app.curation.page(workspace).items
    assert isinstance(left.memory, Note)
    assert left.memory.text == "Dates are stored in UTC.\n\nZones are never guessed."
    assert [tie.path for tie in left.memory.about] == ["sub/zones.py", "dates.py"]
    assert (left.memory.id, left.memory.created, left.memory.category) == (one.id, one.created, "rule")
    assert [each.memory.id for each in app.memories.similar(workspace, "are zones guessed?", 5)] == [one.id]
    with pytest.raises(NothingToMerge):
        app.curation.merge(workspace, one.id, [])
    with pytest.raises(UnknownMemory):
        app.curation.merge(workspace, one.id, [two.id])


def test_a_note_that_changes_while_it_is_merged_is_not_lost(app: App, workspace: Workspace) -> None:
    one = app.notes.save(workspace, "Dates are stored in UTC.").note
    two = app.notes.save(workspace, "Zones are never guessed.").note
    plan = app.curation.plan_merge(workspace, one.id, [two.id])
    app.curation.edit(workspace, two.id, text="Zones are never guessed, and neither are clocks.")
    with pytest.raises(NoteChanged):
        app.memories.merge_notes(workspace, plan.note, (plan.keep, *plan.others))
    assert app.curation.page(workspace).total == 2


def test_two_merges_at_once_leave_every_text(app: App, workspace: Workspace) -> None:
    notes = [app.notes.save(workspace, f"decision number {word} stands").note for word in ("one", "two", "three")]

    def merge(keep: Note, other: Note) -> None:
        with contextlib.suppress(BraindexError):
            app.curation.merge(workspace, keep.id, [other.id])

    threads = [threading.Thread(target=merge, args=pair) for pair in ((notes[0], notes[1]), (notes[1], notes[2]))]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    said = " ".join(one.memory.text for one in app.curation.page(workspace).items if isinstance(one.memory, Note))
    assert all(f"number {word}" in said for word in ("one", "two", "three"))


def test_ten_thousand_notes_are_paged_without_reading_the_others(app: App, workspace: Workspace) -> None:
    many = [note(number, f"note {number} of many", 1 + number % 28) for number in range(10_000)]
    with MemoryStore.open(app.workspaces.folder(workspace)) as store:
        store.take(many)
        last = store.browse(limit=50, offset=9_950)
        assert len(last) == 50
        assert store.browsed() == 10_000
        assert store.browsed(MemoryFilter(words="9999")) == 1


def test_days_are_whole_utc_days() -> None:
    assert days(date(2026, 5, 1), date(2026, 5, 1)) == ("2026-05-01T00:00:00Z", "2026-05-02T00:00:00Z")
    assert days(None, date.max) == (None, None)
