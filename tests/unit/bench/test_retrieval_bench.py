"""The bench of retrieval makes fair questions, and the page on retrieval says what the code does."""

import argparse
import ast
import importlib
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from braindex.domain.question import QuestionType
from braindex.domain.ranking import WEIGHTS, Weights

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
def made() -> Iterator[ModuleType]:
    """The maker of questions."""
    sys.path.insert(0, str(ROOT / "bench"))
    yield importlib.import_module("retrieval_questions")
    sys.path.remove(str(ROOT / "bench"))


@pytest.fixture(scope="module")
def score(made: ModuleType) -> ModuleType:
    return importlib.import_module("retrieval_score")


@pytest.fixture(scope="module")
def systems(made: ModuleType) -> ModuleType:
    return importlib.import_module("retrieval_systems")


def one_of(found: Iterable[Any]) -> list[tuple[str, str, int, int]]:
    return [(one.text, place.path, place.line, place.end_line) for one in found for place in one.answers]


def test_docstrings_go_and_lines_stay(made: ModuleType) -> None:
    _, bare = made.bare_python("a.py", MODULE.encode())
    text = bare.decode()
    assert '"' not in text
    assert text.count("\n") == MODULE.count("\n")
    assert text.split("\n")[4] == "    return total"
    assert ast.parse(text)


def test_line_ends_and_letters_beyond_ascii_do_not_move_anything(made: ModuleType) -> None:
    data = 'def weigh(x):\r\n    """Tüte, äußerst\r\n    schwer."""\r\n    y = "ä"\r\n    return y\r\n'.encode()
    _, bare = made.bare_python("a.py", data)
    assert bare.split(b"\r\n")[3:] == data.split(b"\r\n")[3:]
    assert bare.split(b"\r\n")[1].strip() == b"..."


def test_a_question_is_the_first_sentence_of_a_function_that_it_does_not_name(made: ModuleType) -> None:
    questions, _ = made.bare_python("a.py", MODULE.encode())
    assert one_of(questions) == [("Measure how heavy the whole thing is.", "a.py", 2, 5)]


def test_a_script_loses_the_comments_above_its_definitions(made: ModuleType) -> None:
    questions, bare = made.bare_script("a.js", SCRIPT.encode())
    assert one_of(questions) == [("Measures how heavy the whole thing is.", "a.js", 5, 7)]
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
def test_markup_is_no_part_of_a_sentence(made: ModuleType, text: str, sentence: str) -> None:
    assert made.first_sentence(text) == sentence


def test_comments_above_rules_and_elements_ask_for_them(made: ModuleType) -> None:
    style, bare = made.bare_script("a.css", b"/* What the price looks like in a list */\n.price { color: red }\n")
    assert one_of(style) == [("What the price looks like in a list", "a.css", 2, 2)]
    assert [(one.set, one.language) for one in style] == [("comment", "css")]
    assert bare.strip() == b".price { color: red }"


def asked(made: ModuleType, text: str, path: str, line: int = 1, end_line: int = 5) -> Any:
    return made.Asked(text, (made.Place(path, line, end_line),))


def test_sentences_that_give_the_answer_away_are_left_out(made: ModuleType) -> None:
    kept = asked(made, "Measure how heavy it is.", "a.py")
    twice = [asked(made, "Send it to the other side.", "a.py", line, line + 3) for line in (10, 20)]
    copied = asked(made, "Wait until the hall is empty.", "a.py", 30, 35)
    tested = asked(made, "Check that nothing falls down.", "tests/test_a.py")
    declared = asked(made, "Count all that is inside.", "a.d.ts")
    every = [kept, *twice, copied, tested, declared]
    assert made.usable(every, {"a.py": b""}) == [kept, copied]
    assert made.usable(every, {"b.py": b"# We wait until\tthe hall is empty, always."}) == [kept]


def test_a_message_is_asked_for_as_the_program_prints_it(made: ModuleType) -> None:
    source = b"def load(sack):\n    if not sack:\n        raise ValueError(f'the sack {sack!r} is empty and cannot be loaded')\n"
    script = b"function load(sack) {\n  throw new Error(`no van is free to take the ${sack.name} today`)\n}\n"
    assert one_of(made.errors({"a.py": source, "b.js": script})) == [
        ("ValueError: the sack 'seven' is empty and cannot be loaded", "a.py", 1, 3),
        ("Error: no van is free to take the seven today", "b.js", 1, 3),
    ]


def test_a_test_asks_for_the_one_file_that_its_own_is_named_after(made: ModuleType) -> None:
    files = {
        "src/van.py": b"def load(): ...\n", "tests/test_van.py": b"def test_a_full_van_takes_nothing():\n    pass\n",
        "lib/box.js": b"", "test/box.test.js": b"it('should close the lid when it rains', () => {})\n",
    }  # fmt: skip
    assert {one[:2] for one in one_of(made.tests(files))} == {
        ("a full van takes nothing", "src/van.py"), ("close the lid when it rains", "lib/box.js"),
    }  # fmt: skip
    assert one_of(made.tests({**files, "old/van.py": b""})) == [("close the lid when it rains", "lib/box.js", 0, 0)]


