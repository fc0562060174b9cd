"""How well braindex finds what is asked for, on any checked-out repository, with questions made from the repository.

usage: python bench/retrieval.py REPO [REPO …] [--count 80] [--seed 7] [--ablation] [--json FILE]

Three sets of questions for each repository, where it has at least ten of a kind:
  docstring  the first sentence of a Python docstring, for its function; over a copy without any docstring
  jsdoc      the first sentence of a /** */ comment, for its function in JavaScript or TypeScript; over a copy without
             the comments above definitions
  symbol     `where is NAME defined` or NAME alone, in turn, for names that are defined once; over the repository itself
Both copies are one and keep every line where it was. Left out are sentences of fewer than 5 or more than 40 words,
sentences that stand twice or anywhere else in the copy, sentences that hold the function's own name, functions under 3
lines, tests and declaration files. Copies and index lie in a temporary folder; the repositories are only read.

Measured on the ten first sources of an answer: file hit@1 and file MRR@10 (over distinct files), span MRR@10 (a source
that overlaps the definition; one of more than 400 lines never counts), line@1 (the first citation is on the
definition's line), each with its 95 % bootstrap interval; and the tokens of an answer of eight sources. Two baselines
order the same candidates by one arm alone. `--ablation` measures the recipe without each of its parts.
"""

import argparse
import ast
import json
import math
import random
import re
import statistics
import tempfile
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any
from unittest.mock import patch

from braindex.bootstrap import App, build_app
from braindex.cli.output import as_json
from braindex.config import load_settings
from braindex.domain import ranking
from braindex.domain.entities import CALLABLE_KINDS, TYPE_KINDS, CodeEntity
from braindex.domain.errors import BraindexError
from braindex.domain.options import WorkspaceOptions
from braindex.domain.question import Analysis, analyse
from braindex.domain.results import Question, Skipped, Source, Workspace
from braindex.domain.tokens import count_tokens
from braindex.indexing.decode import read_text
from braindex.indexing.extract import extract_entities, language_of
from braindex.indexing.walk import WalkRules, walk
from braindex.server.render import answer_text
from braindex.services import retrieve
from braindex.services.entities import list_entities

SETS = ("docstring", "jsdoc", "symbol")
SCRIPTS = {"javascript", "jsx", "typescript", "tsx"}
SYMBOL_KINDS = CALLABLE_KINDS | TYPE_KINDS | {
    "namespace", "variable", "constant", "property", "heading", "rule", "keyframes", "at-rule",
}  # fmt: skip
FEWEST_QUESTIONS = 10
FEWEST_LINES = 3
LONGEST_SPAN = 400
LONGEST_NAME = 60
RANKED, SHOWN = 10, 8
RESAMPLES = 2000
FULL = "full recipe"
METRICS = {"file_hit": "file hit@1", "file_mrr": "file MRR@10", "span_mrr": "span MRR@10", "line": "line@1"}

LINE_END = re.compile(rb"\r\n|\r|\n")
TEST = re.compile(r"(^|/)(tests?|__tests__|specs?)/|(^|/)(test_|conftest)|[._](test|spec)s?\.\w+$", re.IGNORECASE)
DECLARATION = re.compile(r"\.(d\.[cm]?ts|pyi)$")
PARAGRAPH_END = re.compile(r"\n\s*\n|\n\s*(@|:\w+)")
SENTENCE_END = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s")
LINK = re.compile(r"\{@\w+\s+([^}]*)\}")
MARKUP = re.compile(r":[\w:]+:(?=`)|`")

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
Range = tuple[int, int]
Order = Callable[..., list[ranking.Candidate]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the definition that answers it."""

    text: str
    path: str
    line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one question's answer is worth; tokens are those of the full recipe, else 0."""

    file_hit: float
    file_mrr: float
    span_mrr: float
    line: float
    json_tokens: int = 0
    text_tokens: int = 0


Outcomes = dict[str, list[Outcome]]


@dataclass
class Report:
    """One repository: its questions by set, and for each set the outcomes by system."""

    repository: str
    questions: dict[str, list[Asked]] = field(default_factory=dict)
    outcomes: dict[str, Outcomes] = field(default_factory=dict)


# Questions


def read_files(root: Path) -> dict[str, bytes]:
    """The text of every file that a scan would take in, as UTF-8."""
    limit = WorkspaceOptions().max_file_bytes
    found: dict[str, bytes] = {}
    for one in walk(root, WalkRules(max_file_bytes=limit)):
        source = one if isinstance(one, Skipped) else read_text(root, one, limit)
        if not isinstance(source, Skipped):
            found[one.path] = source.data
    return found


def first_sentence(text: str) -> str:
    """The first sentence of a comment on one line, without markup."""
    paragraph = PARAGRAPH_END.split(text.strip(), maxsplit=1)[0]
    plain = MARKUP.sub("", LINK.sub(r"\1", " ".join(paragraph.split())))
    return SENTENCE_END.split(plain, maxsplit=1)[0]


def is_question(sentence: str, name: str) -> bool:
    """Whether a sentence of 5 to 40 words tells of a function without naming it."""
    named = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sentence, re.IGNORECASE)
    return 5 <= len(sentence.split()) <= 40 and not named and not sentence.startswith("@")


