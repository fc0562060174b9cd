"""Finds the manifests of a workspace: the project's own at the top, and those of its packages."""

import posixpath
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from braindex.services.briefing import manifest_node, manifest_others, manifest_python
from braindex.services.briefing.manifest import Manifest
from braindex.services.briefing.reading import ProjectFiles
from braindex.services.briefing.roles import is_supporting, role_of

MOST_MANIFESTS: Final = 120  # that are read; a monorepo of more is told by number
_READERS: Final[dict[str, Callable[[str, str], Manifest | None]]] = {
    "pyproject.toml": manifest_python.pyproject,
    "setup.cfg": manifest_python.setup_cfg,
    "package.json": manifest_node.package_json,
    "go.mod": manifest_others.go_mod,
    "cargo.toml": manifest_others.cargo,
    "composer.json": manifest_others.composer,
    "gemfile": manifest_others.gemfile,
    "pom.xml": manifest_others.pom,
}
_BY_NAME: Final = {
    "setup.py": "Python",
    "build.gradle": "Java (Gradle)",
    "build.gradle.kts": "Kotlin (Gradle)",
    "package.swift": "Swift",
    "mix.exs": "Elixir",
    "cmakelists.txt": "C/C++ (CMake)",
    "meson.build": "C/C++ (Meson)",
    "pubspec.yaml": "Dart",
    "deno.json": "Deno",
}
_REQUIREMENTS: Final = re.compile(r"requirements[\w.-]*\.txt|[\w.-]+-requirements\.txt|requirements[\w.-]*\.in")


@dataclass(frozen=True, slots=True)
class Manifests:
    """`own` are those at the root (or the shallowest where the root has none), `packages` those below it.

    `total` counts the packages, also those beyond the number that is read.
    """

    own: tuple[Manifest, ...]
    packages: tuple[Manifest, ...]
    total: int = 0

    @property
    def every(self) -> tuple[Manifest, ...]:
        return self.own + self.packages


def find_manifests(files: ProjectFiles) -> Manifests:
    """Every manifest that can be read; a broken one is passed over. Those of tests and examples are no packages."""
    paths = [path for path in files.paths if _is_manifest(path) and not ("/" in path and is_supporting(path))]
    paths.sort(key=lambda path: (path.count("/"), path))
    depth = paths[0].count("/") if paths else 0
    top = posixpath.dirname(paths[0]) if paths else ""
    own = [path for path in paths if path.count("/") == depth and (depth == 0 or posixpath.dirname(path) == top)]
    chosen = set(own)
    folders = {posixpath.dirname(path) for path in own}
    below: list[str] = []
    for path in paths:
        if (
            path not in chosen
            and _is_package(path)
            and not _is_tooling(path)
            and posixpath.dirname(path) not in folders
        ):
            folders.add(posixpath.dirname(path))  # one manifest a package, whatever ecosystems it is in
            below.append(path)
    return Manifests(tuple(_read(files, own)), tuple(_read(files, below[:MOST_MANIFESTS])), len(below))


def _is_manifest(path: str) -> bool:
    name = posixpath.basename(path).lower()
    return name in _READERS or name in _BY_NAME or _REQUIREMENTS.fullmatch(name) is not None


def _is_tooling(path: str) -> bool:
    """Whether a package is for measuring or building the others, as `packages/bench` is."""
    return role_of(posixpath.join(posixpath.dirname(path), "x.js")) == "tooling"


def _is_package(path: str) -> bool:
    return posixpath.basename(path).lower() in {
        "package.json",
        "pyproject.toml",
        "cargo.toml",
        "go.mod",
        "composer.json",
    }


def _read(files: ProjectFiles, paths: Sequence[str]) -> list[Manifest]:
    found: list[Manifest | None] = []
    for path in paths:
        name = posixpath.basename(path).lower()
        text = files.whole(path)
        if text is None:
            continue
        if name in _READERS:
            found.append(_READERS[name](path, text))
        elif name in _BY_NAME:
            found.append(manifest_others.by_name(_BY_NAME[name], path))
        else:
            found.append(manifest_python.requirements(path, text))
    return [one for one in found if one is not None]
