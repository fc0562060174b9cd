"""How a project is built, tested and checked: its commands, its test set-up, its linters and its CI."""

import configparser
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from braindex.services.briefing.conventions import test_naming
from braindex.services.briefing.manifest import Command
from braindex.services.briefing.manifests import Manifests
from braindex.services.briefing.reading import ProjectFiles, line_of
from braindex.services.briefing.structure import Code

_MAKE: Final = re.compile(r"^([A-Za-z][\w./-]*+)[ \t]*+:(?![=:])[^\n]*+\n?((?:\t[^\n]*+\n?)*+)", re.MULTILINE)
_JUST: Final = re.compile(r"^@?([a-z][\w-]*+)(?:[ \t][^\n:=]*+)?:(?!=)[^\n]*+\n?((?:[ \t][^\n]*+\n?)*+)", re.MULTILINE)
_TOX_FACTOR: Final = re.compile(r"^[\w{},!.-]++:\s++")
_NOX: Final = re.compile(r"^@nox\.session[^\n]*+\n(?:@(?!nox\.session)[^\n]*+\n)*+def[ \t]++(\w++)", re.MULTILINE)
_CI_RUN: Final = re.compile(r"^[ \t]*(?:-[ \t]*)?run:[ \t]*(?:\|[-+]?[ \t]*\n[ \t]*)?([^\n|>][^\n]*)", re.MULTILINE)
_CI_TELLS: Final = re.compile(
    r"\b(?:pytest|tox|nox|unittest|npm (?:run|test)|pnpm|yarn|bun|make|go test|cargo|mvn|gradlew?|rake|rspec|phpunit"
    r"|jest|vitest|ruff|mypy|pyright|pre-commit|hatch|just)\b"
)
# A line of a document that is a command, as against one that speaks of it.
_SHOWN: Final = re.compile(
    r"\s*+(?:[$>] )?(?:[\w./\\-]*bin/)?(?:(?:uv|poetry|hatch|pdm) run |npx |python3? -m )?"
    r"(pytest|tox|nox|unittest|npm (?:run|test)|pnpm|yarn|bun|make [a-z]|go test|cargo|mvn|\./gradlew|rake|rspec)\b"
)
# What a configuration file of this name sets up; the name is matched in lower case.
_CONFIG_FILES: Final = (
    (re.compile(r"\.?ruff\.toml"), "ruff"),
    (re.compile(r"\.flake8"), "flake8"),
    (re.compile(r"\.?mypy\.ini"), "mypy"),
    (re.compile(r"\.?pylintrc"), "pylint"),
    (re.compile(r"pyrightconfig\.json"), "pyright"),
    (re.compile(r"eslint\.config\.[cm]?[jt]s|\.eslintrc(?:\.\w+)?"), "ESLint"),
    (re.compile(r"biome\.jsonc?"), "Biome"),
    (re.compile(r"\.prettierrc(?:\.\w+)?|prettier\.config\.[cm]?[jt]s"), "Prettier"),
    (re.compile(r"tsconfig\.json"), "TypeScript"),
    (re.compile(r"\.pre-commit-config\.ya?ml"), "pre-commit"),
    (re.compile(r"\.editorconfig"), "EditorConfig"),
    (re.compile(r"\.golangci\.ya?ml"), "golangci-lint"),
    (re.compile(r"\.?rustfmt\.toml"), "rustfmt"),
    (re.compile(r"\.?clippy\.toml"), "clippy"),
    (re.compile(r"\.rubocop\.yml"), "RuboCop"),
    (re.compile(r"\.stylelintrc(?:\.\w+)?"), "Stylelint"),
    (re.compile(r"\.importlinter"), "import-linter"),
    (re.compile(r"\.markdownlint[\w.-]*"), "markdownlint"),
)
_SETTINGS: Final = frozenset(
    "ruff black mypy pyright isort flake8 pylint eslintConfig prettier lint-staged standard xo ty pyrefly".split()
)
_FRAMEWORKS: Final = (
    "pytest", "hypothesis", "unittest2", "nose2", "tox", "nox", "jest", "vitest", "mocha", "ava", "tap", "borp",
    "jasmine", "@playwright/test", "playwright", "cypress", "c8", "nyc", "tstyche", "tsd", "supertest", "chai", "sinon",
    "rspec", "phpunit/phpunit", "github.com/stretchr/testify", "node-tap", "uvu", "@testing-library/react", "coverage",
    "pytest-cov", "pytest-xdist", "pytest-asyncio", "pytest-httpbin",
)  # fmt: skip
_TEST_PATTERNS: Final[tuple[tuple[str, Callable[[str], bool]], ...]] = (
    ("test_*.py", lambda name: name.startswith("test_") and name.endswith(".py")),
    ("*_test.py", lambda name: name.endswith("_test.py")),
    ("*.test.ts", lambda name: name.endswith((".test.ts", ".test.tsx"))),
    ("*.test.js", lambda name: name.endswith((".test.js", ".test.jsx", ".test.mjs", ".test.cjs"))),
    ("*.spec.ts", lambda name: name.endswith((".spec.ts", ".spec.tsx"))),
    ("*.spec.js", lambda name: name.endswith((".spec.js", ".spec.jsx"))),
    ("*_test.go", lambda name: name.endswith("_test.go")),
    ("*_spec.rb", lambda name: name.endswith("_spec.rb")),
)
_STRICT: Final = re.compile(r'^[^\S\n]*+"(strict|target|module)"\s*+:\s*+("?[\w.-]++"?)', re.MULTILINE)
_LONGEST_COMMAND: Final = 120  # characters
_CONTAINER: Final = re.compile(r"(?:docker-)?compose[\w.-]*\.ya?ml|dockerfile[\w.-]*|[\w.-]+\.dockerfile")
_FIRST: Final = (
    "test",
    "unit",
    "lint",
    "check",
    "ci",
    "typecheck",
    "type",
    "build",
    "dev",
    "start",
    "format",
    "fmt",
    "docs",
    "bench",
)


