"""What a brief may read of a workspace: files that are in its index, below its root, so much and no more."""

import posixpath
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Final

from braindex.domain.options import WorkspaceOptions
from braindex.domain.results import Skipped
from braindex.indexing.decode import read_text
from braindex.indexing.walk import Found
from braindex.registry.index import IndexStore

READ_LIMIT: Final = 6_000_000  # bytes in all: about what the source files of 20,000 entities hold, and 0.1 s of CPU
SHOWN: Final = 200_000  # characters of one file that are looked at
LINE_LIMIT: Final = 2_000  # characters of one line that are looked at: prose and code fit, what is generated does not
_KEPT: Final = 65_536  # characters of a file that is remembered; others are read anew


class ProjectFiles:
    """The indexed files of one workspace, and their text as the disk has it now."""

    def __init__(self, root: Path, store: IndexStore, options: WorkspaceOptions) -> None:
        self._root = root
        self._options = options
        self._records = {path: one for path, one in store.files().items() if not one.refused}
        self.paths: tuple[str, ...] = tuple(sorted(self._records))
        self._texts: dict[str, str] = {}
        self._left = READ_LIMIT

    def __contains__(self, path: str) -> bool:
        return path in self._records

    def size(self, path: str) -> int:
        return self._records[path].size

    def language(self, path: str) -> str:
        return self._records[path].language

    @cached_property
    def by_name(self) -> dict[str, list[str]]:
        """Paths by lower-case file name, the shallowest first."""
        found: dict[str, list[str]] = {}
        for path in sorted(self.paths, key=lambda one: (one.count("/"), one)):
            found.setdefault(posixpath.basename(path).lower(), []).append(path)
        return found

    def at_root(self, *names: str) -> list[str]:
        """Files directly below the root with one of these lower-case names, in the order of the names."""
        return [path for name in names for path in self.by_name.get(name, ()) if "/" not in path]

    def below(self, folder: str) -> Iterator[str]:
        """Files below a folder (without a `/` at its end), by path."""
        start = f"{folder}/" if folder else ""
        for path in self.paths[bisect_left(self.paths, start) :]:
            if not path.startswith(start):
                return
            yield path

    def text(self, path: str) -> str | None:
        """The file's first SHOWN characters, its lines cut at LINE_LIMIT; None when it is not in the index, cannot be
        read, or too much was read.
        """
        text = self.whole(path)
        return None if text is None else _lines_cut(text)

    def whole(self, path: str) -> str | None:
        """As `text`, with lines of any length: for a parser, which a line cut short would be broken for."""
        if path in self._texts:
            return self._texts[path]
        record = self._records.get(path)
        if record is None or record.size > min(self._left, self._options.max_file_bytes):
            return None
        self._left -= record.size
        found = self._read(path)
        if found is not None and len(found) <= _KEPT:
            self._texts[path] = found
        return found

    def texts(self, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
        """(path, text) of those that can be read."""
        for path in paths:
            text = self.text(path)
            if text is not None:
                yield path, text

    def _read(self, path: str) -> str | None:
        """Under its name or the decomposed one that macOS may have given it."""
        for name in dict.fromkeys((path, unicodedata.normalize("NFD", path))):
            source = read_text(self._root, Found(path, 0, 0, real=name), self._options.max_file_bytes)
            if not isinstance(source, Skipped):
                return source.text[:SHOWN].replace("\r\n", "\n").replace("\r", "\n")
        return None


def _lines_cut(text: str) -> str:
    """The text with every line where it was, none longer than LINE_LIMIT."""
    at = 0
    while len(text) - at > LINE_LIMIT:
        end = text.rfind("\n", at, at + LINE_LIMIT + 1)
        if end < 0:
            return "\n".join(line[:LINE_LIMIT] for line in text.split("\n"))
        at = end + 1
    return text


def line_of(text: str, *needles: str) -> int:
    """The first line (from 1) that holds all of the needles, 0 where none does."""
    for number, line in enumerate(text.split("\n"), 1):
        if all(needle in line for needle in needles):
            return number
    return 0
