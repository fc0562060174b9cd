import sys
from pathlib import PurePosixPath

import pytest

from braindex.domain.entities import CodeEntity
from braindex.indexing.extract import extract_entities, language_of


def _lines(path: str, source: str | bytes) -> list[tuple[str, int, int]]:
    return [(entity.name, entity.line, entity.end_line) for entity in extract_entities(path, source)]


def _only(path: str, source: str | bytes, name: str) -> CodeEntity:
    (found,) = [entity for entity in extract_entities(path, source) if entity.name == name]
    return found


def test_the_language_of_a_path_is_told_by_its_suffix():
    assert language_of("src/App.tsx") == "tsx"
    assert language_of("Makefile") is None


def test_a_file_of_an_unknown_suffix_has_no_entities():
    assert extract_entities("a.rs", "fn main() {}") == []


def test_an_empty_file_has_no_entities():
    assert extract_entities("a.py", b"") == []
    assert extract_entities("a.md", "\ufeff") == []


def test_a_path_may_be_a_path_object_and_is_carried_with_slashes():
    assert extract_entities(PurePosixPath("src/a.py"), "def f(): pass")[0].path == "src/a.py"


# -- text ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_an_editor_counts_them(end: str):
    source = end.join(["def one():", "    pass", "", "class Two:", "    def three(self):", "        pass", ""])
    assert _lines("a.py", source) == [("one", 1, 2), ("Two", 4, 6), ("three", 5, 6)]


def test_mixed_line_ends_are_counted_one_by_one():
    assert _lines("a.js", "function a() {\r}\nfunction b() {\r\n}\r\rfunction c() {}") == [
        ("a", 1, 2),
        ("b", 3, 4),
        ("c", 6, 6),
    ]


def test_bytes_that_are_not_utf8_do_not_stop_the_rest():
    found = extract_entities("a.py", b"# \xff\xfe\ndef caf\xe9(): pass\ndef good(): pass\n")
    assert found[-1].name == "good"
    assert found[-1].line == 3


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.js", b"const a\xff = require\xff('b'); x\xff.y = () => 1"),
        ("a.html", b"<h\xe91 \xffid='a\xff'>b\xff</h1>"),
        ("a.css", b":r\xffoot { --a\xff: 1 }"),
        ("a.py", b"class A:\n    \xc3B\xff: \xff = 1\n"),
    ],
)
def test_names_that_are_not_utf8_do_not_raise(path: str, source: bytes):
    for entity in extract_entities(path, source):
        assert "\ufffd" in entity.signature or entity.name.isascii()


def test_lone_surrogates_in_text_do_not_raise():
    assert [entity.line for entity in extract_entities("a.py", "x = '\ud800'\ndef f(): pass")] == [1, 2]


def test_offsets_are_those_of_the_utf8_bytes():
    source = "# é 🚀\ndef größe(): return 1\n"
    entity = _only("a.py", source, "größe")
    assert source.encode()[entity.start : entity.end].decode() == "def größe(): return 1"


def test_offsets_count_the_byte_order_mark():
    source = "\ufeffdef f(): pass".encode()
    entity = _only("a.py", source, "f")
    assert source[entity.start : entity.end] == b"def f(): pass"


def test_the_span_holds_decorators_while_the_line_is_the_definitions_own():
    source = "@a\n@b(\n  1)\n# between\nclass C:\n    pass\n"
    entity = _only("a.py", source, "C")
    assert (entity.line, entity.end_line) == (5, 6)
    assert source[entity.start : entity.end] == "@a\n@b(\n  1)\n# between\nclass C:\n    pass"
    assert entity.decorators == ("a", "b(1)")


def test_an_abstract_class_that_is_exported_without_a_name_is_a_class():
    source = "export default abstract class extends Base<T> {\n  run(): void {}\n}\n"
    assert [(one.kind, one.qualified_name, one.signature) for one in extract_entities("a.ts", source)] == [
        ("class", "default", "export default abstract class extends Base<T>"),
        ("method", "default.run", "run(): void"),
    ]


@pytest.mark.parametrize("selector", [".theme-dark &", "p > & + b & .c", "a[href] &", "& + &", "&:hover", "& .child"])
def test_a_nested_selector_is_named_as_written_wherever_its_parent_stands_in_it(selector: str):
    source = f".card {{\n  color: red;\n  {selector} {{ color: blue; }}\n  & .last {{ top: 0 }}\n}}\n"
    assert [(one.name, one.parent, one.line) for one in extract_entities("a.css", source)] == [
        (".card", "", 1),
        (selector, ".card", 3),
        ("& .last", ".card", 4),
    ]


