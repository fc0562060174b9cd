import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from braindex.domain.results import Skipped
from braindex.indexing.own_data import RootIsOwnData
from braindex.indexing.walk import (
    KEPT_MAX_BYTES,
    Found,
    RootEmptied,
    RootMissing,
    RootNotAFolder,
    WalkRules,
    walk,
)

OWN_DATA = "never indexed: braindex's own data"

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="the file system must keep any bytes as a name")


def write(root: Path, *paths: str) -> None:
    """Files with their own path as content; a path that ends in `/` is a folder."""
    for path in paths:
        target = root / path
        if path.endswith("/"):
            target.mkdir(parents=True, exist_ok=True)
        else:
            put(root, path, path)


def put(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8")


def seen(root: Path, **rules: Any) -> tuple[list[str], dict[str, str]]:
    rows = list(walk(root, WalkRules(**rules)))
    found = [row.path for row in rows if isinstance(row, Found)]
    return found, {row.path: row.reason for row in rows if isinstance(row, Skipped)}


def sources(root: Path, **rules: Any) -> list[str]:
    """What is found, ignore files apart."""
    found, _ = seen(root, **rules)
    return [path for path in found if path.rpartition("/")[2] not in {".gitignore", ".memignore"}]


def test_files_come_in_the_order_of_their_paths(tmp_path):
    write(tmp_path, "b.py", "a/z.py", "a.py", "a/b/c.py", "a-b.py", "Z.py")
    assert sources(tmp_path) == ["Z.py", "a-b.py", "a.py", "a/b/c.py", "a/z.py", "b.py"]


def test_a_found_file_has_its_size_and_time(tmp_path):
    write(tmp_path, "a.py")
    os.utime(tmp_path / "a.py", ns=(5, 1_234_567_000))
    assert list(walk(tmp_path, WalkRules())) == [Found("a.py", 4, 1_234_567_000)]


def test_rows_are_streamed_folder_by_folder(tmp_path):
    write(tmp_path, "a.py", "b/c.py")
    rows = walk(tmp_path, WalkRules())
    first = next(rows)
    assert first.path == "a.py"
    write(tmp_path, "b/d.py")
    assert [row.path for row in rows] == ["b/c.py", "b/d.py"]


def test_an_excluded_folder_is_one_row_and_is_not_entered(tmp_path):
    write(tmp_path, "node_modules/a/b.js", "node_modules/c.js", "x.js")
    found, skipped = seen(tmp_path)
    assert found == ["x.js"]
    assert skipped == {"node_modules/": "left out by default: installed packages"}


def test_plugins_star_then_not_plugins_app_keeps_the_app(tmp_path):
    write(tmp_path, "plugins/app/x.py", "plugins/app/deep/y.py", "plugins/other/z.py")
    put(tmp_path, ".gitignore", "plugins/*\n!plugins/app\n")
    found, skipped = seen(tmp_path)
    assert found == [".gitignore", "plugins/app/deep/y.py", "plugins/app/x.py"]
    assert skipped == {"plugins/other/": "ignored by .gitignore:1 `plugins/*`"}


@pytest.mark.parametrize("name", [".gitignore", ".memignore"])
def test_leaving_out_all_but_one_folder_still_reaches_that_folder(tmp_path, name):
    write(tmp_path, "src/a.py", "src/b/c.py", "other/d.py", "e.py")
    put(tmp_path, name, "*\n!/src/\n!/src/**\n")
    assert sources(tmp_path) == ["src/a.py", "src/b/c.py"]


def test_an_anchored_folder_rule_leaves_equal_names_below_alone(tmp_path):
    write(tmp_path, "Library/a.cs", "Library/x/b.cs", "x/Library/c.cs")
    put(tmp_path, ".gitignore", "/Library/\n")
    assert sources(tmp_path) == ["x/Library/c.cs"]


@pytest.mark.parametrize("name", [".gitignore", ".memignore"])
def test_a_single_star_leaves_nothing_and_every_reason_names_it(tmp_path, name):
    write(tmp_path, "a.py", "src/b.py")
    put(tmp_path, name, "*")
    found, skipped = seen(tmp_path)
    assert found == []
    reason = f"ignored by {name}:1 `*`"
    assert skipped == {name: reason, "a.py": reason, "src/": reason}


def test_ignore_files_of_other_tools_change_nothing(tmp_path):
    write(tmp_path, "a.py")
    for name in (
        ".prettierignore",
        ".dockerignore",
        ".npmignore",
        ".eslintignore",
        ".ignore",
        ".cursorignore",
    ):
        put(tmp_path, name, "*\n")
    assert "a.py" in sources(tmp_path)


def test_nested_ignore_files_count_from_their_folder_down(tmp_path):
    write(tmp_path, "x.log", "a/x.log", "a/b/x.log", "a/b/keep.log")
    put(tmp_path, "a/.gitignore", "*.log\n")
    put(tmp_path, "a/b/.gitignore", "!keep.log\n")
    found, skipped = seen(tmp_path)
    assert [path for path in found if path.endswith(".log")] == ["a/b/keep.log", "x.log"]
    assert skipped["a/b/x.log"] == "ignored by a/.gitignore:1 `*.log`"


def test_a_file_in_a_folder_ignored_by_the_same_file_cannot_be_brought_back(tmp_path):
    write(tmp_path, "build/keep.py")
    put(tmp_path, ".gitignore", "build/\n!build/keep.py\n")
    assert sources(tmp_path) == []


class TestMemignore:
    def test_it_leaves_out_what_gitignore_keeps(self, tmp_path):
        write(tmp_path, "a.csv", "b.py")
        put(tmp_path, ".gitignore", "!*.csv\n")
        put(tmp_path, ".memignore", "*.csv\n")
        found, skipped = seen(tmp_path)
        assert "a.csv" not in found
        assert skipped == {"a.csv": "ignored by .memignore:1 `*.csv`"}

    def test_it_brings_back_what_gitignore_leaves_out(self, tmp_path):
        write(tmp_path, "a.log", "b.log")
        put(tmp_path, ".gitignore", "*.log\n")
        put(tmp_path, ".memignore", "*.log\n!b.log\n")
        assert sources(tmp_path) == ["b.log"]

    @pytest.mark.parametrize("rule", ["!/build/", "!build", "!build/"])
    def test_it_brings_back_a_whole_folder(self, tmp_path, rule):
        write(tmp_path, "build/a.py", "build/b/c.py")
        put(tmp_path, "build/.gitignore", "*\n")
        put(tmp_path, ".gitignore", "build/\nbuild/**\n")
        put(tmp_path, ".memignore", rule)
        assert sources(tmp_path) == ["build/a.py", "build/b/c.py"]

    def test_it_brings_back_one_file_in_a_folder_that_gitignore_leaves_out(self, tmp_path):
        write(tmp_path, "build/gen/schema.py", "build/gen/other.py", "build/x.py")
        put(tmp_path, ".gitignore", "/build/\n")
        put(tmp_path, ".memignore", "!/build/gen/schema.py\n")
        found, skipped = seen(tmp_path)
        assert found == [".gitignore", ".memignore", "build/gen/schema.py"]
        assert skipped == {"build/": "ignored by .gitignore:1 `/build/`, but for what .memignore brings back"}

    @pytest.mark.parametrize(
        ("path", "rule"),
        [
            ("node_modules/ours/index.js", "!/node_modules/ours/"),
            ("node_modules/ours/index.js", "!node_modules/"),
            (".venv/lib/x.py", "!.venv/"),
            ("package-lock.json", "!package-lock.json"),
            ("logo.svgz", "!*.svgz"),
            ("a.min.js", "!/a.min.js"),
            ("sub/.tox/x.py", "!/sub/.tox/x.py"),
            ("other/x.py", "!/other/"),
            ("other/x.py", "!/other/x.py"),
            ("cache/x.py", "!/cache"),
        ],
    )
    def test_it_brings_back_what_is_left_out_by_default(self, tmp_path, path, rule):
        write(tmp_path, ".git/", "other/.git/HEAD")
        put(tmp_path, ".venv/pyvenv.cfg", "")
        put(tmp_path, ".venv/.gitignore", "*")
        put(tmp_path, "cache/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n# by a tool")
        put(tmp_path, path, "x")
        assert path not in sources(tmp_path)
        put(tmp_path, ".memignore", rule)
        assert path in sources(tmp_path)

    def test_a_list_of_exceptions_does_not_open_what_is_left_out_by_default(self, tmp_path):
        write(tmp_path, "src/a.py", "src/node_modules/b.js", "src/uv.lock", "src/c.log")
        put(tmp_path, ".gitignore", "*.log\n")
        put(tmp_path, ".memignore", "*\n!/src/\n!/src/**\n")
        assert sources(tmp_path) == ["src/a.py"]

    def test_a_bare_name_does_not_reach_into_folders_that_are_left_out(self, tmp_path):
        write(tmp_path, "node_modules/x/keep.txt", "keep.txt")
        put(tmp_path, ".gitignore", "keep.txt\n")
        put(tmp_path, ".memignore", "!keep.txt\n")
        assert sources(tmp_path) == ["keep.txt"]

    def test_gitignore_still_counts_in_a_folder_that_was_never_left_out(self, tmp_path):
        write(tmp_path, "plugins/app/a.py", "plugins/app/build/b.py", "plugins/other/c.py")
        put(tmp_path, ".gitignore", "build/\n")
        put(tmp_path, ".memignore", "plugins/*\n!plugins/app\n")
        assert sources(tmp_path) == ["plugins/app/a.py"]

    @pytest.mark.parametrize(
        "path",
        [".git/config", ".brain/x.md", ".env", "prod.env", "id_rsa", "sub/server.key", "node_modules/.env"],
    )
    def test_nothing_brings_back_what_is_never_indexed(self, tmp_path, path):
        put(tmp_path, path, "x")
        put(
            tmp_path,
            ".memignore",
            f"!/{path}\n!/{path.split('/')[0]}/\n!{path.rpartition('/')[2]}\n!*\n!**\n",
        )
        put(tmp_path, ".gitignore", f"!/{path}\n")
        assert path not in sources(tmp_path)

    def test_a_large_file_comes_back_up_to_a_bound(self, tmp_path):
        (tmp_path / "big.txt").write_bytes(b"x" * 101)
        (tmp_path / "huge.txt").touch()
        os.truncate(tmp_path / "huge.txt", KEPT_MAX_BYTES + 1)
        found, skipped = seen(tmp_path, max_file_bytes=100)
        assert found == []
        assert skipped["big.txt"] == "left out by default: 101 bytes, the limit is 100"
        put(tmp_path, ".memignore", "!*.txt")
        rows = list(walk(tmp_path, WalkRules(max_file_bytes=100)))
        assert [row.path for row in rows if isinstance(row, Found) and row.kept] == ["big.txt"]
        assert [row.path for row in rows if isinstance(row, Skipped)] == ["huge.txt"]


class TestDefaults:
    @pytest.mark.parametrize("name", ["build", "tmp", "node_modules", ".tox", "site-packages", ".git-data"])
    def test_the_workspace_itself_may_have_any_name(self, tmp_path, name):
        root = tmp_path / name
        write(root, "a.py", "build/b.py")
        put(root, "pyvenv.cfg", "")
        assert sources(root) == ["a.py", "build/b.py", "pyvenv.cfg"]

    def test_dot_folders_of_a_project_are_scanned(self, tmp_path):
        write(tmp_path, ".github/workflows/ci.yml", ".vscode/tasks.json", ".claude/agents/x.md")
        assert sources(tmp_path) == [".claude/agents/x.md", ".github/workflows/ci.yml", ".vscode/tasks.json"]

    @pytest.mark.parametrize("name", ["venv", ".venv", "env", "any"])
    def test_a_virtual_environment_is_left_out_by_its_marker(self, tmp_path, name):
        write(tmp_path, f"{name}/lib/a.py", "lib/env/b.py")
        put(tmp_path, f"{name}/pyvenv.cfg", "home = /usr/bin")
        found, skipped = seen(tmp_path)
        assert found == ["lib/env/b.py"]
        assert skipped == {f"{name}/": "left out by default: virtual environment"}

    def test_only_a_signed_cache_tag_marks_a_cache(self, tmp_path):
        write(tmp_path, "target/a.rs", "notes/b.md", "notes/CACHEDIR.TAG")
        put(tmp_path, "target/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55")
        assert sources(tmp_path) == ["notes/CACHEDIR.TAG", "notes/b.md"]

    def test_braindex_own_folder_is_left_out_wherever_it_is(self, tmp_path):
        write(tmp_path, "data/registry.md", "a.py")
        found, skipped = seen(tmp_path, own_folders=(tmp_path / "data",))
        assert found == ["a.py"]
        assert skipped == {"data/": "never indexed: braindex's own data"}

    @posix_only
    def test_braindex_own_folder_is_known_under_another_spelling(self, tmp_path):
        write(tmp_path, "data/a.md", "b.py")
        (tmp_path / "link").symlink_to("data")
        for spelling in ("link", "../" + tmp_path.name + "/data", "data/."):
            found, skipped = seen(tmp_path, own_folders=(tmp_path / spelling,))
            assert found == ["b.py"]
            assert skipped["data/"] == OWN_DATA

    def test_no_rule_brings_braindex_own_folder_back(self, tmp_path):
        write(tmp_path, "data/deep/registry.md", "a.py")
        put(tmp_path, ".memignore", "*\n!/data/\n!/data/deep/registry.md\n!a.py\n")
        assert sources(tmp_path, own_folders=(tmp_path / "data/deep",)) == ["a.py"]

    def test_where_the_root_is_the_data_folder_only_braindex_entries_are_left_out(self, tmp_path):
        own = ("registry.db", "registry.db-wal", "registry.db.damaged-1", "server-12.log", "server-12.log.1")
        write(tmp_path, *own, "workspaces/id/workspace.json", "workspaces/id/brief.md")
        write(tmp_path, "a.py", "server-x.log", "src/workspaces/b.py", "src/server-1.log")
        put(tmp_path, ".memignore", "!workspaces/\n!server-12.log\n")
        found, skipped = seen(tmp_path, own_folders=(tmp_path,))
        assert found == [".memignore", "a.py", "server-x.log", "src/server-1.log", "src/workspaces/b.py"]
        assert {path for path, reason in skipped.items() if reason == OWN_DATA} == {*own, "workspaces/"}

    @pytest.mark.parametrize("root", ["brain/workspaces", "brain/workspaces/id", "brain/workspaces/id/vector_db"])
    def test_a_root_inside_braindex_own_data_is_an_error_that_names_it(self, tmp_path, root):
        write(tmp_path, "brain/workspaces/id/vector_db/a.py")
        with pytest.raises(RootIsOwnData, match="braindex's own data"):
            walk(tmp_path / root, WalkRules(own_folders=(tmp_path / "brain",)))

    def test_a_project_beside_the_workspaces_in_the_data_folder_is_a_project(self, tmp_path):
        write(tmp_path, "workspaces/id/workspace.json", "shop/workspaces/a.py", "shop/registry.md")
        assert sources(tmp_path / "shop", own_folders=(tmp_path,)) == ["registry.md", "workspaces/a.py"]

    def test_a_data_folder_of_another_time_is_known_by_what_it_holds(self, tmp_path):
        write(tmp_path, "old/workspaces/id/brief.md", "old/server-1.log", "a.py")
        put(tmp_path, "old/registry.db", "SQLite format 3\0 and more")
        found, skipped = seen(tmp_path)
        assert (found, skipped) == (["a.py"], {"old/": OWN_DATA})
        found, skipped = seen(tmp_path / "old", defaults=False)
        assert found == []
        assert set(skipped) == {"registry.db", "server-1.log", "workspaces/"}

    def test_a_registry_of_another_kind_makes_no_data_folder(self, tmp_path):
        write(tmp_path, "app/workspaces/a.py", "app/registry.db", "lib/workspaces")
        put(tmp_path, "lib/registry.db", "SQLite format 3\0 and more")
        assert sources(tmp_path) == ["app/workspaces/a.py", "lib/workspaces"]

    def test_the_default_rules_can_be_switched_off(self, tmp_path):
        write(tmp_path, "node_modules/a.js", "yarn.lock", ".env")
        assert sources(tmp_path, defaults=False) == ["node_modules/a.js", "yarn.lock"]


class TestRepositories:
    @pytest.mark.parametrize("marker", [".git/HEAD", ".git"])
    def test_a_repository_or_worktree_below_is_not_part_of_its_parent(self, tmp_path, marker):
        write(tmp_path, ".git/HEAD", "a.py", f"wt/{marker}", "wt/b.py")
        found, skipped = seen(tmp_path)
        assert found == ["a.py"]
        assert skipped["wt/"] == "left out by default: a repository or worktree of its own"

    def test_it_is_not_part_of_a_subfolder_of_its_parent_either(self, tmp_path):
        write(tmp_path, ".git/HEAD", "pkg/a.py", "pkg/wt/.git", "pkg/wt/b.py")
        assert sources(tmp_path / "pkg") == ["a.py"]

    def test_repositories_below_a_root_that_is_in_none_belong_to_it(self, tmp_path):
        write(tmp_path, "one/.git/HEAD", "one/a.py", "two/.git", "two/b.py")
        put(tmp_path, "one/.git/info/exclude", "ignored.py\n")
        write(tmp_path, "one/ignored.py", "two/ignored.py")
        found, skipped = seen(tmp_path)
        assert found == ["one/a.py", "two/b.py", "two/ignored.py"]
        assert skipped["one/ignored.py"] == "ignored by one/.git/info/exclude:1 `ignored.py`"

    def test_rules_of_the_enclosing_repository_reach_a_subfolder(self, tmp_path):
        write(
            tmp_path,
            ".git/HEAD",
            "sub/pkg/a.log",
            "sub/pkg/b.tmp",
            "sub/pkg/c.py",
            "sub/pkg/d.py",
            "sub/pkg/e.bak",
        )
        put(tmp_path, ".gitignore", "*.log\n/sub/pkg/d.py\n/a.py\n")
        put(tmp_path, "sub/.gitignore", "*.tmp\n")
        put(tmp_path, ".git/info/exclude", "*.bak\n")
        found, skipped = seen(tmp_path / "sub" / "pkg")
        assert found == ["c.py"]
        assert skipped == {
            "a.log": "ignored by ../../.gitignore:1 `*.log`",
            "b.tmp": "ignored by ../.gitignore:1 `*.tmp`",
            "d.py": "ignored by ../../.gitignore:2 `/sub/pkg/d.py`",
            "e.bak": "ignored by ../../.git/info/exclude:1 `*.bak`",
        }

    def test_memignore_of_the_enclosing_repository_reaches_a_subfolder(self, tmp_path):
        write(tmp_path, ".git/HEAD", "sub/a.log", "sub/b.csv", "sub/c.py")
        put(tmp_path, ".gitignore", "*.log\n")
        put(tmp_path, ".memignore", "!/sub/a.log\n/sub/*.csv\n")
        found, skipped = seen(tmp_path / "sub")
        assert found == ["a.log", "c.py"]
        assert skipped == {"b.csv": "ignored by ../.memignore:2 `/sub/*.csv`"}

    def test_rules_above_the_repository_do_not_count(self, tmp_path):
        write(tmp_path, "repo/.git/HEAD", "repo/a.py")
        put(tmp_path, ".gitignore", "*\n")
        assert sources(tmp_path / "repo") == ["a.py"]

    def test_a_gitignore_above_a_root_in_no_repository_does_not_count(self, tmp_path):
        write(tmp_path, "plain/a.py")
        put(tmp_path, ".gitignore", "*\n")
        assert sources(tmp_path / "plain") == ["a.py"]

    @pytest.mark.parametrize("rule", ["build/", "/build/*", "*"])
    def test_a_workspace_that_its_repository_ignores_was_opened_on_purpose(self, tmp_path, rule):
        write(tmp_path, ".git/HEAD", "build/app/a.py")
        put(tmp_path, ".gitignore", rule)
        assert sources(tmp_path / "build" / "app") == ["a.py"]

    def test_the_exclude_file_of_a_worktree_is_the_one_of_its_repository(self, tmp_path):
        put(tmp_path, "main/.git/info/exclude", "*.bak\n")
        put(tmp_path, "main/.git/worktrees/wt/commondir", "../..\n")
        put(tmp_path, "wt/.git", f"gitdir: {tmp_path}/main/.git/worktrees/wt\n")
        write(tmp_path, "wt/a.py", "wt/b.bak")
        assert sources(tmp_path / "wt") == ["a.py"]


@posix_only
class TestLinksAndSpecialFiles:
    def test_a_link_out_of_the_root_is_not_followed(self, tmp_path):
        write(tmp_path, "outside/secret.py", "root/a.py")
        (tmp_path / "root" / "folder").symlink_to(tmp_path / "outside", target_is_directory=True)
        (tmp_path / "root" / "file.py").symlink_to(tmp_path / "outside" / "secret.py")
        found, skipped = seen(tmp_path / "root")
        assert found == ["a.py"]
        assert skipped == dict.fromkeys(["file.py", "folder"], "a link that leaves the workspace")

    def test_a_link_inside_the_root_is_not_followed_twice(self, tmp_path):
        write(tmp_path, "real/a.py")
        (tmp_path / "alias").symlink_to("real", target_is_directory=True)
        (tmp_path / "b.py").symlink_to("real/a.py")
        found, skipped = seen(tmp_path)
        assert found == ["real/a.py"]
        assert skipped == {
            "alias": "a link to real: read under that path only",
            "b.py": "a link to real/a.py: read under that path only",
        }

    def test_loops_end(self, tmp_path):
        write(tmp_path, "a/b/c.py")
        (tmp_path / "a" / "b" / "up").symlink_to(tmp_path, target_is_directory=True)
        (tmp_path / "self").symlink_to("self")
        (tmp_path / "lost").symlink_to("nowhere")
        found, skipped = seen(tmp_path)
        assert found == ["a/b/c.py"]
        assert set(skipped) == {"a/b/up", "self", "lost"}

    def test_a_root_reached_through_a_link_is_walked(self, tmp_path):
        write(tmp_path, "real/a.py")
        (tmp_path / "alias").symlink_to(tmp_path / "real", target_is_directory=True)
        assert sources(tmp_path / "alias") == ["a.py"]

    def test_a_sibling_whose_name_begins_like_the_root_is_outside(self, tmp_path):
        write(tmp_path, "root/a.py", "root-other/b.py")
        (tmp_path / "root" / "link.py").symlink_to(tmp_path / "root-other" / "b.py")
        _, skipped = seen(tmp_path / "root")
        assert skipped == {"link.py": "a link that leaves the workspace"}

    def test_a_linked_ignore_file_is_not_read(self, tmp_path):
        write(tmp_path, "root/a.py")
        put(tmp_path, "rules", "*\n")
        (tmp_path / "root" / ".gitignore").symlink_to(tmp_path / "rules")
        assert sources(tmp_path / "root") == ["a.py"]

    def test_special_files_are_skipped_and_never_opened(self, tmp_path, monkeypatch):
        write(tmp_path, "a.py")
        os.mkfifo(tmp_path / "pipe.py")
        os.mkfifo(tmp_path / ".memignore")
        monkeypatch.chdir(tmp_path)  # the path of a socket is short
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("s.sock")
            found, skipped = seen(tmp_path)
        assert found == ["a.py"]
        assert skipped == dict.fromkeys([".memignore", "pipe.py", "s.sock"], "a FIFO, socket or device")

    def test_a_tree_deeper_than_the_recursion_limit_is_walked(self, tmp_path):
        here = os.open(tmp_path, os.O_RDONLY)
        for _ in range(1_100):
            os.mkdir("d", dir_fd=here)
            inner = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = inner
        os.close(os.open("a.py", os.O_CREAT | os.O_WRONLY, dir_fd=here))
        os.close(here)
        found, _ = seen(tmp_path)
        subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)  # pytest's own clean-up is recursive
        assert found == ["d/" * 1_100 + "a.py"]


