"""Memory: found, filtered, edited, merged, deleted, exported. Real SQLite, real index, no network."""

import html
import json
import re
from pathlib import Path

import pytest
from tests.conftest import MakeProject, scanned
from tests.fakes.browser import Browser

from braindex.bootstrap import App
from braindex.dashboard.desk import address
from braindex.domain.memories import Episode, Note
from braindex.domain.results import Workspace
from braindex.registry.memory import MemoryStore

from .conftest import SCRIPT

SOURCE = "def price(basket):\n    return sum(basket)\n"


@pytest.fixture
def root(make_project: MakeProject) -> Path:
    return make_project({"shop.py": SOURCE, "other.py": "LIMIT = 1\n"}, "shop")


@pytest.fixture
def workspace(app: App, root: Path, browser: Browser) -> Workspace:
    browser.enter()
    return scanned(app, root)


def note(number: int, text: str, day: int = 1, **more) -> Note:
    when = f"2026-05-{day:02}T12:00:00.000000Z"
    return Note(f"{number:016x}", text, **{"created": when, "updated": when, **more})


def episode(number: int, prompt: str, **more) -> Episode:
    return Episode(
        f"{number:016x}", **{"kind": "turn", "created": "2026-05-09T12:00:00.000000Z", "prompt": prompt, **more}
    )


def shown(text: str) -> list[int]:
    return [int(one, 16) for one in re.findall(r'<article class="card" aria-labelledby="memory-([0-9a-f]{16})"', text)]


def at(workspace: Workspace, *places: str, **query: str) -> str:
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    return address(workspace, "memory", *places) + (f"?{asked}" if asked else "")


def test_an_empty_memory_says_how_it_is_filled(browser: Browser, workspace: Workspace) -> None:
    page = browser.get(at(workspace))
    assert "Nothing is remembered of this workspace yet" in page.text
    assert "No two notes are as alike as that" in browser.get(at(workspace, "duplicates")).text


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, [3, 2, 1]),
        ({"what": "note"}, [2, 1]),
        ({"category": "rule"}, [2]),
        ({"category": "-"}, [1]),
        ({"kind": "review"}, [3]),
        ({"client": "pi"}, [3]),
        ({"q": "baskets"}, [1]),
        ({"q": "0000000000000002"}, [2]),
        ({"since": "2026-05-02", "until": "2026-05-02"}, [2]),
        ({"path": "shop.py"}, [3]),
        ({"page": "99"}, [3, 2, 1]),
        ({"q": "nowhere"}, []),
    ],
)
def test_filters_are_kept_in_the_address(
    app: App, browser: Browser, workspace: Workspace, query: dict[str, str], expected: list[int]
) -> None:
    app.memories.take(
        workspace,
        [
            note(1, "a basket is a list", 1),
            note(2, "prices are whole cents", 2, category="rule"),
            episode(3, "review it", kind="review", client="pi", files=("shop.py",), summary="done"),
        ],
    )
    page = browser.get(at(workspace, **query))
    assert page.status_code == 200
    assert shown(page.text) == expected


def test_a_day_that_is_none_is_refused(browser: Browser, workspace: Workspace) -> None:
    page = browser.get(at(workspace, since="%3Cscript%3E"))
    assert page.status_code == 400
    assert "is no day" in page.text
    assert "<script>'" not in page.text


def test_notes_on_code_that_moved_on_are_marked_and_can_be_shown_alone(
    app: App, browser: Browser, workspace: Workspace, root: Path
) -> None:
    old = app.notes.save(workspace, "a price is a sum", about=["shop.py::price"]).note
    app.notes.save(workspace, "nothing else")
    (root / "shop.py").write_text(SOURCE.replace("sum", "max"))
    page = browser.get(at(workspace, stale="yes"))
    assert shown(page.text) == [int(old.id, 16)]
    assert "may be stale" in page.text
    form = {"text": old.text, "category": "", "about": "shop.py::price", "seen": old.updated, "renew": "yes"}
    browser.get(at(workspace, "of", old.id, "edit"))
    assert browser.post(at(workspace, "of", old.id, "edit"), form).status_code == 303
    assert shown(browser.get(at(workspace, stale="yes")).text) == []


