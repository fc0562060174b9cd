import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from braindex.domain.errors import BraindexError
from braindex.indexing.extract import GrammarUnavailable, extract_entities
from braindex.indexing.extract_grammars import Grammar, grammar_of, load, query_text
from braindex.languages import LANGUAGES, LanguageSpec
from braindex.languages.css import CSS
from braindex.languages.python import PYTHON

SOURCE = Path(__file__).resolve().parents[3] / "src"
ENGINE = sorted((SOURCE / "braindex" / "indexing").glob("extract*.py"))


@pytest.mark.parametrize("path", ENGINE, ids=lambda path: path.name)
def test_the_engine_names_no_language(path: Path):
    text = path.read_text(encoding="utf-8").lower()
    assert [spec.name for spec in LANGUAGES if f'"{spec.name}"' in text or f"'{spec.name}'" in text] == []
    assert [spec.name for spec in LANGUAGES if spec.grammar.partition(":")[0] in text] == []


def test_a_grammar_is_loaded_once():
    assert grammar_of(PYTHON) is grammar_of(PYTHON)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (replace(PYTHON, name="broken", grammar="a_grammar_that_is_absent:language"), "No module named"),
        (replace(PYTHON, name="broken", grammar="tree_sitter_python:absent"), "absent"),
        (replace(PYTHON, name="broken", queries=CSS.queries), "Invalid node type"),
        (replace(PYTHON, name="broken", queries=("absent",)), "absent"),
    ],
)
def test_a_grammar_or_query_that_fails_to_load_is_named(spec: LanguageSpec, says: str):
    with pytest.raises(GrammarUnavailable, match=says) as failure:
        load(spec)
    assert isinstance(failure.value, BraindexError)
    assert failure.value.language == "broken"
    assert "the broken grammar" in str(failure.value)


def _load_with(folder: Path, query: str) -> Grammar:
    """Python's grammar with a query of the test's own: a stem with a folder in it is taken as it is."""
    (folder / "one.scm").write_text(query, encoding="utf-8")
    return load(replace(PYTHON, queries=(str(folder / "one"),)))


@pytest.mark.parametrize(
    "query",
    [
        "(comment) @remark",
        "(comment) @definition.remark",
        "(comment) @name",
        "((comment) @comment (#set! colour red))",
        "(module (class_definition) @definition.class (comment) @definition.function)",
        "((comment) @comment . (class_definition) @_next)",
    ],
)
def test_the_vocabulary_of_queries_is_closed(tmp_path: Path, query: str):
    with pytest.raises(GrammarUnavailable):
        _load_with(tmp_path, query)


def test_a_query_of_known_words_is_taken(tmp_path: Path):
    grammar = _load_with(tmp_path, '; @remark\n(class_definition "class" @_word name: (_) @name) @definition.class')
    assert [(pattern.role, pattern.kind) for pattern in grammar.patterns] == [("definition", "class")]


def test_the_queries_of_a_language_are_read_in_order():
    assert query_text(replace(PYTHON, queries=("css", "python"))).index("rule_set") == query_text(CSS).index("rule_set")


def test_threads_extract_side_by_side():
    sources = [f"class A{n}:\n    def m{n}(self): pass\n" * 50 for n in range(8)]
    found: dict[int, list[str]] = {}

    def work(number: int) -> None:
        for _ in range(5):
            found[number] = [entity.name for entity in extract_entities("a.py", sources[number])]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: [f"A{number}", f"m{number}"] * 50 for number in range(8)}


def _child(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(SOURCE)}, capture_output=True, text=True, check=True
    )
    return done.stdout + done.stderr


def test_a_missing_grammar_costs_only_its_own_language():
    said = _child(
        "import sys\n"
        "sys.modules['tree_sitter_css'] = None\n"
        "from braindex.indexing.extract import GrammarUnavailable, extract_entities\n"
        "print([e.name for e in extract_entities('a.py', 'def f(): pass')])\n"
        "page = '<p id=a></p><style>b {}</style><script>function c() {}</script>'\n"
        "print([e.name for e in extract_entities('a.html', page)])\n"
        "try:\n"
        "    extract_entities('a.css', 'b {}')\n"
        "except GrammarUnavailable as error:\n"
        "    print(error)\n"
    )
    assert "['f']" in said
    assert "['#a', 'c']" in said
    assert "the css grammar cannot be used" in said


def test_importing_the_engine_loads_no_grammar():
    said = _child(
        "import sys, braindex.indexing.extract\n"
        "print(sorted(name for name in sys.modules if name.startswith('tree_sitter_')))\n"
    )
    assert said.strip() == "[]"


def test_warnings_as_errors_do_not_stop_the_engine():
    said = _child(
        "import warnings\n"
        "warnings.simplefilter('error')\n"
        "from braindex.indexing.extract import extract_entities\n"
        "print(len(extract_entities('a.py', 'def f(): pass')))\n"
    )
    assert said.strip() == "1"
