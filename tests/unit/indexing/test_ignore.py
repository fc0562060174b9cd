from collections.abc import Sequence

import pytest

from braindex.domain.results import Skipped
from braindex.indexing.gitpattern import InvalidPattern, parse
from braindex.indexing.ignore import MAX_IGNORE_BYTES, Rule, RuleFile, deciding, next_deciding, read_rules

MATCHES = [
    ("foo", ["foo", "a/foo", "foo/"], ["foobar", "a/barfoo"]),
    ("foo/", ["foo/", "a/foo/"], ["foo", "a/foo"]),
    ("/Library/", ["Library/"], ["x/Library/", "Library"]),
    ("a/b", ["a/b", "a/b/"], ["x/a/b"]),
    ("*.csv", ["x.csv", "a/b/.csv"], ["x.csvs"]),
    ("doc/*.txt", ["doc/x.txt"], ["doc/a/x.txt", "a/doc/x.txt"]),
    ("**/foo/bar", ["foo/bar", "x/y/foo/bar"], ["bar"]),
    ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/x/bc"]),
    ("foo/**", ["foo/x", "foo/x/y", "foo/x/"], ["foo/", "foo"]),
    ("a?c", ["abc"], ["ac", "abbc"]),
    ("[!a]b", ["cb"], ["ab"]),
    ("[[:digit:]].txt", ["7.txt"], ["x.txt"]),
    ("[z-a]", ["z"], ["a", "m"]),
    ("[]-]x", ["]x", "-x"], ["ax"]),
    (r"[\]]x", ["]x"], ["\\x"]),
    (r"\#x", ["#x"], ["x"]),
    (r"\!x", ["!x"], ["x"]),
    ("x ", ["x"], ["x "]),
    (r"x\ ", ["x "], ["x"]),
    ("x\t", ["x\t"], ["x"]),
    ("x\r", ["x"], ["x\r"]),
    ("docs/Ativação*", ["docs/Ativação b.md"], ["docs/Ativacao b.md"]),
]


def rule_file(*lines: str, base: str = "", above: str = "", fold_case: bool = False) -> RuleFile:
    parsed = [(parse(line), number) for number, line in enumerate(lines, 1)]
    rules = [Rule(pattern, base + ".gitignore", number) for pattern, number in parsed if pattern is not None]
    return RuleFile(rules, base=base, above=above, fold_case=fold_case)


def is_ignored(files: Sequence[RuleFile], path: str) -> bool:
    bare = path.rstrip("/")
    decided = deciding(files, bare, bare.rpartition("/")[2], is_folder=path.endswith("/"))
    return decided is not None and not decided[0].pattern.negated


@pytest.mark.parametrize(("line", "matching", "others"), MATCHES, ids=[row[0] for row in MATCHES])
def test_a_line_matches_what_git_matches(line, matching, others):
    rules = [rule_file(line)]
    assert [path for path in matching if not is_ignored(rules, path)] == []
    assert [path for path in others if is_ignored(rules, path)] == []


@pytest.mark.parametrize("line", ["", "   ", "# a comment", "\r"])
def test_blank_lines_and_comments_are_no_rules(line):
    assert parse(line) is None


@pytest.mark.parametrize("line", ["[abc", "foo\\", "/", "!", "[[:nonsense:]]", "a//"])
def test_a_line_that_can_match_nothing_is_called_invalid(line):
    with pytest.raises(InvalidPattern):
        parse(line)


def test_the_last_matching_line_decides():
    assert not is_ignored([rule_file("*.log", "!keep.log")], "keep.log")
    assert is_ignored([rule_file("!keep.log", "*.log")], "keep.log")


def test_the_nearest_file_decides():
    files = [rule_file("!x.log", base="a/"), rule_file("*.log")]
    assert not is_ignored(files, "a/x.log")
    assert is_ignored(files, "a/y.log")


def test_an_anchored_rule_counts_from_its_own_folder():
    files = [rule_file("/x", base="a/")]
    assert is_ignored(files, "a/x")
    assert not is_ignored(files, "a/b/x")


