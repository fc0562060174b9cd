"""What an answer is worth, with intervals: metrics over the ten first sources, and tables of them."""

import math
import random
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from retrieval_questions import Asked  # type: ignore[import-not-found]  # beside this file

LONGEST_SPAN = 400  # lines; a longer citation shows everything and points at nothing
RANKED = 10
RESAMPLES = 1000
METRICS = {
    "ndcg": "file NDCG@10", "file_hit": "file hit@1", "span_mrr": "span MRR@10", "span_hit": "span hit@1",
    "line": "line@1",
}  # fmt: skip
OF_SPANS = ("span_mrr", "span_hit", "line")


@dataclass(frozen=True, slots=True)
class Cited:
    """A source: lines of a file, and the tokens an agent reads to get it."""

    path: str
    line: int
    end_line: int
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one question's answer is worth; the last three are None for questions whose answer is a file.

    `tokens` are those of all sources; `tokens_to_answer` those up to and with the first right one, or all where there
    is none.
    """

    ndcg: float
    file_hit: float
    span_mrr: float | None = None
    span_hit: float | None = None
    line: float | None = None
    tokens: int = 0
    tokens_to_answer: int = 0
    milliseconds: float = 0.0


Outcomes = dict[str, list[Outcome]]  # by system


def reciprocal(hits: Iterable[bool]) -> float:
    """1 / the place of the first hit, 0 without one."""
    return next((1.0 / place for place, hit in enumerate(hits, 1) if hit), 0.0)


def gain(places: Iterable[int]) -> float:
    return sum(1.0 / math.log2(place + 1) for place in places)


def covers(source: Cited, asked: Asked) -> bool:
    """Whether a citation shows an answer, and is not so long that it shows everything."""
    return source.end_line - source.line < LONGEST_SPAN and any(
        source.path == one.path and source.line <= one.end_line and one.line <= source.end_line for one in asked.spans
    )


def judged(sources: Sequence[Cited], asked: Asked, milliseconds: float = 0.0) -> Outcome:
    ranked = sources[:RANKED]
    files = list(dict.fromkeys(one.path for one in ranked))
    places = [place for place, path in enumerate(files, 1) if path in asked.paths]
    ideal = gain(range(1, min(RANKED, len(asked.paths)) + 1))
    right = [covers(one, asked) if asked.spans else one.path in asked.paths for one in ranked]
    until = right.index(True) + 1 if True in right else len(ranked)
    first = (ranked[0].path, ranked[0].line) if ranked else None
    return Outcome(
        ndcg=gain(places) / ideal,
        file_hit=float(places[:1] == [1]),
        span_mrr=reciprocal(right) if asked.spans else None,
        span_hit=float(right[:1] == [True]) if asked.spans else None,
        line=float(first in {(one.path, one.line) for one in asked.spans}) if asked.spans else None,
        tokens=sum(one.tokens for one in ranked),
        tokens_to_answer=sum(one.tokens for one in ranked[:until]),
        milliseconds=milliseconds,
    )


# Figures


def values_of(outcomes: Iterable[Outcome], metric: str) -> list[float]:
    found = (getattr(one, metric) for one in outcomes)
    return [float(one) for one in found if one is not None]


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % percentile interval of the mean, over resampled questions."""
    chance = random.Random(0)
    means = sorted(statistics.fmean(chance.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1]


def figure(values: Sequence[float]) -> str:
    if not values:
        return ""
    low, high = interval(values)
    return f"{statistics.fmean(values):.3f} ({low:.2f}–{high:.2f})"


def change(base: Sequence[float], other: Sequence[float]) -> str:
    """The mean change, question by question; `*` where its interval leaves out 0."""
    if not base:
        return ""
    differences = [after - before for before, after in zip(base, other, strict=True)]
    low, high = interval(differences)
    return f"{statistics.fmean(differences):+.3f}" + ("*" if low > 0 or high < 0 else "")


def percentile(values: Iterable[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[math.ceil(share * len(ordered)) - 1]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


# Tables of pooled questions


@dataclass(frozen=True, slots=True)
class Result:
    """One question of one repository, and what each system made of it."""

    repository: str
    asked: Asked
    outcomes: Mapping[str, Outcome]


def grouped(results: Iterable[Result], keys: Sequence[str]) -> dict[tuple[str, ...], list[Result]]:
    found: dict[tuple[str, ...], list[Result]] = defaultdict(list)
    for one in results:
        fields = {"repository": one.repository, "set": one.asked.set, "language": one.asked.language}
        found[tuple(fields[key] for key in keys)].append(one)
    return dict(sorted(found.items()))


def quality(results: Sequence[Result], keys: Sequence[str], systems: Sequence[str]) -> str:
    """A row for each group and system, with intervals."""
    rows = [
        [
            *group,
            str(len(some)),
            system,
            *(figure(values_of((one.outcomes[system] for one in some), metric)) for metric in METRICS),
        ]
        for group, some in grouped(results, keys).items()
        for system in systems
        if all(system in one.outcomes for one in some)
    ]
    return table([*keys, "n", "system", *METRICS.values()], rows)


def comparison(results: Sequence[Result], keys: Sequence[str], base: str, other: str, metrics: Sequence[str]) -> str:
    """How far `base` is ahead of `other` in each group, question by question."""
    rows = []
    for group, some in grouped(results, keys).items():
        cells = []
        for metric in metrics:
            theirs, ours = (values_of((one.outcomes[system] for one in some), metric) for system in (other, base))
            cells.append(change(theirs, ours))
        rows.append([*group, str(len(some)), *cells])
    return table([*keys, "n", *(METRICS[metric] for metric in metrics)], rows)


def ablation(results: Sequence[Result], base: str, parts: Sequence[str]) -> str:
    """The change of each set's figure without a part; last, in how many sets it falls and rises."""
    sets = grouped(results, ["set"])
    rows = []
    for part in parts:
        cells, moves = [], Counter[int]()
        for some in sets.values():
            for metric in ("ndcg", "span_mrr"):
                full = values_of((one.outcomes[base] for one in some), metric)
                without = values_of((one.outcomes[part] for one in some), metric)
                if full:
                    cells.append(change(full, without))
                    difference = statistics.fmean(without) - statistics.fmean(full)
                    moves[(difference > 0.0005) - (difference < -0.0005)] += 1
        rows.append([part, *cells, f"{moves[-1]} / {moves[1]}"])
    head = [
        f"{name} {METRICS[metric].split('@')[0]}"
        for (name,), some in sets.items()
        for metric in ("ndcg", "span_mrr")
        if values_of((one.outcomes[base] for one in some), metric)
    ]
    return table(["without", *head, "worse / better"], rows)


def economy(results: Sequence[Result], systems: Sequence[str]) -> str:
    """Tokens of an answer and up to the first right source, and the time of a question, by system."""
    rows = []
    for system in systems:
        found = [one.outcomes[system] for one in results if system in one.outcomes]
        if not any(one.tokens for one in found):
            continue
        whole = [one.tokens for one in found]
        first = [one.tokens_to_answer for one in found]
        rows.append([
            system, str(len(found)), f"{percentile(whole, 0.5):,.0f}", f"{percentile(whole, 0.9):,.0f}",
            f"{percentile(first, 0.5):,.0f}", f"{statistics.fmean(first):,.0f}",
            f"{100 * 12 * statistics.fmean(whole) / 128_000:.1f} %",
            f"{percentile([one.milliseconds for one in found], 0.5):.1f}",
        ])  # fmt: skip
    return table(
        [
            "system",
            "n",
            "answer, median",
            "answer, p90",
            "to the right source, median",
            "mean",
            "12 answers in 128k",
            "ms, median",
        ],
        rows,
    )
