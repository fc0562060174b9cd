"""Changes through the real git: which ones are meant, what is refused, and that nothing of the repository runs."""

import os
import shutil

import pytest
from tests.fakes.repository import ENVIRONMENT, Repo

from braindex.domain.changes import Changes, Wanted
from braindex.forge.failures import (
    DiffTooLarge,
    GitTooSlow,
    HistoryCut,
    NoCommit,
    NoCommonCommit,
    NoGit,
    NotARepository,
    RevisionRefused,
    UnknownRevision,
)
from braindex.forge.git import MOST_UNTRACKED, Git

ENVIRON = {**os.environ, **ENVIRONMENT}


@pytest.fixture
def repo(tmp_path) -> Repo:
    return Repo(tmp_path / "repo")


def changes(repo: Repo, revision: str = "", **wanted) -> Changes:
    return Git(repo.root, ENVIRON).changes(Wanted(revision, **wanted))


def paths(found: Changes) -> list[str]:
    return [one.path for one in found.files]


def test_a_range_holds_what_its_two_ends_differ_in(repo):
    first = repo.commit({"a.py": "a\n"})
    last = repo.commit({"b.py": "b\n"})
    found = changes(repo, f"{first}..{last}")
    assert (paths(found), found.commit) == (["b.py"], last)
    assert paths(changes(repo, f"{first}..")) == ["b.py"]


def test_three_dots_leave_out_what_the_other_side_did_meanwhile(repo):
    repo.commit({"a.py": "a\n"})
    repo.git("checkout", "--quiet", "-b", "topic")
    repo.commit({"topic.py": "t\n"})
    repo.git("checkout", "--quiet", "main")
    repo.commit({"main.py": "m\n"})
    assert paths(changes(repo, "main...topic")) == ["topic.py"]
    assert paths(changes(repo, "main..topic")) == ["main.py", "topic.py"]
    repo.git("checkout", "--quiet", "topic")
    assert paths(changes(repo, base="main")) == ["topic.py"]


def test_one_commit_is_held_against_its_first_parent_a_merge_too(repo):
    repo.commit({"a.py": "a\n"})
    repo.git("checkout", "--quiet", "-b", "topic")
    repo.commit({"topic.py": "t\n"})
    repo.git("checkout", "--quiet", "main")
    repo.commit({"main.py": "m\n"})
    repo.git("merge", "--quiet", "--no-edit", "topic")
    assert paths(changes(repo, "HEAD")) == ["topic.py"]


def test_the_first_commit_of_all_adds_everything(repo):
    commit = repo.commit({"a.py": "a\n"})
    found = changes(repo, commit)
    assert [(one.path, one.kind) for one in found.files] == [("a.py", "added")]
    assert found.label == f"commit {commit} ({commit[:10]})"


def test_without_a_revision_the_uncommitted_work_counts_else_the_last_commit(repo):
    repo.commit({"a.py": "a\n"})
    last = repo.commit({"b.py": "b\n"})
    assert changes(repo).commit == last
    repo.write({"a.py": "changed\n", "new.py": "n\n", ".env": "TOKEN=x\n", "keys/id_rsa": "k\n", "blob": b"\0"})
    found = changes(repo)
    assert (found.label, found.commit, paths(found)) == ("the uncommitted changes", "", ["a.py", "blob", "new.py"])
    assert [one.binary for one in found.files] == [False, True, False]


def test_what_is_staged_is_told_from_what_is_not(repo):
    repo.commit({"a.py": "a\n", "b.py": "b\n"})
    repo.write({"a.py": "staged\n", "b.py": "not staged\n"})
    repo.git("add", "a.py")
    assert paths(changes(repo, staged=True)) == ["a.py"]


def test_a_hook_of_git_commit_sees_what_is_about_to_be_committed(repo, tmp_path):
    repo.commit({"a.py": "a\n", "b.py": "b\n"})
    repo.write({"b.py": "of the hook\n"})
    shutil.copy(repo.root / ".git/index", repo.root / ".git/next-index")
    outside = tmp_path / "index"
    for index in (repo.root / ".git/next-index", outside):
        shutil.copy(repo.root / ".git/index", index)
    os.environ["GIT_INDEX_FILE"] = str(repo.root / ".git/next-index")
    try:
        repo.git("add", "b.py")
    finally:
        del os.environ["GIT_INDEX_FILE"]
    shutil.copy(repo.root / ".git/next-index", outside)
    wanted = Wanted(staged=True)
    assert paths(Git(repo.root, {**ENVIRON, "GIT_INDEX_FILE": ".git/next-index"}).changes(wanted)) == ["b.py"]
    assert paths(Git(repo.root, {**ENVIRON, "GIT_INDEX_FILE": str(outside)}).changes(wanted)) == []


