"""What the languages have in common and what keeps them apart: members, bases, and references across files."""

from collections.abc import Callable, Mapping

import pytest
from tests.conftest import scanned

from braindex.domain.relations import Related


@pytest.fixture
def related(app, make_project) -> Callable[..., Related]:
    def of(name: str, files: Mapping[str, str]) -> Related:
        found: Related = app.relations.of(scanned(app, make_project(files)), name).found[0]
        return found

    return of


def names(found: Related, relation: str) -> list[str]:
    return [one.name for one in found.links.get(relation, ())]


def places(found: Related, relation: str) -> list[tuple[str, int]]:
    return [(one.path, one.line) for one in found.links.get(relation, ())]


def test_methods_of_a_go_type_are_its_members_wherever_in_its_package_they_stand(related):
    dog = related(
        "Dog",
        {
            "zoo/dog.go": "package zoo\n\ntype Dog struct{}\n\nfunc (d *Dog) Bark() {}\n",
            "zoo/walk.go": "package zoo\n\nfunc (d Dog) Walk() {}\n",
            "zoo/inner/dog.go": "package inner\n\ntype Dog struct{}\n\nfunc (d Dog) Hide() {}\n",
        },
    )
    assert (dog.path, names(dog, "members")) == ("zoo/dog.go", ["Bark", "Walk"])


def test_what_a_prototype_is_given_is_a_member_in_the_same_file(related):
    shelf = related(
        "Shelf",
        {
            "a.js": "function Shelf() { this.put = function () {} }\nShelf.prototype.take = function () {}\nShelf.of = () => 1\n",
            "b.js": "Shelf.prototype.other = function () {}\n",
        },
    )
    assert names(shelf, "members") == ["put", "take", "of"]


def test_a_nested_class_of_the_same_name_keeps_its_members_to_itself(related):
    source = "class A:\n    class Meta:\n        def one(self): pass\nclass B:\n    class Meta:\n        def two(self): pass\n"
    assert names(related("A.Meta", {"a.py": source}), "members") == ["one"]


def test_a_class_of_javascript_may_derive_from_a_function_or_a_variable(related):
    source = "function Old() {}\nconst Made = mixed(Old);\nclass New extends Old {}\nclass Newer extends Made {}\n"
    assert places(related("New", {"a.js": source}), "bases") == [("a.js", 1)]
    assert names(related("Old", {"a.js": source}), "derived") == ["New"]
    assert names(related("Made", {"a.js": source}), "derived") == ["Newer"]


def test_a_class_of_python_may_derive_from_a_variable_and_never_from_a_function(related):
    source = "Base = made()\ndef function(): pass\nclass One(Base): pass\nclass Two(function): pass\n"
    assert names(related("Base", {"a.py": source}), "derived") == ["One"]
    assert [(one.name, one.path) for one in related("Two", {"a.py": source}).links["bases"]] == [("function", "")]


def test_only_types_derive(related):
    source = "class Base {}\nconst mixin = () => class extends Base {};\nclass Sub extends Base {}\n"
    assert names(related("Base", {"a.js": source}), "derived") == ["Sub"]
    assert "bases" not in related("mixin", {"a.js": source}).links


def test_references_stay_within_the_languages_that_can_mean_each_other(related):
    files = {
        "a.go": 'package g\n\nimport h "example.com/x/helper"\n\ntype Base struct{}\n\nfunc use() { helper() }\n',
        "b.ts": 'import { helper } from "./lib";\nclass X extends Base {}\nhelper();\n',
        "c.py": "def helper(): pass\n\ndef near(): helper()\n\nclass Y(Base): pass\n",
        "lib.js": "export function helper() {}\n",
        "page.vue": "<script>\nimport { helper } from './lib';\nhelper();\n</script>\n",
    }
    assert [(one.name, one.path) for one in related("X", files).links["bases"]] == [("Base", "")]
    assert "derived" not in related("Base", files).links
    python = related("c.helper", files)
    assert (names(python, "callers"), names(python, "importers")) == (["near"], [])
    script = related("lib.helper", files)
    assert (names(script, "callers"), names(script, "importers")) == (["b.ts", "page.vue"], ["b.ts", "page.vue"])
    assert "calls" not in related("use", files).links


def test_pages_and_style_sheets_are_imported_by_scripts(related):
    files = {
        "Card.vue": "<script>\nexport default {}\n</script>\n",
        "theme.css": ".a {}\n",
        "app.ts": 'import Card from "./Card.vue";\nimport "./theme.css";\n',
    }
    assert names(related("Card.vue", files), "importers") == ["app.ts"]
    assert names(related("theme.css", files), "importers") == ["app.ts"]


def test_a_package_of_go_is_imported_by_the_name_of_its_folder(related):
    files = {
        "depot/helper/a.go": "package helper\n\nfunc helper() {}\n",
        "main.go": 'package main\n\nimport "example.com/depot/helper"\n',
    }
    assert names(related("a.go", files), "importers") == ["main.go"]
    assert "importers" not in related("helper", files).links


def test_a_method_that_calls_its_own_name_calls_the_one_it_overrides(related):
    files = {
        "base.py": "class Top:\n    def run(self): pass\n\nclass Base(Top): pass\n",
        "child.py": "class Other:\n    def run(self): pass\n\nclass Child(Base):\n    def run(self):\n        super().run()\n",
    }
    assert places(related("Child.run", files), "calls") == [("base.py", 2)]


def test_a_method_that_calls_its_own_name_without_a_base_calls_another_one_or_nothing(related):
    source = "class Shop:\n    def pay(self):\n        self.till.pay()\n"
    assert "calls" not in related("Shop.pay", {"a.py": source}).links
    till = "class Till:\n    def pay(self): pass\n"
    assert places(related("Shop.pay", {"a.py": source, "till.py": till}), "calls") == [("till.py", 2)]
    assert names(related("Till.pay", {"a.py": source, "till.py": till}), "callers") == ["pay"]


def test_a_function_that_calls_its_own_name_neither_calls_nor_is_called_by_itself(related):
    sum_up = related("sum_up", {"a.py": "def sum_up(): sum_up()\n", "b.py": "def sum_up(): pass\n"})
    assert not {"calls", "callers"} & set(sum_up.links)