class TestNames:
    @linux_only
    def test_a_name_that_is_not_utf8_is_skipped_with_a_reason(self, tmp_path):
        (tmp_path / os.fsdecode(b"caf\xe9.py")).write_text("x")
        (tmp_path / os.fsdecode(b"dir\xff")).mkdir()
        found, skipped = seen(tmp_path)
        assert found == []
        assert skipped == dict.fromkeys(["caf\\xe9.py", "dir\\xff/"], "its name is not UTF-8")

    def test_a_name_keeps_its_spaces_and_letters(self, tmp_path):
        write(tmp_path, "docs/Ativação b.md", "日本/コード.py")
        assert sources(tmp_path) == ["docs/Ativação b.md", "日本/コード.py"]

    @linux_only
    def test_a_decomposed_name_is_found_under_its_composed_form(self, tmp_path):
        write(tmp_path, "re\u0301/e\u0301.py")
        (found,) = walk(tmp_path, WalkRules())
        assert isinstance(found, Found)
        assert found.path == "r\u00e9/\u00e9.py"
        assert (tmp_path / found.on_disk).read_text() == "re\u0301/e\u0301.py"

    @linux_only
    def test_one_name_in_both_forms_is_one_file(self, tmp_path):
        write(tmp_path, "\u00e9.py", "e\u0301.py")
        found, skipped = seen(tmp_path)
        assert found == ["\u00e9.py"]
        assert skipped == {"\u00e9.py": "the same name as another entry in another Unicode form"}

    @posix_only
    def test_a_backslash_in_a_name_is_no_separator(self, tmp_path):
        write(tmp_path, "a\\b.py")
        assert sources(tmp_path) == ["a\\b.py"]