def blanked(data: bytes, ranges: Iterable[Range]) -> bytes:
    """The text with these byte ranges turned into spaces, every line end where it was."""
    text = bytearray(data)
    for start, end in ranges:
        text[start:end] = re.sub(rb"[^\r\n]", b" ", data[start:end])
    return bytes(text)


def docstrings(tree: ast.Module) -> Iterator[tuple[Documented, ast.Expr, str]]:
    """Every definition with a docstring, the statement it stands in, and its text."""
    for node in ast.walk(tree):
        first = node.body[0] if isinstance(node, Documented) and node.body else None
        if isinstance(node, Documented) and isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            text = first.value.value
            if isinstance(text, str) and text.strip():
                yield node, first, text


def bare_python(path: str, data: bytes) -> tuple[list[Asked], bytes]:
    """Questions of a module, and its text with `...` for each docstring. Nothing of one that is no Python 3."""
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(data.decode("utf-8"))
    except (SyntaxError, ValueError, RecursionError):
        return [], data
    starts = [0, *(match.end() for match in LINE_END.finditer(data))]
    questions: list[Asked] = []
    text = bytearray(data)
    for node, statement, doc in docstrings(tree):
        last = statement.end_lineno or statement.lineno
        start = starts[statement.lineno - 1] + statement.col_offset
        end = starts[last - 1] + (statement.end_col_offset or 0)
        text[start:end] = blanked(data[start:end], [(0, end - start)])
        if isinstance(node, ast.Module):
            continue
        text[start : start + 3] = b"..."
        end_line, doc_lines = node.end_lineno or node.lineno, last - statement.lineno + 1
        sentence = first_sentence(doc)
        long_enough = end_line - node.lineno + 1 - doc_lines >= FEWEST_LINES
        if not isinstance(node, ast.ClassDef) and long_enough and is_question(sentence, node.name):
            questions.append(Asked(sentence, path, node.lineno, end_line))
    return questions, bytes(text)


def comment_above(data: bytes, start: int) -> Range | None:
    """The `/** */` comment that ends just before a definition."""
    head = data[:start].rstrip()
    opening = head.rfind(b"/*")
    return (opening, len(head)) if head.endswith(b"*/") and head.startswith(b"/**", max(0, opening)) else None


def bare_script(path: str, data: bytes) -> tuple[list[Asked], bytes]:
    """Questions of a JavaScript or TypeScript file, and its text without the comments above its definitions."""
    try:
        entities = extract_entities(path, data)
    except BraindexError:
        return [], data
    above = [(one, comment_above(data, one.start)) for one in entities if one.has_docstring]
    questions = [
        Asked(sentence, path, one.line, one.end_line)
        for one, comment in above
        if comment and one.kind in CALLABLE_KINDS and one.end_line - one.line + 1 >= FEWEST_LINES
        if is_question(sentence := first_sentence(one.docstring), one.name)
    ]
    return questions, blanked(data, [comment for _, comment in above if comment])


def make_bare(root: Path, copy: Path) -> dict[str, list[Asked]]:
    """Writes the copy without docstrings and comments; returns every question about it, by set."""
    found: dict[str, list[Asked]] = {"docstring": [], "jsdoc": []}
    bare: dict[str, bytes] = {}
    for path, data in read_files(root).items():
        language = language_of(path)
        questions: list[Asked] = []
        text = data
        if language == "python":
            questions, text = bare_python(path, data)
        elif language in SCRIPTS:
            questions, text = bare_script(path, data)
        bare[path] = text
        found["docstring" if language == "python" else "jsdoc"] += questions
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_bytes(text)
    return {name: usable(questions, bare) for name, questions in found.items()}


def folded(text: str) -> str:
    return " ".join(text.lower().split())


def usable(questions: Sequence[Asked], bare: Mapping[str, bytes]) -> list[Asked]:
    """Without tests and declarations, and without sentences that are written twice or still stand in the copy."""
    counts = Counter(folded(one.text) for one in questions)
    rest = "\n".join(folded(text.decode("utf-8", "replace")) for text in bare.values())
    return [
        one
        for one in questions
        if counts[folded(one.text)] == 1 and folded(one.text).rstrip(".!?") not in rest
        if not TEST.search(one.path) and not DECLARATION.search(one.path)
    ]


