"""The benches of extraction notice what they look for: what is missed, invented, misplaced or misread."""

import ast
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from braindex.languages import LANGUAGES

BENCH = Path(__file__).resolve().parents[3] / "bench"
SOURCE = b"class Van(Base):\n    @once\n    def load(self, sack, /, *, fast: bool = True) -> int:\n        '''Loads.'''\n        return 1\n"


@pytest.fixture(scope="module")
def modules() -> Iterator[ModuleType]:
    sys.path.insert(0, str(BENCH))
    yield importlib.import_module("extraction_python")
    sys.path.remove(str(BENCH))


def judged(modules: ModuleType, known: bytes) -> dict[str, int]:
    """What differs between the entities of SOURCE and what `ast` says of another text."""
    score = importlib.import_module("extraction_score").Score("python")
    modules.judge("a.py", SOURCE, ast.parse(known), score)
    return dict(score.differences)


def test_what_ast_sees_too_differs_in_nothing(modules: ModuleType) -> None:
    assert judged(modules, SOURCE) == {}


@pytest.mark.parametrize(
    ("old", "new", "differences"),
    [
        (b"def load", b"def lift", {"missed": 1, "invented": 1}),
        (b"class Van", b"\nclass Van", {"missed": 2, "invented": 2}),
        (b"        return 1\n", b"        return 1\n        pass\n", {"end line": 2}),
        (b"class Van(Base)", b"class Van(Other)", {"signature": 1}),
        (b"fast: bool = True", b"fast: bool = False", {"signature": 1}),
        (b"fast: bool = True", b"fast: str = True", {"signature": 1}),
        (b"sack, /, *, fast", b"sack, /, fast", {"signature": 1}),
        (b"-> int", b"-> str", {"signature": 1, "return type": 1}),
        (b"(self, sack, /, *,", b"(self, sack, bag, /, *,", {"signature": 1, "parameter count": 1}),
        (b"Loads.", b"Lifts.", {"docstring": 1}),
        (b"    @once\n    def", b"    @once\n    @twice\n    def", {"missed": 1, "invented": 1, "end line": 1}),
    ],
)  # fmt: skip
def test_each_difference_is_noticed(modules: ModuleType, old: bytes, new: bytes, differences: dict[str, int]) -> None:
    assert old in SOURCE
    assert judged(modules, SOURCE.replace(old, new)) == differences


def test_a_signature_that_is_cut_is_counted_and_not_compared(modules: ModuleType) -> None:
    parameters = ", ".join(f"sack_number_{number}" for number in range(100))
    source = f"def load({parameters}): pass\n".encode()
    score = importlib.import_module("extraction_score").Score("python")
    modules.judge("a.py", source, ast.parse(source), score)
    assert (score.cut, score.compared["signature"], dict(score.differences)) == (1, 0, {})


def test_a_bar_is_missed_by_what_is_not_found_and_by_what_lies_elsewhere(modules: ModuleType) -> None:
    scores = importlib.import_module("extraction_score")
    assert scores.Score("tsx", expected=100, found=97).passes
    assert not scores.Score("tsx", expected=100, found=96).passes
    misplaced = scores.Score("tsx", expected=100, found=100)
    for number in range(100):
        misplaced.attribute("parent", same=number > 1, said="a")
    assert not misplaced.passes


def test_nothing_to_compare_holds_no_bar(modules: ModuleType) -> None:
    assert not importlib.import_module("extraction_score").Score("tsx").passes


def test_definitions_of_the_compiler_on_another_line_are_found_with_a_wrong_start(
    modules: ModuleType, tmp_path: Path
) -> None:
    scores, bench = importlib.import_module("extraction_score"), importlib.import_module("extraction_typescript")
    path = tmp_path / "a.ts"
    path.write_text("function draw() {}\n\nclass Pen {\n  dip() {}\n}\nenum Ink {}\n")
    score = scores.Score("typescript")
    known = [
        ["function", "draw", 2, 2, ""], ["class", "Pen", 3, 6, ""], ["getter", "dip", 4, 4, "Ink"],
        ["function", "gone", 9, 9, ""],
    ]  # fmt: skip
    bench.judge(path, {"definitions": known, "beyond": []}, score)
    assert (score.expected, score.found) == (4, 3)
    differences = {"start line": 1, "end line": 1, "parent": 1, "kind": 1, "missed": 1, "invented": 1}
    assert dict(score.differences) == differences


def test_what_is_left_out_by_choice_is_neither_missed_nor_invented(modules: ModuleType, tmp_path: Path) -> None:
    scores, bench = importlib.import_module("extraction_score"), importlib.import_module("extraction_typescript")
    path = tmp_path / "a.ts"
    path.write_text("class Pen {}\n")
    score = scores.Score("typescript")
    bench.judge(path, {"definitions": [], "beyond": [["enum member", "Pen", 1], ["enum member", "Ink", 1]]}, score)
    assert (dict(score.left_out), dict(score.left_out_found)) == ({"enum member": 2}, {"enum member": 1})
    assert dict(score.differences) == {}


@pytest.mark.parametrize("spec", LANGUAGES, ids=lambda spec: spec.name)
def test_a_seed_makes_the_same_input_each_time(modules: ModuleType, spec: object) -> None:
    fuzz = importlib.import_module("fuzz")
    known = fuzz.corpus(spec, [])
    assert [fuzz.made(spec, known, seed) for seed in range(20)] == [fuzz.made(spec, known, seed) for seed in range(20)]
    assert len({fuzz.made(spec, known, seed) for seed in range(20)}) > 10


def test_findings_are_made_smaller_while_they_stay_findings(modules: ModuleType) -> None:
    fuzz = importlib.import_module("fuzz")
    data = bytes(range(ord("x"))) * 3
    assert fuzz.smaller(data + b"x" + data + b"y" + data, lambda part: b"x" in part and b"y" in part) == b"xy"
