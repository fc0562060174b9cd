import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from tree_sitter import Node, Parser, Query, QueryCursor, Tree

from braindex.indexing.extract import TooManyDefinitions, extract_entities
from braindex.indexing.extract_grammars import Grammar, grammar_of
from braindex.indexing.extract_matches import MOST_DEFINITIONS
from braindex.indexing.extract_parse import Budget, ParseTimeout, budget_for, matches, parse
from braindex.languages import LANGUAGES, LanguageSpec
from braindex.languages.html import HTML
from braindex.languages.javascript import JAVASCRIPT
from braindex.languages.python import PYTHON
from braindex.languages.typescript import TSX

SOURCE = Path(__file__).resolve().parents[3] / "src"
SAMPLES = Path(__file__).resolve().parents[2] / "languages"
ENDLESS = b"(c" + b"\n" * 20 + b"}"  # sends the grammar of TSX into an error recovery without end


def nodes(tree: Tree) -> list[tuple[str, int, int]]:
    found = []
    cursor = tree.walk()
    while True:
        if cursor.node is not None:
            found.append((cursor.node.type, cursor.node.start_byte, cursor.node.end_byte))
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return found


def keys(grammar: Grammar, found: Iterable[tuple[int, dict[str, list[Node]]]]) -> list[tuple[int, str]]:
    return sorted(
        (order, repr(sorted((name, [node.id for node in those]) for name, those in captures.items())))
        for order, captures in found
    )


