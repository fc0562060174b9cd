"""What a note is about: names and paths to entities and files of the index, and whether these have changed since."""

import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from braindex.domain.display import echoed, safe_line, safe_path
from braindex.domain.errors import UsageError
from braindex.domain.memories import About, Note
from braindex.domain.options import WorkspaceOptions
from braindex.domain.units import StoredEntity
from braindex.registry.index import IndexStore

if TYPE_CHECKING:
    from braindex.services.verify import Verified, Verifier

_MOST_OF_A_NAME: Final = 3  # entities of one name that a note is tied to
_LISTED: Final = 5
_DIGEST_BYTES: Final = 16
_LINE_DIGITS: Final = 9  # no file has as many lines


class NothingTiedTo(UsageError):
    def __init__(self, text: str, root: str) -> None:
        super().__init__(
            f"{echoed(text)!r} is neither a file or folder of {echoed(root)} nor the name of an entity in it; give a "
            "path from the workspace's root, a name, or `path::name`. Nothing was stored"
        )


class TiedToMany(UsageError):
    def __init__(self, text: str, places: Sequence[str]) -> None:
        listed = ", ".join(safe_path(one) for one in places[:_LISTED])
        super().__init__(
            f"{echoed(text)!r} names {len(places)} entities ({listed} …); say which one is meant, as `path::name`. "
            "Nothing was stored"
        )


class Ties:
    """Ties of one workspace, whose index is open."""

    def __init__(self, store: IndexStore, root: Path, options: WorkspaceOptions) -> None:
        self._store = store
        self._root = root
        self._options = options
        self._verifier: Verifier | None = None

    def about(self, texts: Iterable[str]) -> tuple[About, ...]:
        """What each text names: `path`, `path:line`, `path::name`, or the name of an entity.

        Raises NothingTiedTo and TiedToMany.
        """
        found = [one for text in texts if text.strip() for one in self._of(text.strip())]
        return tuple(dict.fromkeys(found))

    def stale(self, notes: Sequence[Note]) -> dict[str, str]:
        """By the id of a note, in a line, what it is about and has changed since it was made."""
        lines = {note.id: self._changed(note.about) for note in notes}
        return {one: line for one, line in lines.items() if line}

    def changed(self, ties: Iterable[About]) -> list[About]:
        """Those of the ties that are not as they were when they were made. A file is read once for all of its own."""
        by_path = sorted(ties, key=lambda one: one.path)
        return [one for one in by_path if one.digest and self._moved(one)]

    def _of(self, text: str) -> list[About]:
        path, _, name = text.partition("::")
        if name:
            entities = [one for one in self._store.of_file(_plain(path)) if name in _names(one)]
            return [self._tie(one) for one in entities[:_MOST_OF_A_NAME]] or self._nothing(text)
        path, _, line = text.rpartition(":")
        if path and line.isdecimal() and self._store.of_file(_plain(path)):
            rows = list(self._store.around(_plain(path), int(line[:_LINE_DIGITS])))[:1]
            stored = self._store.entities(rows).values()
            return [self._tie(one) for one in stored] or self._of(path)
        return self._path(text) or self._named(text)

    def _path(self, text: str) -> list[About]:
        path = _plain(text)
        stored = self._store.of_file(path)
        if stored:
            return [About(path, "", stored[0].file_digest.hex())]
        is_inside = bool(path) and not os.path.isabs(path) and ".." not in path.split("/")
        return [About(path)] if is_inside and os.path.isdir(self._root / path) else []

    def _named(self, text: str) -> list[About]:
        name = text.removesuffix("()")
        stored = self._store.entities(self._store.rows_by_name([name]))
        exact = [one for one in stored.values() if name in _names(one)] or list(stored.values())
        known = [one for one in exact if one.entity.kind != "file"] or exact
        if len(known) > _MOST_OF_A_NAME:
            raise TiedToMany(text, [f"{one.entity.path}::{one.entity.qualified_name}" for one in known])
        return [self._tie(one) for one in known] or self._nothing(text)

    def _nothing(self, text: str) -> list[About]:
        raise NothingTiedTo(text, str(self._root))

    def _tie(self, stored: StoredEntity) -> About:
        seen = self._seen(stored)
        return About(stored.entity.path, stored.entity.qualified_name, "" if seen is None else _digest(seen))

    def _seen(self, stored: StoredEntity) -> "Verified | None":
        if self._verifier is None:
            from braindex.services.verify import Verifier  # noqa: PLC0415 - parsers, for the few who have ties

            self._verifier = Verifier(self._root, self._options)
        return self._verifier.verify(stored.id, stored.entity, stored.file_digest)

    def _changed(self, about: Sequence[About]) -> str:
        parts = [part for one in about if one.digest and (part := self._moved(one))]
        return "; ".join(parts)

    def _moved(self, one: About) -> str:
        stored = self._store.of_file(one.path)
        if not one.qualified_name:
            if not stored:
                return f"`{safe_path(one.path)}` is gone since"
            return "" if stored[0].file_digest.hex() == one.digest else f"`{safe_path(one.path)}` changed since"
        named = [entity for entity in stored if entity.entity.qualified_name == one.qualified_name]
        seen = [found for entity in named if (found := self._seen(entity)) is not None]
        name = safe_line(one.qualified_name)
        if not seen:
            return f"`{name}` is gone since"
        return "" if one.digest in map(_digest, seen) else f"`{name}` changed since"


def _plain(path: str) -> str:
    return path.strip().removeprefix("./").rstrip("/")


def _names(one: StoredEntity) -> tuple[str, str]:
    return one.entity.name, one.entity.qualified_name


def _digest(seen: "Verified") -> str:
    """Of an entity's own lines as they are on disk: indentation and blanks at line ends do not count, since moving code
    about is no change of what it does.
    """
    lines = seen.lines[seen.entity.line - 1 : seen.entity.end_line]
    text = "\n".join(stripped for line in lines if (stripped := line.strip()))
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=_DIGEST_BYTES).hexdigest()
