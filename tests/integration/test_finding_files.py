"""The walk against git itself, and the whole way from a tree to its texts."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from braindex.domain.results import Skipped
from braindex.domain.units import FileRecord
from braindex.indexing.decode import SourceText, read_text
from braindex.indexing.plan import RACY_NS, plan
from braindex.indexing.walk import Found, WalkRules, walk

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="compares with git")
# Names a Windows disk refuses (`*`, `\`, a space at the end) would make two different trees.
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX names")

TREE = (
    "a", "b.c", "foo.py", "#c", "!d", "A", " e", "-", "x y ", "e.tmp",
    "foo/a", "foo/b/a.c", "foo/b/foo", "foo/bar/x", "foo/bar/foo.py/a", "a.c/b/a", "a.c/b.c", "ab/foo", "ab/ab/ab/a",
    "plugins/app/a.py", "plugins/other/b.py", "src/a.py", "src/foo/b.py", "Library/a", "x/Library/a", "build/gen/a.py",
    "é/a.c", "é/é", "x y/x y", "[a]/b", "a\\b/a", "]b/a",
)  # fmt: skip

TRICKY = (
    "plugins/*\n!plugins/app",
    "*\n!/src/\n!/src/**",
    "*\n!*/\n!*.py",
    "/*\n!/foo\n/foo/*\n!/foo/bar",
    "/Library/",
    "Library/",
    "foo/**\n!foo/b/",
    "foo/**/a",
    "**/foo\n!foo/",
    "**/b/**",
    "a**",
    "foo**/a",
    "**foo",
    "/**/a.c",
    "?",
    "[[:alpha:]]",
    "[![:alpha:]]*",
    "[^a]*",
    "[]b]b",
    "[a-",
    "[z-a]",
    "\\#c\n\\!d",
    "#c\n!d",
    "x\\ y",
    "x y   ",
    "x y\\ ",
    "foo\\",
    "\\foo",
    "[\\[]a[\\]]",
    "\\[a\\]/",
    "a\\\\b",
    "foo/",
    "foo//",
    "//foo",
    "/",
    "!",
    "*/",
    "**/",
    "**",
    "/**",
    "foo\r\nab\r\n",
    "\ufefffoo",
    "é/*\n!é/é",
    "??",
    "*.py\n!src/*.py\nsrc/foo/",
    "build\n!build/gen/a.py",
    "!foo\nfoo\n!/foo",
    "*.c\n!b.c/",
    "foo/*/a.c",
    "foo\t",
)

ATOMS = st.sampled_from(
    (
        "a", "b", "foo", "src", "é", "x y", "A", "-", " ", "\t", "!", "#", ".c", ".py", "/", "/**", "**/", "*", "**",
        "***", "?", "[ab]", "[!a]", "[^b]", "[a-c]", "[c-a]", "[]b]", "[a/b]", "[[:alpha:]]", "[", "]", "\\*", "\\",
    )
)  # fmt: skip
LINES = st.builds(
    lambda sign, atoms, slash: sign + "".join(atoms) + slash,
    st.sampled_from(["", "", "!"]),
    st.lists(ATOMS, min_size=1, max_size=5),
    st.sampled_from(["", "", "/"]),
)
IGNORE_FILES = st.lists(LINES, min_size=1, max_size=5).map("\n".join)


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for path in TREE:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        if not (root / path).exists():
            (root / path).write_text("x")
    return root


def git_sees(root: Path) -> list[str]:
    command = [
        "git",
        "-c",
        "core.excludesFile=",
        "-c",
        "core.ignoreCase=false",
        "ls-files",
        "-zco",
        "--exclude-standard",
    ]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout.decode()
    return sorted(path for path in listed.split("\0") if path)


def walk_sees(root: Path) -> list[str]:
    rows = walk(root, WalkRules(defaults=False, fold_case=False))
    return sorted(row.path for row in rows if isinstance(row, Found))


@needs_git
@posix_only
@pytest.mark.parametrize("text", TRICKY)
def test_the_walk_sees_the_files_that_git_sees(repository, text):
    (repository / ".gitignore").write_bytes(text.encode())
    (repository / "foo" / ".gitignore").unlink(missing_ok=True)
    assert walk_sees(repository) == git_sees(repository)


@needs_git
@posix_only
@settings(max_examples=60, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(top=IGNORE_FILES, nested=IGNORE_FILES, exclude=IGNORE_FILES)
def test_the_walk_sees_the_files_that_git_sees_whatever_the_rules(repository, top, nested, exclude):
    (repository / ".gitignore").write_bytes(top.encode())
    (repository / "foo" / ".gitignore").write_bytes(nested.encode())
    (repository / ".git" / "info" / "exclude").write_bytes(exclude.encode())
    assert walk_sees(repository) == git_sees(repository)
    (repository / ".git" / "info" / "exclude").write_bytes(b"")


@needs_git
@posix_only
@pytest.mark.parametrize("text", ["*.py", "/foo/bar/x", "bar/*", "foo/*\n!foo/bar", "!x\nx"])
def test_a_subfolder_sees_what_git_sees_in_it(repository, text):
    (repository / ".gitignore").write_bytes(text.encode())
    (repository / "foo" / ".gitignore").unlink(missing_ok=True)
    assert walk_sees(repository / "foo" / "bar") == git_sees(repository / "foo" / "bar")


@needs_git
def test_a_real_worktree_and_a_real_nested_repository_are_not_part_of_the_parent(tmp_path):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(tmp_path)]
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "a.py").write_text("x = 1")
    subprocess.run([*git, "add", "a.py"], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", "wt"], check=True, capture_output=True)
    subprocess.run(["git", "init", "-q", str(tmp_path / "nested")], check=True)
    (tmp_path / "nested" / "b.py").write_text("y = 1")
    rows = list(walk(tmp_path, WalkRules()))
    assert [row.path for row in rows if isinstance(row, Found)] == ["a.py"]
    assert [row.path for row in rows if isinstance(row, Skipped)] == [".git/", "nested/", "wt/"]
    assert [row.path for row in walk(tmp_path / "wt", WalkRules()) if isinstance(row, Found)] == ["a.py"]


def test_from_a_tree_to_its_texts_every_file_is_either_read_or_has_a_reason(tmp_path):
    contents = {
        "src/app.py": b"\xef\xbb\xbfdef run():\r\n    pass\r\n",
        "src/latin.py": "# coding: latin-1\nname = 'José'\n".encode("latin-1"),
        "src/broken.py": b"x = '\0'\n",
        "notes.txt": b"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n-----END PRIVATE KEY-----\n",
        "prod.env": b"TOKEN=1\n",
        "data.pkl": b"\x80\x04",
        "big.txt": b"x" * 200,
        "uv.lock": b"version = 1\n",
    }
    for path, data in contents.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(data)
    texts, reasons = {}, {}
    for row in walk(tmp_path, WalkRules(max_file_bytes=150)):
        result = read_text(tmp_path, row, 150) if isinstance(row, Found) else row
        if isinstance(result, SourceText):
            texts[row.path] = result.text
        else:
            reasons[result.path] = result.reason
    assert texts == {
        "src/app.py": "def run():\r\n    pass\r\n",
        "src/latin.py": "# coding: latin-1\nname = 'José'\n",
    }
    assert reasons == {
        "big.txt": "left out by default: 200 bytes, the limit is 150",
        "data.pkl": "left out by default: binary (.pkl)",
        "notes.txt": "never indexed: holds a private key",
        "prod.env": "never indexed: may hold secrets",
        "src/broken.py": "left out by default: binary (NUL bytes)",
        "uv.lock": "left out by default: lock file",
    }


def test_a_rule_added_after_a_scan_removes_the_files_it_names(tmp_path):
    for path in ("a.py", "b.csv", "sub/c.csv"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("x")
    before = [row for row in walk(tmp_path, WalkRules()) if isinstance(row, Found)]
    scanned = max(row.mtime_ns for row in before) + 2 * RACY_NS
    known = {row.path: FileRecord(row.path, row.size, row.mtime_ns, b"", "text", scanned) for row in before}
    (tmp_path / ".memignore").write_text("*.csv\n")
    after = [row for row in walk(tmp_path, WalkRules()) if isinstance(row, Found)]
    result = plan(after, known, scanned)
    assert [one.path for one in result.new] == [".memignore"]
    assert (result.unchanged, result.removed) == (["a.py"], ["b.csv", "sub/c.csv"])
