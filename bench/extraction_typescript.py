"""Part `typescript` of `bench/extraction.py`: the TypeScript compiler is the judge."""

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from braindex import CodeEntity, extract_entities
from extraction_score import Score  # type: ignore[import-not-found]  # beside this file

ORACLE = Path(__file__).with_name("extraction_oracle.mjs")
LANGUAGES = {
    ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "jsx",
    ".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "tsx",
}  # fmt: skip
KINDS = frozenset(
    "function method constructor getter setter class interface type enum namespace variable constant property".split()
)
LARGEST = 1_000_000  # bytes; larger files are data
LEFT_OUT = frozenset({"node_modules", ".git"})


def measure(folders: list[Path], typescript: Path) -> list[Score]:
    scores = {name: Score(name) for name in dict.fromkeys(LANGUAGES.values())}
    for path, known in _known(sorted(_files(folders)), typescript):
        score = scores[LANGUAGES[path.suffix.lower()]]
        if known["broken"]:
            score.passed_over += 1
            continue
        score.files += 1
        judge(path, known["definitions"], score)
    return [one for one in scores.values() if one.files]


def _files(folders: list[Path]) -> Iterator[Path]:
    for folder in folders:
        for path in folder.rglob("*"):
            wanted = path.suffix.lower() in LANGUAGES and not LEFT_OUT.intersection(path.parts) and path.is_file()
            if wanted and path.stat().st_size <= LARGEST and is_utf8(path):
                yield path.resolve()


def is_utf8(path: Path) -> bool:
    try:
        path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _known(paths: list[Path], typescript: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    done = subprocess.run(
        ["node", str(ORACLE), str(typescript.resolve())],
        input="".join(f"{path}\n" for path in paths), stdout=subprocess.PIPE, encoding="utf-8", check=True,
    )  # fmt: skip
    for line in done.stdout.splitlines():
        found = json.loads(line)
        yield Path(found["path"]), found


def judge(path: Path, definitions: list[list[Any]], score: Score) -> None:
    """Compares one file. A definition is the same when it has the name and the first line; of those that share both,
    as many count as both have."""
    ours: dict[tuple[str, int], list[CodeEntity]] = {}
    for entity in extract_entities(path.name, path.read_bytes()):
        if entity.kind in KINDS:
            ours.setdefault((entity.name, entity.line), []).append(entity)
    missed: list[list[Any]] = []
    for one in sorted(definitions, key=lambda one: (one[1], -one[2])):
        name, line, end, parent = one
        score.expected += 1
        same = ours.get((name, line))
        if not same:
            missed.append(one)
            continue
        entity = same.pop(0)
        score.found += 1
        where = f"{path}:{line} {name}"
        score.attribute("end line", same=entity.end_line == end, said=f"{where}: {entity.end_line}, not {end}")
        score.attribute("parent", same=entity.parent == parent, said=f"{where}: {entity.parent!r}, not {parent!r}")
    left = [entity for some in ours.values() for entity in some]
    _starts(path, missed, left, score)


def _starts(path: Path, missed: list[list[Any]], left: list[CodeEntity], score: Score) -> None:
    """What was found on another line is found, with a wrong start; the rest is missed, or invented."""
    names = Counter(entity.name for entity in left)
    for name, line, *_ in missed:
        at_another = names[name] > 0
        names[name] -= at_another
        if at_another:
            score.found += 1
            score.attribute("start line", same=False, said=f"{path}:{line} {name}")
        else:
            score.differs("missed", f"{path}:{line} {name}")
    for entity in left:
        if names[entity.name] > 0:
            names[entity.name] -= 1
            score.differs("invented", f"{path}:{entity.line} {entity.kind} {entity.name}")
    right = score.compared["end line"]
    score.right["start line"] = right
    score.compared["start line"] = right + score.differences["start line"]
