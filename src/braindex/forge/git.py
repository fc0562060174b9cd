"""Diffs and contents through git's command line: bounded in time and size, and nothing of the repository is run."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from braindex.domain.changes import Changes, Wanted
from braindex.domain.diffs import FileDiff, new_file, parse_diff
from braindex.forge.failures import (
    GitFailed,
    HistoryCut,
    NoCommit,
    NoCommonCommit,
    NotARepository,
    OwnedByAnother,
    RevisionRefused,
    UnknownRevision,
)
from braindex.forge.running import Ended, bounded, git_environment, git_program
from braindex.indexing import exclusions
from braindex.indexing.opening import Unreadable, read_below

SECONDS: Final = 30.0  # of one call
LARGEST: Final = 20_000_000  # bytes that one call may say
MOST_UNTRACKED: Final = 200  # new files that git does not know yet
LARGEST_UNTRACKED: Final = 1_000_000  # bytes of each
# A repository's own configuration may name programs, and change what a diff looks like; one that was cloned in part
# would fetch over the network what it lacks.
_SETTINGS: Final = (
    "core.quotePath=false", "core.fsmonitor=false", f"core.hooksPath={os.devnull}", "protocol.allow=never",
    "diff.suppressBlankEmpty=false", "diff.autoRefreshIndex=false",
)  # fmt: skip
# A submodule counts by the commit it stands at: to see whether it is dirty, git would have to work inside of it.
_DIFF: Final = (
    "--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", "--full-index", "--unified=3",
    "--inter-hunk-context=0", "--find-renames", "--submodule=short", "--ignore-submodules=dirty",
    "--diff-algorithm=histogram", "--relative",
)  # fmt: skip
_OWN: Final = frozenset({"local", "worktree"})  # scopes of configuration that come with a repository
_NO_FILTER: Final = (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
_RANGE: Final = re.compile(r"(?P<old>.*?)(?P<dots>\.{2,3})(?P<new>.*)", re.DOTALL)


class Git:
    """The repository around one folder. Paths, in and out, are relative to that folder, and nothing else is seen."""

    def __init__(
        self,
        root: Path,
        environ: Mapping[str, str] = os.environ,
        *,
        seconds: float = SECONDS,
        largest: int = LARGEST,
    ) -> None:
        """`seconds` and `largest` (bytes) hold for each call to git. Raises NoGit."""
        self._root = root
        self._given = environ
        self._seconds = seconds
        self._largest = largest
        self._program = git_program(root, environ)
        self._environ = git_environment(environ)

    def changes(self, wanted: Wanted) -> Changes:
        """The changes that are asked for; no file where a range holds none.

        Raises NotARepository, OwnedByAnother, RevisionRefused, UnknownRevision, NoCommit, NoCommonCommit, HistoryCut,
        GitTooSlow, DiffTooLarge, GitFailed.
        """
        self._check()
        if wanted.staged:
            self._use_hooks_index()
            return Changes("the staged changes", self._diff("--cached"))
        if wanted.base:
            return self._of_pull_request(wanted.base)
        if wanted.revision:
            return self._of_revision(wanted.revision)
        return self._uncommitted() or self._of_commit("HEAD", "the last commit")

    def contents(self, ids: Sequence[str], most: int) -> dict[str, bytes]:
        """The contents of at most `most` bytes each; what git does not have, or what is beyond the limit of all
        together, is left out. Raises GitTooSlow, GitFailed.
        """
        wanted = list(dict.fromkeys(one for one in ids if one.strip("0")))
        left = self._largest // 2
        taken: list[str] = []
        for name, size in self._sizes(wanted):
            if size <= min(most, left):
                taken.append(name)
                left -= size
        return dict(_batch(self._asked("--batch", taken).out)) if taken else {}

    def _sizes(self, ids: Sequence[str]) -> Iterator[tuple[str, int]]:
        """(id, bytes) of each content that git has."""
        for line in self._asked("--batch-check", ids).text.split("\n") if ids else ():
            parts = line.split(" ")
            if len(parts) == 3 and parts[1] == "blob" and parts[2].isdecimal():
                yield parts[0], int(parts[2])

    def _asked(self, how: str, ids: Sequence[str]) -> Ended:
        return self._run("cat-file", how, stdin="".join(f"{one}\n" for one in ids).encode("ascii", "replace"))

    def _check(self) -> None:
        ended = self._run("rev-parse", "--is-inside-work-tree", codes=(0, 128))
        if "dubious ownership" in ended.complaint:
            raise OwnedByAnother(self._root)
        if ended.line != "true":
            raise NotARepository(self._root)

    def _use_hooks_index(self) -> None:
        """`git commit FILE` and `git commit -a` put what they are about to commit into an index of their own, and name
        it to their hooks. It counts where it lies in this repository.
        """
        given = self._given.get("GIT_INDEX_FILE", "")
        if not given:
            return
        folder, top = self._run("rev-parse", "--absolute-git-dir", "--show-toplevel").line.split("\n")
        path = os.path.realpath(os.path.join(top, given))
        if Path(path).is_relative_to(os.path.realpath(folder)) and os.path.isfile(path):
            self._environ["GIT_INDEX_FILE"] = path

    def _run_no_filters(self) -> None:
        """Files on disk pass through filters before they are compared. Those that the user set up, such as that of
        large files, run as always; what the repository's own configuration names does not.
        """
        ended = self._run("config", "--show-scope", "-z", "--name-only", "--get-regexp", r"^filter\.", codes=(0, 1))
        parts = ended.text.split("\0")
        own = {name.rpartition(".")[0] for scope, name in zip(parts[::2], parts[1::2], strict=False) if scope in _OWN}
        settings = [(f"{one}.{key}", value) for one in sorted(own) for key, value in _NO_FILTER]
        given = self._environ.get("GIT_CONFIG_COUNT", "")
        first = int(given) if given.isdecimal() else 0
        for number, (key, value) in enumerate(settings, start=first):
            self._environ |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        self._environ["GIT_CONFIG_COUNT"] = str(first + len(settings))

    def _uncommitted(self) -> Changes | None:
        """None where the working tree is clean."""
        self._run_no_filters()
        base = self._commit("HEAD") or self._empty_tree()
        files, remarks = self._untracked()
        files = (*self._diff(base), *files)
        return Changes("the uncommitted changes", files, on_disk=True, remarks=remarks) if files else None

    def _untracked(self) -> tuple[tuple[FileDiff, ...], tuple[str, ...]]:
        """New files that git does not know yet and does not ignore, and what of them was left out."""
        listed = self._run("ls-files", "--others", "--exclude-standard", "-z").text.split("\0")
        paths = sorted(path for path in listed if path and not _is_hidden(path))
        found = [one for path in paths[:MOST_UNTRACKED] if (one := self._as_added(path)) is not None]
        left = len(paths) - MOST_UNTRACKED
        remarks = (f"{left} more new files, which git does not know yet, were left out",) if left > 0 else ()
        return tuple(found), remarks

    def _as_added(self, path: str) -> FileDiff | None:
        try:
            data = read_below(str(self._root), path, LARGEST_UNTRACKED + 1)
        except Unreadable:  # a link, a nested repository, or gone by now
            return None
        binary = b"\0" in data or len(data) > LARGEST_UNTRACKED
        return new_file(path, "" if binary else data.decode("utf-8", "replace"), binary=binary)

    def _of_pull_request(self, base: str) -> Changes:
        """What HEAD has beyond the branch: on a build server only the remote's branch may be there."""
        head = self._known("HEAD")
        known = self._commit(_checked(base)) or self._commit(f"origin/{base}")
        if not known:
            raise UnknownRevision(base)
        files = self._diff(self._common(known, head, base, "HEAD"), head)
        return Changes(f"the changes since {base}", files, head)

    def _of_revision(self, revision: str) -> Changes:
        match = _RANGE.fullmatch(revision)
        if match is None:
            return self._of_commit(_checked(revision), f"commit {revision}")
        old, new = _checked(match["old"] or "HEAD"), _checked(match["new"] or "HEAD")
        first, last = self._known(old), self._known(new)
        base = self._common(first, last, old, new) if match["dots"] == "..." else first
        return Changes(f"the changes {revision}", self._diff(base, last), last)

    def _of_commit(self, revision: str, label: str) -> Changes:
        """One commit against its first parent, or against nothing where it is the first of all."""
        commit = self._known(revision)
        parent = self._commit(f"{commit}^1")
        if not parent and self._run("rev-parse", "--is-shallow-repository").line == "true":
            raise HistoryCut
        named = label if label.endswith(commit[:10]) else f"{label} ({commit[:10]})"
        return Changes(named, self._diff(parent or self._empty_tree(), commit), commit)

    def _diff(self, *between: str) -> tuple[FileDiff, ...]:
        found = parse_diff(self._run("diff", *_DIFF, *between, "--").text)
        # Of a file that was only touched git writes a head and nothing else, since its index is left as it is.
        return tuple(one for one in found if one.hunks or one.binary or one.mode or one.kind != "modified")

    def _known(self, revision: str) -> str:
        """Raises UnknownRevision; NoCommit where the repository has none at all."""
        found = self._commit(revision)
        if not found:
            raise NoCommit if revision == "HEAD" else UnknownRevision(revision)
        return found

    def _commit(self, revision: str) -> str:
        """The commit's full name, "" where there is none."""
        asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}")
        return self._run(*asked, codes=(0, 1, 128)).line

    def _common(self, one: str, other: str, *names: str) -> str:
        found = self._run("merge-base", one, other, codes=(0, 1)).line
        if not found:
            raise NoCommonCommit(*names)
        return found

    def _empty_tree(self) -> str:
        return self._run("hash-object", "-t", "tree", "--stdin").line

    def _run(self, *arguments: str, stdin: bytes = b"", codes: Sequence[int] = (0,)) -> Ended:
        settings = [part for one in _SETTINGS for part in ("-c", one)]
        command = [self._program, "--no-pager", *settings, "-C", str(self._root), *arguments]
        ended = bounded(command, self._environ, seconds=self._seconds, largest=self._largest, stdin=stdin)
        if ended.code not in codes:
            raise GitFailed(arguments[0], ended.complaint)
        return ended


def _checked(revision: str) -> str:
    """A revision that git cannot take for an option. Raises RevisionRefused."""
    found = revision.strip()
    if not found or found.startswith("-") or ".." in found or not found.isprintable():
        raise RevisionRefused(revision)
    return found


def _is_hidden(path: str) -> bool:
    """Whether a new file, or a folder it is in, is never shown to anyone: secrets, and the tools' own data."""
    *folders, name = path.lower().split("/")
    return exclusions.never(name, is_folder=False) is not None or any(
        exclusions.never(one, is_folder=True) for one in folders
    )


def _batch(out: bytes) -> Iterator[tuple[str, bytes]]:
    """What `cat-file --batch` says: `<id> <type> <size>`, the bytes and a line end; or `<id> missing`."""
    at = 0
    while (end := out.find(b"\n", at)) >= 0:
        head = out[at:end].decode("ascii", "replace").split(" ")
        at = end + 1
        if len(head) == 3 and head[2].isdecimal():
            size = int(head[2])
            yield head[0], out[at : at + size]
            at += size + 1
