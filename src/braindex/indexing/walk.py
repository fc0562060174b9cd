"""Walks a workspace: what is to be indexed, what was left out and why, folder by folder in path order."""

import errno
import os
import stat
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from braindex.domain.errors import BraindexError
from braindex.domain.results import Skipped
from braindex.indexing import exclusions
from braindex.indexing.enclosing import find_enclosing, info_exclude
from braindex.indexing.ignore import GITIGNORE, MEMIGNORE, RuleFile, deciding, next_deciding, read_rules
from braindex.indexing.opening import Unreadable, explain, is_link, read_file
from braindex.indexing.own_data import REASON as OWN_DATA
from braindex.indexing.own_data import OwnFolders, is_own_entry, looks_own

# A file that .memignore names may be larger than the limit, but not endless: it is read and parsed as a
# whole.
KEPT_MAX_BYTES: Final = 16_000_000
# Out of handles or memory, or a network disk that went away: no reason to hold what lies below for deleted.
_SAYS_NOTHING: Final = frozenset(
    number
    for name in ("EMFILE", "ENFILE", "ENOMEM", "ESTALE", "ENOTCONN", "ETIMEDOUT", "EHOSTDOWN", "EHOSTUNREACH")
    if (number := getattr(errno, name, None)) is not None
)
_JUNCTIONS: Final = sys.platform == "win32"
_RULE_NAMES: Final = frozenset({".git", GITIGNORE, MEMIGNORE})
_BUT_NAMED: Final = f", but for what {MEMIGNORE} brings back"


class RootMissing(BraindexError):
    def __init__(self, root: str) -> None:
        super().__init__(
            f"the workspace folder {root} is not there (moved, deleted or not mounted); nothing of its "
            "memory was changed: bring it back and scan again, or name its new place"
        )


class RootNotAFolder(BraindexError):
    def __init__(self, root: str) -> None:
        super().__init__(f"{root} is not a folder: name the project's folder")


class RootUnreadable(BraindexError):
    """The root, or a folder in it for a reason that says nothing about the folder."""

    def __init__(self, root: str, error: OSError) -> None:
        super().__init__(
            f"the folder {root} cannot be read ({error.strerror or error}); nothing of its memory "
            "was changed: check its permissions, or that its disk is mounted, and scan again"
        )


class RootEmptied(BraindexError):
    def __init__(self, root: str) -> None:
        super().__init__(
            f"the workspace folder {root} is empty although files of it are known: if its disk is not "
            "mounted, mount it and scan again; if it was emptied on purpose, drop the workspace"
        )


@dataclass(frozen=True, slots=True)
class Found:
    """A file to index.

    `path` is its identity: relative to the root, `/` between segments, Unicode NFC. `real` is the path as the
    disk spells it, "" where that is `path` itself. `size` is in bytes. `kept` says that a `!` rule of
    .memignore asked for it: the default limits of size and content do not apply.
    """

    path: str
    size: int
    mtime_ns: int
    real: str = ""
    kept: bool = False

    @property
    def on_disk(self) -> str:
        return self.real or self.path


@dataclass(frozen=True, slots=True)
class WalkRules:
    """What a walk is bound by.

    `own_folders` are braindex's data folders: inside, around or the same as the root. `known_files` says that
    the last scan found files, so that an empty root means an unmounted disk. `defaults` turns on what
    .memignore can bring back. `fold_case` matches ignore rules as git does where file names ignore case. `on_folder`
    is called with the path of each folder before it is listed.
    """

    max_file_bytes: int = 1_000_000
    own_folders: tuple[Path, ...] = ()
    known_files: bool = False
    defaults: bool = True
    fold_case: bool = sys.platform in {"win32", "darwin"}
    on_folder: Callable[[str], None] = field(default=lambda _: None, compare=False)


def walk(root: Path, rules: WalkRules) -> Iterator[Found | Skipped]:
    """Streams every file of the tree or the reason it was left out, sorted by path.

    A folder that is left out is one row whose path ends in `/`. Links are never followed. Raises RootMissing,
    RootNotAFolder, RootIsOwnData, RootUnreadable or RootEmptied at the call, and RootMissing or RootUnreadable
    later when the root goes away meanwhile: only a walk that ended says which files are gone.
    """
    top = os.path.realpath(root)
    identity = _root_identity(top)
    own = OwnFolders(rules.own_folders)
    own.refuse(top)
    try:
        with os.scandir(top) as entries:
            is_empty = next(entries, None) is None
    except OSError as error:
        raise RootUnreadable(top, error) from error
    if is_empty and rules.known_files:
        raise RootEmptied(top)
    return _Walk(top, identity, rules, own).run()