def test_a_commit_asks_for_the_one_file_it_changed(made: ModuleType, tmp_path: Path) -> None:
    def git(*command: str) -> None:
        author = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(["git", *author, *command], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    for path, subject in (
        ("van.py", "Carry two boxes at the same time (#12)"),
        ("box.py", "Bump the version of everything we use"),
    ):
        (tmp_path / path).write_text(f"# {path}\n")
        git("add", "-A")
        git("commit", "-qm", subject)
    assert one_of(made.commits(tmp_path / ".git", made.read_files(tmp_path))) == [
        ("Carry two boxes at the same time", "van.py", 0, 0)
    ]


def test_every_topic_names_its_files(made: ModuleType) -> None:
    names = {line.split("\t")[0] for line in made.TOPICS.read_text(encoding="utf-8").splitlines()[1:]}
    for name in names:
        for one in made.topics(name):
            assert len(one.text.split()) >= 2
            assert one.answers
            assert all(not place.path.startswith("/") for place in one.answers)
    assert len(names) >= 10


def test_questions_come_back_from_a_file_as_they_were(made: ModuleType, tmp_path: Path) -> None:
    every = [made.Asked("What is it?", (made.Place("a.py", 1, 2), made.Place("b.py")), "topic", "python")]
    made.write(tmp_path / "questions.jsonl", "van", every)
    made.write(tmp_path / "questions.jsonl", "box", [])
    assert made.read(tmp_path / "questions.jsonl", "van") == {"topic": every}
    assert made.read(tmp_path / "questions.jsonl", "box") == {}


def test_only_a_citation_of_bearable_length_counts(made: ModuleType, score: ModuleType) -> None:
    wanted = asked(made, "", "a.py", 10, 20)
    assert score.covers(score.Cited("a.py", 20, 30), wanted)
    assert not score.covers(score.Cited("a.py", 21, 30), wanted)
    assert not score.covers(score.Cited("b.py", 10, 20), wanted)
    assert score.covers(score.Cited("a.py", 1, 400), wanted)
    assert not score.covers(score.Cited("a.py", 1, 401), wanted)


def test_an_outcome_looks_at_files_spans_the_first_line_and_tokens(made: ModuleType, score: ModuleType) -> None:
    cited = [
        score.Cited("b.py", 1, 5, 7),
        score.Cited("b.py", 7, 9, 7),
        score.Cited("a.py", 10, 20, 5),
        score.Cited("c.py", 1, 2, 9),
    ]
    found = score.judged(cited, asked(made, "", "a.py", 10, 20))
    assert (found.file_hit, found.span_mrr, found.span_hit, found.line) == (0.0, 1 / 3, 0.0, 0.0)
    assert found.ndcg == pytest.approx(1 / math.log2(3))
    assert (found.tokens, found.tokens_to_answer) == (28, 19)
    assert score.judged([score.Cited("a.py", 10, 12)], asked(made, "", "a.py", 10, 20)).line == 1.0
    assert score.judged([], asked(made, "", "a.py")).ndcg == 0.0


def test_a_question_for_files_is_judged_by_files_alone(made: ModuleType, score: ModuleType) -> None:
    both = made.Asked("", (made.Place("a.py"), made.Place("b.py")))
    found = score.judged([score.Cited("a.py", 1, 2), score.Cited("b.py", 1, 2)], both)
    assert (found.ndcg, found.file_hit, found.span_mrr, found.line) == (pytest.approx(1.0), 1.0, None, None)


def test_taking_a_part_out_leaves_the_recipe_as_it_was(systems: ModuleType) -> None:
    before = dict(WEIGHTS)
    settings = systems.ablations()
    assert set(settings) == {one.name for one in fields(Weights)} | {"penalties"}
    with settings["dense"]():
        assert {one.dense for one in WEIGHTS.values()} == {0.0}
    with settings["saturation"]():
        assert {one.saturation for one in WEIGHTS.values()} == {1.0}
    assert before == WEIGHTS


def test_what_is_measured_beside_it_finds_words_where_they_are(
    made: ModuleType, systems: ModuleType, make_project: MakeProject
) -> None:
    root = make_project({"van.py": "def load(sack):\n    return sack\n", "box.py": "def close(lid):\n    return lid\n"})
    assert systems.Ripgrep(root)("where is the lid closed")[0].path == "box.py"
    assert systems.Bm25(root)("load a sack")[0].path == "van.py"


def test_a_repository_is_measured_and_only_read(made: ModuleType, make_project: MakeProject) -> None:
    bench = importlib.import_module("retrieval")
    words = "apple brick cloud drum engine flute grape house island jacket kettle lemon".split()
    functions = [
        f'def {word}_take(box):\n    """Take the {word} out of {place} and return it."""\n'
        f"    found = box.{word}\n    return found\n"
        for word, place in zip(words, reversed(words), strict=True)
    ]
    root = make_project({"boxes.py": "\n\n".join(functions)})
    given = argparse.Namespace(
        count=12,
        seed=7,
        ablation=True,
        beside=True,
        semble=None,
        git=None,
        questions=None,
        write=None,
        sets=[],
        each=True,
    )
    results = bench.measure_repository(root, given)
    assert Counter(one.asked.set for one in results) == {"docstring": 12, "symbol": 12}
    named = [one for one in results if one.asked.set == "symbol"]
    assert {one.asked.text.startswith("where is ") for one in named} == {True, False}
    assert all(one.outcomes[bench.FULL].line == 1.0 for one in named)
    assert all(one.outcomes[bench.FULL].tokens > 0 for one in results)
    text = bench.report(results, given)
    for heading in ("## By set", "## Tokens and time", "## braindex against ripgrep", "## Without each part"):
        assert heading in text
    assert [one.name for one in root.iterdir()] == ["boxes.py"]


def test_the_page_on_retrieval_has_the_weights_of_the_code() -> None:
    page = (ROOT / "docs" / "retrieval.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.split("\n") if line.startswith("|")]
    written = {row[0]: row[1:] for row in rows if len(row) == 5}
    kinds: tuple[QuestionType, ...] = ("phrase", "symbol", "action", "web")
    assert WEIGHTS["how"] == WEIGHTS["error"] == WEIGHTS["phrase"]
    for one in fields(Weights):
        assert [float(cell or 0) for cell in written[one.name]] == [getattr(WEIGHTS[kind], one.name) for kind in kinds]
