"""Code in the middle of an edit: what is defined after the place that is being typed is still found."""

import pytest
import tree_sitter_javascript
from tree_sitter import Language, Parser

from braindex.indexing.extract import extract_entities
from braindex.indexing.extract_parse import children

COUNT = 12
BROKEN = 4  # the function that is being typed


def _names(path: str, text: str) -> set[str]:
    return {one.qualified_name for one in extract_entities(path, text)}


def _others() -> set[str]:
    return {f"f{number}" for number in range(COUNT) if number != BROKEN}


def _python(broken: str, before: str = "") -> str:
    whole = '{before}def f{number}(a):\n    """Doc {number}."""\n    return {number}\n\n\n'
    return "".join(
        before + broken if number == BROKEN else whole.format(before=before, number=number) for number in range(COUNT)
    )


def _braces(broken: str, head: str = "function f{number}(a)") -> str:
    whole = "// F{number} does.\n" + head + " {{\n  return {number}\n}}\n\n"
    return "".join(broken if number == BROKEN else whole.format(number=number) for number in range(COUNT))


@pytest.mark.parametrize("before", ["", "@cached\n", "@app.route(\n    '/x',\n)\n"])
@pytest.mark.parametrize(
    "broken",
    [
        "def f4(a):\n    return foo(bar,\n\n\n",
        "def f4(a,\n    return 1\n\n\n",
        "def f4(a):\n    x = [1, {2: (\n\n\n",
        'def f4(a):\n    return f"""{a\n\n\n',
        'def f4(a):\n    """Never closed.\n    return 1\n\n\n',
        "def f4(a):\n    with open(\n\n\n",
    ],
)
def test_what_is_left_open_in_python_hides_no_other_function(broken, before):
    found = {one.qualified_name: one for one in extract_entities("a.py", _python(broken, before))}
    assert _others() <= found.keys()
    assert found["f5"].docstring == "Doc 5."
    assert len(found["f5"].decorators) == bool(before)


def test_what_is_being_typed_ends_where_the_next_definition_begins():
    text = _python("def f4(a):\n    return foo(bar,\n\n\n")
    (found,) = [one for one in extract_entities("a.py", text) if one.name == "f4"]
    assert (found.line, found.end_line) == (21, 22)


@pytest.mark.parametrize("suffix", ["js", "jsx", "ts", "tsx"])
@pytest.mark.parametrize("export", ["", "export "])
@pytest.mark.parametrize(
    "body", ["  if (a) {\n    return\n\n", "  return foo(bar,\n\n", "  return `a ${b\n\n", "  x = { a: 1,\n\n"]
)
def test_what_is_left_open_in_javascript_and_typescript_hides_no_other_function(suffix, export, body):
    text = _braces(f"{export}function f4(a) {{\n{body}", export + "function f{number}(a)")
    found = {one.qualified_name: one for one in extract_entities(f"a.{suffix}", text)}
    assert _others() <= found.keys()
    assert found["f5"].docstring == "F5 does."


@pytest.mark.parametrize("body", ["\tif a {\n\treturn\n\n", "\tfoo(bar,\n\n", "\tx := []int{1,\n\n"])
def test_what_is_left_open_in_go_hides_no_other_function(body):
    text = "package p\n\n" + _braces("func f4(a int) {\n" + body, "func f{number}(a int) int")
    assert _others() <= _names("a.go", text)


def test_a_definition_in_a_string_stays_text_when_other_code_is_broken():
    quoted = 'SOURCE = """\ndef inside():\n    pass\n\n\nclass Inside:\n    pass\n"""\n\n\n'
    found = _names("a.py", quoted + _python("def f4(a):\n    return foo(bar,\n\n\n") + quoted)
    assert _others() <= found
    assert not {"inside", "Inside"} & found


def test_functions_that_a_module_wraps_without_indenting_them_stay_where_they_are():
    text = (
        "var app = {}\n;(function () {\nfunction first() {\n  return 1\n}\nfunction second() {\n  return foo(1, , 2)\n}\n"
        "})()\n"
    )
    found = extract_entities("a.js", text)
    assert [(one.qualified_name, one.line, one.end_line) for one in found if one.kind == "function"] == [
        ("first", 3, 5),
        ("second", 6, 8),
    ]


def test_hundreds_of_broken_places_in_one_file_cost_only_themselves():
    text = "".join(f"def f{number}(a):\n    return {number if number % 2 else '('}\n\n\n" for number in range(1_000))
    assert {f"f{number}" for number in range(1, 1_000, 2)} <= _names("a.py", text)


def test_more_lost_places_than_a_source_file_has_are_left_as_the_grammar_reads_them():
    assert extract_entities("a.py", 'class A"""\n' * 6_000) == []


def test_the_children_of_a_node_are_all_there_in_order():
    parser = Parser(Language(tree_sitter_javascript.language()))
    for text in (b"f(1, 2)\ng()\n", b"((((", b"class A { a( { }", b""):
        root = parser.parse(text).root_node
        assert [one.id for one in children(root)] == [one.id for one in root.children]
