"""The repository a workspace lies in, and the ignore rules that reach into the workspace from above it."""

import os
import stat
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from braindex.domain.results import Skipped
from braindex.indexing.ignore import GITIGNORE, MEMIGNORE, RuleFile, read_rules
from braindex.indexing.opening import pointer


@dataclass(frozen=True, slots=True)
class Enclosing:
    """`top` is the folder with `.git`, None if there is none; `git` and `mem` come nearest folder first."""

    top: str | None
    git: tuple[RuleFile, ...] = ()
    mem: tuple[RuleFile, ...] = ()
    trouble: tuple[Skipped, ...] = ()


def find_enclosing(root: str, *, fold_case: bool) -> Enclosing:
    """The enclosing repository of an absolute path, links resolved, and its rules from above the root.

    A workspace that these rules leave out as a whole was opened on purpose: they do not count in it.
    """
    top = _repository_of(root)
    if top is None:
        return Enclosing(None)
    way = Path(root).relative_to(top).parts
    trouble: list[Skipped] = []
    exclude = info_exclude(top, trouble, above=_above(way), fold_case=fold_case)
    git = _from_above(top, way, GITIGNORE, exclude, trouble, fold_case=fold_case)
    mem = _from_above(top, way, MEMIGNORE, (), trouble, fold_case=fold_case)
    return Enclosing(top, git, mem, tuple(trouble))


def _from_above(
    top: str,
    way: tuple[str, ...],
    name: str,
    last: tuple[RuleFile, ...],
    trouble: list[Skipped],
    *,
    fold_case: bool,
) -> tuple[RuleFile, ...]:
    """The files called `name` from `top` down to the root's parent, nearest first, then `last`."""
    files = [(0, one) for one in last]
    for depth in range(len(way)):
        path = Path(top, *way[:depth], name)
        if _is_plain_file(path):
            shown = "../" * (len(way) - depth) + name
            rules, rows = read_rules(str(path), shown, above=_above(way[depth:]), fold_case=fold_case)
            trouble.extend(rows)
            files[:0] = [(depth, rules)] if rules else []
        if _is_ignored(files, way, depth):
            return ()
    return tuple(one for _, one in files)


def _above(way: tuple[str, ...]) -> str:
    return unicodedata.normalize("NFC", "".join(f"{part}/" for part in way))


def _repository_of(root: str) -> str | None:
    here = Path(root)
    return next((str(one) for one in (here, *here.parents) if os.path.lexists(one / ".git")), None)


def _is_ignored(files: list[tuple[int, RuleFile]], way: tuple[str, ...], depth: int) -> bool:
    """Whether the folder at `depth` on the way down is ignored by the rules seen so far, nearest first."""
    for at, one in files:
        local = _above(way[at : depth + 1]).removesuffix("/")
        rule = one.match(local, local.rpartition("/")[2], is_folder=True)
        if rule is not None:
            return not rule.pattern.negated
    return False


def info_exclude(
    folder: str, trouble: list[Skipped], *, base: str = "", above: str = "", fold_case: bool
) -> tuple[RuleFile, ...]:
    """The rules in `.git/info/exclude` of the repository or worktree at `folder`."""
    path = _git_directory(Path(folder, ".git")) / "info" / "exclude"
    if not _is_plain_file(path):
        return ()
    shown = base + "../" * above.count("/") + ".git/info/exclude"
    rules, rows = read_rules(str(path), shown, base=base, above=above, fold_case=fold_case)
    trouble.extend(rows)
    return (rules,) if rules else ()


def _git_directory(git: Path) -> Path:
    """Where a repository keeps what its worktrees share. A `.git` file and `commondir` say where that is.

    What they say may be anything: nothing here takes it for a path that exists, or for one at all.
    """
    if os.path.isdir(git):  # not Path.is_dir, which raises for a link into a folder that may not be entered
        return git
    directory = git.parent / pointer(git).removeprefix("gitdir:").strip()
    return directory / pointer(directory / "commondir")


def _is_plain_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return False