def symbols(root: Path) -> list[CodeEntity]:
    """The definitions, headings and rules whose name no other has."""
    entities = [one for one in list_entities(root, WorkspaceOptions(), root / ".brain") if one.kind in SYMBOL_KINDS]
    counts = Counter(one.name for one in entities)
    return [one for one in entities if counts[one.name] == 1 and len(one.name) <= LONGEST_NAME and one.name.strip()]


def make_questions(root: Path, copy: Path, count: int, seed: int) -> dict[str, list[Asked]]:
    """At most `count` questions a set, the same for the same seed; sets with too few are left out."""
    pools: dict[str, list[Asked]] = make_bare(root, copy)
    pools["symbol"] = [Asked(one.name, one.path, one.line, one.end_line) for one in symbols(root)]
    chosen: dict[str, list[Asked]] = {}
    for name in SETS:
        pool = sorted(pools[name], key=lambda one: (one.path, one.line, one.text))
        picked = random.Random(f"{seed} {name}").sample(pool, min(count, len(pool)))
        if len(picked) >= FEWEST_QUESTIONS:
            chosen[name] = picked
    chosen["symbol"] = [
        replace(one, text=one.text if index % 2 else f"where is {one.text} defined")
        for index, one in enumerate(chosen.get("symbol", []))
    ]
    return {name: questions for name, questions in chosen.items() if questions}


# Systems: the recipe, its baselines, and the recipe without a part


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

        def replayed(_: retrieve.Retriever, text: str, *__: Any) -> retrieve.Retrieved:
            given = self._given[analyse(text).whole]
            return retrieve.Retrieved(given[0], tuple(order(*given)))

        return patch.object(retrieve.Retriever, "retrieve", replayed)


def by_arm(signal: str) -> Order:
    """Candidates by one arm alone; those that it did not find are left out."""
    value: Callable[[ranking.Candidate], float] = attrgetter(signal)

    def place(one: ranking.Candidate) -> tuple[float, str, int, str]:
        return (-round(value(one), 9), one.entity.path, one.entity.line, one.entity.name)

    def order(_: Analysis, candidates: Sequence[ranking.Candidate], *__: Any) -> list[ranking.Candidate]:
        return sorted((one for one in candidates if value(one) > 0.0), key=place)

    return order


BASELINES: Mapping[str, Order] = {"dense alone": by_arm("dense"), "lexical alone": by_arm("lexical")}


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


# Measuring


def reciprocal(hits: Iterable[bool]) -> float:
    """1 / the place of the first hit, 0 without one."""
    return next((1.0 / place for place, hit in enumerate(hits, 1) if hit), 0.0)


def covers(source: Source, asked: Asked) -> bool:
    """Whether a citation shows the definition, and is not so long that it shows everything."""
    overlaps = source.line <= asked.end_line and asked.line <= source.end_line
    return source.path == asked.path and overlaps and source.end_line - source.line < LONGEST_SPAN


def judged(sources: Sequence[Source], asked: Asked) -> Outcome:
    files = list(dict.fromkeys(one.path for one in sources))
    first = sources[0] if sources else None
    return Outcome(
        file_hit=float(files[:1] == [asked.path]),
        file_mrr=reciprocal(path == asked.path for path in files),
        span_mrr=reciprocal(covers(one, asked) for one in sources),
        line=float(first is not None and (first.path, first.line) == (asked.path, asked.line)),
    )


def measure(app: App, workspace: Workspace, questions: Sequence[Asked]) -> list[Outcome]:
    return [judged(app.asking.ask(workspace, Question(one.text, limit=RANKED)).sources, one) for one in questions]


def tokens(app: App, workspace: Workspace, question: str) -> tuple[int, int]:
    """Of the JSON answer and of the text answer, as if the workspace lay in the root folder."""
    answer = app.asking.ask(workspace, Question(question, limit=SHOWN))
    answer = replace(answer, workspace=replace(workspace, path=f"/{workspace.name}"))
    return count_tokens(as_json(answer.as_json())), count_tokens(answer_text(answer, show_sources=True))


def measure_set(app: App, workspace: Workspace, questions: Sequence[Asked], *, ablation: bool) -> Outcomes:
    """The outcomes of one set by system; the parts taken out go by their names."""
    replay = Replay()
    with replay.recording():
        full = measure(app, workspace, questions)
    sizes = [tokens(app, workspace, one.text) for one in questions]
    found = {
        FULL: [
            replace(one, json_tokens=json_size, text_tokens=text_size)
            for one, (json_size, text_size) in zip(full, sizes, strict=True)
        ]
    }
    for name, order in BASELINES.items():
        with replay.ordered(order):
            found[name] = measure(app, workspace, questions)
    for name, setting in ablations().items() if ablation else ():
        with replay.ordered(ranking.rank), setting():
            found[name] = measure(app, workspace, questions)
    return found