def _root_identity(root: str) -> tuple[int, int]:
    """Device and inode, which change when a disk is unmounted under the path."""
    try:
        status = Path(root).stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise RootMissing(root) from error
    except OSError as error:
        raise RootUnreadable(root, error) from error
    if not stat.S_ISDIR(status.st_mode):
        raise RootNotAFolder(root)
    return status.st_dev, status.st_ino


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder to walk and what is known on the way into it.

    `path` (identity) and `real` (on disk) are relative and end in `/`, "" for the root; `where` is absolute.
    """

    path: str
    real: str
    where: str
    git: tuple[RuleFile, ...]
    mem: tuple[RuleFile, ...]
    brought_back: bool = False  # by a `!` rule: what it holds does not leave it out
    reads_git: bool = True  # .gitignore files in it count
    only_named: bool = False  # left out, but for what a `!` rule names below it


@dataclass(slots=True)  # frozen would cost a third of the walk
class _Entry:
    """A directory entry. `key` is its path, with a `/` if a folder; `trouble` says why it cannot be taken."""

    key: str
    path: str
    name: str
    is_folder: bool
    disk: os.DirEntry[str]
    trouble: str | None = None


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What the rules say of an entry.

    `reason`: it is left out. `final`: no rule can bring back anything below it either. `kept`: a `!` rule of
    .memignore asked for it. `lifts_git`: with the folder, .gitignore rules stop to count inside it.
    """

    reason: str | None = None
    final: bool = False
    kept: bool = False
    lifts_git: bool = False


_INCLUDED: Final = _Verdict()