@dataclass(frozen=True, slots=True)
class Tooling:
    """`checks` are (tool, where it is set up, its telling settings); `ci` are (workflow file, commands it runs).

    `shown` are commands that the project's documents show in code. `test_folders` count the test files by folder;
    `naming` says how they are named.
    """

    commands: tuple[Command, ...]
    shown: tuple[Command, ...]
    checks: tuple[tuple[str, str, str], ...]
    frameworks: tuple[tuple[str, str], ...]
    test_settings: tuple[tuple[str, str], ...]
    test_folders: tuple[tuple[str, int], ...]
    tests: int
    naming: str
    ci: tuple[tuple[str, tuple[str, ...]], ...]
    containers: tuple[str, ...]


def tooling(files: ProjectFiles, manifests: Manifests, code: Code) -> Tooling:
    """What the configuration of a project says; nothing is run."""
    commands = [*_from_files(files), *(one for manifest in manifests.own for one in manifest.commands)]
    tests = [path for path in code.by_role["test"] if _is_test(path)]
    return Tooling(
        commands=tuple(_ordered(commands)),
        shown=tuple(_shown(files)),
        checks=tuple(_checks(files, manifests)),
        frameworks=tuple(_frameworks(manifests)),
        test_settings=tuple(
            (one.path, value) for one in manifests.own for name, value in one.settings if name == "pytest" and value
        ),
        test_folders=tuple(_folders(tests)),
        tests=len(tests),
        naming=test_naming(tests, _TEST_PATTERNS),
        ci=tuple(_ci(files)),
        containers=tuple(
            path
            for path in files.paths
            if path.count("/") <= 1 and _CONTAINER.fullmatch(posixpath.basename(path).lower())
        ),
    )  # fmt: skip


def _is_test(path: str) -> bool:
    """A file of tests proper, as against what tests need: fixtures, data, configuration."""
    name = posixpath.basename(path)
    if any(fits(name) for _, fits in _TEST_PATTERNS):
        return True
    return name.endswith((".js", ".ts", ".mjs", ".cjs", ".tsx", ".rb", ".java", ".kt", ".rs", ".php")) and not (
        name.endswith(".d.ts")
        or any(part in path.lower() for part in ("fixture", "support/", "mock", "helper", "util"))
    )


def _from_files(files: ProjectFiles) -> Iterator[Command]:
    for path, text in files.texts(files.at_root("makefile", "gnumakefile", "justfile")):
        tool, pattern = ("just", _JUST) if "just" in path.lower() else ("make", _MAKE)
        for match in pattern.finditer(text):
            name, body = match.groups()
            line = text.count("\n", 0, match.start()) + 1
            if not name.startswith(".") and name.upper() != name:
                yield Command(f"{tool} {name}", _first_command(body), path, line)
    for path, text in files.texts(files.at_root("tox.ini")):
        yield from _tox(path, text)
    for path, text in files.texts(files.at_root("noxfile.py")):
        for match in _NOX.finditer(text):
            yield Command(f"nox -s {match.group(1)}", "", path, text.count("\n", 0, match.start(1)) + 1)


