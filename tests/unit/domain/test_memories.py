import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from braindex.domain.errors import UsageError
from braindex.domain.memories import (
    ID_LENGTH,
    MOST_ABOUT,
    MOST_CATEGORY,
    MOST_FILES,
    MOST_NAME,
    MOST_PATH,
    MOST_TEXT,
    About,
    Episode,
    Missing,
    NotAnId,
    NotAReference,
    NotASource,
    NotATime,
    Note,
    NotOneLine,
    NotText,
    TooLong,
    checked_episode,
    checked_note,
    checked_reference,
    derived_id,
    fitted_episode,
    new_id,
    utc_time,
)

TIME = "2026-11-01T10:00:00.000000Z"
NOTE = Note("0123456789abcdef", "Refunds go through the ledger.", "decision", "cursor", TIME, TIME)
EPISODE = Episode("0123456789abcdef", "turn", "cursor", "s1", TIME, "mend it", "mended", "done", ("a.py",), "c0ffee")


def test_an_id_is_as_long_as_any_other_and_never_given_twice():
    ids = {new_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert {len(one) for one in (*ids, derived_id("turn", "1"))} == {ID_LENGTH}
    assert all(checked_note(replace(NOTE, id=one)).id == one for one in ids)


def test_a_derived_id_tells_its_parts_apart_and_is_the_same_for_the_same_parts():
    assert derived_id("a", "bc") == derived_id("a", "bc") != derived_id("ab", "c")
    assert derived_id("\ud800") != derived_id("?")


@pytest.mark.parametrize(
    "given",
    ["2026-11-01T10:00:00Z", "2026-11-01T10:00:00+00:00", "2026-11-01T11:00:00.000+01:00", "2026-11-01T10:00:00"],
)
def test_a_time_is_kept_in_utc_and_one_width(given):
    assert checked_note(replace(NOTE, created=given)).created == TIME
    assert checked_episode(replace(EPISODE, created=given)).created == TIME


def test_times_sort_as_text():
    moments = [datetime(2026, 11, 1, 10, tzinfo=UTC) + timedelta(microseconds=step) for step in (0, 1, 500_000, 10**6)]
    assert sorted(map(utc_time, moments)) == [utc_time(one) for one in moments]
    assert utc_time(datetime(2026, 11, 1, 11, tzinfo=timezone(timedelta(hours=1)))) == TIME


@pytest.mark.parametrize("given", ["", "yesterday", "2026-13-01", "0001-01-01T00:00:00+14:00", "1\ud800"])
def test_what_is_no_time_is_refused(given):
    with pytest.raises(NotATime, match="creation of a note"):
        checked_note(replace(NOTE, created=given))


def test_a_checked_note_is_one_that_stays_as_it_is():
    assert checked_note(NOTE) == NOTE
    assert checked_episode(EPISODE) == EPISODE


def test_paths_are_kept_in_the_form_of_the_index_and_each_once():
    tied = (
        About("docs/Ativac\u0327a\u0303o b.md"),
        About("docs/Ativação b.md"),
        About("src/"),
        About("a.py", "A.run", "ff"),
    )
    assert checked_note(replace(NOTE, about=tied)).about == (
        About("docs/Ativação b.md"),
        About("src"),
        About("a.py", "A.run", "ff"),
    )
    assert checked_episode(replace(EPISODE, files=("src/", "src", "e\u0301"))).files == ("src", "é")


@pytest.mark.parametrize("text", ["記憶 🧠", "one\x00two", "\u202eright to left", "line\nline\r\n", " spaces stay "])
def test_any_text_that_unicode_has_is_taken_as_it_is(text):
    assert checked_note(replace(NOTE, text=text)).text == text


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"text": "x" * (MOST_TEXT + 1)}, TooLong, "text of a note has 100,001 characters, and at most 100,000"),
        ({"text": " \n"}, Missing, "text of a note is empty"),
        ({"text": "ab\ud800"}, NotText, "text of a note is not valid Unicode: character 3"),
        ({"category": "x" * (MOST_CATEGORY + 1)}, TooLong, "category of a note has 65"),
        ({"category": "two\nlines"}, NotOneLine, "category of a note"),
        ({"author": "x" * (MOST_NAME + 1)}, TooLong, "author of a note"),
        ({"author": "a\x00"}, NotOneLine, r"author of a note.*a\\x00"),
        ({"about": (About(""),)}, Missing, "path that a note is about"),
        ({"about": (About("/"),)}, Missing, "path that a note is about"),
        ({"about": (About("x" * (MOST_PATH + 1)),)}, TooLong, "path that a note is about"),
        ({"about": (About("\udcff"),)}, NotText, "path that a note is about"),
        ({"about": (About("a"),) * (MOST_ABOUT + 1)}, TooLong, "101 items, and at most 100"),
        ({"id": "0123"}, NotAnId, "0123"),
        ({"id": "0123456789ABCDEF"}, NotAnId, "no id"),
        ({"source": "heard"}, NotASource, "heard"),
        ({"updated": "soon"}, NotATime, "update of a note"),
    ],
)
def test_what_cannot_be_kept_of_a_note_is_refused_by_name(changes, error, said):
    with pytest.raises(error, match=said) as raised:
        checked_note(replace(NOTE, **changes))
    assert isinstance(raised.value, UsageError)


