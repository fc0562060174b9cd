"""The dense arm's recall against exact search, and what it costs: in memory, and by ChromaDB.

usage: python bench/dense.py [SOURCE …] [--size 50000] [--questions 300] [--json FILE]

A workspace of many real packages side by side (see bench/scale.py) is scanned by the installed `braindex`. Then the
questions of bench/scale.py are searched in its vectors: exactly, by numpy over all of them in double precision; as
braindex does; and as it does where ChromaDB serves (EXACT_SEARCH_LIMIT=0). Recall is the share of the exactly nearest
10, and 40 (what ranking is given), that come back; a vector at the same distance counts.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from braindex.embedding.bundled import BundledEmbedder
from braindex.registry.index import IndexStore
from braindex.vectors.index import DenseIndexes
from scale import copy, density, packages, questions  # type: ignore[import-not-found]  # beside this file

Distances = npt.NDArray[np.float64]
DEPTHS = (10, 40)
BAR = 0.99


@dataclass
class Arm:
    """One way to search. Seconds to build and to the first answer; milliseconds a later question (median)."""

    name: str
    recall_10: float
    recall_40: float
    build_s: float
    first_s: float
    question_ms: float


def scanned(size: int, sources: list[Path], scratch: Path) -> tuple[Path, Path]:
    """A workspace of about `size` entities, and its folder in a data folder."""
    root, brain = scratch / "work", scratch / "brain"
    wanted = packages(sources)
    copy(wanted, {name: density(files) for name, files in wanted}, root, size)
    command = [sys.executable, "-P", "-m", "braindex", "scan", str(root), "--no-brief", "--json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "BRAIN_DIR": str(brain)})
    [folder] = (brain / "workspaces").iterdir()
    return root, folder


def exact(store: IndexStore, asked: list[bytes]) -> list[Distances]:
    """For each question the distances of all vectors, ascending, to the greatest depth."""
    blocks = [np.frombuffer(matrix, "<f4").reshape(len(rows), -1) for rows, matrix in store.stream_vectors()]
    found = []
    for question in asked:
        numbers = np.frombuffer(question, "<f4").astype(np.float64)
        distances = np.concatenate([np.linalg.norm(block - numbers, axis=1) for block in blocks])
        found.append(np.sort(np.partition(distances, max(DEPTHS))[: max(DEPTHS)]))
    return found


def measure(name: str, indexes: DenseIndexes, store: IndexStore, asked: list[bytes], truth: list[Distances]) -> Arm:
    index = indexes.of(store.folder, store)
    started = time.monotonic()
    index.sync(wait_seconds=60)
    built = time.monotonic() - started
    times, hits = [], dict.fromkeys(DEPTHS, 0)
    for question, expected in zip(asked, truth, strict=True):
        started = time.monotonic()
        found = index.nearest(question, max(DEPTHS))
        times.append(time.monotonic() - started)
        for depth in DEPTHS:
            within = expected[depth - 1] + 1e-6
            hits[depth] += min(depth, sum(distance <= within for _, distance in found[:depth]))
    indexes.close()
    recall = [hits[depth] / depth / len(asked) for depth in DEPTHS]
    return Arm(name, recall[0], recall[1], built, times[0], statistics.median(times[1:]) * 1000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*", type=Path)
    parser.add_argument("--size", type=int, default=50_000)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    paths = sysconfig.get_paths()
    sources = arguments.sources or [Path(paths["stdlib"]), Path(paths["purelib"])]
    model = BundledEmbedder()
    with tempfile.TemporaryDirectory() as scratch:
        root, folder = scanned(arguments.size, sources, Path(scratch))
        asked = [vector for text in questions(root, arguments.questions) if (vector := model.question(text))]
        with IndexStore.open(folder) as store:
            truth = exact(store, asked)
            arms = [
                measure("as braindex does", DenseIndexes(), store, asked, truth),
                measure("all of them by ChromaDB", DenseIndexes(exact_limit=0), store, asked, truth),
            ]
            print(f"{store.vector_count():,} vectors, {len(asked)} questions")
    print(f"{'':26}{'recall@10':>10}{'recall@40':>11}{'build s':>9}{'first s':>9}{'question ms':>13}")
    for one in arms:
        print(
            f"{one.name:26}{one.recall_10:>10.4f}{one.recall_40:>11.4f}{one.build_s:>9.2f}{one.first_s:>9.2f}"
            f"{one.question_ms:>13.2f}"
        )
    print(f"  {'ok  ' if arms[0].recall_10 >= BAR else 'MISS'} recall at 10 at least {BAR}")
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(one) for one in arms], indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
