"""Diffs as git writes them, read: which files changed, and which lines of them may be cited."""

import pytest

from braindex.domain.diffs import FileDiff, new_file, parse_diff

CHANGED = """\
diff --git a/src/cart.py b/src/cart.py
index 1111111111..2222222222 100644
--- a/src/cart.py
+++ b/src/cart.py
@@ -1,4 +1,5 @@ class Cart:
 one
-two
+zwei
+drei
 three
 four
@@ -10,2 +11,1 @@
 ten
-eleven
"""


def only(text: str) -> FileDiff:
    (found,) = parse_diff(text)
    return found


def test_a_changed_file_tells_its_lines_on_both_sides():
    one = only(CHANGED)
    assert (one.path, one.old_path, one.kind, one.mode) == ("src/cart.py", "src/cart.py", "modified", "100644")
    assert (one.old_id, one.new_id) == ("1111111111", "2222222222")
    assert one.added == ((2, 3),)
    assert one.removed == ((2, 2), (11, 11))
    assert one.citable == ((1, 5), (11, 11))
    assert one.counts() == (2, 2)
    assert one.hunks[0].section == "class Cart:"


@pytest.mark.parametrize(
    ("line", "end", "cited"),
    [(2, 3, (2, 3)), (5, 9, (5, 5)), (6, 6, None), (11, 11, (11, 11)), (3, 1, (3, 3)), (0, 2, None)],
)
def test_lines_may_be_cited_as_far_as_the_diff_shows_them(line, end, cited):
    assert only(CHANGED).cited(line, end) == cited


def test_a_new_file_has_no_old_path_and_all_of_its_lines_may_be_cited():
    one = only(
        "diff --git a/n.py b/n.py\nnew file mode 100755\nindex 0000000..abcdef1\n--- /dev/null\n+++ b/n.py\n"
        "@@ -0,0 +1,2 @@\n+a\n+b\n"
    )
    assert (one.kind, one.path, one.old_path, one.mode, one.citable) == ("added", "n.py", "", "100755", ((1, 2),))


def test_a_deleted_file_is_cited_by_its_old_lines():
    one = only(
        "diff --git a/n.py b/n.py\ndeleted file mode 100644\nindex abcdef1..0000000\n--- a/n.py\n+++ /dev/null\n"
        "@@ -1,2 +0,0 @@\n-a\n-b\n"
    )
    assert (one.kind, one.path, one.citable) == ("deleted", "n.py", ((1, 2),))


def test_an_empty_file_is_told_by_its_header_alone():
    one = only("diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n")
    assert (one.kind, one.path, one.hunks, one.citable) == ("added", "e", (), ())


def test_a_rename_has_both_paths_and_may_change_lines_too():
    plain = only("diff --git a/old.py b/new.py\nsimilarity index 100%\nrename from old.py\nrename to new.py\n")
    assert (plain.kind, plain.old_path, plain.path, plain.counts()) == ("renamed", "old.py", "new.py", (0, 0))
    edited = only(
        "diff --git a/old.py b/new.py\nsimilarity index 90%\nrename from old.py\nrename to new.py\n"
        "index 1111111..2222222 100644\n--- a/old.py\n+++ b/new.py\n@@ -1 +1 @@\n-a\n+b\n"
    )
    assert (edited.kind, edited.path, edited.added) == ("renamed", "new.py", ((1, 1),))


def test_a_copy_is_told_from_a_rename():
    one = only("diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to y\n")
    assert (one.kind, one.old_path, one.path) == ("copied", "x", "y")


def test_a_change_of_mode_alone_has_no_lines():
    one = only("diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n")
    assert (one.kind, one.mode, one.hunks) == ("modified", "100755", ())


@pytest.mark.parametrize("body", ["Binary files a/x.png and b/x.png differ\n", "GIT binary patch\nliteral 3\nabc\n\n"])
def test_a_binary_file_holds_no_text(body):
    one = only(f"diff --git a/x.png b/x.png\nindex 1111111..2222222 100644\n{body}")
    assert one.binary
    assert not one.is_text


