"""Who answers: braindex whole, without a part, by one arm; and beside it ripgrep, BM25 and semble."""

import json
import math
import re
import shutil
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import fields, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any
from unittest.mock import patch

from against_semble import MODEL  # type: ignore[import-not-found]  # beside this file
from braindex.bootstrap import App
from braindex.domain import ranking
from braindex.domain.entities import CodeEntity
from braindex.domain.question import Analysis, analyse
from braindex.domain.results import Question, Source, Workspace
from braindex.domain.tokens import count_tokens
from braindex.domain.words import STOP_WORDS, terms
from braindex.services import retrieve
from braindex.services.entities import list_entities
from retrieval_questions import Asked, read_files  # type: ignore[import-not-found]
from retrieval_score import RANKED, Cited, Outcome, judged  # type: ignore[import-not-found]

FULL, PLAIN = "braindex", ".7 dense + .3 lexical"
DENSE, LEXICAL = "dense alone", "lexical alone"
RIPGREP, BM25, SEMBLE = "ripgrep", "BM25", "semble"
SHOWN = 8
AROUND = 10  # lines read above and below a line that ripgrep found
K1, B = 1.2, 0.75
Order = Callable[..., list[ranking.Candidate]]


# braindex


class Replay:
    """Ranks as the product does and keeps what was ranked, so that every other order gets the very same candidates."""

    def __init__(self) -> None:
        self._given: dict[str, tuple[Any, ...]] = {}

    def recording(self) -> AbstractContextManager[object]:
        """Inside, answers are the product's own."""

        def rank(analysis: Analysis, *given: Any) -> list[ranking.Candidate]:
            self._given[analysis.whole] = (analysis, *given)
            return ranking.rank(analysis, *given)

        return patch.object(retrieve, "rank", rank)

    def ordered(self, order: Order) -> AbstractContextManager[object]:
        """Inside, answers are made of the candidates that were kept, in another order."""

        def replayed(_: retrieve.Retriever, text: str, *__: Any, **___: Any) -> retrieve.Retrieved:
            given = self._given[analyse(text).whole]
            return retrieve.Retrieved(given[0], tuple(order(*given)))

        return patch.object(retrieve.Retriever, "retrieve", replayed)


def by_place(value: Callable[[ranking.Candidate], float]) -> Callable[[ranking.Candidate], tuple[float, str, int, str]]:
    return lambda one: (-round(value(one), 9), one.entity.path, one.entity.line, one.entity.name)


def by_arm(signal: str) -> Order:
    """Candidates by one arm alone; those that it did not find are left out."""
    value: Callable[[ranking.Candidate], float] = attrgetter(signal)

    def order(_: Analysis, candidates: Sequence[ranking.Candidate], *__: Any) -> list[ranking.Candidate]:
        return sorted((one for one in candidates if value(one) > 0.0), key=by_place(value))

    return order


def plain(_: Analysis, candidates: Sequence[ranking.Candidate], *__: Any) -> list[ranking.Candidate]:
    """Both arms, each divided by its largest value, and nothing else."""
    dense = max((one.dense for one in candidates), default=0.0) or 1.0
    lexical = max((one.lexical for one in candidates), default=0.0) or 1.0
    return sorted(candidates, key=by_place(lambda one: 0.7 * one.dense / dense + 0.3 * one.lexical / lexical))


ORDERS: Mapping[str, Order] = {PLAIN: plain, DENSE: by_arm("dense"), LEXICAL: by_arm("lexical")}


def with_weight(name: str, value: float) -> AbstractContextManager[object]:
    """The recipe with one weight set for every type of question."""
    changed = {kind: replace(weights, **{name: value}) for kind, weights in ranking.WEIGHTS.items()}
    return patch.dict(ranking.WEIGHTS, changed)


def no_penalties() -> AbstractContextManager[object]:
    def ones(_: Analysis, candidates: Sequence[ranking.Candidate], *__: Any) -> list[float]:
        return [1.0] * len(candidates)

    return patch.object(ranking, "_penalties", ones)


