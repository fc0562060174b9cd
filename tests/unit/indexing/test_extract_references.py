"""What an entity refers to: calls, imports and base classes by their bare names, with lines."""

import pytest

from braindex.indexing.extract import extract, extract_entities
from braindex.indexing.extract_references import LONGEST_NAME, MOST_NAMES, bare_name
from braindex.indexing.passages import index_file


def references(path: str, source: str) -> dict[str, list[tuple[str, str, int]]]:
    found = extract(path, source)
    named = zip(found.entities, found.references, strict=True)
    return {one.qualified_name: list(refers) for one, refers in named if refers} | {"": list(found.outside)}


def test_python_calls_imports_and_bases_belong_to_the_innermost_entity():
    source = (
        "import os.path as p\n"
        "from .shop import Basket as B, pay\n"
        "class Van(Vehicle, garage.Parked, Generic[T], metaclass=Meta):\n"
        "    @once\n"
        "    @tools.traced(1)\n"
        "    def load(self):\n"
        "        self.open().lift(len(x))\n"
        "        def inner():\n"
        "            weigh()\n"
        "load()\n"
    )
    assert references("a.py", source) == {
        "Van": [("base", "Vehicle", 3), ("base", "Parked", 3), ("base", "Generic", 3)],
        "Van.load": [("call", "once", 4), ("call", "traced", 5), ("call", "open", 7), ("call", "lift", 7), ("call", "len", 7)],
        "Van.load.inner": [("call", "weigh", 9)],
        "": [
            ("import", "path", 1), ("import", "shop", 2), ("import", "Basket", 2), ("import", "pay", 2),
            ("call", "load", 10),
        ],
    }  # fmt: skip


def test_javascript_calls_new_components_and_every_way_to_import():
    source = (
        'import d, {b as c} from "./lib/mod.js"; export * from "pkg";\n'
        'const r = require("../util"); import("./lazy");\n'
        "class A extends X.B { #p() { this.#q(); new Foo.Bar(); new Baz(one => go(one)) } }\n"
        "function C() { return <Comp a={h()}><div/><N.Item/></Comp> }\n"
    )
    found = references("a.jsx", source)
    assert found[""] == [
        ("import", "d", 1), ("import", "b", 1), ("import", "mod", 1), ("import", "pkg", 1),
        ("call", "require", 2), ("import", "util", 2), ("import", "lazy", 2),
    ]  # fmt: skip
    assert found["A"] == [("base", "B", 3)]
    assert found["A.#p"] == [("call", "#q", 3), ("call", "Bar", 3), ("call", "Baz", 3), ("call", "go", 3)]
    assert found["C"] == [("call", "Comp", 4), ("call", "h", 4), ("call", "Item", 4)]


def test_typescript_interfaces_and_classes_name_what_they_derive_from():
    source = "interface I extends J, K<string> {}\nabstract class A<T> extends B<T> implements I, P<T> { @dec() m() { f<T>(1); a?.b?.() } }\n"
    found = references("a.ts", source)
    assert found["I"] == [("base", "J", 1), ("base", "K", 1)]
    assert found["A"] == [("base", "B", 2), ("base", "I", 2), ("base", "P", 2)]
    assert found["A.m"] == [("call", "dec", 2), ("call", "f", 2), ("call", "b", 2)]


def calls(path: str, source: str, name: str) -> list[str]:
    return [called for kind, called, _ in references(path, source)[name] if kind == "call"]


def test_go_calls_generic_functions_and_makes_generic_types() -> None:
    source = (
        "package g\n"
        "func one() { pick[int](1); pair[int, string](2); lib.Each[int](3); (plain)(4); x.walk[int](5) }\n"
        'func two() { _ = []Box[int]{{}}; _ = map[string]*Lid[int]{"a": {}}; _ = [2]lib.Cup{}; _ = new(Jar[int]) }\n'
        "func three() { _ = []byte(text); _ = make([]Tin, 1) }\n"
    )
    assert calls("a.go", source, "one") == ["pick", "pair", "Each", "plain", "walk"]
    assert calls("a.go", source, "two") == ["Box", "Lid", "Cup", "new", "Jar"]
    assert calls("a.go", source, "three") == ["make"]


