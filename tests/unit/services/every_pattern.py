"""Runs every expression of the package, as the code uses it, on texts made to be slow. Prints how many there are.

A program of its own, since `re` holds the interpreter's lock: only another process can end what takes for ever. Each
expression reads each text at a length where even the square is soon done, then the texts that took it longest at one
where the square takes minutes and what grows with the length takes a few milliseconds.
"""

import ast
import importlib
import pkgutil
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final

SHORT: Final = 120  # characters
LONG: Final = 300_000
SLOWEST: Final = 2  # texts of each expression that are tried at full length
ONCE: Final = frozenset({"match", "fullmatch", "search"})
METHODS: Final = ONCE | {"sub", "subn", "finditer", "findall", "split"}  # the others read on after each match
STARTS: Final = (
    "", "/*", "<!--", '"', "const", "[", "<", "where is ", "a function ", "-----BEGIN PRIVATE KEY-----", "#", "*", "_",
    "A", "(", "{", "`", "![", "[![](", "[a](", ":a:`", "<a ", "<img ", "from a import (", "import ", "export {", "a ",
    "require('a'", "a:", "\ta.b", "run:", "@nox.session\n", "- ", "# ", "gem ", "Parameters", "token", "a://", "src/", "$ ",
)  # fmt: skip
UNITS: Final = (
    " ", "\n", "a", "A", "Aa", "aA", "_", "0", "*", "/", ".", "a.", "a,", "a ", "{a,", ",", "[a", "(", "()", "a a", "\\",
    '"', "'", "--", "#", "-a", ">", "A: b\n", "\t", "+", "`", "=", ":", "é", "a_", "0.", "import\n", "@a\n", "bin/", "。",
)  # fmt: skip


def main(packages: Sequence[str]) -> None:
    used = {pattern: methods for package in packages for pattern, methods in expressions(package).items()}
    shapes = [*((start, unit) for start in STARTS for unit in UNITS), *(("", a + b) for a in STARTS for b in UNITS)]
    for pattern, methods in used.items():
        for method in methods:
            times = [(spent(pattern, method, text_of(shape, SHORT)), shape) for shape in shapes]
            for _, shape in sorted(times)[-SLOWEST:]:
                spent(pattern, method, text_of(shape, LONG))
    sys.stdout.write(f"{len(used)}\n")


def text_of(shape: tuple[str, str], length: int) -> str:
    start, unit = shape
    return start + unit * (length // len(unit)) + "!"


def spent(pattern: re.Pattern[Any], method: str, text: str) -> float:
    """CPU seconds that one use took."""
    given: Any = text.encode() if isinstance(pattern.pattern, bytes) else text
    began = time.process_time()
    if method in ONCE:
        getattr(pattern, method)(given)
    else:
        for _ in pattern.finditer(given):
            pass
    return time.process_time() - began


def expressions(package: str) -> dict[re.Pattern[Any], set[str]]:
    """Every expression of the modules of a package and below, with the methods that are called on it."""
    found: dict[re.Pattern[Any], set[str]] = {}
    for module in modules(package):
        tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
        called = [
            (one.value.id, one.attr)
            for one in ast.walk(tree)
            if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.attr in METHODS
        ]
        variables = list(loops(tree))
        for name, value in vars(module).items():
            callers = {name, *(variable for table, variable in variables if table == name)}
            own = {method for caller, method in called if caller in callers}
            for pattern in patterns(value):
                found.setdefault(pattern, set()).update(own)
        for pattern, method in written_inside(tree):
            found.setdefault(pattern, set()).add(method)
    return {pattern: methods or {"finditer"} for pattern, methods in found.items()}


def modules(package: str) -> Iterator[ModuleType]:
    root = importlib.import_module(package)
    yield root
    if hasattr(root, "__path__"):
        for one in pkgutil.walk_packages(root.__path__, root.__name__ + "."):
            yield importlib.import_module(one.name)


def patterns(value: object) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list | set | frozenset):
        for one in value:
            yield from patterns(one)
    elif isinstance(value, dict):
        yield from patterns([*value, *value.values()])


def loops(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """(table, variable) of every loop over a table by name: an expression in it is called by the variable's name."""
    for one in ast.walk(tree):
        if isinstance(one, ast.For | ast.comprehension) and isinstance(one.iter, ast.Name):
            yield from ((one.iter.id, name.id) for name in ast.walk(one.target) if isinstance(name, ast.Name))


def written_inside(tree: ast.AST) -> Iterator[tuple[re.Pattern[Any], str]]:
    """Expressions that are given where they are used, as in `re.split(r"…", text)`."""
    for one in ast.walk(tree):
        if (
            isinstance(one, ast.Call)
            and isinstance(one.func, ast.Attribute)
            and isinstance(one.func.value, ast.Name)
            and one.func.value.id == "re"
            and one.func.attr in METHODS
            and isinstance(one.args[0], ast.Constant)
        ):
            yield re.compile(one.args[0].value), one.func.attr


if __name__ == "__main__":
    main(sys.argv[1:])
