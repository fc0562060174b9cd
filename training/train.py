"""Trains a static token table on encoded pairs.

usage: python training/train.py OUT.npz PAIRS.npz [--epochs 2] [--seed 1] [--batch 4096] [--rate 0.012] [--size 256]

A vector is the weighted sum of its tokens' rows, each with a scale of its own for the question's and for the document's
side, divided by its length. Loss: symmetric InfoNCE (van den Oord, Li and Vinyals 2018; both directions as in CLIP,
Radford et al. 2021) at temperature .05 over the batch, the same question elsewhere masked. A batch is made of groups of
64 pairs of one package, which are each other's hard negatives. Adam (Kingma and Ba 2015), the rate annealed to 0.
Augmentation: 30 % of questions are cut to a window of 2 to 6 tokens, 15 % replaced by the paragraph they come from; the
path is left out of half of the passages and the name of a fifth; 30 % of a passage's tokens and 10 % of a question's
are dropped.
"""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from encode import NAME_FIELD, PATH_FIELD
from export import read_table
from scipy import sparse

Floats = npt.NDArray[np.float32]
TEMPERATURE = 0.05
GROUP = 64
WINDOWED, WHOLE = 0.30, 0.15
NO_PATH, NO_NAME = 0.5, 0.2
PASSAGE_DROPOUT, QUESTION_DROPOUT = 0.3, 0.1
BETA1, BETA2, TINY = 0.9, 0.999, 1e-8


