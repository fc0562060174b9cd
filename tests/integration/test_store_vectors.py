"""ChromaDB and several processes: what one writes another finds, and no death between the two stores loses anything."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import braindex.registry
from braindex.domain.ports import Vector
from braindex.registry.index import IndexStore
from braindex.vectors.index import DenseIndexes

SOURCE = str(Path(braindex.registry.__file__).parents[2])
COMMON = """
import sys
from pathlib import Path
import numpy as np
from braindex.domain.entities import CodeEntity
from braindex.domain.units import FileRecord, FileUnits, Terms, Unit
from braindex.registry.index import IndexStore
from braindex.vectors.index import DenseIndexes
def vectors(seed, count):
    values = np.random.default_rng(seed).normal(size=(count, 32)).astype("<f4")
    return values / np.linalg.norm(values, axis=1, keepdims=True)
def batch(seed, count):
    path = f"file{seed}.py"
    units = []
    for number, vector in enumerate(vectors(seed, count)):
        entity = CodeEntity(path, "function", f"n{number}", f"n{number}", "", "python", 1, 2, "")
        units.append(Unit(f"{seed} {number}", entity, b"1", Terms("x", "", "", "", "", ""), vector.astype("<f4").tobytes()))
    return [FileUnits(FileRecord(path, 1, 1, b"1", "python", 1), tuple(units))]
folder, seed, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
"""


def start(script: str, *arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", COMMON + script, *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": SOURCE},
    )  # fmt: skip


def vectors(seed: int, count: int) -> list[Vector]:
    values = np.random.default_rng(seed).normal(size=(count, 32)).astype("<f4")
    return [bytes(one.astype("<f4").tobytes()) for one in values / np.linalg.norm(values, axis=1, keepdims=True)]


def missing(indexes: DenseIndexes, folder: Path, seed: int, count: int) -> int:
    """How many of the vectors that a process wrote are not their own nearest neighbour."""
    with IndexStore.open(folder) as store:
        index = indexes.of(folder, store)
        return sum(index.nearest(one, 1)[0][1] > 1e-4 for one in vectors(seed, count)[::7])


WRITER = """
for part in range(1, 4):
    with IndexStore.open(folder) as store:
        store.write(batch(seed * 10 + part, count))
        DenseIndexes(exact_limit=0).of(folder, store).sync(wait_seconds=60)
"""


def test_what_two_processes_wrote_a_third_that_was_open_all_the_time_finds(tmp_path: Path) -> None:
    reader = DenseIndexes(exact_limit=0)
    children = [start(WRITER, tmp_path, seed, 60) for seed in (1, 2)]
    while any(child.poll() is None for child in children):
        with IndexStore.open(tmp_path) as store:
            known = store.vector_count()
            assert len(reader.of(tmp_path, store).nearest(vectors(11, 1)[0], 5)) >= min(5, known)
    assert [child.communicate()[1] for child in children] == ["", ""]
    with IndexStore.open(tmp_path) as store:
        assert store.vector_count() == 360
        assert store.outbox(1) == []
    for indexes in (reader, DenseIndexes(exact_limit=0)):
        assert [missing(indexes, tmp_path, seed * 10 + part, 60) for seed in (1, 2) for part in (1, 2, 3)] == [0] * 6
        indexes.close()


KILLED = """
with IndexStore.open(folder) as store:
    store.write(batch(seed, count))
    def stop():
        print("between batches", flush=True)
        sys.stdin.readline()
        return False
    DenseIndexes(exact_limit=0).of(folder, store).sync(stop=stop)
"""


@pytest.mark.parametrize("batches", [1, 2])
def test_a_process_killed_while_it_fills_chroma_loses_nothing(batches: int, tmp_path: Path) -> None:
    child = start(KILLED, tmp_path, 1, 5000)
    assert child.stdout is not None
    assert child.stdin is not None
    for batch in range(batches):
        if batch:
            child.stdin.write("go on\n")
            child.stdin.flush()
        assert child.stdout.readline() == "between batches\n"
    child.kill()
    child.communicate()
    indexes = DenseIndexes(exact_limit=0)
    assert missing(indexes, tmp_path, 1, 50) == 0
    with IndexStore.open(tmp_path) as store:
        assert indexes.of(tmp_path, store).sync() == 5000
        assert store.outbox(1) == []
    assert missing(indexes, tmp_path, 1, 50) == 0
    indexes.close()


ASKING = """
with IndexStore.open(folder) as store:
    index = DenseIndexes(exact_limit=0).of(folder, store)
    print([row for row, _ in index.nearest(vectors(seed, count)[0].tobytes(), 5)], flush=True)
"""


@pytest.mark.parametrize("kept", [0.0, 0.5])
def test_damaged_vector_files_cost_one_process_at_most_and_are_built_anew(kept: float, tmp_path: Path) -> None:
    indexes = DenseIndexes(exact_limit=0)
    filling = start("with IndexStore.open(folder) as store: store.write(batch(seed, count))\n", tmp_path, 1, 3000)
    assert filling.wait() == 0
    with IndexStore.open(tmp_path) as store:
        indexes.of(tmp_path, store).sync()
        expected = [row for row, _ in DenseIndexes().of(tmp_path, store).nearest(vectors(2, 1)[0], 5)]
    indexes.close()
    [file] = (tmp_path / "vector_db").rglob("data_level0.bin")
    content = file.read_bytes()
    sound = int(len(content) * kept)
    file.write_bytes(content[:sound] + b"\xff" * (len(content) - sound))
    start(ASKING, tmp_path, 2, 1).communicate()  # whatever becomes of this one
    for _ in range(2):
        out, err = (child := start(ASKING, tmp_path, 2, 1)).communicate()
        assert child.returncode == 0, err
        assert out.strip() == str(expected)
    with IndexStore.open(tmp_path) as store:
        assert indexes.of(tmp_path, store).sync() == 3000
    assert missing(indexes, tmp_path, 1, 50) == 0
    indexes.close()
