"""Many rules are looked up, few are tried one by one; both must decide alike, and the few are compared with git."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from braindex.indexing.gitpattern import InvalidPattern, literal_runs, parse
from braindex.indexing.ignore import Rule, RuleFile
from braindex.indexing.ruleindex import Ways

ATOMS = st.sampled_from(
    ("a", "B", "foo", "Src", "é", " ", "!", "#", ".c", ".py", "/", "/**", "**/", "*", "**", "?", "[ab]", "[!a]", "[a/b]",
     "[[:alpha:]]", "\\*", "\\[", "long-name-")
)  # fmt: skip
LINES = st.builds(
    lambda sign, atoms: sign + "".join(atoms), st.sampled_from(["", "!"]), st.lists(ATOMS, min_size=1, max_size=5)
)
PATHS = st.lists(
    st.sampled_from(["a", "b", "foo", "src", "Src", "é", "a.c", "foo.py", "long-name-x", "*", "[b"]),
    min_size=1,
    max_size=4,
).map("/".join)
FILLER = [f"{start}{number}{end}" for number in range(60) for start, end in (("*.x", ""), ("/only/", "/*.y"))]


def rules_of(lines: list[str]) -> list[Rule]:
    rules = []
    for number, line in enumerate(lines, 1):
        try:
            pattern = parse(line)
        except InvalidPattern:
            continue
        if pattern is not None:
            rules.append(Rule(pattern, ".gitignore", number))
    return rules


@settings(max_examples=300, deadline=None, database=None)
@given(
    lines=st.lists(LINES, min_size=1, max_size=6),
    paths=st.lists(PATHS, min_size=1, max_size=6),
    fold_case=st.booleans(),
)
def test_many_rules_decide_as_few_do(lines, paths, fold_case):
    few = RuleFile(rules_of([*[""] * len(FILLER), *lines]), fold_case=fold_case)
    many = RuleFile(rules_of([*FILLER, *lines]), fold_case=fold_case)
    for path in paths:
        name = path.rpartition("/")[2]
        for is_folder in (False, True):
            expected = few.last(path, name, is_folder=is_folder)
            assert many.last(path, name, is_folder=is_folder) == expected
            if expected is not None:
                following = few.before(expected, path, is_folder=is_folder)
                assert many.before(expected, path, is_folder=is_folder) == following
        assert many.reaches(path) == few.reaches(path)


@settings(max_examples=300, deadline=None, database=None)
@given(line=LINES, path=PATHS)
def test_a_path_that_a_rule_matches_holds_its_fixed_text(line, path):
    for rule in rules_of([line]):
        if RuleFile([rule]).last(path, path.rpartition("/")[2], is_folder=True):
            octets = path.encode("utf-8").decode("latin-1")
            assert [run for run in literal_runs(rule.pattern) if run not in octets + "/"] == []


@pytest.mark.parametrize(
    ("line", "runs"),
    [
        ("*.csv", [".csv"]),
        ("!/src/*/file.py", ["src/", "/file.py"]),
        ("a\\*b?c[de]f/", ["a*b", "c", "f"]),
        ("a/**/b", ["a/", "b"]),
        ("*", []),
    ],
)
def test_the_fixed_text_of_a_rule(line, runs):
    pattern = parse(line)
    assert pattern is not None
    assert literal_runs(pattern) == runs


def test_a_rule_among_many_is_compiled_only_when_a_path_holds_its_text():
    rules = RuleFile(rules_of([f"*.type{number}" for number in range(20_000)]))
    found = rules.last("a/b.type77", "b.type77", is_folder=False)
    assert found is not None
    assert found.pattern.text == "*.type77"
    assert rules.last("a/b.py", "b.py", is_folder=False) is None
    assert 1 <= len(rules._compiled) < 100


def test_a_way_may_be_as_deep_as_a_path():
    ways = Ways(re.DOTALL)
    ways.add(["a"] * 3_000)
    assert ways.lead_below(["a"] * 2_999)
    assert not ways.lead_below(["a"] * 3_000)
