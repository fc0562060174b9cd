"""Python, the packages and the grammars."""

import importlib.metadata
import platform
from collections.abc import Iterator
from typing import Final

from braindex.domain.health import Check
from braindex.languages import LANGUAGES
from braindex.registry.checks import has_full_text_search, sqlite_version

# What braindex stands on, and the version from which each is known not to work with it (see pyproject.toml).
_PACKAGES: Final = (
    ("braindex", None),
    ("chromadb", (2,)),
    ("tree-sitter", (0, 26)),
    ("mcp", (3,)),
)
_REINSTALL: Final = "install braindex anew, in an environment of its own: it brings the versions it was tested with"


def python() -> Iterator[Check]:
    detail = f"{platform.python_implementation()} {platform.python_version()} on {platform.platform(terse=True)}"
    yield Check("Python", "ok", f"{detail}, {platform.machine() or 'an unknown processor'}")


def packages() -> Iterator[Check]:
    versions = {name: _version(name) for name, _ in _PACKAGES}
    missing = [name for name, found in versions.items() if found is None and name != "braindex"]
    wrong = [
        f"{name} {versions[name]}"
        for name, below in _PACKAGES
        if below is not None and _numbers(versions[name] or "")[: len(below)] >= below
    ]
    listed = ", ".join(f"{name} {found or 'not installed'}" for name, found in versions.items())
    if missing or wrong:
        yield Check("packages", "broken", f"{listed} (does not fit: {', '.join(missing + wrong)})", _REINSTALL)
    else:
        yield Check("packages", "ok", listed)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: `0.25.2` is (0, 25, 2), `2.0rc1` is (2,)."""
    found: list[int] = []
    for part in version.split("."):
        if not part.isdecimal():
            break
        found.append(int(part))
    return tuple(found)


def sqlite() -> Iterator[Check]:
    if has_full_text_search():
        yield Check("SQLite", "ok", f"{sqlite_version()} with FTS5")
    else:
        yield Check(
            "SQLite",
            "broken",
            f"{sqlite_version()} was built without FTS5, which full-text search needs",
            "use a Python from python.org, your system's packages or uv",
        )


def grammars() -> Iterator[Check]:
    """Each language by itself: one that cannot be parsed leaves the others as they are."""
    from braindex.indexing.extract_grammars import GrammarUnavailable, grammar_of  # noqa: PLC0415 - brings tree-sitter

    loaded: list[str] = []
    for spec in LANGUAGES:
        try:
            grammar_of(spec)
        except GrammarUnavailable as trouble:
            yield Check("grammars", "broken", str(trouble), _REINSTALL)
        else:
            loaded.append(spec.name)
    yield Check("grammars", "ok", f"{len(loaded)} of {len(LANGUAGES)} load: {', '.join(loaded)}")