def test_renames_modes_and_binaries_arrive(repo):
    text = "".join(f"line {number}\n" for number in range(30))
    repo.commit({"old.py": text, "run.sh": "x\n", "pic.png": b"\0\1", "t\tb": "x"})
    repo.git("mv", "old.py", "new.py")
    repo.git("update-index", "--chmod=+x", "run.sh")
    repo.write({"pic.png": b"\0\2", "t\tb": "y"})
    repo.git("add", "pic.png", "t\tb")
    found = {one.path: one for one in changes(repo, staged=True).files}
    assert (found["new.py"].kind, found["new.py"].old_path) == ("renamed", "old.py")
    assert found["run.sh"].mode == "100755"
    assert found["pic.png"].binary
    assert found["t\tb"].counts() == (1, 1)


def test_a_submodule_counts_by_its_commit_alone(repo, tmp_path):
    inner = Repo(tmp_path / "inner")
    first = inner.commit({"x": "1\n"})
    repo.commit({"a": "a\n"})
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{first},sub")
    repo.git("commit", "--quiet", "-m", "sub")
    (one,) = changes(repo, "HEAD").files
    assert (one.path, one.mode, one.is_text) == ("sub", "160000", False)


def test_a_workspace_in_a_repository_sees_its_own_folder_alone(repo):
    first = repo.commit({"app/a.py": "a\n", "other.py": "o\n"})
    repo.commit({"app/a.py": "b\n", "other.py": "p\n"})
    found = Git(repo.root / "app", ENVIRON).changes(Wanted(f"{first}..HEAD"))
    assert paths(found) == ["a.py"]


@pytest.mark.parametrize("revision", ["-x", "--output=/tmp/x..HEAD", "HEAD..-x", "a..b..c", "a\nb", " "])
def test_a_revision_that_git_could_take_for_an_option_is_refused(repo, revision):
    repo.commit({"a": "a\n"})
    with pytest.raises(RevisionRefused, match="names no revision"):
        changes(repo, revision)


def test_an_unknown_revision_and_an_unknown_branch_are_named(repo):
    repo.commit({"a": "a\n"})
    with pytest.raises(UnknownRevision, match="'nowhere'"):
        changes(repo, "nowhere..HEAD")
    with pytest.raises(UnknownRevision, match="'nowhere'"):
        changes(repo, base="nowhere")
    with pytest.raises(RevisionRefused):
        changes(repo, base="--upload-pack=x")


def test_a_folder_that_is_no_repository_is_named(tmp_path):
    with pytest.raises(NotARepository, match="git init"):
        Git(tmp_path, {**ENVIRON, "GIT_CEILING_DIRECTORIES": ""}).changes(Wanted())


def test_a_repository_without_commits_has_nothing_to_review_but_its_files(repo):
    with pytest.raises(NoCommit):
        changes(repo)
    with pytest.raises(NoCommit):
        changes(repo, "HEAD")
    repo.write({"a.py": "a\n"})
    assert paths(changes(repo)) == ["a.py"]


def test_histories_that_never_met_have_no_common_commit(repo):
    repo.commit({"a": "a\n"})
    repo.git("checkout", "--quiet", "--orphan", "other")
    repo.commit({"b": "b\n"})
    with pytest.raises(NoCommonCommit, match="unshallow"):
        changes(repo, base="main")


def test_a_shallow_clone_says_what_it_lacks(repo, tmp_path):
    repo.commit({"a": "a\n"})
    repo.commit({"a": "b\n"})
    repo.git("clone", "--quiet", "--depth=1", f"file://{repo.root}", str(tmp_path / "shallow"))
    with pytest.raises(HistoryCut, match="--deepen"):
        Git(tmp_path / "shallow", ENVIRON).changes(Wanted("HEAD"))


def test_a_machine_without_git_and_one_whose_git_lies_in_the_workspace_have_none(repo):
    with pytest.raises(NoGit, match="install"):
        Git(repo.root, {"PATH": ""})
    fake = repo.root / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\n")
    fake.chmod(0o755)
    with pytest.raises(NoGit):
        Git(repo.root, {"PATH": str(fake.parent)})


