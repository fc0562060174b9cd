"""Index time and question time of braindex and semble on the same repositories, in one run.

usage: python bench/against_semble.py --semble PYTHON REPOSITORY [REPOSITORY …] [--questions 40] [--json FILE]

PYTHON is the interpreter of an environment with `semble` (from PyPI) in it. semble downloads its model from a hub at
first use; so that the run needs no network it is given the token table that braindex ships, in the format of its own
model (as many dimensions as its default): the time is that of its code, the quality of its answers is not looked at.
Each side indexes from nothing in a whole process, three times in turn, and answers the same questions in one
long-lived process; the median counts. What counts are the ratios: both sides run on the same machine in the same
minutes.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from speed import QUESTIONS  # type: ignore[import-not-found]  # beside this file

ROUNDS = 3
# Run by semble's interpreter: the table as a model of its format.
MODEL = """
import sys
import numpy as np
from model2vec import StaticModel
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import BertPreTokenizer
data, folder = sys.argv[1:]
arrays = np.load(data + "/model_int8.npz")
vectors = arrays["table"].astype(np.float32) * arrays["dscale"].astype(np.float32)[:, None]
words = open(data + "/vocab.txt", encoding="utf-8").read().split("\\n")[: len(vectors)]
tokenizer = Tokenizer(WordPiece({word: at for at, word in enumerate(words)}, unk_token="[UNK]"))
tokenizer.normalizer, tokenizer.pre_tokenizer = Lowercase(), BertPreTokenizer()
StaticModel(vectors, tokenizer, normalize=True).save_pretrained(folder)
"""

# Run by semble's interpreter: index, then answer questions; prints seconds as JSON.
SEMBLE = """
import json, sys, time
began = time.monotonic()
from semble.index import SembleIndex
path, model, questions = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
index = SembleIndex.from_path(path, model_path=model)
indexed = time.monotonic() - began
times = []
for question in questions:
    started = time.monotonic()
    index.search(question, top_k=8)
    times.append(time.monotonic() - started)
print(json.dumps({"times": times, "chunks": len(index.chunks)}))
"""


@dataclass
class Row:
    """One repository. Seconds of whole processes; questions in milliseconds (median of the warm ones)."""

    repository: str
    entities: int
    chunks: int
    semble_index: float
    braindex_index: float
    semble_index_cpu: float
    braindex_index_cpu: float
    semble_question_ms: float
    braindex_question_ms: float


def process(command: list[str], **settings: str) -> tuple[str, float, float]:
    """Standard output, wall and CPU seconds (with its children's) of one whole process."""
    started = time.monotonic()
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen(command, stdout=out, env={**os.environ, **settings})
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"{command[:4]} ended with {child.returncode}")
        out.seek(0)
        return out.read(), time.monotonic() - started, usage.ru_utime + usage.ru_stime


def ask(repository: Path, brain: Path, questions: list[str]) -> list[float]:
    """Seconds of each question to one `braindex ask --stdin`."""
    command = [sys.executable, "-P", "-m", "braindex", "ask", "--stdin", "--json", "--no-answer"]
    times: list[float] = []
    with subprocess.Popen(
        [*command, "--workspace", str(repository)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "BRAIN_DIR": str(brain)},
    ) as child:  # fmt: skip
        assert child.stdin is not None
        assert child.stdout is not None
        for question in questions:
            started = time.monotonic()
            child.stdin.write(question + "\n")
            child.stdin.flush()
            assert child.stdout.readline()
            times.append(time.monotonic() - started)
        child.stdin.close()
    return times


def measure(repository: Path, semble: str, model: Path, scratch: Path, questions: list[str]) -> Row:
    ours: list[tuple[float, float]] = []
    theirs: list[tuple[float, float]] = []
    summary: dict[str, Any] = {}
    found: dict[str, Any] = {}
    for number in range(ROUNDS):
        brain = scratch / f"brain-{repository.name}-{number}"
        out, wall, cpu = process(
            [sys.executable, "-P", "-m", "braindex", "scan", str(repository), "--json"], BRAIN_DIR=str(brain)
        )
        summary = json.loads(out)
        ours.append((wall, cpu))
        cache = scratch / f"cache-{repository.name}-{number}"
        # Its time to index is that of a process that asks nothing.
        arguments = [semble, "-c", SEMBLE, str(repository), str(model), "[]"]
        _, wall, cpu = process(arguments, SEMBLE_CACHE_LOCATION=str(cache), SEMBLE_INDEX_WORKERS="4")
        theirs.append((wall, cpu))
    out, _, _ = process([semble, "-c", SEMBLE, str(repository), str(model), json.dumps(questions)])
    found = json.loads(out)
    mine = ask(repository, scratch / f"brain-{repository.name}-0", questions)
    warm = len(questions) // 4
    return Row(
        repository.name, summary["entities"], found["chunks"],
        statistics.median(wall for wall, _ in theirs), statistics.median(wall for wall, _ in ours),
        statistics.median(cpu for _, cpu in theirs), statistics.median(cpu for _, cpu in ours),
        statistics.median(found["times"][warm:]) * 1000, statistics.median(mine[warm:]) * 1000,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--semble", required=True, help="the interpreter of an environment with semble")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    questions = [QUESTIONS[number % len(QUESTIONS)] for number in range(arguments.questions)]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        data = resources.files("braindex.embedding") / "data"
        process([arguments.semble, "-c", MODEL, str(data), str(scratch / "model")])
        print(f"{'':16}{'entities':>9}{'chunks':>8}{'index s':>18}{'CPU s':>18}{'question ms':>18}   semble / braindex")
        for repository in arguments.repositories:
            row = measure(repository.resolve(), arguments.semble, scratch / "model", scratch, questions)
            rows.append(row)
            pairs = (
                (row.semble_index, row.braindex_index),
                (row.semble_index_cpu, row.braindex_index_cpu),
                (row.semble_question_ms, row.braindex_question_ms),
            )
            cells = "".join(f"{f'{theirs:.2f} / {ours:.2f}':>18}" for theirs, ours in pairs)
            ratios = " ".join(f"{theirs / ours:.2f}" for theirs, ours in pairs)
            print(f"{row.repository:16}{row.entities:>9,}{row.chunks:>8,}{cells}   {ratios}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(one) for one in rows], indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