class _Walk:
    def __init__(self, root: str, identity: tuple[int, int], rules: WalkRules, own: OwnFolders) -> None:
        self._root = root
        self._identity = identity
        self._rules = rules
        self._enclosing = find_enclosing(root, fold_case=rules.fold_case)
        self._own = own
        self._root_is_own = own.is_one(root)

    def run(self) -> Iterator[Found | Skipped]:
        yield from self._enclosing.trouble
        stack = [self._inside(_Folder("", "", self._root, self._enclosing.git, self._enclosing.mem))]
        while stack:
            item = next(stack[-1], None)
            if item is None:
                stack.pop()
            elif isinstance(item, _Folder):
                stack.append(self._inside(item))
            else:
                yield item
        self._check_root()

    def _check_root(self) -> None:
        if _root_identity(self._root) != self._identity:
            raise RootMissing(self._root)

    def _inside(self, folder: _Folder) -> Iterator[Found | Skipped | _Folder]:
        self._rules.on_folder(folder.where)
        try:
            entries = _listing(folder)
        except OSError as error:
            self._check_root()
            if not folder.path or error.errno in _SAYS_NOTHING:
                raise RootUnreadable(folder.where, error) from error
            yield Skipped(folder.path, explain(error))
            return
        if looks_own(folder.where, (one.name for one in entries)):
            if folder.path:
                yield Skipped(folder.path, OWN_DATA)
                return
            self._root_is_own = True
        if folder.only_named:
            yield from self._named(folder, entries)
            return
        reason = self._reason_by_content(folder, entries)
        if reason is None:
            yield from self._judged(folder, entries)
        elif folder.brought_back:
            yield from self._judged(replace(folder, git=(), reads_git=False), entries)
        elif _may_hold_named(folder.mem, folder.path[:-1]):
            yield Skipped(folder.path, reason + _BUT_NAMED)
            yield from self._named(folder, entries)
        else:
            yield Skipped(folder.path, reason)

    def _reason_by_content(self, folder: _Folder, entries: Sequence[_Entry]) -> str | None:
        """Why what a folder holds leaves it out. The root itself is never left out."""
        if not folder.path or not self._rules.defaults:
            return None
        names = {one.name.lower(): one for one in entries}
        tag = names.get(exclusions.CACHE_TAG)
        if tag is not None and _is_cache_tag(tag.disk.path):
            return exclusions.left_out("cache (CACHEDIR.TAG)")
        return exclusions.by_content(names, repositories=self._enclosing.top is not None)

    def _judged(self, folder: _Folder, entries: Sequence[_Entry]) -> Iterator[Found | Skipped | _Folder]:
        folder, trouble = self._with_rules(folder, entries)
        yield from trouble
        for one in entries:
            verdict = self._verdict(folder, one)
            if verdict.reason is None:
                yield self._admitted(folder, one, verdict)
            elif one.is_folder and not verdict.final and _may_hold_named(folder.mem, one.path):
                yield Skipped(one.key, verdict.reason + _BUT_NAMED)
                yield _below(folder, one, only_named=True)
            else:
                yield Skipped(one.key, verdict.reason)

    def _named(self, folder: _Folder, entries: Sequence[_Entry]) -> Iterator[Found | Skipped | _Folder]:
        """Inside a folder that is left out: only what .memignore brings back, and the way to it."""
        for one in entries:
            if self._never(folder, one):
                continue
            if _by_memignore(folder.mem, one).kept:
                yield self._admitted(folder, one, _Verdict(kept=True, lifts_git=True))
            elif one.is_folder and _may_hold_named(folder.mem, one.path):
                yield _below(folder, one, only_named=True)

    def _with_rules(self, folder: _Folder, entries: Sequence[_Entry]) -> tuple[_Folder, list[Skipped]]:
        """The folder with its own ignore files in front, and what could not be read of them."""
        present = {one.name: one for one in entries if one.name in _RULE_NAMES}
        if not present:
            return folder, []
        trouble: list[Skipped] = []
        git = folder.git
        if folder.reads_git:
            if ".git" in present and folder.where != self._enclosing.top:
                fold_case = self._rules.fold_case
                git = (*info_exclude(folder.where, trouble, base=folder.path, fold_case=fold_case), *git)
            git = (*self._own_rules(GITIGNORE, present, folder, trouble), *git)
        mem = (*self._own_rules(MEMIGNORE, present, folder, trouble), *folder.mem)
        return replace(folder, git=git, mem=mem), trouble

    def _own_rules(
        self, name: str, present: Mapping[str, _Entry], folder: _Folder, trouble: list[Skipped]
    ) -> tuple[RuleFile, ...]:
        """A link is no ignore file, as in git."""
        one = present.get(name)
        if one is None or not one.disk.is_file(follow_symlinks=False):
            return ()
        rules, rows = read_rules(one.disk.path, one.path, base=folder.path, fold_case=self._rules.fold_case)
        trouble.extend(rows)
        return (rules,) if rules else ()

    def _verdict(self, folder: _Folder, one: _Entry) -> _Verdict:
        never = self._never(folder, one)
        if never:
            return _Verdict(reason=never, final=True)
        wish = _by_memignore(folder.mem, one)
        if wish.reason:
            return wish
        reason = self._lesser_reason(folder, one)
        if wish.kept:
            return replace(wish, lifts_git=True) if reason else wish
        return _Verdict(reason=reason) if reason else _INCLUDED

    def _never(self, folder: _Folder, one: _Entry) -> str | None:
        if one.trouble:
            return one.trouble
        if one.is_folder and self._own.holds(one.disk):
            return OWN_DATA
        if not folder.path and self._root_is_own and is_own_entry(one.name):
            return OWN_DATA
        return exclusions.never(one.name.lower(), is_folder=one.is_folder)

    def _lesser_reason(self, folder: _Folder, one: _Entry) -> str | None:
        """The default exclusions and .gitignore, either of which .memignore may overrule."""
        if self._rules.defaults:
            reason = exclusions.by_default(one.name.lower(), is_folder=one.is_folder)
            if reason:
                return reason
        decided = deciding(folder.git, one.path, one.name, is_folder=one.is_folder)
        return decided[0].reason() if decided and not decided[0].pattern.negated else None

    def _admitted(self, folder: _Folder, one: _Entry, verdict: _Verdict) -> Found | Skipped | _Folder:
        if not one.is_folder:
            return self._file(folder, one, kept=verdict.kept)
        inner = _below(folder, one, brought_back=verdict.kept)
        return replace(inner, git=(), reads_git=False) if verdict.lifts_git else inner

    def _file(self, folder: _Folder, one: _Entry, *, kept: bool) -> Found | Skipped:
        try:
            if one.disk.is_symlink():
                return Skipped(one.path, self._link_reason(one.disk.path))
            status = one.disk.stat(follow_symlinks=False)
        except OSError as error:
            return Skipped(one.path, explain(error))
        if _JUNCTIONS and is_link(status):
            return Skipped(one.path, self._link_reason(one.disk.path))
        if not stat.S_ISREG(status.st_mode):
            return Skipped(one.path, "a FIFO, socket or device")
        limit = max(self._rules.max_file_bytes, KEPT_MAX_BYTES) if kept else self._rules.max_file_bytes
        if status.st_size > limit:
            return Skipped(one.path, too_large(status.st_size, limit))
        real = folder.real + one.disk.name
        return Found(one.path, status.st_size, status.st_mtime_ns, "" if real == one.path else real, kept)

    def _link_reason(self, path: str) -> str:
        try:
            target = os.path.realpath(path, strict=True)
        except OSError as error:
            nowhere = isinstance(error, FileNotFoundError)
            return "a link that leads nowhere" if nowhere else f"a link that leads nowhere: {error.strerror}"
        if not Path(target).is_relative_to(self._root):
            return "a link that leaves the workspace"
        return f"a link to {Path(target).relative_to(self._root).as_posix()}: read under that path only"


