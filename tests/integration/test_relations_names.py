"""Which entities a name means, and what is said where it means several."""

import unicodedata

import pytest
from tests.conftest import ask, scanned

from braindex.domain.relations import relatives_lines
from braindex.services.related import MOST_DEFINITIONS

SHOP = {
    "garage/base.go": "package garage\n\ntype Base struct{}\n\nfunc (b Base) Bark() {}\n",
    "shop/base.py": "class Base:\n    def run(self):\n        pass\n\n\nclass Lone:\n    pass\n",
    "shop/child.py": "from shop.base import Base\n\n\nclass Child(Base):\n    def run(self):\n        café()\n\n\ndef café():\n    pass\n",
    "shop/kit/__init__.py": "def pack():\n    pass\n",
    "use.py": "from shop.kit import pack\nfrom shop import base\n\n\ndef use():\n    pack()\n",
    "web/kit.js": "export function pack() {}\n",
    "web/app.js": 'import { pack } from "./kit";\npack();\n',
}  # fmt: skip


@pytest.fixture
def workspace(app, make_project):
    return scanned(app, make_project(SHOP))


def answered(app, workspace, question: str) -> list[str]:
    related = ask(app, workspace, question).related
    assert related is not None
    return relatives_lines(related)


def places(relatives) -> list[tuple[str, str]]:
    return [(one.name, one.path) for one in relatives.found]


def test_a_question_is_answered_for_every_definition_of_its_name(app, workspace):
    assert answered(app, workspace, "methods of Base") == [
        "`Base` #garage/base.go:3",
        "members, by name:",
        "  `Bark` #garage/base.go:5",
        "",
        "`Base` #shop/base.py:1",
        "members, by name:",
        "  `run` #shop/base.py:2",
    ]


def test_a_definition_of_which_there_is_nothing_to_say_is_counted_and_can_be_named(app, workspace):
    assert answered(app, workspace, "who extends Base") == [
        "`Base` #shop/base.py:1",
        "derived by, by name:",
        "  `Child` #shop/child.py:4",
        "",
        "… and 1 more definition of this name; a class or a file before it means fewer: `garage.Base`",
    ]
    assert answered(app, workspace, "who extends garage.Base") == [
        "`Base` #garage/base.go:3",
        "nothing in this workspace derives from it by name",
    ]


def test_definitions_that_are_called_by_the_same_are_answered_for_together(app, make_project):
    root = make_project({"a.py": "def go(): pass\n", "b.py": "def go(): pass\n", "c.py": "def use(): go()\n"})
    assert answered(app, scanned(app, root), "who calls go") == [
        "`go` #a.py:1",
        "`go` #b.py:1",
        "called by, by name:",
        "  `use` #c.py:1",
    ]


def test_who_imports_a_name_asks_for_the_module_of_that_name(app, workspace):
    assert answered(app, workspace, "who imports base") == [
        "`base.py` #shop/base.py:1",
        "imported by, by name:",
        "  `child.py` #shop/child.py:1",
        "  `use.py` #use.py:2",
    ]
    assert answered(app, workspace, "who imports kit") == [
        "`__init__.py` #shop/kit/__init__.py:1",
        "imported by, by name:",
        "  `use.py` #use.py:1",
        "",
        "`kit.js` #web/kit.js:1",
        "imported by, by name:",
        "  `app.js` #web/app.js:1",
    ]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Child#run", [("run", "shop/child.py")]),
        ("Child::run", [("run", "shop/child.py")]),
        ("shop.base.Base", [("Base", "shop/base.py")]),
        ("base.Base.run", [("run", "shop/base.py")]),
        ("garage.Base", [("Base", "garage/base.go")]),
        ("shop.kit.pack", [("pack", "shop/kit/__init__.py")]),
        ("shop/base.Lone", [("Lone", "shop/base.py")]),
        ("base.py", [("base.py", "shop/base.py")]),
        ("web/kit.js", [("kit.js", "web/kit.js")]),
        ("shop.kit", [("__init__.py", "shop/kit/__init__.py")]),
        ("lone", [("Lone", "shop/base.py")]),
        (unicodedata.normalize("NFD", "café"), [("café", "shop/child.py")]),
    ],
)
def test_a_name_is_understood_with_as_much_of_its_place_as_is_given(app, workspace, name, meant):
    assert places(app.relations.of(workspace, name)) == meant


def test_a_file_has_what_it_defines_and_who_imports_it(app, workspace):
    [found] = app.relations.of(workspace, "shop/base.py").found
    assert [one.name for one in found.links["members"]] == ["Base", "Lone"]
    assert [(one.name, one.line) for one in found.links["importers"]] == [("child.py", 1), ("use.py", 2)]


def test_of_many_definitions_those_with_something_to_say_come_first_and_the_rest_is_counted(app, make_project):
    source = "".join(f"class C{number}:\n    def same(self): pass\n" for number in range(40))
    root = make_project({"a.py": source, "b.py": "class Last:\n    def same(self): go()\ndef go(): pass\n"})
    workspace = scanned(app, root)
    found = app.relations.of(workspace, "same")
    assert (len(found.found), found.definitions) == (MOST_DEFINITIONS, 41)
    assert places(found)[0] == ("same", "b.py")
    assert relatives_lines(found)[-1] == (
        "… and 36 more definitions of this name; a class or a file before it means fewer: `a.C4.same`"
    )
    assert places(app.relations.of(workspace, "a.C4.same")) == [("same", "a.py")]


def test_what_refers_to_a_name_is_counted_to_the_last(app, make_project):
    source = "".join(f"def f{number}(): go()\n" for number in range(2_500))
    [found] = app.relations.of(scanned(app, make_project({"a.py": f"{source}def go(): pass\n"})), "go", 3).found
    assert [one.name for one in found.links["callers"]] == ["f0", "f1", "f2"]
    assert found.left_out == {"callers": 2_497}
