import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

from braindex.domain.brief import EntitiesMoved
from braindex.registry.brief_versions import (
    ENTITIES_FILE,
    MOST_VERSIONS,
    VERSIONS_FOLDER,
    keep_version,
    moved_since,
    read_versions,
    write_marks,
)
from braindex.registry.briefs import BriefRecord, StoredBrief

WHEN = datetime(2026, 5, 1, 12, tzinfo=UTC)


def stored(text: str, **more) -> StoredBrief:
    return StoredBrief(text, BriefRecord("sha", **more), edited=False)


def identifier(number: int) -> str:
    return f"{number:024x}"


def test_a_replaced_brief_is_kept_with_what_it_was(tmp_path: Path) -> None:
    keep_version(tmp_path, stored("one\n", engine="ollama", locked="2026-01-01T00:00:00+00:00", entities=7), WHEN)
    [found] = read_versions(tmp_path)
    assert (found.text, found.engine, found.given, found.entities) == ("one\n", "ollama", False, 7)
    assert found.replaced == "2026-05-01T12:00:00+00:00"
    folder = tmp_path / VERSIONS_FOLDER
    if os.name != "nt":
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {stat.S_IMODE(one.stat().st_mode) for one in folder.iterdir()} == {0o600}


def test_the_last_few_are_kept_the_newest_first(tmp_path: Path) -> None:
    for number in range(MOST_VERSIONS + 5):
        keep_version(tmp_path, stored(f"{number}\n"), WHEN + timedelta(seconds=number))
    found = read_versions(tmp_path)
    assert len(found) == len(list((tmp_path / VERSIONS_FOLDER).iterdir())) == MOST_VERSIONS
    assert found[0].text == f"{MOST_VERSIONS + 4}\n"


def test_what_is_no_version_is_passed_over(tmp_path: Path) -> None:
    keep_version(tmp_path, stored("one\n"), WHEN)
    folder = tmp_path / VERSIONS_FOLDER
    [good] = folder.iterdir()
    for number, content in enumerate([b"", b"[]", b"{", b'{"text": 1}', b"\xff\xfe", b"[" * 200_000]):
        (folder / good.name.replace("12", f"{13 + number}", 1)).write_bytes(content)
    (folder / "readme.txt").write_text("mine")
    if hasattr(os, "symlink") and os.name != "nt":
        (folder / good.name.replace("2026", "2027")).symlink_to("/etc/passwd")
    assert [one.text for one in read_versions(tmp_path)] == ["one\n"]


def test_a_folder_in_which_nothing_can_be_kept_costs_the_version_alone(tmp_path: Path) -> None:
    (tmp_path / VERSIONS_FOLDER).write_text("in the way")
    keep_version(tmp_path, stored("one\n"), WHEN)
    assert read_versions(tmp_path) == []


def test_entities_that_came_changed_and_went_are_counted(tmp_path: Path) -> None:
    then = [(identifier(number), bytes([number]) * 16) for number in range(5)]
    write_marks(tmp_path, "brief\n", then)
    now = [*then[2:4], (identifier(4), b"other" * 4), (identifier(9), b"new")]
    assert moved_since(tmp_path, "brief\n", now) == EntitiesMoved(added=1, changed=1, removed=2)
    assert moved_since(tmp_path, "brief\n", then) == EntitiesMoved(0, 0, 0)
    assert moved_since(tmp_path, "another\n", now) is None
    with (tmp_path / ENTITIES_FILE).open("ab") as file:
        file.write(b"cut")
    assert moved_since(tmp_path, "brief\n", now) is None