@pytest.mark.parametrize(("mode", "text"), [("160000", "Subproject commit abc"), ("120000", "target")])
def test_a_submodule_and_a_link_only_name_something_else(mode, text):
    one = only(f"diff --git a/x b/x\nindex 1111111..2222222 {mode}\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+{text}\n")
    assert not one.is_text


def test_a_line_that_has_no_end_is_no_line_more():
    one = only(
        "diff --git a/x b/x\nindex 1111111..2222222 100644\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n"
        "\\ No newline at end of file\n+a\n+b\n\\ No newline at end of file\n"
    )
    assert (one.removed, one.added, one.citable) == (((1, 1),), ((1, 2),), ((1, 2),))


def test_carriage_returns_stay_a_part_of_their_lines():
    one = only("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\x85d\u2028e\r\n")
    assert [text for _, _, _, text in one.hunks[0].numbered()] == ["a\r", "b\r", "c\x85d\u2028e\r"]
    assert one.counts() == (1, 1)


def test_a_removed_line_that_reads_like_a_header_begins_no_file():
    one = only("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,1 @@\n a\n--- a/y\n-diff --git a/y b/y\n")
    assert one.path == "x"
    assert one.removed == ((2, 3),)


@pytest.mark.parametrize(
    ("header", "path"),
    [
        ('"a/tab\\there.py" "b/tab\\there.py"', "tab\there.py"),
        ('"a/\\303\\274.py" "b/\\303\\274.py"', "ü.py"),
        ('"a/quote\\".py" "b/quote\\".py"', 'quote".py'),
        ('"a/back\\\\slash" "b/back\\\\slash"', "back\\slash"),
        ("a/with space.py b/with space.py", "with space.py"),
        ("a/x b/y.py b/x b/y.py", "x b/y.py"),
        ("a/Ativação b.md b/Ativação b.md", "Ativação b.md"),
    ],
)
def test_a_path_is_read_as_git_wrote_it(header, path):
    assert only(f"diff --git {header}\nold mode 100644\nnew mode 100755\n").path == path


def test_a_rename_to_a_quoted_path_is_read_from_its_own_lines():
    one = only('diff --git a/x "b/t\\tb"\nsimilarity index 100%\nrename from x\nrename to "t\\tb"\n')
    assert (one.old_path, one.path) == ("x", "t\tb")


def test_a_path_with_a_space_ends_before_its_tab():
    one = only("diff --git a/a b b/a b\n--- a/a b\t\n+++ b/a b\t\n@@ -1 +1 @@\n-x\n+y\n")
    assert (one.path, one.old_path) == ("a b", "a b")


def test_several_files_come_in_their_order():
    text = CHANGED + "diff --git a/b b/b\nold mode 100644\nnew mode 100755\n* Unmerged path c\n" + CHANGED
    assert [one.path for one in parse_diff(text)] == ["src/cart.py", "b", "src/cart.py"]


@pytest.mark.parametrize(
    "text", ["", "\n", "nothing of the kind\n", "diff --git \n", "diff --cc x\n@@@ -1 -1 +1 @@@\n"]
)
def test_what_is_no_diff_holds_no_file(text):
    assert parse_diff(text) == ()


def test_of_a_diff_that_ends_early_what_there_is_counts():
    one = only(CHANGED[: CHANGED.index("+drei")])
    assert (one.added, one.removed) == (((2, 2),), ((2, 2),))


def test_a_huge_diff_is_read_in_one_go():
    lines = "".join(f"+line {number}\n" for number in range(200_000))
    one = only(f"diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1,200000 @@\n{lines}")
    assert one.added == ((1, 200_000),)


def test_a_file_that_git_does_not_know_is_shown_as_added():
    one = new_file("x.py", "a\nb\n")
    assert (one.kind, one.added, one.text()) == ("added", ((1, 2),), "a\nb")
    assert new_file("x.py", "a\nb").counts() == (2, 0)
    assert new_file("x.py", "").hunks == ()
    assert not new_file("x.png", "", binary=True).is_text
