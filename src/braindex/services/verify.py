"""Citations are checked against the disk before they are shown: a file that changed is parsed again on the spot."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from braindex.domain.entities import CodeEntity
from braindex.domain.errors import BraindexError
from braindex.domain.lines import split_lines
from braindex.domain.options import WorkspaceOptions
from braindex.domain.results import Skipped
from braindex.indexing.decode import SourceText, read_text
from braindex.indexing.passages import index_file
from braindex.indexing.walk import Found


@dataclass(frozen=True, slots=True)
class Verified:
    """An entity as the disk has it now, its file's lines, and whether its lines could not be confirmed."""

    entity: CodeEntity
    lines: Sequence[str]
    stale: bool = False


@dataclass(frozen=True, slots=True)
class _Disk:
    """A cited file as it is now. `entities` is None while the file is as it was scanned."""

    lines: list[str]
    entities: Mapping[str, CodeEntity] | None
    broken: bool = False


class Verifier:
    """Reads each cited file once a question."""

    def __init__(self, root: Path, options: WorkspaceOptions) -> None:
        self._root = root
        self._options = options
        self._files: dict[str, _Disk | None] = {}

    def verify(self, identifier: str, entity: CodeEntity, file_digest: bytes) -> Verified | None:
        """The entity with its present lines; None when it is gone. Marked stale when its file no longer parses."""
        if entity.path not in self._files:
            self._files[entity.path] = self._read(entity.path, file_digest)
        disk = self._files[entity.path]
        if disk is None:
            return None
        if disk.broken:
            return Verified(entity, disk.lines, stale=True)
        if disk.entities is None:
            return Verified(entity, disk.lines)
        now = disk.entities.get(identifier)
        return Verified(now, disk.lines) if now is not None else None

    def _read(self, path: str, digest: bytes) -> _Disk | None:
        source = self._source(path, digest)
        if source is None:
            return None
        lines = split_lines(source.text)
        if source.digest == digest:
            return _Disk(lines, None)
        entities = self._parse(path, source)
        return _Disk(lines, entities, broken=entities is None)

    def _source(self, path: str, digest: bytes) -> SourceText | None:
        """The file's text, under its name or the decomposed one that macOS may have given it; None when it is gone."""
        for name in dict.fromkeys((path, unicodedata.normalize("NFD", path))):
            found = Found(path, 0, 0, real=name, kept=True)
            source = read_text(self._root, found, self._options.max_file_bytes, digest)
            if not isinstance(source, Skipped):
                return source
        return None

    def _parse(self, path: str, source: SourceText) -> dict[str, CodeEntity] | None:
        try:
            return {one.id: one.entity for one in index_file(path, source.data, self._options.skip_bare_files)}
        except BraindexError:
            return None
