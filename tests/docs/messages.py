"""The messages that the source holds, with `\0` where a value is put in."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Final

VALUE: Final = "\0"


def messages(source: str) -> list[str]:
    """Every text of a source that is not a docstring, an f-string as one text."""
    tree = ast.parse(textwrap.dedent(source))
    left_out = {id(node) for node in _docstrings(tree)} | {id(node) for node in _parts_of_f_strings(tree)}
    found = (node for node in ast.walk(tree) if id(node) not in left_out)
    return [text for node in found if (text := _text(node))]


def messages_of(error: type[BaseException]) -> list[str]:
    """What the constructor that an error brings itself may say."""
    made = error.__dict__.get("__init__")
    return messages(inspect.getsource(made)) if made else []


def says(message: str, quoted: str) -> bool:
    """Whether a message begins, ends or goes on as a page quotes it, `…` being any text."""
    at = 0
    for piece in filter(None, map(str.strip, quoted.split("…"))):
        found = message.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(one.value) if isinstance(one, ast.Constant) else VALUE for one in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _docstrings(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def _parts_of_f_strings(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield from node.values
