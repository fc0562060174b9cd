import pytest

from braindex.domain.entities import CodeEntity
from braindex.indexing.blocks import code_blocks, file_body, file_entity, imports, leading_comment
from braindex.indexing.passages import index_file


def _entity(name: str, line: int, end_line: int, start: int = 0) -> CodeEntity:
    return CodeEntity("a.py", "function", name, name, "", "python", line, end_line, f"def {name}()", start=start)


def _blocks(path: str, source: str) -> list[tuple[str, int, int]]:
    found = [one.entity for one in index_file(path, source.encode())]
    return [(one.name, one.line, one.end_line) for one in found if one.kind == "code-block"]


@pytest.mark.parametrize(
    ("text", "comment"),
    [
        ('"""Cookies and sessions.\n\nMore."""\nimport os\n', "Cookies and sessions.\n\nMore."),
        ("#!/usr/bin/env python\n# coding: utf-8\n# What it does.\nx = 1\n", "What it does."),
        ("/*!\n * express\n * Routes requests.\n */\n'use strict'\n", "express\nRoutes requests."),
        ("'use strict';\n\n// The router.\nconst a = 1\n", "The router."),
        ("/* Copyright 2026 Nobody. Licensed under MIT. */\n/** Parses. */\nx\n", "Parses."),
        ("<!doctype html>\n<!-- Landing page -->\n<html>", "Landing page"),
        ('# Written by hand.\n\n"""What it does."""\n', "What it does."),
        ("# Written by hand.\nx = 1\n", "Written by hand."),
        ('"""Long.' + "\nMore." * 200 + '"""\nx = 1\n', "Long." + "\nMore." * 200),
        ("/**/ /* Two. */", ""),
        ("/***\n * One.\n *\n\n * Two.\n ***/\nx", "One.\n\n\nTwo."),
        ("x = 1\n# later\n", ""),
        ("", ""),
    ],
)
def test_a_file_is_described_by_its_first_comment_that_is_not_a_licence(text: str, comment: str) -> None:
    assert leading_comment(text) == comment


@pytest.mark.parametrize(
    "above", ["", "#! /usr/bin/env python3\n", "# Copyright 2026 Nobody.\n\n", "# -*- coding: utf-8 -*-\n"]
)
def test_a_docstring_of_a_file_is_no_block_of_code(above: str) -> None:
    doc = '"""What it does.\n\n' + "    an = example()\n" * 70 + '"""\n'
    assert _blocks("a.py", above + doc + "one()\ntwo()\n") == [
        ("one()", 74 + above.count("\n"), 75 + above.count("\n"))
    ]


def test_imports_are_found_as_written() -> None:
    lines = [
        "import os",
        "from a.b import c",
        "const x = require('y')",
        "export * from './z'",
        "x = 1",
        "@import 'a.css';",
    ]
    assert imports(lines) == [lines[0], lines[1], lines[2], lines[3], lines[5]]


def test_a_file_with_definitions_is_cited_by_its_header_and_one_without_whole() -> None:
    lines = ["import os", "", "def f():", "    pass"]
    assert file_entity("a.py", "python", lines, [_entity("f", 3, 4)], 10).end_line == 2
    assert file_entity("a.txt", "text", lines, [], 10).end_line == 4
    assert file_entity("a.py", "python", lines, [_entity("f", 1, 4)], 10).end_line == 1


def test_a_file_without_definitions_is_known_by_its_text() -> None:
    assert file_body(["port = 80", "host = x"], [], "") == "port = 80\nhost = x"


def test_code_outside_definitions_is_kept_in_blocks_of_at_most_fifty_lines() -> None:
    lines = ["import os", ""] + [f"step_{number}()" for number in range(120)] + ["def f():", "    pass"]
    data = "\n".join(lines).encode()
    blocks = code_blocks("a.py", "python", lines, [_entity("f", 123, 124, data.index(b"def"))], data)
    assert all(one.end_line - one.line < 50 for one in blocks)
    covered = {line for one in blocks for line in range(one.line, one.end_line + 1)}
    assert set(range(3, 123)) <= covered
    assert not covered & {123, 124}


def test_a_block_is_named_by_its_first_line_of_substance_and_equal_names_are_told_apart() -> None:
    lines = ["# setup", "run()", "go()", "def f():", "    pass", "run()", "stop()"]
    data = "\r\n".join(lines).encode()
    blocks = code_blocks("a.py", "python", lines, [_entity("f", 4, 5, data.index(b"def"))], data)
    assert [(one.name, one.line, one.ordinal) for one in blocks] == [("run()", 1, 0), ("run()", 6, 1)]
    assert data[blocks[1].start : blocks[1].end] == b"run()\r\nstop()"


def test_imports_and_lone_statements_are_no_block() -> None:
    assert code_blocks("a.py", "python", ["import os", "import sys", "", "x()", ""], [], b"") == []


@pytest.mark.parametrize(
    "comment",
    ["/**\n * Adds numbers.\n * And more.\n */\n", "/* one();\ntwo();\nthree();\n*/\n", "/* a();\n b();\n c(); */\n"],
)
def test_a_comment_of_several_lines_is_no_block_of_code(comment: str) -> None:
    assert _blocks("a.js", f"{comment}function add() {{}}\n\n{comment}\nfunction more() {{}}\n") == []


def test_code_behind_the_end_of_a_comment_is_code() -> None:
    assert _blocks("a.js", "function f() {}\n/* first\n*/ start();\ngo();\n") == [("*/ start();", 2, 4)]


def test_a_line_of_a_string_that_looks_like_the_beginning_of_a_comment_hides_no_code() -> None:
    source = 'def f():\n    pass\n\nstart("""\n/* all\n""")\ngo()\nstop()\n'
    assert _blocks("a.py", source) == [('start("""', 4, 8)]


def test_decorators_of_several_lines_belong_to_what_they_decorate() -> None:
    decorated = '@app.route(\n    "/x",\n    methods=["GET"],\n)\n@login\ndef view():\n    pass\n'
    assert _blocks("a.py", f"import os\n\n{decorated}\n{decorated}") == []
    assert _blocks("a.ts", '@Component({\n  selector: "x",\n  template: "y",\n})\nexport class X {}\n') == []


@pytest.mark.parametrize(
    "source",
    [
        "Foo.prototype.bar = function () {\n  return 1;\n};\nFoo.prototype.baz = function () {\n  return 2;\n};\n",
        "exports.one = function () {\n  return 1;\n};\nexports.two = () => {\n  return 2;\n};\n",
    ],
)
def test_a_definition_with_its_owner_written_out_is_not_a_block_as_well(source: str) -> None:
    assert _blocks("a.js", source) == []
