"""How git may fail a review. Each says what was wrong and the next safe step."""

from pathlib import Path
from typing import Final

from braindex.domain.display import echoed, safe_line, shortened
from braindex.domain.errors import BraindexError, UsageError

_COMPLAINT: Final = 300  # characters of what git says in an error


class NoGit(BraindexError):
    def __init__(self) -> None:
        super().__init__(
            "a review needs git, and there is none: install it (https://git-scm.com), or put it on the PATH"
        )


class NotARepository(BraindexError):
    def __init__(self, root: Path) -> None:
        super().__init__(
            f"{echoed(str(root))} is in no git repository with a working tree, and a review is of changes that git "
            "knows: name the workspace of a checkout with --workspace, or make it one with `git init`"
        )


class OwnedByAnother(BraindexError):
    def __init__(self, root: Path) -> None:
        super().__init__(
            f"git does not read the repository of {echoed(str(root))}, since it belongs to another user; if you trust "
            "it: git config --global --add safe.directory PATH"
        )


class RevisionRefused(UsageError):
    def __init__(self, revision: str) -> None:
        super().__init__(
            f"{echoed(revision)!r} names no revision: give REV..REV, REV...REV or one commit, none of them beginning "
            "with '-'"
        )


class UnknownRevision(BraindexError):
    def __init__(self, revision: str) -> None:
        super().__init__(
            f"the repository has no commit {echoed(revision)!r}: check the spelling, or fetch it (`git fetch`)"
        )


class NoCommit(BraindexError):
    def __init__(self) -> None:
        super().__init__("there is nothing to review: the repository has no commit and no change yet")


class NoCommonCommit(BraindexError):
    def __init__(self, one: str, other: str) -> None:
        super().__init__(
            f"{echoed(one)} and {echoed(other)} have no commit in common here: if the clone is shallow, fetch more of "
            "its history (`git fetch --unshallow`)"
        )


class HistoryCut(BraindexError):
    def __init__(self) -> None:
        super().__init__(
            "the commit's parent is not in this shallow clone, so what it changed cannot be told: fetch it with "
            "`git fetch --deepen=1`"
        )


class GitTooSlow(BraindexError):
    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"git took longer than {seconds:g} s: review a smaller range, or only what is staged (--staged)"
        )


class DiffTooLarge(BraindexError):
    def __init__(self, largest: int) -> None:
        super().__init__(
            f"the change is larger than {largest / 1_000_000:g} MB: review a part of it, by REV..REV or --staged"
        )


class GitFailed(BraindexError):
    def __init__(self, what: str, complaint: str) -> None:
        said = shortened(safe_line(complaint), _COMPLAINT)
        super().__init__(f"git {what} failed ({said or 'without a word'}): run it in the workspace to see more")
