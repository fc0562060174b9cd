"""Stores with vectors: `fill(store, {name: numbers})` makes the file `src.py` hold exactly these entities."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.fakes.chroma import RealChroma

from braindex.domain.entities import CodeEntity
from braindex.domain.units import FileRecord, FileUnits, Terms, Unit
from braindex.registry.index import IndexStore


def _pack(numbers: Sequence[float]) -> bytes:
    values = np.asarray(numbers, dtype="<f4")
    return bytes((values / np.linalg.norm(values)).astype("<f4").tobytes())


def _fill(store: IndexStore, vectors: Mapping[str, Sequence[float] | None], path: str = "src.py") -> dict[str, int]:
    """Row by name. An entity whose numbers changed is a changed one."""
    units = []
    for name, numbers in vectors.items():
        vector = None if numbers is None else _pack(numbers)
        entity = CodeEntity(path, "function", name, name, "", "python", 1, 2, f"def {name}()")
        units.append(Unit(f"{path} {name}", entity, vector or b"-", Terms(name, "", "", "", "", ""), vector))
    store.write([FileUnits(FileRecord(path, 1, 1, b"d", "python", 1), tuple(units))])
    rows = store.rows_of([unit.id for unit in units])
    return {unit.entity.name: rows[unit.id] for unit in units}


def _crowd(count: int, dimension: int = 16, seed: int = 7) -> dict[str, list[float]]:
    random = np.random.default_rng(seed)
    return {f"n{i}": row.tolist() for i, row in enumerate(random.normal(size=(count, dimension)))}


@pytest.fixture
def pack() -> Callable[[Sequence[float]], bytes]:
    return _pack


@pytest.fixture
def fill() -> Callable[..., dict[str, int]]:
    return _fill


@pytest.fixture
def crowd() -> Callable[..., dict[str, list[float]]]:
    return _crowd


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "workspace"


@pytest.fixture
def store(folder: Path) -> Iterator[IndexStore]:
    with IndexStore.open(folder) as opened:
        yield opened


@pytest.fixture(scope="session")
def real_chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealChroma]:
    with RealChroma(tmp_path_factory.mktemp("chroma")) as running:
        yield running
