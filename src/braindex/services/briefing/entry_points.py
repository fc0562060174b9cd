"""Where a project is entered: what its manifests name, and what its files show."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from braindex.services.briefing.imports import ImportReader
from braindex.services.briefing.manifest import EntryPoint
from braindex.services.briefing.manifests import Manifests
from braindex.services.briefing.reading import ProjectFiles
from braindex.services.briefing.roles import role_of
from braindex.services.briefing.structure import Code

_INDEX_FILES: Final = ("__init__.py", "index.ts", "index.tsx", "index.js", "main.ts", "main.js")
_APPLICATION: Final = re.compile(
    r"^[a-z_]\w*+[ \t]*+(?::[^=\n]*+)?=[ \t]*+(Flask|FastAPI|Starlette|Sanic|Quart|Litestar|Celery|Typer)\(",
    re.MULTILINE,
)
_SCRIPTS: Final = (".js", ".ts", ".mjs", ".cjs")
# Where a program begins: suffixes of its file, a word that the file has to hold, the pattern, how it is told.
_BEGINS: Final = (
    ((".py",), "__main__", re.compile(r"^(if)[ \t]+__name__[ \t]*==[ \t]*['\"]__main__['\"]", re.MULTILINE), "script"),
    ((".py",), "app", _APPLICATION, "makes a"),
    ((".py",), "execute_from_command_line", re.compile(r"^[ \t]*(execute_from_command_line)\(", re.MULTILINE), "calls"),
    ((".go",), "func main()", re.compile(r"^func (main)\(\)", re.MULTILINE), "defines"),
    ((".rs",), "fn main()", re.compile(r"^(?:pub )?(?:async )?fn (main)\(\)", re.MULTILINE), "defines"),
    (_SCRIPTS, ".listen(", re.compile(r"^(?:await )?(\w+\.listen)\(", re.MULTILINE), "calls"),
)  # fmt: skip
_BUILD_SCRIPTS: Final = ("build.rs", "setup.py", "conftest.py")


def declared_points(manifests: Manifests, main: str, code: Code, reader: ImportReader) -> Iterator[EntryPoint]:
    """What the manifests name, the root's and the main package's first. What a package names and is not in the index
    is left out: it is built.
    """
    packages = sorted(manifests.packages, key=lambda one: (one.folder != main, one.path))
    for manifest in (*manifests.own, *packages):
        for one in manifest.entry_points:
            path, line = _resolved(one, manifest.folder, code, reader)
            is_source = not path or role_of(path) in {"source", "tooling"}
            if is_source and not one.target.endswith("package.json") and (path or manifest in manifests.own):
                yield replace(one, path=path, line=line)


def _resolved(one: EntryPoint, folder: str, code: Code, reader: ImportReader) -> tuple[str, int]:
    """The file and the line of a target such as `package.module:function` or `./lib/index.js`."""
    module, _, function = one.target.partition(":")
    path = reader.module_file(module) if function else reader.script_file(folder, one.target)
    name = function.partition("[")[0].strip()
    lines = [found.line for found in code.entities.get(path, ()) if name and found.name == name and not found.parent]
    return path, lines[0] if lines else 0


def shown_points(
    files: ProjectFiles, code: Code, folders: Sequence[str], texts: Iterable[tuple[str, str]]
) -> Iterator[EntryPoint]:
    """The index files of some folders, what `python -m` runs, and files in which a program begins."""
    source = set(code.source)
    for folder in dict.fromkeys((*folders, f"{folders[0]}/src".strip("/"), "")):
        for name in _INDEX_FILES:
            path = f"{folder}/{name}" if folder else name
            if path in source:
                yield EntryPoint("module", posixpath.basename(folder), name, "", path)
    for path in files.by_name.get("__main__.py", ()):
        if path in source:
            yield EntryPoint("run", posixpath.basename(posixpath.dirname(path)), "__main__.py", "", path)
    for path, text in texts:
        if posixpath.basename(path) not in _BUILD_SCRIPTS:
            yield from _beginnings(path, text)
    if "index.html" in files:
        yield EntryPoint("page", "index.html", "", "", "index.html")


def _beginnings(path: str, text: str) -> Iterator[EntryPoint]:
    for suffixes, word, pattern, what in _BEGINS:
        match = pattern.search(text) if path.endswith(suffixes) and word in text else None
        if match is not None:
            line = text.count("\n", 0, match.start(1)) + 1
            name = "" if what == "script" else f"{what} {match.group(1)}"
            yield EntryPoint("script" if what == "script" else "begins", name, "", "", path, line)


def distinct(points: Iterable[EntryPoint]) -> list[EntryPoint]:
    """Of each file, and of each target that is not in the index, the first."""
    found: dict[str, EntryPoint] = {}
    for one in points:
        found.setdefault(one.path or f"{one.source} {one.target}", one)
    return list(found.values())
