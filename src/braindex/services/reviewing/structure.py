"""The structure of a change: of each file the entities that were added, changed and removed, and what is withheld."""

import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from braindex.domain.changes import Changes, Repository
from braindex.domain.diffs import FileDiff, Range
from braindex.domain.entities import CALLABLE_KINDS, EntityHead
from braindex.domain.errors import BraindexError
from braindex.domain.options import WorkspaceOptions
from braindex.domain.results import Skipped
from braindex.domain.reviews import FileSummary, Touched
from braindex.indexing import exclusions
from braindex.indexing.decode import decode, read_text
from braindex.indexing.passages import Indexed, index_file
from braindex.indexing.privatekeys import holds_private_key
from braindex.indexing.walk import Found
from braindex.languages import language_for

MOST_PARSED: Final = 200  # files of one change
_NO_ENTITY: Final = frozenset({"file", "code-block"})


@dataclass(frozen=True, slots=True)
class _Side:
    """A file before or after the change: its entities by id, or why they are not known."""

    entities: Mapping[str, Indexed]
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Indexing:
    """What the index holds: the paths of its files, and by path the reasons why files or folders (with a `/` at the
    end) are left out of it.
    """

    files: Collection[str]
    skipped: Mapping[str, str]

    def reason(self, path: str) -> str:
        """Why a file is left out, else ""; of one that is on disk no more, by its name."""
        path = unicodedata.normalize("NFC", path)  # as the index has it, whatever git was given
        parts = path.split("/")
        folders = ("/".join(parts[:depth]) + "/" for depth in range(1, len(parts)))
        found = next((self.skipped[one] for one in (path, *folders) if one in self.skipped), "")
        if found or path in self.files:
            return found
        return exclusions.by_default(parts[-1].lower(), is_folder=False) or ""


class Structures:
    """Parses what a change touched. Contents come from git, or from disk where git does not have them yet."""

    def __init__(self, root: Path, repository: Repository, options: WorkspaceOptions) -> None:
        self._root = root
        self._repository = repository
        self._options = options

    def of(self, changes: Changes, indexed: Indexing) -> tuple[FileSummary, ...]:
        """A summary a file, in order. Raises what the repository raises."""
        reasons = [(one, withheld(one, indexed)) for one in changes.files]
        parsed = [one for one, reason in reasons if not reason and one.is_text and language_for(one.path)]
        wanted = parsed[:MOST_PARSED]
        ids = [name for one in wanted for name in (one.old_id, one.new_id)]
        contents = self._repository.contents(ids, self._options.max_file_bytes)
        # By identity: a file that became a link is in a diff twice.
        known = {id(one): self._parsed(one, contents, on_disk=changes.on_disk) for one in wanted}
        rest = {id(one) for one in parsed[MOST_PARSED:]}
        return tuple(
            known.get(id(one))
            or FileSummary(
                one, withheld=reason, remark="not parsed: the change has too many files" if id(one) in rest else ""
            )
            for one, reason in reasons
        )

    def _parsed(self, diff: FileDiff, contents: Mapping[str, bytes], *, on_disk: bool) -> FileSummary:
        before = self._side(diff, contents.get(diff.old_id)) if diff.kind != "added" else _Side({})
        after = self._after(diff, contents, on_disk=on_disk) if diff.kind != "deleted" else _Side({})
        trouble = before.trouble or after.trouble
        if trouble:
            return FileSummary(diff, remark=f"entities unknown: {trouble}")
        old, new = before.entities, after.entities
        changed = [new[one] for one in new if one in old and _differs(diff, old[one], new[one])]
        return FileSummary(
            diff,
            added=_touched(one for name, one in new.items() if name not in old),
            changed=_touched(changed),
            removed=_touched(one for name, one in old.items() if name not in new),
        )

    def _after(self, diff: FileDiff, contents: Mapping[str, bytes], *, on_disk: bool) -> _Side:
        if not on_disk or diff.new_id in contents:
            return self._side(diff, contents.get(diff.new_id))
        source = read_text(self._root, Found(diff.path, 0, 0), self._options.max_file_bytes)
        return _Side({}, source.reason) if isinstance(source, Skipped) else self._side(diff, source.data)

    def _side(self, diff: FileDiff, data: bytes | None) -> _Side:
        """What the bytes hold. They are parsed under the new path, so that a file that moved keeps its entities."""
        if data is None:
            return _Side({}, "git does not have its content, or it is too large")
        decoded = decode(data, diff.path)
        if isinstance(decoded, Skipped):
            return _Side({}, decoded.reason)
        try:
            found = index_file(diff.path, decoded[0].encode("utf-8"), self._options.skip_bare_files)
        except BraindexError as error:
            return _Side({}, str(error))
        return _Side({one.id: one for one in found if one.entity.kind not in _NO_ENTITY})


def withheld(diff: FileDiff, indexed: Indexing) -> str:
    """Why nobody is shown what a file holds, else "": it may hold secrets, or the workspace leaves it out."""
    for path in dict.fromkeys(one for one in (diff.path, diff.old_path) if one):
        reason = never(path) or indexed.reason(path)
        if reason:
            return reason
    return "holds a private key" if holds_private_key(diff.text()) else ""


def never(path: str) -> str:
    """Why the name of a file, or of a folder it is in, keeps it from everyone, else ""."""
    *folders, name = path.lower().split("/")
    found = exclusions.never(name, is_folder=False)
    return found or next((why for one in folders if (why := exclusions.never(one, is_folder=True))), "")


def _differs(diff: FileDiff, old: Indexed, new: Indexed) -> bool:
    """Whether an entity changed: by its digest, which is of its beginning, or by a changed line inside of it."""
    if old.digest != new.digest:
        return True
    if new.entity.kind not in CALLABLE_KINDS:
        return False
    return _meets(diff.added, new.entity.line, new.entity.end_line) or _meets(
        diff.removed, old.entity.line, old.entity.end_line
    )


def _meets(ranges: Iterable[Range], line: int, end_line: int) -> bool:
    return any(first <= end_line and line <= last for first, last in ranges)


def _touched(found: Iterable[Indexed]) -> tuple[Touched, ...]:
    return tuple(_heads(found))


def _heads(found: Iterable[Indexed]) -> Iterator[Touched]:
    for one in found:
        it = one.entity
        head = EntityHead(
            one.id, it.path, it.kind, it.name, it.qualified_name, it.parent, it.language, it.line, it.end_line
        )
        yield Touched(head, it.signature, it.docstring.strip().split("\n", 1)[0])