def test_what_is_remembered_is_text_and_never_markup(app: App, browser: Browser, workspace: Workspace) -> None:
    hostile = f'{SCRIPT}"><img src=x onerror=alert(1)> \u202e\u200b </textarea></pre>'
    app.memories.take(
        workspace,
        [
            note(1, hostile, category=SCRIPT, author=f'{SCRIPT}"'),
            note(2, f"{hostile} indeed", category=SCRIPT),
            episode(3, hostile, summary=hostile, client=f"{SCRIPT}\u202e", kind=SCRIPT, files=(f"{SCRIPT}.py",)),
        ],
    )
    places = [("of", f"{1:016x}"), ("of", f"{3:016x}"), ("of", f"{1:016x}", "edit"), ("of", f"{3:016x}", "forget")]
    pages = [browser.get(at(workspace, *place)).text for place in ((), *places, ("duplicates",))]
    pages.append(browser.post(at(workspace, "plan"), {"keep": f"{1:016x}", "note": [f"{2:016x}"]}).text)
    for text in pages:
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert " style=" not in text
        outside = re.sub(r"<textarea.*?</textarea>|value=\"[^\"]*\"", "", text, flags=re.DOTALL)
        assert "\u202e" not in outside
        assert "\u200b" not in outside
    assert hostile in html.unescape(pages[3])


def test_an_edit_keeps_the_id_and_is_refused_where_somebody_else_was_faster(
    app: App, browser: Browser, workspace: Workspace
) -> None:
    old = app.notes.save(workspace, "prices are in dollars", "rule").note
    form = {"text": "prices are\r\nwhole cents", "category": "decision", "about": "shop.py\r\n", "seen": old.updated}
    browser.get(at(workspace, "of", old.id, "edit"))
    answer = browser.post(at(workspace, "of", old.id, "edit"), form)
    assert answer.status_code == 303
    page = browser.get(answer.headers["location"])
    assert "The note was changed" in page.text
    new = app.memories.note(workspace, old.id)
    assert (new.text, new.category, new.about[0].path) == ("prices are\nwhole cents", "decision", "shop.py")
    browser.get(at(workspace, "of", old.id, "edit"))
    again = browser.post(at(workspace, "of", old.id, "edit"), {**form, "text": "mine"})
    assert again.status_code == 400
    assert "changed by somebody else" in again.text
    assert "mine</textarea>" in again.text
    assert app.memories.note(workspace, old.id) == new


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"text": " "}, "is empty"),
        ({"text": "x", "category": "y" * 65}, "at most 64"),
        ({"text": "x", "about": "no/such/file.py"}, "is neither a file or folder"),
    ],
)
def test_what_cannot_be_stored_stays_in_the_form(
    app: App, browser: Browser, workspace: Workspace, form: dict[str, str], said: str
) -> None:
    old = app.notes.save(workspace, "prices are in dollars").note
    browser.get(at(workspace, "of", old.id, "edit"))
    answer = browser.post(at(workspace, "of", old.id, "edit"), form)
    assert answer.status_code == 400
    assert said in html.unescape(answer.text)
    assert app.memories.note(workspace, old.id) == old


def test_nearly_the_same_notes_are_merged_once_what_is_kept_and_lost_was_said(
    app: App, browser: Browser, workspace: Workspace
) -> None:
    app.memories.take(
        workspace,
        [
            note(1, "Dates are stored in UTC, the zone is never guessed.", category="rule"),
            note(2, "Dates are stored in UTC; the zone must never be guessed.", 3, category="decision"),
            note(3, "Payments are refunded within a week."),
        ],
    )
    page = browser.get(at(workspace, "duplicates"))
    assert 'value="0000000000000002"' in page.text
    assert 'value="0000000000000003"' not in page.text
    keep, others = f"{2:016x}", [f"{2:016x}", f"{1:016x}"]
    ids = {"keep": keep, "note": others}
    plan = browser.post(at(workspace, "plan"), ids)
    assert "the category rule" in plan.text
    assert "every text, each once" in plan.text
    assert app.memories.counts(workspace)[0] == 3
    joined = app.curation.plan_merge(workspace, keep, others).note.text
    answer = browser.post(at(workspace, "merge"), {**ids, "joined": joined.replace("\n", "\r\n"), "text": joined})
    assert answer.status_code == 303
    merged = app.memories.note(workspace, f"{2:016x}")
    assert merged.text == joined
    assert "never guessed" in joined
    assert "must never be" in joined
    assert app.memories.counts(workspace)[0] == 2


