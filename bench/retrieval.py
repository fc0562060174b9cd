"""How well braindex finds what is asked for, on any checked-out repository, beside other ways to look for it.

usage: python bench/retrieval.py REPO [REPO …] [--count 60] [--seed 7] [--ablation] [--beside] [--semble PYTHON]
                                 [--git FOLDER] [--questions FILE | --write FILE] [--sets NAME …] [--each] [--json FILE]

The questions are made from each repository (bench/retrieval_questions.py says how), or read from a file that an earlier
run wrote; `--git` names a folder that holds the history of each as NAME.git, where the checkout has none. Copies and
indexes lie in a temporary folder; the repositories are only read.

Measured on the ten first sources of an answer: file NDCG@10 and file hit@1 (over distinct files), span MRR@10 and span
hit@1 (a source that overlaps the definition; one of more than 400 lines never counts), line@1 (the first citation is on
the definition's line), each with its 95 % bootstrap interval over questions; the tokens of an answer of eight sources
and up to the first right one; the time of a question. Baselines order the very same candidates: both arms added .7 to
.3, and each arm alone. `--ablation` measures the recipe without each of its parts, `--beside` adds ripgrep and
BM25 on the same files, and `--semble` a semble 0.7 that is installed for another interpreter.
"""

import argparse
import json
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from braindex.bootstrap import build_app
from braindex.config import load_settings
from retrieval_questions import BARE, SETS, Asked, make_questions, read, write  # type: ignore[import-not-found]  # beside
from retrieval_score import Outcome, Result, ablation, comparison, economy, quality  # type: ignore[import-not-found]
from retrieval_systems import (  # type: ignore[import-not-found]
    BM25,
    DENSE,
    FULL,
    LEXICAL,
    PLAIN,
    RIPGREP,
    SEMBLE,
    Bm25,
    Ripgrep,
    ablations,
    braindex,
    semble,
    timed,
)  # fmt: skip

OURS = (FULL, PLAIN, DENSE, LEXICAL)
BESIDE = (RIPGREP, BM25, SEMBLE)


def measure_repository(root: Path, given: argparse.Namespace) -> list[Result]:
    """Every question of one repository, with the outcome of every system."""
    with tempfile.TemporaryDirectory() as scratch:
        bare = Path(scratch) / "bare" / root.name
        git = given.git / f"{root.name}.git" if given.git else None
        made = make_questions(root, bare, given.count, given.seed, git)
        by_set = read(given.questions, root.name) if given.questions else made
        wanted = {name: some for name, some in by_set.items() if not given.sets or name in given.sets}
        if given.write:
            write(given.write, root.name, [one for some in wanted.values() for one in some])
        app = build_app(load_settings({"BRAIN_DIR": str(Path(scratch) / "brain")}, Path(scratch)))
        results: list[Result] = []
        for where in (bare, root):
            questions = [one for name, some in wanted.items() if (name in BARE) == (where == bare) for one in some]
            if questions:
                workspace = app.workspaces.open(where)
                app.scans.run(workspace)
                outcomes = braindex(app, workspace, questions, parts=given.ablation)
                outcomes |= beside(where, questions, given, Path(scratch))
                results += together(root.name, questions, outcomes)
        app.finish(30)
        app.close()
    return results


def beside(
    root: Path, questions: Sequence[Asked], given: argparse.Namespace, scratch: Path
) -> dict[str, list[Outcome]]:
    found: dict[str, list[Outcome]] = {}
    if given.beside:
        found[RIPGREP] = timed(Ripgrep(root), questions)
        found[BM25] = timed(Bm25(root), questions)
    if given.semble:
        with semble(given.semble, root, scratch) as ask:
            found[SEMBLE] = timed(ask, questions)
    return found


def together(repository: str, questions: Sequence[Asked], outcomes: dict[str, list[Outcome]]) -> Iterable[Result]:
    for index, one in enumerate(questions):
        yield Result(repository, one, {system: found[index] for system, found in outcomes.items()})


def report(results: Sequence[Result], given: argparse.Namespace) -> str:
    systems = [one for one in (*OURS, *BESIDE) if one in results[0].outcomes]
    parts = [
        f"{len(results)} questions over {len({one.repository for one in results})} repositories",
        "## By set", quality(results, ["set"], systems),
        "## By language and set: braindex", quality(results, ["language", "set"], [FULL]),
        f"## braindex against {PLAIN}, by language and set",
        comparison(results, ["language", "set"], FULL, PLAIN, ["ndcg", "span_mrr"]),
        "## Tokens and time", economy(results, systems),
    ]  # fmt: skip
    for other in (one for one in BESIDE if one in systems):
        parts += [
            f"## braindex against {other}",
            comparison(results, ["set"], FULL, other, ["ndcg", "span_mrr", "line"]),
        ]
    if given.each:
        parts += ["## By repository", quality(results, ["repository", "set"], systems)]
    if given.ablation:
        parts += ["## Without each part", ablation(results, FULL, list(ablations()))]
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=60, help="questions of each set and repository, at most")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--ablation", action="store_true")
    parser.add_argument("--beside", action="store_true")
    parser.add_argument("--semble", metavar="PYTHON")
    parser.add_argument("--git", type=Path)
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--sets", nargs="*", choices=SETS, default=[])
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    results = [one for root in given.repositories for one in measure_repository(root.resolve(), given)]
    if not results:
        raise SystemExit("no questions can be made from these repositories")
    print(report(results, given))
    if given.json:
        given.json.write_text(json.dumps([asdict(one) for one in results], indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