def sample(spec: LanguageSpec, size: int) -> bytes:
    text = (SAMPLES / spec.name / f"sample{spec.suffixes[0]}").read_bytes()
    return text * (size // len(text) + 1)


@pytest.mark.parametrize("spec", LANGUAGES, ids=lambda spec: spec.name)
def test_a_parse_in_steps_gives_the_tree_of_a_parse_in_one_go(spec):
    grammar, data = grammar_of(spec), spec.prepare(sample(spec, 100_000))
    stepwise = parse(grammar, data, budget_for(len(data)))
    assert nodes(stepwise) == nodes(Parser(grammar.language).parse(data))


@pytest.mark.parametrize("spec", [PYTHON, JAVASCRIPT, TSX, HTML], ids=lambda spec: spec.name)
def test_a_broken_text_gives_the_same_tree_each_time(spec):
    data = sample(spec, 60_000).replace(b")", b"", 300).replace(b'"', b"", 7).replace(b">", b"", 9)
    first, second = (parse(grammar_of(spec), data, budget_for(len(data))) for _ in range(2))
    assert first.root_node.has_error
    assert nodes(first) == nodes(second)


@pytest.mark.parametrize("spec", LANGUAGES, ids=lambda spec: spec.name)
def test_a_search_level_by_level_finds_what_a_search_in_one_go_finds(spec):
    grammar, data = grammar_of(spec), spec.prepare(sample(spec, 50_000))
    root = parse(grammar, data, budget_for(len(data))).root_node
    found = keys(grammar, list(matches(grammar, root, budget_for(len(data)))))
    assert found
    assert found == keys(grammar, QueryCursor(grammar.query).matches(root))


def test_a_search_level_by_level_keeps_to_its_node():
    data = b"def f(): pass\n" * 3_000
    tree = parse(grammar_of(PYTHON), data, budget_for(len(data)))
    first = tree.root_node.children[0]
    assert len(list(matches(grammar_of(PYTHON), first, budget_for(20)))) == 1


@pytest.mark.parametrize(("spec", "data"), [(PYTHON, b"x = 1\n" * 100_000), (TSX, ENDLESS)], ids=["large", "endless"])
def test_a_parse_past_its_time_is_an_error_and_the_next_one_works(spec, data):
    grammar = grammar_of(spec)
    with pytest.raises(ParseTimeout, match=r"longer than 0\.02 s"):
        parse(grammar, data, Budget(0.02))
    assert parse(grammar, b"(c)", budget_for(3)).root_node.child_count == 1


def test_a_search_past_its_time_is_an_error():
    root = parse(grammar_of(PYTHON), b"x = 1\n" * 50_000, budget_for(300_000)).root_node
    with pytest.raises(ParseTimeout):
        list(matches(grammar_of(PYTHON), root, Budget(0)))


class AskedBudget(Budget):
    """Remembers what it was asked for, and what was left then."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.asked: list[tuple[float, float]] = []

    def check(self, needed: float = 0.0) -> None:
        self.asked.append((needed, self.left()))
        super().check(needed)


def test_a_search_that_needs_more_than_is_left_is_not_begun_anew():
    """Here a list of names, each tried against all after it, in a query made for the purpose."""
    data = b"f(" + b"a, " * 6_000 + b"1)"
    language = grammar_of(PYTHON).language
    query = Query(language, "(argument_list (identifier) @name (string) @definition.function)")
    budget = AskedBudget(0.8)
    with pytest.raises(ParseTimeout):
        list(matches(Grammar(language, query, ()), parse(grammar_of(PYTHON), data, budget).root_node, budget))
    *before, (needed, left) = budget.asked
    assert left < needed
    assert all(needed < left for needed, left in before)


def test_a_list_of_thousands_of_names_is_searched_in_linear_time():
    names = ", ".join(f"a{number}" for number in range(5_000))
    assert len(extract_entities("a.go", f"package a\n\nvar {names} = f()\n")) >= 5_000


def test_a_file_that_the_grammar_cannot_get_out_of_is_an_error_that_names_the_next_step():
    with pytest.raises(ParseTimeout, match=r"\.memignore"):
        extract_entities("a.tsx", ENDLESS)


@pytest.mark.parametrize("opening", ["({[", "x={a:", "A<"])
def test_brackets_that_are_never_closed_are_counted_before_they_are_parsed(opening):
    with pytest.raises(ParseTimeout, match="never closed"):
        extract_entities("a.ts", opening * 200_000)


def test_deep_nesting_that_is_closed_is_parsed():
    source = "function a(){" * 20_000 + "}" * 20_000
    assert len(extract_entities("a.js", source)) == 20_000


def test_a_chain_that_holds_a_match_open_at_each_level_is_searched_in_linear_time():
    """In one go each of the 100,000 nodes would be tried against each of the matches begun above it."""
    [entity] = extract_entities("a.js", "a=" * 100_000 + "function b(){}")
    assert entity.name


def test_a_page_of_thousands_of_styles_is_prepared_once():
    page = "<style>a{}</style>" * 4_000 + "<p>" + "x " * 300_000 + "</p>"
    assert len(extract_entities("a.html", page)) == 4_000


@pytest.mark.parametrize("path", ["a.css", "a.html"])
def test_a_file_of_endless_definitions_is_data(path):
    rules = "a{}" * (MOST_DEFINITIONS + 1)
    with pytest.raises(TooManyDefinitions, match="50,000"):
        extract_entities(path, rules if path == "a.css" else f"<style>{rules}</style>")


@pytest.mark.skipif(sys.platform == "win32", reason="needs an alarm signal")
def test_an_interrupt_ends_a_parse_that_would_not_end_and_leaves_the_parser_clean():
    code = (
        "import signal\n"
        "from braindex.indexing.extract_grammars import grammar_of\n"
        "from braindex.indexing.extract_parse import Budget, parse\n"
        "from braindex.languages.typescript import TSX\n"
        "grammar_of(TSX)\n"
        "def interrupt(*_): raise KeyboardInterrupt\n"
        "signal.signal(signal.SIGALRM, interrupt)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.2)\n"
        "try:\n"
        f"    parse(grammar_of(TSX), {ENDLESS!r}, Budget(3600))\n"
        "except KeyboardInterrupt:\n"
        "    print(parse(grammar_of(TSX), b'(c)', Budget(10)).root_node.child_count)\n"
    )
    env = {"PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "1"
