"""What the index keeps of a file: its record, and one unit for each entity."""

import re
from dataclasses import dataclass
from typing import Final

from braindex.domain.entities import CodeEntity
from braindex.domain.ports import Vector
from braindex.domain.references import Reference


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file that was looked into. `digest` is BLAKE2b-128 of its bytes; times are nanoseconds since the epoch.

    `refused` says why nothing of it is in the index, "" for an indexed file: until it changes it is not read
    again. `again` says that the reason may pass without a change (a permission, a lock): every scan tries.
    """

    path: str
    size: int
    mtime_ns: int
    digest: bytes
    language: str
    scanned_ns: int
    refused: str = ""
    again: bool = False


@dataclass(frozen=True, slots=True)
class Terms:
    """Index terms (identifier-split, stemmed, lower case) of one entity, space separated, one field a column."""

    name: str
    parent: str
    signature: str
    path: str
    doc: str
    body: str


@dataclass(frozen=True, slots=True)
class Unit:
    """One entity as it is stored. `digest` covers all that its terms and vector are made of (not its lines, and not
    what it refers to).
    """

    id: str
    entity: CodeEntity
    digest: bytes
    terms: Terms
    vector: Vector | None
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True)
class FileUnits:
    """A file and all of its units: they are stored together or not at all."""

    file: FileRecord
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class StoredEntity:
    """An entity as it comes back from the index, with its row and the digest of the file it was parsed from."""

    row: int
    id: str
    entity: CodeEntity
    file_digest: bytes


WILDCARD: Final = re.compile(r"[*?\[{]")  # what makes a path filter a pattern


@dataclass(frozen=True, slots=True)
class EntityFilter:
    """What a question is narrowed to. `path` is a folder or file prefix, or a glob below the root."""

    path: str | None = None
    kind: str | None = None
    language: str | None = None

    @property
    def is_empty(self) -> bool:
        return self.path is None and self.kind is None and self.language is None
