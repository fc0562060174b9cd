"""What of a change is parsed, what is withheld, and why."""

import pytest

from braindex.domain.changes import Changes
from braindex.domain.diffs import FileDiff, Hunk, new_file
from braindex.domain.options import WorkspaceOptions
from braindex.services.reviewing.structure import MOST_PARSED, Indexing, Structures, withheld

KEY = "-----BEGIN {0}-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\n-----END {0}-----\n".format("PRIVATE KEY")
INDEXED = Indexing(
    {"src/a.py", "kept.lock"}, {"ignored/": "ignored by .memignore:1", "big.py": "left out by default: size"}
)


class Contents:
    """Stands for the repository: contents by id."""

    def __init__(self, **contents: bytes) -> None:
        self.known = contents

    def changes(self, *_: object) -> object:
        raise AssertionError

    def contents(self, ids, _most):
        return {one: self.known[one] for one in ids if one in self.known}


def structures(tmp_path, **contents: bytes) -> Structures:
    return Structures(tmp_path, Contents(**contents), WorkspaceOptions())  # type: ignore[arg-type]


def of(*files: FileDiff) -> Changes:
    return Changes("a commit", files, "a" * 40)


def changed(path: str, hunk: Hunk, **more: str) -> FileDiff:
    return FileDiff(path, path, old_id="old", new_id="new", hunks=(hunk,), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (".env", "may hold secrets"), ("deploy/prod.env", "may hold secrets"), (".ssh/config", "may hold secrets"),
        ("ignored/x.py", ".memignore"), ("big.py", "size"), ("package-lock.json", "lock file"), ("x.png", "binary"),
        ("src/a.py", ""), ("new.py", ""),
    ],
)  # fmt: skip
def test_what_holds_secrets_or_is_left_out_is_withheld(path, why):
    found = withheld(new_file(path, "x\n"), INDEXED)
    assert why in found if why else found == ""


def test_a_secret_is_withheld_under_its_old_name_too():
    assert "secrets" in withheld(FileDiff("settings.txt", ".env", "renamed"), INDEXED)


def test_a_private_key_is_withheld_wherever_it_is():
    assert withheld(new_file("notes.txt", KEY), INDEXED) == "holds a private key"


def test_a_line_changed_deep_in_a_long_function_changes_the_function(tmp_path):
    lines = ["def long():", *(f"    step_{number} = {number}" for number in range(2_000))]
    old = "\n".join(lines).encode()
    new = old.replace(b"step_1999 = 1999", b"step_1999 = 0")
    diff = changed("long.py", Hunk(2001, 1, 2001, 1, lines=("-    step_1999 = 1999", "+    step_1999 = 0")))
    (found,) = structures(tmp_path, old=old, new=new).of(of(diff), INDEXED)
    assert [one.name for one in found.changed] == ["long"]


def test_moving_code_about_in_a_file_changes_none_of_it(tmp_path):
    old = b"def one():\n    return 1\n\n\ndef two():\n    return 2\n"
    new = b"# A comment.\n\n\n" + old
    diff = changed("a.py", Hunk(1, 0, 1, 3, lines=("+# A comment.", "+", "+")))
    (found,) = structures(tmp_path, old=old, new=new).of(of(diff), INDEXED)
    assert found.entities == ()


def test_a_byte_order_mark_and_carriage_returns_hide_nothing(tmp_path):
    old = b"\xef\xbb\xbfdef one():\r\n    return 1\r\n"
    new = old.replace(b"1", b"2")
    diff = changed("a.py", Hunk(2, 1, 2, 1, lines=("-    return 1\r", "+    return 2\r")))
    (found,) = structures(tmp_path, old=old, new=new).of(of(diff), INDEXED)
    assert [(one.name, one.line) for one in found.changed] == [("one", 1)]


def test_what_cannot_be_read_or_decoded_says_so(tmp_path):
    hunk = Hunk(1, 1, 1, 1, lines=("-a", "+b"))
    (gone,) = structures(tmp_path).of(of(changed("a.py", hunk)), INDEXED)
    assert "git does not have its content" in gone.remark
    (binary,) = structures(tmp_path, old=b"\0", new=b"\0").of(of(changed("a.py", hunk)), INDEXED)
    assert "NUL" in binary.remark


def test_a_new_file_that_git_does_not_have_is_read_from_disk(tmp_path):
    (tmp_path / "fresh.py").write_text("def fresh():\n    return 1\n")
    diff = new_file("fresh.py", "def fresh():\n    return 1\n")
    (found,) = structures(tmp_path).of(Changes("uncommitted", (diff,), on_disk=True), INDEXED)
    assert [one.name for one in found.added] == ["fresh"]


def test_of_a_commit_nothing_is_read_from_disk_which_may_have_moved_on(tmp_path):
    (tmp_path / "fresh.py").write_text("def later():\n    return 1\n")
    (found,) = structures(tmp_path).of(of(FileDiff("fresh.py", kind="added", new_id="new")), INDEXED)
    assert (found.added, found.remark[:16]) == ((), "entities unknown")


def test_of_very_many_files_the_rest_is_told_unparsed(tmp_path):
    files = [FileDiff(f"{number}.py", kind="added", new_id="new") for number in range(MOST_PARSED + 2)]
    found = structures(tmp_path, new=b"def one():\n    return 1\n").of(of(*files), INDEXED)
    assert [bool(one.added) for one in found[-3:]] == [True, False, False]
    assert "too many files" in found[-1].remark


def test_a_file_that_became_a_link_is_told_twice(tmp_path):
    gone = FileDiff("a.py", "a.py", "deleted", old_id="old", mode="100644")
    link = FileDiff("a.py", kind="added", new_id="x", mode="120000")
    found = structures(tmp_path, old=b"def one():\n    return 1\n").of(of(gone, link), INDEXED)
    assert [len(one.removed) for one in found] == [1, 0]