def test_go_types_derive_from_the_generic_types_they_embed() -> None:
    source = "package g\ntype Box struct { Inner[T]; *Ptr[T]; lib.Ext[T]; *Base; held Other[int] }\ntype R interface { Read[int]; lib.W }\n"
    found = references("a.go", source)
    assert [name for _, name, _ in found["Box"]] == ["Inner", "Ptr", "Ext", "Base"]
    assert [name for _, name, _ in found["R"]] == ["Read", "W"]


def test_a_call_counts_however_it_is_written() -> None:
    source = "function f() { a!(); (b)(); c.call(null); x.d.apply(y); (e as any)(); x.g!(); (x.h)(); new (K)() }\n"
    assert [one for one in calls("a.ts", source, "f") if one not in {"call", "apply"}] == list("abcdeghK")


def test_what_is_passed_on_or_unpacked_from_a_module_is_imported() -> None:
    source = 'export { a, b as c } from "./z";\nexport { d };\nconst { e, f: g } = require("./y");\n'
    imported = [name for kind, name, _ in references("a.js", source)[""] if kind == "import"]
    assert imported == ["a", "b", "z", "e", "f", "y"]


@pytest.mark.parametrize(
    ("path", "source", "bases"),
    [
        ("a.js", "const make = (B, C = D) => { class X extends B {} class Y extends Real {} class Z extends C {} }", {"Real"}),
        ("a.ts", "function make(B: any) { return class X extends B {} }\nclass Y extends B {}", {"B"}),
        ("a.js", "const make = B => class X extends B {}", set()),
        ("a.py", "def make(Base, *, K: int = 1):\n    class X(Base, Real): pass\nclass Y(K): pass", {"Real", "K"}),
    ],
)  # fmt: skip
def test_a_base_that_a_function_is_given_is_no_name_of_anything(path: str, source: str, bases: set[str]) -> None:
    found = references(path, source).values()
    assert {name for some in found for kind, name, _ in some if kind == "base"} == bases


def test_scripts_inside_html_refer_at_the_lines_of_the_page():
    page = "<p>\n<script>\nfunction draw() {\n  paint()\n}\ndraw()\n</script>\n"
    assert references("a.html", page) == {"draw": [("call", "paint", 4)], "": [("call", "draw", 6)]}


def test_each_name_counts_once_a_kind_with_its_first_line():
    assert references("a.py", "def f():\n    g()\n    g()\n    import g\n")["f"] == [
        ("call", "g", 2),
        ("import", "g", 4),
    ]


def test_a_table_of_calls_is_cut():
    source = "def f():\n" + "".join(f"    g{number}()\n" for number in range(MOST_NAMES + 50))
    assert len(references("a.py", source)["f"]) == MOST_NAMES


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a.b.c", "c"), ("'./router/layer.js'", "layer"), ('"pkg"', "pkg"), ("'../'", ""), ("'..'", ""), ("'@scope/kit'", "kit"),
        ("x" * LONGEST_NAME, "x" * LONGEST_NAME), ("x" * (LONGEST_NAME + 1), ""), ("größe", "größe"),
    ],
)  # fmt: skip
def test_names_are_bare(text: str, name: str):
    assert bare_name(text) == name


def test_lines_are_right_behind_a_byte_order_mark_and_windows_line_ends():
    assert references("a.py", "\ufeffdef f():\r\n    g()\r\n")["f"] == [("call", "g", 2)]


def test_the_entities_are_the_same_with_and_without_references():
    source = "class A(B):\n    def f(self): g()\n"
    assert extract("a.py", source).entities == extract_entities("a.py", source)


def test_what_a_file_refers_to_outside_its_entities_is_the_files_own():
    found = {
        one.entity.kind: one.references for one in index_file("a.py", b"import os\nos.walk(1)\n\ndef f():\n    g()\n")
    }
    assert found["file"] == (("import", "os", 1), ("call", "walk", 2))
    assert found["function"] == (("call", "g", 5),)


@pytest.mark.parametrize(("path", "source"), [("a.py", "a.b.()\nload()\n"), ("a.js", "new a.()\nload()\n")])
def test_a_call_whose_name_is_still_being_typed_refers_to_nothing(path: str, source: str) -> None:
    """The parser puts a name of no length where one is missing."""
    assert ("call", "load", 2) in references(path, source)[""]
    assert all(name for _, name, _ in references(path, source)[""])