class TestIgnoreFilesInTrouble:
    def test_bad_lines_are_a_row_and_the_walk_goes_on(self, tmp_path):
        write(tmp_path, "a.py", "b.log")
        (tmp_path / ".gitignore").write_bytes(b"*.p\xe9\n*.log\n")
        found, skipped = seen(tmp_path)
        assert found == [".gitignore", "a.py"]
        assert skipped == {
            ".gitignore": "line 1 is not UTF-8: not applied",
            "b.log": "ignored by .gitignore:2 `*.log`",
        }

    def test_trouble_above_the_root_is_a_row_too(self, tmp_path):
        write(tmp_path, ".git/HEAD", "sub/a.py")
        put(tmp_path, ".gitignore", "[a\n")
        found, skipped = seen(tmp_path / "sub")
        assert found == ["a.py"]
        assert skipped == {"../.gitignore": "line 1 `[a` is not a valid pattern: not applied"}

    def test_a_folder_called_gitignore_is_a_folder(self, tmp_path):
        write(tmp_path, ".gitignore/a.py")
        assert seen(tmp_path)[0] == [".gitignore/a.py"]


class TestRoot:
    def test_a_missing_root_is_an_error_at_the_call(self, tmp_path):
        with pytest.raises(RootMissing, match="nothing of its memory was changed"):
            walk(tmp_path / "gone", WalkRules())

    def test_a_file_is_no_root(self, tmp_path):
        write(tmp_path, "a.py")
        with pytest.raises(RootNotAFolder, match="is not a folder"):
            walk(tmp_path / "a.py", WalkRules())

    def test_an_empty_root_is_an_empty_walk_only_while_no_files_are_known(self, tmp_path):
        assert list(walk(tmp_path, WalkRules())) == []
        with pytest.raises(RootEmptied, match="not mounted"):
            walk(tmp_path, WalkRules(known_files=True))

    def test_a_root_that_goes_away_during_the_walk_is_an_error(self, tmp_path):
        write(tmp_path, "root/a/x.py", "root/b/y.py")
        rows = walk(tmp_path / "root", WalkRules())
        assert next(rows).path == "a/x.py"
        (tmp_path / "root").rename(tmp_path / "moved")
        with pytest.raises(RootMissing):
            list(rows)

    def test_another_folder_in_the_place_of_the_root_is_an_error(self, tmp_path):
        write(tmp_path, "root/a/x.py", "other/b/y.py")
        rows = walk(tmp_path / "root", WalkRules())
        next(rows)
        (tmp_path / "root").rename(tmp_path / "moved")
        (tmp_path / "other").rename(tmp_path / "root")
        with pytest.raises(RootMissing):
            list(rows)

    @posix_only
    def test_running_out_of_file_handles_is_an_error_and_no_row(self, tmp_path):
        write(tmp_path, "a/x.py", "b/y.py")
        done = subprocess.run(
            [sys.executable, "-c", EXHAUST, str(tmp_path)],
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.splitlines() == ["a/x.py", "RootUnreadable"], done.stderr

    def test_a_folder_that_vanishes_during_the_walk_is_a_row(self, tmp_path):
        write(tmp_path, "a/x.py", "b/y.py", "c/z.py")
        rows = walk(tmp_path, WalkRules())
        next(rows)
        (tmp_path / "b" / "y.py").unlink()
        (tmp_path / "b").rmdir()
        assert [(row.path, type(row)) for row in rows] == [("b/", Skipped), ("c/z.py", Found)]


PROBE = """
import os, sys
from pathlib import Path
from typing import Any
from braindex.domain.errors import BraindexError
from braindex.indexing.decode import read_text
from braindex.indexing.walk import Found, WalkRules, walk
root = Path(sys.argv[1])
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
try:
    for row in walk(root, WalkRules()):
        one = read_text(root, row, 100) if isinstance(row, Found) else row
        print(row.path, getattr(one, "reason", "read"), sep=": ")
except BraindexError as error:
    print(type(error).__name__)
"""


EXHAUST = """
import os, resource, sys
from pathlib import Path
from braindex.domain.errors import BraindexError
from braindex.indexing.walk import WalkRules, walk
rows = walk(Path(sys.argv[1]), WalkRules())
print(next(rows).path)
resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
try:
    print(*rows)
except BraindexError as error:
    print(type(error).__name__)
"""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def open_folder():
    """A folder every user can reach, which tmp_path is not."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        folder.chmod(0o755)
        yield folder


def seen_by_nobody(root: Path) -> list[str]:
    """What an unprivileged user gets of the tree, a line a row."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(root)],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user")
