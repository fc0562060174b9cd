"""Which changes a review is of, and what it needs of a repository: the port that `forge` fulfils."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from braindex.domain.diffs import FileDiff


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which changes are asked for: at most one is given. Without any, the uncommitted work, or else the last commit.

    `revision` is `A..B`, `A...B` or one commit; `base` is the branch that a pull request goes to.
    """

    revision: str = ""
    staged: bool = False
    base: str = ""


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes to review. `label` says in words which they are; `commit` is the one they lead to, "" where they are
    not committed. `on_disk`: they lead to the files as they are on disk. `remarks` say what of them is missing.
    """

    label: str
    files: tuple[FileDiff, ...] = ()
    commit: str = ""
    on_disk: bool = False
    remarks: tuple[str, ...] = ()


class Repository(Protocol):
    """The repository around one folder. Paths, in and out, are relative to that folder; nothing else is seen of it."""

    def changes(self, wanted: Wanted) -> Changes:
        """The changes that are asked for; no file where they are empty.

        Raises a BraindexError that says what to do: no repository, an unknown revision, one that is none, too large.
        """
        ...

    def contents(self, ids: Sequence[str], most: int) -> dict[str, bytes]:
        """The contents of at most `most` bytes each that git names so; those it does not have are left out.

        Raises a BraindexError where git fails.
        """
        ...
