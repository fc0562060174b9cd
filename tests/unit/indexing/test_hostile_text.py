"""Text made to be slow. `re` holds the interpreter's lock, so one slow expression stops every thread and every signal.

Each test runs in a child process that is killed after a minute: what grows with the square of a text's length would take
hours here, what grows with its length takes a second or two.
"""

import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[3] / "src"


def run(code: str) -> str:
    env = {"PYTHONPATH": str(SOURCE), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


EVERY_PATTERN = r"""
import importlib, pkgutil, re
import braindex.domain, braindex.indexing, braindex.languages

def patterns(value):
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from patterns(one)
    elif isinstance(value, dict):
        yield from patterns(list(value.values()))

found = set()
for room in (braindex.domain, braindex.indexing, braindex.languages):
    for module in pkgutil.iter_modules(room.__path__, room.__name__ + "."):
        for value in list(vars(importlib.import_module(module.name)).values()):
            found.update(patterns(value))
starts = ["", "/*", "<!--", '"', "const", "[", "<", "where is ", "a function ", "-----BEGIN PRIVATE KEY-----", "#", "*", "_", "A"]
units = [" ", "\n", "a", "A", "Aa", "_", "0", "*", "/", "a.", "a,", "a ", "{a,", "[a", "<a ", "\\", '"', "'", "--", "#", "-a", "A: b\n", "é"]
texts = [start + unit * (100_000 // len(unit)) + "!" for start in starts for unit in units]
encoded = [text.encode() for text in texts]
for pattern in found:
    for text in encoded if isinstance(pattern.pattern, bytes) else texts:
        pattern.match(text)
print(len(found))
"""


def test_no_expression_gives_back_what_it_took_again_and_again():
    assert int(run(EVERY_PATTERN)) > 50


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.css", '"/*" + "*" * 900_000'),
        ("a.js", '"/*" + "*" * 900_000'),
        ("a.js", '"const" + " " * 900_000'),
        ("a.js", '"var " + "a, " * 300_000'),
        ("a.js", '"/*" + "\\n" * 900_000 + "*/"'),
        ("a.py", '"#" * 900_000 + "!"'),
        ("a.py", '"def f():\\n    \\"" + "\\\\\\\\" * 400_000 + "\\"\\n"'),
        ("a.py", '"from " + "a " * 400_000'),
        ("a.md", '("# " + "*a _b" * 95 + "\\n") * 1_900'),
        ("a.md", '("# " + "<a" * 240 + "\\n") * 1_900'),
        ("a.md", '("# " + "`a" * 240 + "\\n") * 1_900'),
        ("a.html", '"<textarea></textarea>" * 40_000'),
        ("a.txt", '"<!--" * 200_000'),
        ("a.txt", '"<!doctype " * 90_000'),
        ("a.txt", '"\\ufeff" + "#!" * 400_000'),
    ],
)
def test_a_hostile_file_is_indexed_or_refused_in_time_that_grows_with_its_length(path, text):
    said = run(
        "from braindex.domain.errors import BraindexError\n"
        "from braindex.indexing.passages import index_file\n"
        "try:\n"
        f"    print(len(index_file({path!r}, ({text}).encode())))\n"
        "except BraindexError:\n"
        "    print(0)\n"
    )
    assert int(said) >= 0


@pytest.mark.parametrize(
    "text",
    [
        '"Aa" * 20_000 + "!"',
        '"A" + "a_" * 20_000 + "!"',
        '"where is " + " " * 40_000 + "x"',
        '"where is " + "is " * 20_000',
        '"like x" + "x:" * 20_000',
        '"find the definition of " + "? " * 20_000',
        '"." + "a." * 20_000 + "!"',
    ],
)
def test_a_hostile_question_is_understood_at_once(text):
    assert run(f"from braindex.domain.question import analyse\nprint(analyse({text}).type)")