class Pairs:
    """Encoded pairs, as encode.py saves them."""

    def __init__(self, file: Path, leave: set[str]) -> None:
        with np.load(file) as found:
            self._of: dict[str, Any] = {name: found[name] for name in found.files}
        kinds = list(self._of["kind_names"])
        left = [index for index, kind in enumerate(kinds) if kind in leave]
        self.rows = np.flatnonzero(~np.isin(self._of["kinds"], left))
        self.packages = self._of["packages"]
        self.asked = self._of["asked"]

    def _spans(self, ends: str, rows: Any) -> tuple[Any, Any]:
        """Positions of the rows' tokens, and which row of the batch each is of."""
        start, stop = self._of[ends][rows], self._of[ends][rows + 1]
        lengths = stop - start
        of = np.repeat(np.arange(len(rows)), lengths)
        position = (
            np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths) + np.repeat(start, lengths)
        )
        return position, of

    def questions(self, rows: Any, size: int, chance: np.random.Generator) -> sparse.csr_matrix:
        """The questions of a batch, augmented: (batch, size) of token counts."""
        whole = chance.random(len(rows)) < WHOLE
        parts = []
        for tokens, ends, chosen in (("questions", "question_ends", ~whole), ("paragraphs", "paragraph_ends", whole)):
            at = np.flatnonzero(chosen)
            position, of = self._spans(ends, rows[at])
            lengths = np.bincount(of, minlength=len(at))
            place = np.arange(len(of)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
            width = np.where(chance.random(len(at)) < WINDOWED, chance.integers(2, 7, len(at)), 1_000)
            first = (chance.random(len(at)) * np.maximum(1, lengths - width + 1)).astype(np.int64)
            kept = (place >= first[of]) & (place < (first + width)[of])
            kept &= (chance.random(len(of)) >= QUESTION_DROPOUT) | (lengths[of] < 3)
            parts.append((self._of[tokens][position[kept]], at[of[kept]]))
        columns, lines = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
        return sparse.csr_matrix((np.ones(len(columns), np.float32), (lines, columns)), (len(rows), size))

    def passages(self, rows: Any, size: int, chance: np.random.Generator) -> sparse.csr_matrix:
        """The passages of a batch, augmented: (batch, size) of weights."""
        position, of = self._spans("ends", rows)
        fields = self._of["fields"][position]
        kept = chance.random(len(of)) >= PASSAGE_DROPOUT
        kept &= ~((fields == PATH_FIELD) & (chance.random(len(rows)) < NO_PATH)[of])
        kept &= ~((fields == NAME_FIELD) & (chance.random(len(rows)) < NO_NAME)[of])
        shape = (len(rows), size)
        return sparse.csr_matrix(
            (self._of["weights"][position[kept]], (of[kept], self._of["tokens"][position[kept]])), shape
        )

    def batches(self, batch: int, chance: np.random.Generator) -> list[Any]:
        """Every row once, in batches of groups of one package."""
        shuffled = self.rows[chance.permutation(len(self.rows))]
        by_package = shuffled[np.argsort(self.packages[shuffled], kind="stable")]
        bounds = np.flatnonzero(np.diff(self.packages[by_package])) + 1
        groups = [part[i : i + GROUP] for part in np.split(by_package, bounds) for i in range(0, len(part), GROUP)]
        order = chance.permutation(len(groups))
        flat = np.concatenate([groups[index] for index in order])
        return [flat[i : i + batch] for i in range(0, len(flat) - batch // 2, batch)]


@dataclass
class Moments:
    first: Floats
    second: Floats


class Adam:
    def __init__(self, parameters: dict[str, Floats]) -> None:
        self._parameters = parameters
        self._moments = {name: Moments(np.zeros_like(one), np.zeros_like(one)) for name, one in parameters.items()}
        self._steps = 0

    def step(self, gradients: dict[str, Floats], rate: float) -> None:
        self._steps += 1
        correction = rate * np.sqrt(1 - BETA2**self._steps) / (1 - BETA1**self._steps)
        for name, gradient in gradients.items():
            moments = self._moments[name]
            moments.first += (1 - BETA1) * (gradient - moments.first)
            moments.second += (1 - BETA2) * (gradient * gradient - moments.second)
            self._parameters[name] -= np.float32(correction) * moments.first / (np.sqrt(moments.second) + TINY)


def unit(rows: Floats) -> tuple[Floats, Floats]:
    lengths = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1e-6))
    return rows / lengths, lengths


def loss_and_gradient(questions: Floats, passages: Floats, same: Any) -> tuple[float, Floats, Floats]:
    """Of unit vectors, row by row a pair; `same` marks pairs of rows that ask the same question."""
    scores = questions @ passages.T / np.float32(TEMPERATURE)
    scores[same] = -np.inf
    count = len(scores)
    likely = np.exp(scores)  # at most e^20 for unit vectors at this temperature
    diagonal = np.arange(count)
    row_sums, column_sums = likely.sum(axis=1, keepdims=True), likely.sum(axis=0, keepdims=True)
    loss = float(-np.mean(np.log(likely[diagonal, diagonal] / row_sums[:, 0])))
    gradient = likely / row_sums
    likely /= column_sums
    gradient += likely
    gradient[diagonal, diagonal] -= 2
    gradient *= np.float32(0.5 / count / TEMPERATURE)
    return loss, gradient @ passages, gradient.T @ questions


def through_unit(gradient: Floats, units: Floats, lengths: Floats) -> Floats:
    inner = np.sum(gradient * units, axis=1, keepdims=True)
    result: Floats = (gradient - units * inner) / lengths
    return result


def fresh(size: int, dimension: int, chance: np.random.Generator) -> dict[str, Floats]:
    table = (chance.standard_normal((size, dimension)) / np.sqrt(dimension)).astype(np.float32)
    ones = np.ones((size, 1), np.float32)
    return {"table": table, "documents": ones, "questions": ones.copy()}


class Training:
    """One run over encoded pairs: `parameters` are the table (size, dimension) and the scales of both sides (size, 1).

    They are changed in place.
    """

    def __init__(self, pairs: Pairs, parameters: dict[str, Floats], chance: np.random.Generator) -> None:
        self.parameters = parameters
        self._pairs = pairs
        self._adam = Adam(parameters)
        self._chance = chance

    def run(self, epochs: float, batch: int, rate: float) -> None:
        steps = int(len(self._pairs.batches(batch, np.random.default_rng(0))) * epochs)
        queue: list[Any] = []
        began = time.time()
        for step in range(steps):
            queue = queue or self._pairs.batches(batch, self._chance)
            loss = self._step(queue.pop(), rate * (1 - step / steps))
            if step % 50 == 0:
                print(f"step {step}/{steps} loss {loss:.3f} {time.time() - began:.0f} s", flush=True)

    def _step(self, rows: Any, rate: float) -> float:
        table, of_questions, of_documents = (self.parameters[name] for name in ("table", "questions", "documents"))
        asked = self._pairs.questions(rows, len(table), self._chance)
        told = self._pairs.passages(rows, len(table), self._chance)
        q, q_lengths = unit(asked @ (table * of_questions))
        d, d_lengths = unit(told @ (table * of_documents))
        loss, dq, dd = loss_and_gradient(q, d, repeated(self._pairs.asked[rows]))
        by_question = asked.T @ through_unit(dq, q, q_lengths)
        by_document = told.T @ through_unit(dd, d, d_lengths)
        gradients = {
            "table": by_question * of_questions + by_document * of_documents,
            "questions": np.sum(by_question * table, axis=1, keepdims=True),
            "documents": np.sum(by_document * table, axis=1, keepdims=True),
        }
        self._adam.step(gradients, rate)
        return loss


def repeated(names: Any) -> tuple[Any, Any]:
    """Row and column of every pair of different rows that ask the same."""
    order = np.argsort(names, kind="stable")
    lines, columns = [], []
    start = 0
    ordered = names[order]
    for end in range(1, len(names) + 1):
        if end == len(names) or ordered[end] != ordered[start]:
            if end - start > 1:
                group = order[start:end]
                for one in group:
                    others = group[group != one]
                    lines += [one] * len(others)
                    columns += list(others)
            start = end
    return np.array(lines, np.int64), np.array(columns, np.int64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--epochs", type=float, default=2.0)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--rate", type=float, default=0.012)
    parser.add_argument("--dimension", type=int, default=256)
    parser.add_argument("--size", type=int, default=30_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=Path, help="a table to train further: train.py's or the product's")
    parser.add_argument("--leave", nargs="*", default=[], help="kinds of pairs to leave out")
    given = parser.parse_args()
    chance = np.random.default_rng(given.seed)
    parameters = fresh(given.size, given.dimension, chance)
    if given.start:
        parameters = read_table(given.start)
    training = Training(Pairs(given.pairs, set(given.leave)), parameters, chance)
    training.run(given.epochs, given.batch, given.rate)
    np.savez(given.out, **training.parameters)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