def test_a_merge_takes_the_text_that_the_person_chose(app: App, browser: Browser, workspace: Workspace) -> None:
    app.memories.take(workspace, [note(1, "one"), note(2, "two")])
    browser.get(at(workspace, "of", f"{1:016x}", "edit"))
    ids = {"keep": f"{1:016x}", "note": [f"{2:016x}"]}
    refused = browser.post(at(workspace, "merge"), {**ids, "joined": "one\n\ntwo", "text": " "})
    assert refused.status_code == 400
    assert app.memories.counts(workspace)[0] == 2
    assert browser.post(at(workspace, "merge"), {**ids, "joined": "one\n\ntwo", "text": "both"}).status_code == 303
    assert app.memories.note(workspace, f"{1:016x}").text == "both"
    nothing = browser.post(at(workspace, "plan"), {"keep": f"{1:016x}", "note": [f"{1:016x}"]})
    assert nothing.status_code == 400
    assert "at least one other note" in nothing.text


@pytest.mark.parametrize("number", [1, 2])
def test_a_memory_is_deleted_once_that_was_confirmed(
    app: App, browser: Browser, workspace: Workspace, number: int
) -> None:
    app.memories.take(workspace, [note(1, "a note"), episode(2, "an episode")])
    place = at(workspace, "of", f"{number:016x}", "forget")
    assert "for good" in browser.get(place).text
    assert sum(app.memories.counts(workspace)) == 2
    csrf, browser.csrf = browser.csrf, "foreign"
    assert browser.post(place).status_code == 403
    assert sum(app.memories.counts(workspace)) == 2
    browser.csrf = csrf
    assert browser.post(place).status_code == 303
    assert shown(browser.get(at(workspace)).text) == [3 - number]
    assert browser.post(place).status_code == 404
    assert browser.get(place).status_code == 404


@pytest.mark.parametrize("identifier", ["zz", "%2e%2e%2f", "0" * 16, SCRIPT])
def test_an_id_that_is_none_is_an_error_and_no_markup(
    app: App, browser: Browser, workspace: Workspace, identifier: str
) -> None:
    app.notes.save(workspace, "a note")
    page = browser.get(at(workspace, "of", identifier))
    assert page.status_code in {400, 404}
    assert "<script>alert" not in page.text


def test_an_export_is_that_of_the_command_line(app: App, browser: Browser, workspace: Workspace) -> None:
    app.memories.take(workspace, [note(1, f"a note {SCRIPT} \u202e"), episode(2, "an episode")])
    answer = browser.get(at(workspace, "export", episodes="yes"))
    assert answer.headers["content-disposition"] == 'attachment; filename="braindex-notes.jsonl"'
    assert answer.text.splitlines() == list(app.notes.exported(workspace, markdown=False, episodes=True))
    assert [json.loads(line)["type"] for line in answer.text.splitlines()] == ["note", "episode"]
    markdown = browser.get(at(workspace, "export", **{"as": "markdown"}))
    assert markdown.headers["content-type"].startswith("text/markdown")
    assert markdown.text.startswith("# Notes of shop")


def test_ten_thousand_notes_are_a_page_at_a_time(app: App, browser: Browser, workspace: Workspace) -> None:
    many = [note(number, f"note {number} of many {SCRIPT}", 1 + number % 28) for number in range(10_000)]
    with MemoryStore.open(app.workspaces.folder(workspace)) as store:
        store.take(many)
    page = browser.get(at(workspace, page="200"))
    assert len(shown(page.text)) == 50
    assert "9,951–10,000 of 10,000" in page.text
    assert "<script>alert" not in page.text
    assert shown(browser.get(at(workspace, q="9999")).text) == [9999]
