import pytest

from braindex.domain.errors import UsageError
from braindex.domain.units import EntityFilter
from braindex.registry.filters import LONGEST_GLOB, conditions, path_matches


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("*.py", ["a.py", "src/a.py", "src/b/a.py"], ["a.pyi", "src/apy"]),
        ("/*.md", ["README.md"], ["docs/a.md"]),
        ("src/*.py", ["src/a.py"], ["src/b/a.py", "a.py", "x/src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/b/a.py", "src/b/c/a.py"], ["src2/a.py", "src/a.js"]),
        ("**/*.py", ["a.py", "src/a.py"], ["a.js"]),
        ("src/**", ["src/a.py", "src/b/c.md"], ["src", "src2/a.py"]),
        ("**/tests/**", ["tests/a.py", "x/tests/b/a.py"], ["tests.py", "x/tests2/a.py"]),
        ("test_*", ["test_a.py", "x/test_b/deep/c.txt"], ["my_test_a.py"]),
        ("src/*", ["src/a.py", "src/b/a.py"], ["src", "other/a.py"]),
        ("a?.py", ["ab.py", "x/ac.py"], ["a.py", "abc.py", "a/.py"]),
        ("[a-c].py", ["a.py", "x/c.py"], ["d.py"]),
        ("[!a-c].py", ["d.py"], ["a.py"]),
        ("[^a-c].py", ["d.py"], ["a.py"]),
        ("x[!a]y", ["xby"], ["x/y", "xay"]),
        ("*.{ts,tsx}", ["a.ts", "x/b.tsx"], ["a.js", "a.{ts,tsx}"]),
        ("{src,lib}/**/*.p{y,yi}", ["src/a.py", "lib/x/a.pyi"], ["doc/a.py"]),
        ("a*b*c.py", ["abc.py", "aXbYc.py"], ["acb.py", "a/b/c.py"]),
        ("src/**/x/**/y.py", ["src/x/y.py", "src/1/x/2/3/y.py"], ["src/y.py", "src/x.py"]),
        ("docs/Ativação*", ["docs/Ativação b.md"], ["docs/Ativacao b.md"]),
        ("[z-a].py", ["[z-a].py"], ["b.py"]),
        ("a[b", ["a[b"], ["ab"]),
        ("a.c", ["a.c"], ["abc"]),
        ("**", ["a", "a/b"], []),
    ],
)
def test_a_glob_takes_in_what_git_and_editors_would(pattern: str, inside: list[str], outside: list[str]) -> None:
    assert [one for one in inside if not path_matches(pattern, one)] == []
    assert [one for one in outside if path_matches(pattern, one)] == []


@pytest.mark.parametrize("pattern", ["*a" * 60 + "b", "**/a/" * 30 + "b", "{a,b}" * 40, "[" * 200, "?*" * 99 + "b"])
def test_no_pattern_makes_matching_explode(pattern: str) -> None:
    assert not path_matches(pattern, "a" * 250 + "/a" * 60 + "/c")


@pytest.mark.parametrize("path", ["*" * 5_000, "[" * 200_000, "{a" + "," * 200_000 + "}", "?" + "a" * LONGEST_GLOB])
def test_a_glob_that_is_too_long_is_refused_with_the_next_step(path: str) -> None:
    with pytest.raises(UsageError, match=r"a pattern of [\d,]+ characters; at most 1,000 are read: name a folder"):
        conditions(EntityFilter(path=path))


@pytest.mark.parametrize("path", ["a" * 5_000, "{" * 5_000, "{" + "a" * 5_000 + "}", "*" + "a" * (LONGEST_GLOB - 1)])
def test_a_long_path_without_wildcards_and_a_glob_of_the_greatest_length_are_no_trouble(path: str) -> None:
    assert conditions(EntityFilter(path=path))[1][0] == path


@pytest.mark.parametrize("path", [None, "", ".", "/", "./", "  "])
def test_a_path_that_names_the_root_lets_everything_through(path: str | None) -> None:
    assert conditions(EntityFilter(path=path)) == ("1", [])


@pytest.mark.parametrize("path", ["src", "src/", "./src", "/src/", " src "])
def test_spellings_of_one_folder_are_the_same_filter(path: str) -> None:
    assert conditions(EntityFilter(path=path))[1] == ["src", "src/", "src0"]


def test_values_are_parameters_never_a_part_of_the_statement() -> None:
    sql, parameters = conditions(EntityFilter(path="a'; DROP", kind="k'", language='"'))
    assert parameters == ["k'", '"', "a'; DROP", "a'; DROP/", "a'; DROP0"]
    assert "DROP" not in sql