def test_the_span_of_an_exported_class_holds_what_leads_up_to_it():
    source = "@Injectable()\nexport class Service {\n  @Get('/') list() {}\n}\n"
    service, listed = extract_entities("a.ts", source)
    assert (service.line, service.start, service.signature) == (2, 0, "export class Service")
    assert (listed.line, listed.decorators) == (3, ("Get('/')",))
    assert source[listed.start : listed.end] == "@Get('/') list() {}"


# -- many, deep, long ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "one", "between", "around"),
    [
        ("a.js", "function f{}(){{}}", " ", ("", "")),
        ("a.js", "f{}=()=>1", ",", ("const ", ";")),
        ("a.js", "f{}(a){{}}", " ", ("class A {", "}")),
        ("a.ts", "f{}(a){{}}", ",", ("export const a = {", "}")),
        ("a.css", ".f{}{{a:b}}", "", ("", "")),
        ("a.html", "<p id=f{}></p>", "", ("", "")),
    ],
    ids=["functions", "declarators", "methods", "members", "rules", "elements"],
)
def test_seven_thousand_definitions_on_one_line_are_as_many_entities(
    path: str, one: str, between: str, around: tuple[str, str]
):
    source = around[0] + between.join(one.format(number) for number in range(7000)) + around[1]
    found = [entity for entity in extract_entities(path, source) if entity.name.lstrip(".#")[:1] == "f"]
    assert len({entity.name for entity in found}) == 7000
    assert {entity.line for entity in found} == {1}


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.js", "{" * 16384),
        ("a.js", "{" * 16384 + "}" * 16384),
        ("a.js", "function f(){" * 16384 + "}" * 16384),
        ("a.ts", "`${" * 4096),
        ("a.tsx", "<a>" * 16384),
        ("a.css", "a{" * 16384),
        ("a.py", "[" * 16384 + "]" * 16384),
        ("a.py", "".join(" " * depth + "def f():\n" for depth in range(900)) + " " * 900 + "pass"),
        ("a.html", "<div>" * 1500 + "</div>" * 1500),
        ("a.html", "<textarea>" * 20000),
        ("a.md", ">" * 20000 + " x"),
        ("a.md", "- " * 5000 + "x"),
    ],
)
def test_deep_nesting_ends_well(path: str, source: str):
    for entity in extract_entities(path, source):
        assert len(entity.qualified_name) < 1000


@pytest.mark.parametrize("path", ["a.md", "a.html", "a.py"])
def test_a_line_of_megabytes_ends_well(path: str):
    assert extract_entities(path, "a" * 4_500_000) == []


def test_what_encloses_a_deep_definition_is_still_named():
    depth = 3000
    found = extract_entities("a.js", "function outer(){" * depth + "function last(){}" + "}" * depth)
    assert len(found) == depth + 1
    assert (found[-1].name, found[-1].parent) == ("last", "outer")
    assert len({(entity.qualified_name, entity.ordinal) for entity in found}) == depth + 1


def test_a_signature_and_a_name_have_a_longest_length():
    (function,) = extract_entities("a.js", "function f(" + ",".join(f"a{n}" for n in range(50000)) + "){}")
    assert function.param_count == 50000
    assert len(function.signature) <= 1000
    (rule,) = extract_entities("a.css", ".a " * 50000 + "{}")
    assert len(rule.name) <= 500


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.md", "# " + "`" * 5000 + "\n"),
        ("a.md", "# " + "[" * 3000 + "*" * 3000 + "\n"),
        ("a.js", "/*" + "*" * 100_000 + "/\nfunction f() {}"),
        ("a.ts", "function f(" + "\n" * 50_000 + "a = 1) {}"),
        ("a.html", "<h1>" + "- " * 5000 + "</h1>"),
        ("a.css", "@" + "a" * 300_000),
        ("a.py", "# " + "-" * 100_000 + "\nX = 1\n"),
    ],
)
def test_long_runs_of_one_mark_end_well(path: str, source: str):
    assert len(extract_entities(path, source)) <= 1


def test_white_space_of_a_megabyte_before_a_definition_costs_nothing():
    assert _lines("a.py", "\n" * 1_000_000 + "def f(): pass") == [("f", 1_000_001, 1_000_001)]


# -- names, parents, ordinals ----------------------------------------------------------------------------------------


def test_definitions_of_one_name_are_numbered_in_source_order():
    source = "if a:\n    def f(): pass\nelse:\n    def f(): pass\nclass f: pass\n"
    assert [(entity.kind, entity.ordinal) for entity in extract_entities("a.py", source)] == [
        ("function", 0),
        ("function", 1),
        ("class", 0),
    ]