def test_a_file_above_the_root_sees_the_whole_way_down():
    files = [rule_file("/sub/pkg/x", "/y", above="sub/pkg/")]
    assert is_ignored(files, "x")
    assert not is_ignored(files, "y")


def test_case_is_folded_only_where_asked():
    assert not is_ignored([rule_file("Build/", "*.TXT")], "build/")
    folding = [rule_file("Build/", "*.TXT", fold_case=True)]
    assert is_ignored(folding, "build/")
    assert is_ignored(folding, "a/readme.txt")


def test_a_name_in_one_unicode_form_matches_a_rule_in_the_other():
    assert is_ignored([rule_file("re\u0301sume\u0301.txt")], "r\u00e9sum\u00e9.txt")


def test_the_reason_names_the_rule_its_file_and_its_line():
    decided = deciding([rule_file("# data", "*.csv", base="data/")], "data/x.csv", "x.csv", is_folder=False)
    assert decided is not None
    assert decided[0].reason() == "ignored by data/.gitignore:2 `*.csv`"


def test_the_rule_that_would_decide_next_is_found_in_the_same_file_and_in_files_farther_up():
    near, far = rule_file("!x", base="a/"), rule_file("*", "x", "!x")
    decided = deciding([near, far], "a/x", "x", is_folder=False)
    assert decided is not None
    following = next_deciding([near, far], decided, "a/x", "x", is_folder=False)
    assert following is not None
    assert following.line == 3
    decided = deciding([far], "a/x", "x", is_folder=False)
    assert decided is not None
    following = next_deciding([far], decided, "a/x", "x", is_folder=False)
    assert following is not None
    assert following.pattern.text == "x"


@pytest.mark.parametrize(
    ("line", "folder", "reached"),
    [
        ("!/build/gen/x.py", "build", True),
        ("!/build/gen/x.py", "build/gen", True),
        ("!build/gen/x.py", "build/other", False),
        ("!/build/gen/x.py", "build/gen/x.py", False),
        ("!/build/*/x.py", "build/any", True),
        ("!/build/**", "build/a/b", True),
        ("!x.py", "build", False),
        ("!**/x.py", "build", False),
        ("/build/gen/x.py", "build", False),
    ],
)
def test_only_a_rule_that_names_a_path_reaches_into_a_folder_that_is_left_out(line, folder, reached):
    assert rule_file(line).reaches(folder) is reached


def test_a_hostile_line_of_many_wildcards_ends():
    """Matching by plain backtracking would outlast the universe here."""
    stars = rule_file("*a" * 60 + "b", "**/" * 40 + "*a*a*a*a*b/c", "/" + "*a*/" * 30 + "x")
    assert not is_ignored([stars], "/".join(["a" * 100] * 20))


def test_bad_lines_are_named_and_the_others_count(tmp_path):
    (tmp_path / ".gitignore").write_bytes(b"*.log\n[abc\n\xff\xfe\xfd\nbuild/\n")
    rules, trouble = read_rules(str(tmp_path / ".gitignore"), ".gitignore")
    assert rules is not None
    assert is_ignored([rules], "x.log")
    assert is_ignored([rules], "build/")
    assert trouble == [Skipped(".gitignore", "line 2 `[abc` is not a valid pattern; line 3 is not UTF-8: not applied")]


def test_a_byte_order_mark_is_not_part_of_the_first_rule(tmp_path):
    (tmp_path / ".gitignore").write_bytes(b"\xef\xbb\xbf*.log\r\n")
    rules, trouble = read_rules(str(tmp_path / ".gitignore"), ".gitignore")
    assert rules is not None
    assert is_ignored([rules], "x.log")
    assert trouble == []


@pytest.mark.parametrize("content", ["*.log\n".encode("utf-16"), b"x" * (MAX_IGNORE_BYTES + 1)])
def test_an_ignore_file_that_cannot_be_used_says_so(tmp_path, content):
    (tmp_path / ".gitignore").write_bytes(content)
    rules, trouble = read_rules(str(tmp_path / ".gitignore"), ".gitignore")
    assert rules is None
    assert "its rules are not applied" in trouble[0].reason