def ablations() -> dict[str, Callable[[], AbstractContextManager[object]]]:
    """By the part that is taken out, the setting for it."""
    weights = [one.name for one in fields(ranking.Weights) if one.name != "saturation"]
    found: dict[str, Callable[[], AbstractContextManager[object]]] = {
        name: partial(with_weight, name, 0.0) for name in weights
    }
    return {**found, "saturation": partial(with_weight, "saturation", 1.0), "penalties": no_penalties}


def shown(source: Source) -> int:
    """Tokens of one source in the text that an agent gets."""
    return count_tokens(f"`{source.name}` #{source.path}:{source.line} (0.00)\n{source.signature}\n{source.excerpt}\n")


def asked_of(app: App, workspace: Workspace, question: str) -> list[Cited]:
    """Ranked to the tenth; the tokens are those of an answer of eight."""
    ranked = app.asking.ask(workspace, Question(question, limit=RANKED, write=False)).sources
    return [
        Cited(one.path, one.line, one.end_line, shown(one) if place < SHOWN else 0) for place, one in enumerate(ranked)
    ]


def timed(ask: Callable[[str], list[Cited]], questions: Sequence[Asked]) -> list[Outcome]:
    found = []
    for one in questions:
        started = time.perf_counter()
        cited = ask(one.text)
        found.append(judged(cited, one, 1000 * (time.perf_counter() - started)))
    return found


def braindex(app: App, workspace: Workspace, questions: Sequence[Asked], *, parts: bool) -> dict[str, list[Outcome]]:
    """The outcomes by system: the recipe, its baselines, and with `parts` the recipe without each."""
    replay = Replay()
    ask = partial(asked_of, app, workspace)
    with replay.recording():
        found = {FULL: timed(ask, questions)}
    for name, order in ORDERS.items():
        with replay.ordered(order):
            found[name] = timed(ask, questions)
    for name, setting in ablations().items() if parts else ():
        with replay.ordered(ranking.rank), setting():
            found[name] = timed(ask, questions)
    return found


# Beside it