def test_grouped_declarations_are_siblings_with_spans_of_their_own():
    first, second = extract_entities("a.js", "// about a\nexport const a = () => {}, b = function () { }")
    assert (first.parent, second.parent) == ("", "")
    assert first.end <= second.start
    assert (first.docstring, second.docstring) == ("about a", "")


def test_an_owner_that_is_written_out_is_the_parent():
    source = "function K() { this.a = function () {} }\nK.prototype.b = () => {}\nx.y.c = function () {}\n"
    found = {entity.name: (entity.parent, entity.qualified_name) for entity in extract_entities("a.js", source)}
    assert found["a"] == ("K", "K.a")
    assert found["b"] == ("K", "K.b")
    assert found["c"] == ("y", "x.y.c")


def test_a_function_expression_bound_to_a_name_is_one_entity():
    assert _lines("a.js", "const a = function inner() {}") == [("a", 1, 1)]


def test_only_variables_of_the_module_are_entities():
    assert _lines("a.js", "const a = 1; function f() { const b = 2 }") == [("a", 1, 1), ("f", 1, 1)]
    assert _lines("a.py", "a = 1\ndef f():\n    b = 2\n") == [("a", 1, 1), ("f", 2, 3)]


def test_what_a_module_imports_is_not_defined_there():
    assert extract_entities("a.js", "const a = require('a'), { b } = require('b')") == []
    assert extract_entities("a.py", "import a\nfrom b import c as d\n") == []


def test_a_constant_is_told_by_its_name_or_its_annotation():
    kinds = {entity.name: entity.kind for entity in extract_entities("a.py", "A_B = 1\nc: Final = 2\nd = 3\ne_F = 4\n")}
    assert kinds == {"A_B": "constant", "c": "constant", "d": "variable", "e_F": "variable"}


# -- documentation ---------------------------------------------------------------------------------------------------


def test_adjacent_comments_document_what_follows():
    source = "/* a licence */\n\n// One.\n// Two.\nfunction f() {}\n"
    assert _only("a.js", source, "f").docstring == "One.\nTwo."


@pytest.mark.parametrize(
    "source",
    ["// far\n\nfunction f() {}", "let a = 1 // of a\nfunction f() {}", "/* inline */ let b; function f() {}"],
)
def test_a_comment_elsewhere_documents_nothing_else(source: str):
    assert _only("a.js", source, "f").docstring == ""


def test_the_stars_of_a_comment_are_not_its_text():
    source = "/**\n * Adds.\n *\n *   * a list\n * @param a the first\n **/\nfunction f(a) {}"
    assert _only("a.js", source, "f").docstring == "Adds.\n\n  * a list\n@param a the first"


def test_ruled_lines_are_not_documentation():
    assert _only("a.ts", "////////////\n// Types\n//----------\ntype A = 1", "A").docstring == "Types"


def test_a_python_function_is_documented_by_its_docstring_alone():
    found = extract_entities("a.py", "# not it\ndef f(): 'Doc.'\n# it\nX = 1\n")
    assert [entity.docstring for entity in found] == ["Doc.", "it"]


def test_a_comment_before_an_element_documents_it():
    assert _only("a.html", "<!-- The\n  menu -->\n<nav></nav>", "nav").docstring == "The\n  menu"


# -- signatures ------------------------------------------------------------------------------------------------------


def test_a_signature_is_as_written_on_one_line_without_comments():
    source = "def f(\n    a,  # the a\n    *,\n    b: str = '( ',\n) -> dict[\n    str, int\n]:  # why\n    pass\n"
    entity = _only("a.py", source, "f")
    assert entity.signature == "def f(a, *, b: str = '( ') -> dict[str, int]"
    assert entity.return_type == "dict[str, int]"
    assert entity.param_count == 2


@pytest.mark.parametrize(
    ("path", "source", "count"),
    [
        ("a.py", "class A:\n    def f(self, /, a, *b, c=1, **d): pass", 4),
        ("a.py", "class A:\n    @classmethod\n    def f(cls): pass", 0),
        ("a.py", "class A:\n    @staticmethod\n    def f(a): pass", 1),
        ("a.py", "def f(self, a): pass", 2),
        ("a.py", "class A:\n    def g(self):\n        def f(cls): pass", 1),
        ("a.py", "def f(a, \\\n  b): pass", 2),
        ("a.js", "const f = a => a", 1),
        ("a.js", "function f({ a, b }, ...c) {}", 2),
        ("a.ts", "function f(this: Window, a?: number): void {}", 1),
        ("a.ts", "const f = async () => {}", 0),
    ],
)
def test_parameters_are_those_a_caller_passes(path: str, source: str, count: int):
    assert _only(path, source, "f").param_count == count