def _shown(files: ProjectFiles) -> Iterator[Command]:
    """Commands in the code blocks of the documents for those who work on the project, the first of each kind."""
    seen: set[str] = set()
    paths = files.at_root("contributing.md", "contributing.rst", "development.md", "readme.md", "readme.rst")
    for path, text in files.texts(
        [*paths, *(one for one in ("docs/contributing.md", "docs/development.md") if one in files)]
    ):
        in_fence = False
        for number, line in enumerate(text.split("\n"), 1):
            in_fence ^= line.lstrip().startswith(("```", "~~~"))
            is_code = len(line) < _LONGEST_COMMAND and (in_fence or line.startswith(("    ", "\t")))
            match = _SHOWN.match(line) if is_code else None
            if match is not None and match.group(1) not in seen:
                seen.add(match.group(1))
                yield Command("", line.strip().lstrip("$> "), path, number)


def _first_command(body: str) -> str:
    lines = [line.strip().lstrip("@-") for line in body.split("\n")]
    return next((line for line in lines if line and not line.startswith(("#", "echo ", "rm "))), "")


def _tox(path: str, text: str) -> Iterator[Command]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return
    commands = [one.strip() for one in parser.get("testenv", "commands", fallback="").split("\n") if one.strip()]
    if commands:
        yield Command("tox", _TOX_FACTOR.sub("", commands[0]), path, line_of(text, commands[0]))


def _ordered(commands: Sequence[Command]) -> list[Command]:
    """Those that test, check and build first; what a release or a hook runs by itself last."""

    def rank(indexed: tuple[int, Command]) -> tuple[int, int]:
        at, one = indexed
        word = one.name.rpartition(" ")[2].lower()
        for place, first in enumerate(_FIRST):
            if (
                word == first
                or (word.startswith(first) and word[len(first)] in ":-_")
                or (one.name == "tox" and not place)
            ):
                return place + (0 if word == first or one.name == "tox" else 25), at
        hook = word.startswith(("pre", "post", "publish", "release", "clean", "install", "init"))
        return (99 if hook else 50), at

    return [one for _, one in sorted(enumerate(commands), key=rank)]


def _checks(files: ProjectFiles, manifests: Manifests) -> Iterator[tuple[str, str, str]]:
    seen: set[str] = set()
    for manifest in manifests.own:
        for name, value in manifest.settings:
            if name in _SETTINGS and name not in seen:
                seen.add(name)
                yield name.removesuffix("Config"), manifest.path, value
    for path in files.paths:
        if path.count("/") > 1 or (path.count("/") == 1 and not path.startswith(".")):
            continue
        for pattern, tool in _CONFIG_FILES:
            if pattern.fullmatch(posixpath.basename(path).lower()) and tool.lower() not in seen:
                seen.add(tool.lower())
                yield tool, path, _strict(files, path) if tool == "TypeScript" else ""


def _strict(files: ProjectFiles, path: str) -> str:
    text = files.text(path) or ""
    found = _STRICT.findall(text)
    return ", ".join(f"{key} = {value.strip(chr(34))}" for key, value in found[:3])


def _frameworks(manifests: Manifests) -> Iterator[tuple[str, str]]:
    """(framework, manifest that asks for it); the manifests of packages count where the root's name none."""
    seen: set[str] = set()
    for group in (manifests.own, manifests.packages):
        for manifest in group:
            asked = {one.lower(): one for one in (*manifest.dev_dependencies, *manifest.dependencies)}
            for name in _FRAMEWORKS:
                if name in asked and name not in seen:
                    seen.add(name)
                    yield name, manifest.path
        if seen:
            return


def _folders(tests: Iterable[str]) -> list[tuple[str, int]]:
    """Test files by folder: a folder called after tests, or else the one a test lies in."""
    counts: Counter[str] = Counter()
    for path in tests:
        folders = path.split("/")[:-1]
        at = next(
            (at for at, one in enumerate(folders) if "test" in one.lower() or one.lower() in {"spec", "e2e"}), None
        )
        counts["/".join(folders if at is None else folders[: at + 1])] += 1
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))


def _ci(files: ProjectFiles) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Workflow files with those of their commands that build, test or check, those that have some first."""
    paths = [path for path in files.below(".github/workflows") if path.endswith((".yml", ".yaml"))]
    paths += files.at_root(".gitlab-ci.yml", ".travis.yml", "azure-pipelines.yml", "jenkinsfile", ".appveyor.yml")
    paths += [path for path in (".circleci/config.yml", ".ci/run") if path in files]
    found = []
    for path, text in files.texts(paths[:40]):
        runs = [one.strip() for one in _CI_RUN.findall(text) if _CI_TELLS.search(one)]
        found.append((path, tuple(dict.fromkeys(runs))))
    tells = re.compile(r"(?:^|[/_.-])(?:ci|tests?|build|main|checks?|lint)(?:[_.-]|$)")
    yield from sorted(found, key=lambda one: (not (tells.search(one[0].lower()) and one[1]), not one[1], one[0]))