class Ripgrep:
    """As an agent without an index: every content word of the question is looked for, and the files with most of them,
    then with most hits, are read whole, best first. The citation is the densest line and what stands around it.

    Without ripgrep on the PATH the same count is made in Python.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files = {path: data.decode("utf-8", "replace").split("\n") for path, data in read_files(root).items()}
        self._binary = shutil.which("rg")

    def __call__(self, question: str) -> list[Cited]:
        words = list(dict.fromkeys(word for word in re.findall(r"\w+", question.lower()) if word not in STOP_WORDS))[
            :12
        ]
        hits: dict[str, Counter[int]] = defaultdict(Counter)
        distinct: Counter[str] = Counter()
        printed = 0
        for word in words:
            for path, lines in self._lines_with(word):
                distinct[path] += 1
                hits[path].update(lines)
                printed += sum(count_tokens(f"{path}:{self._files[path][line - 1][:200]}") for line in lines[:3])
        order = sorted(hits, key=lambda path: (-distinct[path], -sum(hits[path].values()), path))[:RANKED]
        return [self._cited(path, hits[path], printed if not place else 0) for place, path in enumerate(order)]

    def _cited(self, path: str, hits: Counter[int], printed: int) -> Cited:
        line = min(hits, key=lambda one: (-hits[one], one))
        lines = self._files[path]
        return Cited(
            path, max(1, line - AROUND), min(len(lines), line + AROUND), printed + count_tokens("\n".join(lines))
        )

    def _lines_with(self, word: str) -> Iterator[tuple[str, list[int]]]:
        if self._binary:
            yield from self._searched(word)
            return
        for path, lines in self._files.items():
            found = [number for number, line in enumerate(lines, 1) if word in line.lower()]
            if found:
                yield path, found

    def _searched(self, word: str) -> Iterator[tuple[str, list[int]]]:
        command = [str(self._binary), "-niF", "--no-heading", "--hidden", "--color", "never", "--", word, "."]
        out = subprocess.run(
            command, cwd=self._root, capture_output=True, text=True, errors="replace", check=False
        ).stdout
        found: dict[str, list[int]] = defaultdict(list)
        for line in out.split("\n"):
            path, number, *_ = [*line.split(":", 2), "", ""]
            if path.removeprefix("./") in self._files and number.isdigit():
                found[path.removeprefix("./")].append(int(number))
        yield from found.items()


class Bm25:
    """Okapi BM25 over entities, path and text in one field (Robertson and Zaragoza 2009), k1 1.2, b .75, stemmed."""

    def __init__(self, root: Path) -> None:
        files = {path: data.decode("utf-8", "replace").split("\n") for path, data in read_files(root).items()}
        self._entities = list_entities_of(root)
        texts = ["\n".join(files.get(one.path, [])[one.line - 1 : one.end_line]) for one in self._entities]
        self._tokens = [count_tokens(text) for text in texts]
        bags = [Counter(terms(f"{one.path} {text}")) for one, text in zip(self._entities, texts, strict=True)]
        self._lengths = [sum(bag.values()) for bag in bags]
        self._mean = sum(self._lengths) / max(1, len(bags))
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for index, bag in enumerate(bags):
            for term, count in bag.items():
                self._postings[term].append((index, count))

    def __call__(self, question: str) -> list[Cited]:
        scores: Counter[int] = Counter()
        total = len(self._entities)
        for term in dict.fromkeys(terms(question)):
            found = self._postings.get(term, [])
            idf = math.log(1 + (total - len(found) + 0.5) / (len(found) + 0.5))
            for index, count in found:
                length = 1 - B + B * self._lengths[index] / self._mean
                scores[index] += idf * count * (K1 + 1) / (count + K1 * length)  # type: ignore[assignment]
        best = sorted(scores, key=lambda index: (-scores[index], index))[:RANKED]
        return [
            Cited(one.path, one.line, one.end_line, self._tokens[index])
            for index in best
            for one in (self._entities[index],)
        ]


def list_entities_of(root: Path) -> list[Any]:
    from braindex.domain.options import WorkspaceOptions

    listed = list_entities(root, WorkspaceOptions(), root / ".brain")
    return [one for one in listed if isinstance(one, CodeEntity)]


# Run by semble's interpreter: index a folder, then answer a question a line.
SEMBLE_SERVER = """
import json, sys
from semble.index import SembleIndex
index = SembleIndex.from_path(sys.argv[1], model_path=sys.argv[2])
print("ready", flush=True)
for line in sys.stdin:
    found = index.search(json.loads(line), top_k=10)
    rows = [(one.chunk.file_path, one.chunk.start_line, one.chunk.end_line, one.chunk.content) for one in found]
    print(json.dumps(rows), flush=True)
"""


@contextmanager
def semble(python: str, root: Path, scratch: Path) -> Iterator[Callable[[str], list[Cited]]]:
    """semble in a process of its own, with the token table that braindex ships in place of its own model, which has to
    be downloaded: its chunks, its BM25, its ranking.
    """
    import braindex.embedding

    model = scratch / "model"
    data = Path(str(braindex.embedding.__file__)).parent / "data"
    if not model.exists():
        subprocess.run([python, "-c", MODEL, str(data), str(model)], check=True)
    command = [python, "-c", SEMBLE_SERVER, str(root), str(model)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        sent, read = child.stdin, child.stdout
        assert read.readline() == "ready\n"

        def ask(question: str) -> list[Cited]:
            sent.write(json.dumps(question) + "\n")
            sent.flush()
            rows = json.loads(read.readline())
            return [
                Cited(relative(path, root), line, end, count_tokens(f"{path}\n{text}"))
                for path, line, end, text in rows
            ]

        yield ask
        sent.close()


def relative(path: str, root: Path) -> str:
    found = Path(path)
    return (
        found.relative_to(root).as_posix() if found.is_absolute() and found.is_relative_to(root) else found.as_posix()
    )
