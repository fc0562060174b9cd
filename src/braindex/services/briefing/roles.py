"""What a file is there for, by its path: the product itself, its tests, its documentation, examples or tooling."""

import posixpath
import re
from typing import Final, Literal

Role = Literal["source", "test", "docs", "example", "tooling"]

_TEST_FOLDERS: Final = frozenset(
    "test tests __tests__ spec specs e2e cypress fixtures __fixtures__ __mocks__ testdata integration".split()
)
_TEST_FILE: Final = re.compile(
    r"test_.*\.pyi?|.*_test\.(?:py|go|rb|exs?)|.*[.-](?:test|spec|test-d|spec-d|cy)\.[cm]?[jt]sx?|conftest\.py"
    r"|.*_spec\.rb|.*Tests?\.(?:java|kt|cs)"
)
_DOC_FOLDERS: Final = frozenset("doc docs documentation site website rfcs".split())
_EXAMPLE_FOLDERS: Final = frozenset("example examples demo demos sample samples tutorial tutorials playground".split())
_TOOLING_FOLDERS: Final = frozenset(
    "bench benchmark benchmarks scripts script tools tasks ci build hack release".split()
)
_FOLDERS: Final[tuple[tuple[Role, frozenset[str]], ...]] = (
    ("example", _EXAMPLE_FOLDERS),
    ("docs", _DOC_FOLDERS),
    ("tooling", _TOOLING_FOLDERS),
)
_PROSE: Final = frozenset({".md", ".markdown", ".mdx", ".rst", ".adoc", ".txt"})
_TOOLING_FILE: Final = re.compile(
    r".*\.config\.[cm]?[jt]s|(?:vitest|jest|eslint|gulpfile|gruntfile|webpack)[\w.]*\.[cm]?[jt]s|noxfile\.py|setup\.py"
    r"|tasks\.py|\.[\w.-]+rc\.[cm]?js",
    re.IGNORECASE,
)
_CODE: Final = {
    ".py": "Python", ".pyi": "Python", ".js": "JavaScript", ".mjs": "JavaScript", ".cjs": "JavaScript",
    ".jsx": "JavaScript", ".ts": "TypeScript", ".mts": "TypeScript", ".cts": "TypeScript", ".tsx": "TypeScript",
    ".vue": "Vue", ".svelte": "Svelte", ".html": "HTML", ".htm": "HTML", ".css": "CSS", ".scss": "SCSS",
    ".less": "Less", ".go": "Go", ".rs": "Rust", ".java": "Java", ".kt": "Kotlin", ".rb": "Ruby", ".php": "PHP",
    ".c": "C", ".h": "C", ".cc": "C++", ".cpp": "C++", ".hpp": "C++", ".cs": "C#", ".swift": "Swift",
    ".scala": "Scala", ".ex": "Elixir", ".exs": "Elixir", ".erl": "Erlang", ".hs": "Haskell", ".lua": "Lua",
    ".r": "R", ".jl": "Julia", ".dart": "Dart", ".zig": "Zig", ".sh": "Shell", ".bash": "Shell", ".ps1": "PowerShell",
    ".sql": "SQL", ".proto": "Protocol Buffers", ".graphql": "GraphQL", ".tf": "Terraform", ".scm": "Scheme",
}  # fmt: skip
_MARKUP: Final = frozenset({"HTML", "CSS", "SCSS", "Less"})
PARSED: Final = frozenset({"python", "javascript", "jsx", "typescript", "tsx"})


def role_of(path: str) -> Role:
    """The role of a file. Tests may be anywhere; the other folders count near the top only, since a product may have
    a part called `docs` or `tools` itself.
    """
    *folders, name = path.split("/")
    if _TEST_FILE.fullmatch(name) or any(one.lower() in _TEST_FOLDERS for one in folders):
        return "test"
    for folder in folders[: 1 if folders[:1] in (["src"], ["lib"]) else 2]:
        for role, names in _FOLDERS:
            if folder.lower() in names:
                return role
    if any(one.startswith(".") for one in (*folders, name)) or _TOOLING_FILE.fullmatch(name):
        return "tooling"
    return "docs" if posixpath.splitext(name)[1].lower() in _PROSE else "source"


def is_supporting(path: str) -> bool:
    """Whether a file is for those who test, document or try the project rather than a part of it."""
    return role_of(path) in {"test", "docs", "example"}


def written_in(path: str) -> str:
    """The language of a file of code, by its suffix; "" for anything else."""
    return _CODE.get(posixpath.splitext(path)[1].lower(), "")


def is_code(path: str) -> bool:
    """Whether a file is code in the narrow sense: no markup, no styles."""
    language = written_in(path)
    return bool(language) and language not in _MARKUP
