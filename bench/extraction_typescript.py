"""Part `typescript` of `bench/extraction.py`: the TypeScript compiler is the judge.

Claimed by both sides, and so compared: functions, classes, members, accessors, constructors, interfaces, type aliases,
enums and namespaces wherever they stand; functions and classes bound to a variable, a property or a member; a module's
own variables, exported and ambient ones; a local one only when it is a module made by calling a function at once.

Left out on both sides: other local variables and parameters, which nobody looks for by name; what `require` gives, an
import; call and index signatures, which have no name. What has a name and is still left out by choice (enum members,
properties of interfaces, names that a module unpacks, …) is counted on a line of its own, with how many were found.
"""

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from braindex import CodeEntity, extract_entities
from extraction_score import Score, is_utf8  # type: ignore[import-not-found]  # beside this file

ORACLE = Path(__file__).with_name("extraction_oracle.mjs")
LANGUAGES = {
    ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "jsx",
    ".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "tsx",
}  # fmt: skip
KINDS = frozenset(
    "function method constructor getter setter class interface type enum namespace variable constant property".split()
)
LARGEST = 1_000_000  # bytes: MAX_FILE_BYTES
LEFT_OUT = frozenset({"node_modules", ".git"})


class Known(NamedTuple):
    """A definition, as the compiler sees it."""

    kind: str
    name: str
    line: int
    end_line: int
    parent: str


def measure(folders: list[Path], typescript: Path) -> list[Score]:
    """Scores of all languages that occur, by the compiler below `typescript`, a folder that npm installed into."""
    scores = {name: Score(name) for name in dict.fromkeys(LANGUAGES.values())}
    for path, known in _known(sorted(_files(folders)), typescript):
        score = scores[LANGUAGES[path.suffix.lower()]]
        if known["broken"]:
            score.passed_over += 1
            continue
        score.files += 1
        judge(path, known, score)
    return [one for one in scores.values() if one.files]


def _files(folders: list[Path]) -> Iterator[Path]:
    for path in (one for folder in folders for one in folder.rglob("*")):
        is_source = path.suffix.lower() in LANGUAGES and path.is_file() and not LEFT_OUT.intersection(path.parts)
        if is_source and ".min." not in path.name and path.stat().st_size <= LARGEST and is_utf8(path.read_bytes()):
            yield path.resolve()


def _known(paths: list[Path], typescript: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    done = subprocess.run(
        ["node", str(ORACLE), str(typescript.resolve())],
        input="".join(f"{path}\n" for path in paths), stdout=subprocess.PIPE, encoding="utf-8", check=True,
    )  # fmt: skip
    for line in done.stdout.split("\n")[:-1]:
        found = json.loads(line)
        yield Path(found["path"]), found


def judge(path: Path, known: dict[str, Any], score: Score) -> None:
    """Compares one file. A definition is found when an entity has its name and its first line; of those that share
    both, the first is the first.
    """
    ours: dict[tuple[str, int], list[CodeEntity]] = {}
    for entity in extract_entities(path.name, path.read_bytes()):
        if entity.kind in KINDS:
            ours.setdefault((entity.name, entity.line), []).append(entity)
    missed: list[Known] = []
    for one in (Known(*row) for row in known["definitions"]):
        score.expected += 1
        same = ours.get((one.name, one.line))
        if same:
            _compare(path, one, same.pop(0), score)
        else:
            missed.append(one)
    for what, name, line in known["beyond"]:
        same = ours.get((name, line))
        score.left_out[what] += 1
        score.left_out_found[what] += bool(same)
        if same:
            same.pop(0)
    _rest(path, missed, [entity for some in ours.values() for entity in some], score)


def _compare(path: Path, one: Known, entity: CodeEntity, score: Score) -> None:
    score.found += 1
    where = f"{path}:{one.line} {one.name}"
    kind = "variable" if entity.kind == "constant" else entity.kind
    score.attribute("start line", same=True, said=where)
    score.attribute(
        "end line", same=entity.end_line == one.end_line, said=f"{where}: {entity.end_line}, not {one.end_line}"
    )
    score.attribute("parent", same=entity.parent == one.parent, said=f"{where}: {entity.parent!r}, not {one.parent!r}")
    score.attribute("kind", same=kind == one.kind, said=f"{where}: {entity.kind}, not {one.kind}")


def _rest(path: Path, missed: list[Known], left: list[CodeEntity], score: Score) -> None:
    """What was found on another line is found, with a wrong start; the rest is missed, or invented."""
    names = Counter(entity.name for entity in left)
    moved: Counter[str] = Counter()
    for one in missed:
        if names[one.name] > moved[one.name]:
            moved[one.name] += 1
            score.found += 1
            score.attribute("start line", same=False, said=f"{path}:{one.line} {one.name}")
        else:
            score.differs("missed", f"{path}:{one.line} {one.kind} {one.name}")
    for entity in left:
        if moved[entity.name] > 0:
            moved[entity.name] -= 1
        else:
            score.differs("invented", f"{path}:{entity.line} {entity.kind} {entity.name}")