def measure_repository(root: Path, count: int, seed: int, *, ablation: bool) -> Report:
    report = Report(root.name)
    with tempfile.TemporaryDirectory() as scratch:
        bare = Path(scratch) / "bare" / root.name
        report.questions = make_questions(root, bare, count, seed)
        app = build_app(load_settings({"BRAIN_DIR": str(Path(scratch) / "brain")}, Path(scratch)))
        for name, questions in report.questions.items():
            workspace = app.workspaces.open(root if name == "symbol" else bare)
            app.scans.run(workspace)
            report.outcomes[name] = measure_set(app, workspace, questions, ablation=ablation)
        app.finish(30)
        app.close()
    return report


# Figures and tables


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % percentile interval of the mean, over resampled questions."""
    chance = random.Random(0)
    means = sorted(statistics.fmean(chance.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1]


def figure(values: Sequence[float]) -> str:
    low, high = interval(values)
    return f"{statistics.fmean(values):.2f} ({low:.2f}–{high:.2f})"


def percentile(values: Iterable[int], share: float) -> int:
    ordered = sorted(values)
    return ordered[math.ceil(share * len(ordered)) - 1]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def quality_table(reports: Sequence[Report]) -> str:
    rows = [
        [
            report.repository,
            name,
            str(len(found[FULL])),
            system,
            *(figure(values_of(found[system], one)) for one in METRICS),
        ]
        for report in reports
        for name, found in report.outcomes.items()
        for system in (FULL, *BASELINES)
    ]
    return table(["repository", "questions", "n", "order", *METRICS.values()], rows)


def values_of(outcomes: Sequence[Outcome], metric: str) -> list[float]:
    return [float(getattr(one, metric)) for one in outcomes]


def token_table(reports: Sequence[Report]) -> str:
    rows = []
    for report in reports:
        for name, found in report.outcomes.items():
            kinds = Counter(analyse(one.text).type for one in report.questions[name])
            sizes = [[one.json_tokens for one in found[FULL]], [one.text_tokens for one in found[FULL]]]
            rows.append([
                report.repository, name, ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()),
                *(str(percentile(some, share)) for some in sizes for share in (0.5, 0.9)),
            ])  # fmt: skip
    head = ["repository", "questions", "understood as", "JSON, median", "JSON, p90", "text, median", "text, p90"]
    return table(head, rows)


def change(full: Sequence[float], other: Sequence[float]) -> str:
    """The mean change, question by question; `*` where its interval leaves out 0."""
    differences = [after - before for before, after in zip(full, other, strict=True)]
    low, high = interval(differences)
    return f"{statistics.fmean(differences):+.3f}" + ("*" if low > 0 or high < 0 else "")


def pooled(reports: Sequence[Report]) -> dict[str, Outcomes]:
    """The outcomes of all repositories, by set and system."""
    found: dict[str, Outcomes] = {}
    for report in reports:
        for name, by_system in report.outcomes.items():
            into = found.setdefault(name, defaultdict(list))
            for system, outcomes in by_system.items():
                into[system] += outcomes
    return found


def better_and_worse(reports: Sequence[Report], system: str) -> str:
    """In how many sets of a repository the span MRR rises and falls without a part."""
    moved = [
        statistics.fmean(values_of(found[system], "span_mrr")) - statistics.fmean(values_of(found[FULL], "span_mrr"))
        for report in reports
        for found in report.outcomes.values()
    ]
    return f"{sum(one > 1e-9 for one in moved)} / {sum(one < -1e-9 for one in moved)}"


def ablation_table(reports: Sequence[Report]) -> str:
    together = pooled(reports)
    names = [name for name in SETS if name in together]
    metrics = ("file_mrr", "span_mrr")
    rows = [
        [system, *(
            change(values_of(together[name][FULL], metric), values_of(together[name][system], metric))
            for name in names for metric in metrics
        ), better_and_worse(reports, system)]
        for system in ablations()
    ]  # fmt: skip
    head = [f"{name} {METRICS[metric]}" for name in names for metric in metrics]
    return table(["without", *head, "sets better / worse"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=80)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--ablation", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    reports = [
        measure_repository(one.resolve(), given.count, given.seed, ablation=given.ablation)
        for one in given.repositories
    ]
    print(quality_table(reports), token_table(reports), sep="\n\n")
    if given.ablation:
        print("", ablation_table(reports), sep="\n")
    if given.json:
        given.json.write_text(json.dumps([asdict(one) for one in reports], indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
