"""The house rules, enforced: who may import whom, how large a thing may grow, what must not exist."""

import ast
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "braindex"
FILES = sorted(SOURCE.rglob("*.py"))

HOMES = {
    "sqlite3": {"registry"},
    "chromadb": {"vectors"},
    "tree_sitter": {"indexing"},
    "mcp": {"server"},
    "openai": {"transport"},
    "ollama": {"transport"},
    "numpy": {"embedding", "vectors"},
    "starlette": {"dashboard"},
    "uvicorn": {"dashboard"},
    "jinja2": {"dashboard"},
}
MEDIAN_FUNCTION, P95_FUNCTION, LONGEST_FUNCTION = 10, 45, 60
MEDIAN_FILE, LONGEST_FILE = 120, 500
BROAD_EXCEPTS_A_THOUSAND_LINES = 1.5


def _functions(source: str) -> Iterator[tuple[str, int]]:
    """(name, lines from `def` to the last line without the docstring) of every function in a source text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                lines -= (first.end_lineno or first.lineno) - first.lineno + 1
            yield node.name, lines


def _imports(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def _oversized(source: str, longest: int) -> list[str]:
    return [f"{name}: {lines} lines" for name, lines in _functions(source) if lines > longest]


def _lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    """In a process of its own: the linter sets up logging for itself alone."""
    program = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(cache_dir=None))"
    environ = {**os.environ, "PYTHONPATH": str(root / "src")}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=root, env=environ, capture_output=True, text=True, check=False)


def test_the_import_contracts_hold() -> None:
    outcome = _lint_imports(ROOT)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_an_arrow_that_points_up_breaks_the_contract(tmp_path: Path) -> None:
    shutil.copytree(SOURCE, tmp_path / "src" / "braindex", ignore=shutil.ignore_patterns("data", "__pycache__"))
    shutil.copy(ROOT / ".importlinter", tmp_path)
    with (tmp_path / "src" / "braindex" / "domain" / "tokens.py").open("a") as file:
        file.write("\nfrom braindex.services import ask\n")
    outcome = _lint_imports(tmp_path)
    assert outcome.returncode != 0
    assert "braindex.domain.tokens -> braindex.services" in outcome.stdout


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_heavy_library_is_imported_only_in_its_home(path: Path) -> None:
    room = path.relative_to(SOURCE).parts[0]
    strays = [
        name
        for name in _imports(path.read_text(encoding="utf-8"))
        if (homes := HOMES.get(name.split(".")[0])) is not None and room not in homes
    ]
    assert strays == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_file_and_no_function_grows_past_its_bar(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert source.count("\n") <= LONGEST_FILE
    assert _oversized(source, LONGEST_FUNCTION) == []


def test_functions_and_files_are_small_on_the_whole() -> None:
    sources = [path.read_text(encoding="utf-8") for path in FILES]
    functions = sorted(lines for source in sources for _, lines in _functions(source))
    assert statistics.median(functions) <= MEDIAN_FUNCTION
    assert functions[int(0.95 * len(functions))] <= P95_FUNCTION
    assert statistics.median(source.count("\n") for source in sources) <= MEDIAN_FILE


def test_broad_excepts_are_rare() -> None:
    broad = lines = 0
    for path in FILES:
        source = path.read_text(encoding="utf-8")
        lines += source.count("\n")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ExceptHandler):
                names = {part.id for part in ast.walk(node.type) if isinstance(part, ast.Name)} if node.type else {""}
                broad += bool(names & {"", "Exception", "BaseException"})
    assert broad <= max(2, BROAD_EXCEPTS_A_THOUSAND_LINES * lines / 1000)


def test_no_module_is_a_drawer_for_everything() -> None:
    drawers = {"utils", "helpers", "manager", "common", "misc"}
    assert [path for path in FILES if path.stem in drawers or path.parent.name in drawers] == []


def test_the_size_check_sees_a_function_that_is_too_long() -> None:
    long = "def grown():\n" + "    step = 1\n" * LONGEST_FUNCTION
    assert _oversized(long, LONGEST_FUNCTION) == [f"grown: {LONGEST_FUNCTION + 1} lines"]


def test_every_package_is_typed_and_has_no_bare_ignore() -> None:
    assert (SOURCE / "py.typed").is_file()
    bare = [path for path in FILES if "# type: ignore\n" in path.read_text(encoding="utf-8")]
    assert bare == []
