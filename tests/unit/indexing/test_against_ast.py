"""Two hundred files of the standard library, compared with Python's own parser to the line and the parameter.

`bench/extraction.py` compares all of it, and what is installed beside it.
"""

import importlib
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).resolve().parents[3] / "bench"
FILES, PARTS = 200, 4
# Packages that every Python from 3.11 on has; the sample is every n-th of their files.
STDLIB = Path(sysconfig.get_path("stdlib"))
LEFT_OUT = frozenset(
    {"test", "tests", "site-packages", "dist-packages", "idlelib", "lib2to3", "__pycache__", "turtledemo"}
)


def sample() -> list[Path]:
    every = sorted(one for one in STDLIB.rglob("*.py") if not LEFT_OUT.intersection(one.relative_to(STDLIB).parts))
    step = max(1, len(every) // FILES)
    return every[::step][:FILES]


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    sys.path.insert(0, str(BENCH))
    yield importlib.import_module("extraction_python")
    sys.path.remove(str(BENCH))


@pytest.mark.parametrize("part", range(PARTS))
def test_definitions_lines_parents_and_signatures_are_those_of_ast(bench: ModuleType, part: int) -> None:
    score = importlib.import_module("extraction_score").Score("python")
    for path in sample()[part::PARTS]:
        source = path.read_bytes()
        tree = bench.parsed(source) if bench.is_utf8(source) and b"\f" not in source else None
        if tree is not None:
            bench.judge(path.name, source, tree, score)
    assert score.expected > 1_000
    assert dict(score.differences) == {}, dict(score.examples)


def test_there_are_two_hundred_files_to_compare() -> None:
    assert len(sample()) == FILES
