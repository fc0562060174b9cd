"""The bench of retrieval makes fair questions, and the page on retrieval says what the code does."""

import ast
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import astuple, fields
from pathlib import Path
from types import ModuleType

import pytest

from braindex.domain.question import QuestionType
from braindex.domain.ranking import WEIGHTS, Weights
from braindex.domain.results import Source

ROOT = Path(__file__).resolve().parents[3]
MakeProject = Callable[..., Path]

MODULE = '''"""Of parcels."""
def weigh(parcel):
    """Measure how heavy the whole thing is. More follows."""
    total = parcel.load
    return total

class Van:
    """Drives them around the town all day."""

    def ship(self):
        """Ship everything that waits in the hall."""
        return 1

    def load(self): "Put one more box into the back."
'''
SCRIPT = """/**
 * Measures how heavy the whole thing is.
 * @param {object} parcel
 */
function weigh (parcel) {
  return parcel.load
}
"""


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("retrieval_bench", ROOT / "bench" / "retrieval.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def source(path: str, line: int, end_line: int) -> Source:
    return Source("", "", "function", "python", path, line, end_line, "", "", "", None, 0.0)


def test_docstrings_go_and_lines_stay(bench: ModuleType) -> None:
    _, bare = bench.bare_python("a.py", MODULE.encode())
    text = bare.decode()
    assert '"' not in text
    assert text.count("\n") == MODULE.count("\n")
    assert text.split("\n")[4] == "    return total"
    assert ast.parse(text)


def test_line_ends_and_letters_beyond_ascii_do_not_move_anything(bench: ModuleType) -> None:
    data = 'def weigh(x):\r\n    """Tüte, äußerst\r\n    schwer."""\r\n    y = "ä"\r\n    return y\r\n'.encode()
    _, bare = bench.bare_python("a.py", data)
    assert bare.split(b"\r\n")[3:] == data.split(b"\r\n")[3:]
    assert bare.split(b"\r\n")[1].strip() == b"..."


def test_a_question_is_the_first_sentence_of_a_function_that_it_does_not_name(bench: ModuleType) -> None:
    questions, _ = bench.bare_python("a.py", MODULE.encode())
    assert [astuple(one) for one in questions] == [("Measure how heavy the whole thing is.", "a.py", 2, 5)]


def test_a_script_loses_the_comments_above_its_definitions(bench: ModuleType) -> None:
    questions, bare = bench.bare_script("a.js", SCRIPT.encode())
    assert [astuple(one) for one in questions] == [("Measures how heavy the whole thing is.", "a.js", 5, 7)]
    assert bare.decode().split("\n")[:4] == [" " * len(line) for line in SCRIPT.split("\n")[:4]]
    assert bare.decode().split("\n")[4:] == SCRIPT.split("\n")[4:]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Return the :class:`Van` and\n    its ``load``. Then rest.", "Return the Van and its load."),
        ("Read a value, e.g. a number.\n\n:param x: what", "Read a value, e.g. a number."),
        ("Uses {@link Van} inside\n@returns {number}", "Uses Van inside"),
    ],
)
def test_markup_is_no_part_of_a_sentence(bench: ModuleType, text: str, sentence: str) -> None:
    assert bench.first_sentence(text) == sentence


def test_sentences_that_give_the_answer_away_are_left_out(bench: ModuleType) -> None:
    kept = bench.Asked("Measure how heavy it is.", "a.py", 1, 5)
    twice = [bench.Asked("Send it to the other side.", "a.py", line, line + 3) for line in (10, 20)]
    copied = bench.Asked("Wait until the hall is empty.", "a.py", 30, 35)
    tested = bench.Asked("Check that nothing falls down.", "tests/test_a.py", 1, 5)
    declared = bench.Asked("Count all that is inside.", "a.d.ts", 1, 5)
    asked = [kept, *twice, copied, tested, declared]
    assert bench.usable(asked, {"a.py": b""}) == [kept, copied]
    assert bench.usable(asked, {"b.py": b"# We wait until\tthe hall is empty, always."}) == [kept]


def test_only_a_citation_of_bearable_length_counts(bench: ModuleType) -> None:
    asked = bench.Asked("", "a.py", 10, 20)
    assert bench.covers(source("a.py", 20, 30), asked)
    assert not bench.covers(source("a.py", 21, 30), asked)
    assert not bench.covers(source("b.py", 10, 20), asked)
    assert bench.covers(source("a.py", 1, 400), asked)
    assert not bench.covers(source("a.py", 1, 401), asked)


def test_an_outcome_looks_at_files_spans_and_the_first_line(bench: ModuleType) -> None:
    asked = bench.Asked("", "a.py", 10, 20)
    found = bench.judged([source("b.py", 1, 5), source("b.py", 7, 9), source("a.py", 10, 20)], asked)
    assert (found.file_hit, found.file_mrr, found.span_mrr, found.line) == (0.0, 1 / 2, 1 / 3, 0.0)
    assert bench.judged([source("a.py", 10, 12)], asked).line == 1.0
    assert bench.judged([], asked).file_mrr == 0.0


def test_taking_a_part_out_leaves_the_recipe_as_it_was(bench: ModuleType) -> None:
    before = dict(WEIGHTS)
    settings = bench.ablations()
    assert set(settings) == {one.name for one in fields(Weights)} | {"penalties"}
    with settings["dense"]():
        assert {one.dense for one in WEIGHTS.values()} == {0.0}
    with settings["saturation"]():
        assert {one.saturation for one in WEIGHTS.values()} == {1.0}
    assert before == WEIGHTS


def test_a_repository_is_measured_and_only_read(bench: ModuleType, make_project: MakeProject) -> None:
    words = "apple brick cloud drum engine flute grape house island jacket kettle lemon".split()
    functions = [
        f'def {word}_take(box):\n    """Take the {word} out of {place} and return it."""\n'
        f"    found = box.{word}\n    return found\n"
        for word, place in zip(words, reversed(words), strict=True)
    ]
    root = make_project({"boxes.py": "\n\n".join(functions)})
    report = bench.measure_repository(root, 12, 7, ablation=True)
    assert {name: len(questions) for name, questions in report.questions.items()} == {"docstring": 12, "symbol": 12}
    assert next(one.text for one in report.questions["symbol"]).startswith("where is ")
    assert all(one.line == 1.0 for one in report.outcomes["symbol"][bench.FULL])
    assert all(one.json_tokens > one.text_tokens > 0 for one in report.outcomes["symbol"][bench.FULL])
    assert bench.ablation_table([report]).count("\n") == len(bench.ablations()) + 1
    assert [one.name for one in root.iterdir()] == ["boxes.py"]


def test_the_page_on_retrieval_has_the_weights_of_the_code() -> None:
    page = (ROOT / "docs" / "retrieval.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.split("\n") if line.startswith("|")]
    written = {row[0]: row[1:] for row in rows if len(row) == 5}
    kinds: tuple[QuestionType, ...] = ("phrase", "symbol", "action", "web")
    assert WEIGHTS["how"] == WEIGHTS["phrase"]
    for one in fields(Weights):
        assert [float(cell or 0) for cell in written[one.name]] == [getattr(WEIGHTS[kind], one.name) for kind in kinds]