def test_any_word_may_be_a_category():
    for word in ("function", "note", "файл", "two words", ""):
        assert checked_note(replace(NOTE, category=f" {word} ")).category == word


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"kind": ""}, Missing),
        ({"prompt": "x" * (MOST_TEXT + 1)}, TooLong),
        ({"summary": "\udfff"}, NotText),
        ({"files": ("a",) * (MOST_FILES + 1)}, TooLong),
        ({"files": ("",)}, Missing),
        ({"session": "a\tb"}, NotOneLine),
    ],
)
def test_what_cannot_be_kept_of_an_episode_is_refused(changes, error):
    with pytest.raises(error, match="episode"):
        checked_episode(replace(EPISODE, **changes))


def test_an_episode_that_is_fitted_can_be_kept():
    wild = Episode(
        EPISODE.id, "", "cli\x00ent" * 99, "s\n1", TIME, "begin " + "x" * MOST_TEXT + " end", "\ud800", "o" * 999,
        ("", "/", "\t/", "x" * (MOST_PATH + 1), "\udcff.py", *(f"{number}.py" for number in range(2 * MOST_FILES))), "\x7f",
    )  # fmt: skip
    fitted = checked_episode(fitted_episode(wild))
    assert (fitted.kind, fitted.session, fitted.summary, fitted.commit) == ("turn", "s 1", "\ufffd", "")
    assert (fitted.files[:2], len(fitted.files)) == (("\ufffd.py", "0.py"), MOST_FILES)
    assert (len(fitted.prompt), fitted.prompt[:6], fitted.prompt[-4:]) == (MOST_TEXT, "begin ", " end")
    assert fitted_episode(EPISODE) == EPISODE


def test_a_reference_is_the_beginning_of_an_id_in_either_case():
    assert checked_reference(" 0A1b ") == "0a1b"
    for text in ("", "0a1", "xyzw", "0" * 17, "0a1b%"):
        with pytest.raises(NotAReference):
            checked_reference(text)


def test_the_json_of_a_memory_says_null_for_what_is_not_there():
    shown = Note(NOTE.id, "text", created=TIME, updated=TIME, about=(About("a.py"),)).as_json()
    assert json.loads(json.dumps(shown)) == {
        "id": NOTE.id, "text": "text", "category": None, "author": None, "created": TIME, "updated": TIME,
        "about": [{"path": "a.py", "qualified_name": None, "digest": None}], "source": "asked",
    }  # fmt: skip
    assert json.loads(json.dumps(EPISODE.as_json()))["files"] == ["a.py"]