class TestPermissions:
    def test_folders_and_files_that_cannot_be_read_are_rows(self, open_folder):
        write(open_folder, "a.py", "closed/b.py", "locked.py", "z.py")
        (open_folder / "closed").chmod(0)
        (open_folder / "locked.py").chmod(0)
        denied = "cannot be read: Permission denied"
        assert seen_by_nobody(open_folder) == [
            "a.py: read",
            f"closed/: {denied}",
            f"locked.py: {denied}",
            "z.py: read",
        ]

    def test_an_ignore_file_that_cannot_be_read_is_a_row(self, open_folder):
        write(open_folder, "a.py")
        put(open_folder, ".gitignore", "*")
        (open_folder / ".gitignore").chmod(0)
        denied = "cannot be read: Permission denied"
        assert seen_by_nobody(open_folder) == [
            f".gitignore: {denied}; its rules are not applied",
            f".gitignore: {denied}",
            "a.py: read",
        ]

    def test_a_root_that_cannot_be_listed_is_an_error(self, open_folder):
        write(open_folder, "root/a.py")
        (open_folder / "root").chmod(0)
        assert seen_by_nobody(open_folder / "root") == ["RootUnreadable"]

    def test_a_root_that_cannot_be_reached_is_an_error(self, open_folder):
        write(open_folder, "up/root/a.py")
        (open_folder / "up").chmod(0)
        assert seen_by_nobody(open_folder / "up" / "root") == ["RootUnreadable"]
