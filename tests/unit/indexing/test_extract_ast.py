"""Python's own parser is the judge: every function and class of some standard library files, to the line."""

import ast
import importlib.util
from pathlib import Path

import pytest

from braindex.indexing.extract import extract_entities

MODULES = (
    "argparse",
    "asyncio.base_events",
    "collections",
    "configparser",
    "contextlib",
    "dataclasses",
    "enum",
    "functools",
    "http.client",
    "inspect",
    "json.decoder",
    "pathlib",
    "subprocess",
    "tarfile",
    "textwrap",
    "typing",
    "unittest.mock",
    "urllib.request",
    "zipfile",
)
CODE_KINDS = {"function", "method", "constructor", "getter", "setter", "class"}
BOUND = {"self", "cls", "mcs", "mcls", "metacls", "_self", "_cls", "__self", "__cls"}


def _source(module: str) -> bytes:
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_bytes()


def _documented(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    return bool((ast.get_docstring(node) or "").strip())


def _parameters(node: ast.AST, parent: ast.AST | None) -> int | None:
    if isinstance(node, ast.ClassDef):
        return None
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    names = [one.arg for one in node.args.posonlyargs + node.args.args]
    count = len(names) + len(node.args.kwonlyargs) + bool(node.args.vararg) + bool(node.args.kwarg)
    return count - (isinstance(parent, ast.ClassDef) and bool(names) and names[0] in BOUND)


def _by_ast(source: bytes) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    pending: list[tuple[ast.AST, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | None]] = [
        (ast.parse(source), None)
    ]
    while pending:
        node, parent = pending.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                decorators = len(child.decorator_list)
                found.append(
                    (
                        child.lineno,
                        child.name,
                        child.end_lineno,
                        parent.name if parent else "",
                        _parameters(child, parent),
                        decorators,
                        _documented(child),
                    )
                )
                pending.append((child, child))
            else:
                pending.append((child, parent))
    return sorted(found, key=lambda one: (one[0], one[1]))


@pytest.mark.parametrize("module", MODULES)
def test_definitions_are_those_that_python_itself_finds(module: str):
    source = _source(module)
    found = [
        (one.line, one.name, one.end_line, one.parent, one.param_count, len(one.decorators), one.has_docstring)
        for one in extract_entities("a.py", source)
        if one.kind in CODE_KINDS
    ]
    assert sorted(found, key=lambda one: (one[0], one[1])) == _by_ast(source)


def test_docstrings_are_those_that_python_itself_reads():
    source = _source("argparse")
    wanted = {
        (node.lineno, node.name): "\n".join(
            line.rstrip() for line in (ast.get_docstring(node) or "").split("\n")
        ).strip()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    found = {
        (one.line, one.name): one.docstring.strip()
        for one in extract_entities("a.py", source)
        if one.kind in CODE_KINDS
    }
    assert found == wanted
