"""Content for an index: small units with everything that a store keeps of them."""

import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from braindex.domain.entities import CodeEntity
from braindex.domain.identity import entity_id
from braindex.domain.units import FileRecord, FileUnits, Terms, Unit
from braindex.registry.index import IndexStore


def _vector(*numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


def _unit(
    path: str = "src/a.py",
    name: str = "run",
    *,
    line: int = 1,
    digest: bytes = b"1",
    terms: str | None = None,
    vector: bytes | None = _vector(1, 0),
    kind: str = "function",
    language: str = "python",
    **more: object,
) -> Unit:
    qualified = str(more.pop("qualified_name", name))
    entity = CodeEntity(path, kind, name, qualified, "", language, line, line + 3, f"def {name}()", **more)  # type: ignore[arg-type]
    body = name.lower() if terms is None else terms
    return Unit(
        entity_id(path, kind, qualified, entity.ordinal),
        entity,
        digest,
        Terms("", "", "", "", "", body),
        vector,
    )


def _file(path: str, *units: Unit, digest: bytes = b"d", mtime_ns: int = 1) -> FileUnits:
    return FileUnits(FileRecord(path, 10, mtime_ns, digest, "python", 2), units)


@pytest.fixture
def vector() -> Callable[..., bytes]:
    return _vector


@pytest.fixture
def unit() -> Callable[..., Unit]:
    return _unit


@pytest.fixture
def file_of() -> Callable[..., FileUnits]:
    return _file


@pytest.fixture
def store(tmp_path: Path) -> Iterator[IndexStore]:
    with IndexStore.open(tmp_path / "workspace") as opened:
        opened.outbox_all()  # as one whose vectors ChromaDB has a copy of
        yield opened