def test_a_class_has_no_parameter_count():
    assert _only("a.py", "class A(B): pass", "A").param_count is None


# -- documents -------------------------------------------------------------------------------------------------------


def test_a_comment_in_a_code_fence_is_not_a_heading():
    found = extract_entities("a.md", "# Real\n```sh\n# comment\n```\n    # indented\n")
    assert [(entity.kind, entity.name) for entity in found] == [("heading", "Real"), ("code-block", "sh")]


def test_headings_of_both_styles_make_one_outline():
    source = "Top\n===\n\nSub\n---\n\n### Deep\n\nOther\n-----\n\n# Next\n"
    assert [(entity.qualified_name, entity.parent) for entity in extract_entities("a.md", source)] == [
        ("Top", ""),
        ("Top > Sub", "Top"),
        ("Top > Sub > Deep", "Sub"),
        ("Top > Other", "Top"),
        ("Next", ""),
    ]


def test_a_heading_ends_before_the_next_heading():
    assert _lines("a.md", "# A\n\ntext\n\n## B\ntext\n\n# C\nlast\n") == [("A", 1, 4), ("B", 5, 7), ("C", 8, 9)]


def test_front_matter_is_one_entity_and_not_a_heading():
    found = extract_entities("a.md", "---\ntitle: x\n---\n\n# A\n")
    assert [(entity.kind, entity.line, entity.end_line) for entity in found] == [
        ("front-matter", 1, 3),
        ("heading", 5, 5),
    ]


def test_scripts_and_styles_in_a_page_are_read_in_their_own_language():
    source = "<p>\n<script>\nfunction f() {\n}\n</script>\n<style>\n.a { b: c }\n</style>\n"
    found = extract_entities("a.html", source)
    assert [(entity.language, entity.name, entity.line, entity.end_line) for entity in found] == [
        ("javascript", "f", 3, 4),
        ("css", ".a", 7, 7),
    ]
    assert {entity.path for entity in found} == {"a.html"}


@pytest.mark.parametrize("kind", ["application/json", "text/template", "importmap"])
def test_a_script_of_another_type_is_not_read_as_code(kind: str):
    assert extract_entities("a.html", f'<script type="{kind}">function f() {{}}</script>') == []


def test_two_scripts_may_define_the_same_name():
    found = extract_entities("a.html", "<script>function f() {}</script><script>function f() {}</script>")
    assert [entity.ordinal for entity in found] == [0, 1]


def test_the_recursion_limit_plays_no_part():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200)
    try:
        found = extract_entities("a.js", "function f(){" * 2000 + "}" * 2000)
    finally:
        sys.setrecursionlimit(limit)
    assert len(found) == 2000


def test_a_function_that_go_keeps_in_a_variable_is_found_once() -> None:
    source = "package p\n\nvar load = func(sack int) bool { return true }\n\nvar x, y = 1, 2\n"
    assert [(one.kind, one.name, one.param_count) for one in extract_entities("a.go", source)] == [
        ("function", "load", 1),
        ("variable", "x", None),
        ("variable", "y", None),
    ]


@pytest.mark.parametrize(
    ("line", "name"),
    [("## Two #", "Two"), ("#### Four ####", "Four"), ("# C#", "C#"), ("# a # b", "a # b"), ("## `x #`", "x #")],
)
def test_the_closing_signs_of_a_heading_are_no_part_of_its_name(line, name):
    assert [one.name for one in extract_entities("a.md", f"{line}\n")] == [name]


@pytest.mark.parametrize("text", ["About C #\n=========\n", "- [ ] About C #\n"])
def test_only_headings_of_one_line_have_closing_signs(text):
    assert [one.name for one in extract_entities("a.md", text)] == ["About C #"]


def test_accessors_without_a_body_are_accessors():
    text = "interface A { get size(): number; set size(v); get(): void }\ndeclare class B { get size(): number }\n"
    assert [(one.kind, one.qualified_name) for one in extract_entities("a.ts", text)] == [
        ("interface", "A"),
        ("getter", "A.size"),
        ("setter", "A.size"),
        ("method", "A.get"),
        ("class", "B"),
        ("getter", "B.size"),
    ]


def test_elements_whose_end_is_left_out_are_found_by_their_start():
    text = "<!doctype html>\n<html lang=en>\n<body id=b>\n<main>\n<h1>Head</h1>\n<my-part>\n<p id=p>x\n"
    assert [(one.qualified_name, one.line) for one in extract_entities("a.html", text)] == [
        ("#b", 3),
        ("main", 4),
        ("Head", 5),
        ("my-part", 6),
        ("#p", 7),
    ]