def too_large(size: int, limit: int) -> str:
    return exclusions.left_out(f"{size:,} bytes, the limit is {limit:,}")


def _below(folder: _Folder, one: _Entry, *, brought_back: bool = False, only_named: bool = False) -> _Folder:
    real = f"{folder.real}{one.disk.name}/"
    git, mem, reads_git = folder.git, folder.mem, folder.reads_git
    return _Folder(one.path + "/", real, one.disk.path, git, mem, brought_back, reads_git, only_named)


def _by_memignore(files: Sequence[RuleFile], one: _Entry) -> _Verdict:
    """What .memignore says of an entry.

    A `!` rule that only takes back a catch-all (`*`, then `!/src/**`) leaves the entry to the other rules;
    any other one brings it back against them.
    """
    decided = deciding(files, one.path, one.name, is_folder=one.is_folder)
    if decided is None:
        return _INCLUDED
    if not decided[0].pattern.negated:
        return _Verdict(reason=decided[0].reason(), final=True)
    second = next_deciding(files, decided, one.path, one.name, is_folder=one.is_folder)
    if second is not None and second.pattern.is_catch_all:
        return _INCLUDED
    return _Verdict(kept=True, lifts_git=second is None or second.pattern.negated)


def _may_hold_named(files: Sequence[RuleFile], folder: str) -> bool:
    return any(one.reaches(folder) for one in files)


def _is_cache_tag(path: str) -> bool:
    signature = exclusions.CACHE_TAG_SIGNATURE
    try:
        return read_file(path, len(signature)) == signature
    except Unreadable:
        return False


def _listing(folder: _Folder) -> list[_Entry]:
    """The folder's entries in the order of their paths. Raises OSError."""
    with os.scandir(folder.where) as entries:
        found = [_entry(folder.path, one) for one in entries]
    # Of two names that Unicode holds equal, the composed one comes first and stays.
    found.sort(key=lambda one: (one.key, one.name != one.disk.name))
    for index in range(1, len(found)):
        if found[index].key == found[index - 1].key:
            found[index].trouble = "the same name as another entry in another Unicode form"
    return found


def _entry(folder: str, disk: os.DirEntry[str]) -> _Entry:
    name, trouble = disk.name, None
    if not name.isascii():
        name, trouble = _composed(name)
    is_folder = disk.is_dir(follow_symlinks=False) and not (_JUNCTIONS and is_link(disk.stat(follow_symlinks=False)))
    path = folder + name
    return _Entry(path + "/" if is_folder else path, path, name, is_folder, disk, trouble)


def _composed(name: str) -> tuple[str, str | None]:
    """The name in NFC; one that is not UTF-8 (on Windows UTF-16) comes back escaped, with the trouble."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        if sys.platform == "win32":
            return name.encode("utf-8", "backslashreplace").decode(), "its name is not valid Unicode"
        return os.fsencode(name).decode("utf-8", "backslashreplace"), "its name is not UTF-8"
    return unicodedata.normalize("NFC", name), None
