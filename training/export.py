"""Trained tables as the product loads them: int8 by row, with a scale of each row for passages and for questions.

usage: python training/export.py FOLDER VOCAB.txt TABLE.npz [TABLE.npz …] [--dimension 256]

Several tables (other seeds of one vocabulary, or the table that one was trained further from) are laid side by side
and turned to their principal axes, of which the first `--dimension` are kept: an ensemble at the cost of one. A table
may be one that train.py wrote or one that the product has.
"""

import argparse
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
STEPS = 127  # of an int8 on either side of 0


def read_table(file: Path) -> dict[str, Floats]:
    """`table` (size, dimension), and the scales `documents` and `questions` (size, 1), of a trained or a shipped table.

    A shipped one is scaled so that its rows have a mean length of 1.
    """
    with np.load(file) as found:
        if "dscale" not in found.files:
            return {name: found[name] for name in ("table", "documents", "questions")}
        step = found["dscale"].astype(np.float32)[:, None]
        rows = found["table"].astype(np.float32) * step
        ratio = found["qscale"].astype(np.float32)[:, None] / np.maximum(step, 1e-8)
    rows /= np.linalg.norm(rows, axis=1).mean()
    return {"table": rows, "documents": np.ones_like(ratio), "questions": ratio}


def merged(files: list[Path], dimension: int) -> tuple[Floats, Floats]:
    """Rows for passages, and for each token the ratio of its question's scale to its passage's."""
    tables, ratios = [], []
    for file in files:
        found = read_table(file)
        tables.append(found["table"] * found["documents"])
        ratios.append(found["questions"] / np.where(np.abs(found["documents"]) < 1e-4, 1e-4, found["documents"]))
    rows = np.concatenate([one / np.linalg.norm(one, axis=1).mean() for one in tables], axis=1)
    ratio: Floats = np.mean(ratios, axis=0)[:, 0]
    if rows.shape[1] > dimension:
        _, axes = np.linalg.eigh(rows.T @ rows)
        rows = rows @ axes[:, ::-1][:, :dimension]
    return rows.astype(np.float32), ratio.astype(np.float32)


def quantised(rows: Floats) -> tuple[Any, Floats]:
    step = np.maximum(np.abs(rows).max(axis=1), 1e-8) / STEPS
    return np.round(rows / step[:, None]).astype(np.int8), step.astype(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("vocabulary", type=Path)
    parser.add_argument("tables", nargs="+", type=Path)
    parser.add_argument("--dimension", type=int, default=256)
    given = parser.parse_args()
    rows, ratio = merged(given.tables, given.dimension)
    table, step = quantised(rows)
    given.folder.mkdir(parents=True, exist_ok=True)
    # Not compressed: int8 weights hardly are, and what asks for a few rows of them reads just these.
    np.savez(given.folder / "model_int8.npz", table=table, dscale=step, qscale=step * ratio)
    shutil.copyfile(given.vocabulary, given.folder / "vocab.txt")


if __name__ == "__main__":
    main()