def test_nothing_that_the_repository_names_is_run(repo, tmp_path):
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    program.chmod(0o755)
    first = repo.commit({"a.txt": "a\n", ".gitattributes": "*.txt diff=evil filter=evil.of.them\n"})
    repo.commit({"a.txt": "b\n"})
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    shutil.copy(program, hooks / "post-index-change")
    for name, value in {
        "diff.external": program, "diff.evil.textconv": program, "diff.evil.command": program,
        "core.fsmonitor": program, "core.hooksPath": hooks, "core.pager": program, "diff.noprefix": "true",
        "color.ui": "always", "diff.suppressBlankEmpty": "true", "filter.evil.of.them.clean": program,
        "filter.evil.of.them.process": program, "filter.evil.of.them.required": "true",
    }.items():  # fmt: skip
        repo.git("config", name, str(value))
    environ = {**ENVIRON, "GIT_EXTERNAL_DIFF": str(program), "GIT_PAGER": str(program)}
    assert paths(Git(repo.root, environ).changes(Wanted(f"{first}..HEAD"))) == ["a.txt"]
    repo.write({"a.txt": "c\n"})
    assert paths(Git(repo.root, environ).changes(Wanted())) == ["a.txt"]
    assert not ran.exists()


def test_a_filter_that_the_user_set_up_runs_as_always(repo, tmp_path):
    repo.commit({"a.txt": "a\n", ".gitattributes": "*.txt filter=mine\n"})
    users = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "filter.mine.clean", "GIT_CONFIG_VALUE_0": "tr b c"}
    repo.write({"a.txt": "b\n"})
    (one,) = Git(repo.root, {**ENVIRON, **users}).changes(Wanted()).files
    assert "c" in one.text()


def test_what_a_hook_set_for_another_repository_does_not_count(repo, tmp_path):
    other = Repo(tmp_path / "other")
    other.commit({"other.py": "o\n"})
    repo.commit({"mine.py": "m\n"})
    environ = {**ENVIRON, "GIT_DIR": str(other.root / ".git"), "GIT_WORK_TREE": str(other.root)}
    assert paths(Git(repo.root, environ).changes(Wanted("HEAD"))) == ["mine.py"]


def test_the_index_is_not_written(repo):
    repo.commit({"a": "a\n"})
    os.utime(repo.root / "a", (1, 1))  # its stat differs now, which a plain `git diff` would write down
    before = (repo.root / ".git/index").read_bytes()
    with pytest.raises(UnknownRevision):
        changes(repo, "nowhere")
    changes(repo)
    assert (repo.root / ".git/index").read_bytes() == before


def test_a_git_that_hangs_is_ended_with_what_it_started(repo, tmp_path):
    slow = tmp_path / "slow"
    slow.mkdir()
    (slow / "git").write_text("#!/bin/sh\ntail -f /dev/null\n")
    (slow / "git").chmod(0o755)
    with pytest.raises(GitTooSlow, match="smaller range"):
        Git(repo.root, {"PATH": f"{slow}:{os.environ['PATH']}"}, seconds=0.2).changes(Wanted())


def test_a_change_beyond_the_limit_is_refused(repo):
    repo.commit({"a": "a\n"})
    repo.commit({"a": "long\n" * 10_000})
    with pytest.raises(DiffTooLarge, match=r"larger than 0\.01 MB"):
        Git(repo.root, ENVIRON, largest=10_000).changes(Wanted("HEAD"))


def test_contents_come_by_id_as_far_as_they_are_there_and_small(repo):
    first = repo.commit({"a": "one\n", "big": "x" * 2_000, "empty": ""})
    (a, big, empty) = (repo.git("rev-parse", f"{first}:{path}") for path in ("a", "big", "empty"))
    found = Git(repo.root, ENVIRON).contents([a, big, empty, "0" * 40, "f" * 40, first, ""], 1_000)
    assert found == {a: b"one\n", empty: b""}
    assert Git(repo.root, ENVIRON).contents([], 1_000) == {}


def test_new_files_beyond_a_number_are_counted(repo):
    repo.commit({"a": "a\n"})
    repo.write({f"new/{number}": "x\n" for number in range(MOST_UNTRACKED + 3)})
    found = changes(repo)
    assert len(found.files) == MOST_UNTRACKED
    assert found.remarks == ("3 more new files, which git does not know yet, were left out",)
