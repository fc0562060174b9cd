"""Part `python` of `bench/extraction.py`: Python's own `ast` is the judge."""

import ast
import inspect
import sysconfig
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from braindex import CodeEntity, extract_entities
from extraction_score import Score, is_utf8  # type: ignore[import-not-found]  # beside this file

KINDS = frozenset({"function", "method", "constructor", "getter", "setter", "class"})
CUT = "…"  # ends a signature that is too long to be shown whole (indexing/extract_text.py)
BOUND = frozenset({"self", "cls", "mcs", "mcls", "metacls", "_self", "_cls", "__self", "__cls"})
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Known:
    """What `ast` says of a definition."""

    node: Definition
    parent: str
    is_method: bool

    @property
    def key(self) -> tuple[int, str]:
        return self.node.lineno, self.node.name


def default_folders() -> list[Path]:
    """The running interpreter's standard library, and what is installed."""
    return sorted({Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib"))})


def definitions(tree: ast.Module) -> Iterator[Known]:
    pending: list[tuple[ast.AST, Definition | None]] = [(tree, None)]
    while pending:
        node, parent = pending.pop()
        if isinstance(node, Definition):
            yield Known(node, parent.name if parent else "", isinstance(parent, ast.ClassDef))
            parent = node
        pending += [(child, parent) for child in ast.iter_child_nodes(node)]


def parsed(source: bytes) -> ast.Module | None:
    """The tree, or None for what this Python does not take."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def measure(folders: list[Path], score: Score) -> None:
    for path in (one for folder in folders for one in sorted(folder.rglob("*.py"))):
        try:
            source = path.read_bytes()
        except OSError:
            continue
        tree = parsed(source) if is_utf8(source) else None
        if tree is None:
            score.passed_over += 1
            continue
        score.files += 1
        judge(str(path), source, tree, score)


def judge(where: str, source: bytes, tree: ast.Module, score: Score) -> None:
    """Compares one file."""
    ours: dict[tuple[int, str], CodeEntity] = {}
    for entity in extract_entities("a.py", source):
        if entity.kind in KINDS:
            ours[entity.line, entity.name] = entity
    known = {one.key: one for one in definitions(tree)}
    for key, one in known.items():
        score.expected += 1
        mine = ours.get(key)
        if mine is None:
            score.differs("missed", f"{where}:{key[0]} {key[1]}")
            continue
        score.found += 1
        score.cut += entity.signature.endswith(CUT)
        for what, same, said in _attributes(one, mine):
            score.attribute(what, same=same, said=f"{where}:{key[0]} {key[1]}: {said}")
    for key in ours.keys() - known.keys():
        score.differs("invented", f"{where}:{key[0]} {key[1]}")


def _attributes(one: Known, entity: CodeEntity) -> Iterator[tuple[str, bool, str]]:
    node = one.node
    yield "end line", entity.end_line == node.end_lineno, f"{entity.end_line}, not {node.end_lineno}"
    yield "parent", entity.parent == one.parent, f"{entity.parent!r}, not {one.parent!r}"
    yield "decorators", len(entity.decorators) == len(node.decorator_list), f"{entity.decorators}"
    doc = ast.get_docstring(node) or ""
    yield "docstring", _words(entity.docstring) == _words(doc), f"{entity.docstring[:60]!r}, not {doc[:60]!r}"
    if entity.signature.endswith(CUT):  # cut there; counted apart
        return
    mine = _header(entity.signature)
    yield "signature", mine == _meaning(node), f"{entity.signature!r}"
    if not isinstance(node, ast.ClassDef):
        returns = ast.unparse(node.returns) if node.returns else None
        said = _unparsed(entity.return_type)
        yield "return type", said == returns, f"{entity.return_type!r}, not {returns!r}"
        count = _parameters(node, is_method=one.is_method)
        yield "parameter count", entity.param_count == count, f"{entity.param_count}, not {count}"


def _words(text: str) -> list[str]:
    return inspect.cleandoc(text).split()


def _header(signature: str) -> str | None:
    """What a signature means: its tree without places; None where it is no header of a definition."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            [node] = ast.parse(f"{signature}:\n pass").body
    except (SyntaxError, ValueError):
        return None
    return _meaning(node) if isinstance(node, Definition) else None


def _meaning(node: Definition) -> str:
    """Parameters with defaults and annotations and the result, or base classes and keywords; and type parameters."""
    generic = [ast.dump(one) for one in getattr(node, "type_params", [])]
    if isinstance(node, ast.ClassDef):
        return repr((node.name, generic, [ast.dump(one) for one in (*node.bases, *node.keywords)]))
    returns = ast.dump(node.returns) if node.returns else ""
    return repr((type(node).__name__, node.name, generic, ast.dump(node.args), returns))


def _unparsed(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        return ast.unparse(ast.parse(text, mode="eval"))
    except SyntaxError:
        return text


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef, *, is_method: bool) -> int:
    names = [one.arg for one in node.args.posonlyargs + node.args.args]
    count = len(names) + len(node.args.kwonlyargs) + bool(node.args.vararg) + bool(node.args.kwarg)
    return count - (is_method and bool(names) and names[0] in BOUND)
