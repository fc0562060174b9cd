"""The shape of a project's code: its parts, their central files and definitions, and which part imports which."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from braindex.domain.entities import CALLABLE_KINDS, CodeEntity
from braindex.registry.index import IndexStore
from braindex.services.briefing.imports import Imports
from braindex.services.briefing.quoting import plain
from braindex.services.briefing.reading import ProjectFiles
from braindex.services.briefing.roles import PARSED, Role, is_code, role_of, written_in

ENTITY_LIMIT: Final = 5_000  # that are looked at, those of the most imported files first: 20 µs each
DEFINITIONS: Final = frozenset({"function", "method", "constructor", "class", "interface", "type", "enum", "namespace"})
_DOMINATES: Final = 0.75  # share of the code below one folder, from which on its parts are the project's parts
_SAYS_NOTHING: Final = re.compile(
    r"[@:{]|\.\. |-\*-|eslint|jshint|global |import |export |const |var |use strict|.*[;{}]$|~+$"
    r"|(?:module )?(?:dependencies|exports|variables|prototype|imports?)\b.{0,2}$",
    re.IGNORECASE,
)
_MEMBERS: Final = 3  # from which on an object counts as a definition
_FEW_PARTS: Final = 8  # of which one that is more than half of the code is told by its own parts


@dataclass(slots=True)
class Code:
    """The source files (paths by role, sorted) with what is known of them.

    `entities` are by file, in source order, of the files in `measured`; `importers` count the project's files that
    import a file; `uses` the files that import a definition by name, by (path, name).
    """

    by_role: dict[Role, list[str]]
    imports: Imports = field(default_factory=Imports)
    importers: Counter[str] = field(default_factory=Counter)
    entities: dict[str, list[CodeEntity]] = field(default_factory=dict)

    @property
    def source(self) -> list[str]:
        """The product's own files of code; where nothing looks like the product, all files of code."""
        return self.by_role["source"]

    def definitions(self, path: str) -> list[CodeEntity]:
        return [one for one in self.entities.get(path, ()) if one.kind in DEFINITIONS]

    def all_entities(self) -> Iterable[CodeEntity]:
        for path in sorted(self.entities):
            yield from self.entities[path]


@dataclass(slots=True)
class Part:
    """A part of the code: a folder with all below it, or one file. `path` ends in no `/`."""

    path: str
    files: list[str]
    is_folder: bool
    imports: Counter[str] = field(default_factory=Counter)
    imported_by: Counter[str] = field(default_factory=Counter)


def files_by_role(files: ProjectFiles) -> dict[Role, list[str]]:
    """Paths by role. Without any source, whatever code there is takes its place."""
    found: dict[Role, list[str]] = {"source": [], "test": [], "docs": [], "example": [], "tooling": []}
    for path in files.paths:
        role = role_of(path)
        if role == "source" and not written_in(path):
            role = "docs" if files.language(path) == "markdown" else "tooling"
        found[role].append(path)
    if not any(is_code(path) for path in found["source"]):
        code = [path for path in files.paths if is_code(path) and role_of(path) != "test"]
        found["source"] = code or found["source"] or [path for path in files.paths if written_in(path)]
    return found


def load_entities(code: Code, files: ProjectFiles, store: IndexStore) -> None:
    """Fills in the entities of the source files, those of the most imported and largest ones where they are many."""
    order = sorted(
        (path for path in code.source if files.language(path) != "text"),
        key=lambda path: (-code.importers[path], files.language(path) not in PARSED, -files.size(path), path),
    )
    left = ENTITY_LIMIT
    for path in order:
        if left <= 0:
            break
        found = [one.entity for one in store.of_file(path)]
        left -= len(found)
        code.entities[path] = found


def measurable(code: Code) -> list[str]:
    """The source files of code proper; those of markup too where they are nearly all there is."""
    paths = [path for path in code.source if is_code(path)]
    return paths if len(paths) * 5 >= len(code.source) else code.source


def parts_of(code: Code) -> tuple[str, list[Part]]:
    """The folder that holds nearly all of the code, and its parts: folders, and files where it has no folders.

    From the root on, a folder with most of the code is gone into; "" is the root itself.
    """
    paths = measurable(code)
    base = ""
    while True:
        below = Counter(_child(base, path) for path in paths if path.startswith(base))
        folders = Counter({name: count for name, count in below.items() if name.endswith("/")})
        best = max(sorted(folders), key=lambda name: folders[name], default="")
        if not best or folders[best] < _DOMINATES * len(paths):
            break
        base = best
    children = _children(base, paths)
    while len(children) <= _FEW_PARTS:
        large = max(sorted(children), key=lambda name: len(children[name]) if name.endswith("/") else 0, default="")
        if not large.endswith("/") or len(children[large]) * 2 <= len(paths):
            break
        children |= _children(large, children.pop(large))
    parts = [Part(name.rstrip("/"), found, name.endswith("/")) for name, found in sorted(children.items())]
    _count_edges(parts, code.imports.edges)
    return base.rstrip("/"), sorted(parts, key=lambda part: _weight(part, code))


def _children(base: str, paths: Iterable[str]) -> dict[str, list[str]]:
    """Paths below a base by what is directly below it."""
    found: dict[str, list[str]] = {}
    for path in paths:
        if path.startswith(base):
            found.setdefault(_child(base, path), []).append(path)
    return found


def _child(base: str, path: str) -> str:
    """The file or the folder (with a `/`) directly below a base that a path is or lies in."""
    rest = path[len(base) :]
    return base + (rest.partition("/")[0] + "/" if "/" in rest else rest)


def _weight(part: Part, code: Code) -> tuple[int, int, str]:
    """By the files that import it or that it imports, and a little by what it defines; less where it only declares."""
    definitions = sum(len(code.definitions(path)) for path in part.files)
    links = part.imports.total() + part.imported_by.total()
    if all(map(_declares, part.files)):
        return -links, 0, part.path
    return -10 * links - definitions, -len(part.files), part.path


def _owners(entities: Sequence[CodeEntity]) -> Iterator[CodeEntity]:
    """Objects that members are set on one by one, as in `res.send = function …`, at the line of the first: they have
    no definition of their own in the file. Each is its own parent.
    """
    defined = {one.name for one in entities if one.kind in DEFINITIONS}
    members: dict[str, list[CodeEntity]] = {}
    for one in entities:
        if one.parent and one.parent not in defined and one.kind in CALLABLE_KINDS:
            members.setdefault(one.parent, []).append(one)
    for name, found in members.items():
        if len(found) >= _MEMBERS and name.isidentifier():
            first = min(found, key=lambda one: one.line)
            yield replace(first, kind="namespace", name=name, qualified_name=name, parent=name, docstring="", ordinal=0)


def _declares(path: str) -> bool:
    """Whether a file holds types only, of code that is elsewhere."""
    return path.endswith((".d.ts", ".d.mts", ".d.cts", ".pyi"))


def _count_edges(parts: Sequence[Part], edges: Mapping[str, Sequence[str]]) -> None:
    """Counts, between parts, the files of one that import a file of the other."""
    home = {path: part for part in parts for path in part.files}
    for source, targets in edges.items():
        part = home.get(source)
        others = {home[one].path: home[one] for one in targets if one in home}
        for path, other in others.items():
            if part is not None and other is not part:
                part.imports[path] += 1
                other.imported_by[part.path] += 1


def central(code: Code, paths: Iterable[str], most: int) -> list[tuple[CodeEntity, int]]:
    """The definitions that matter most among some files, with the number of files that import each by name.

    Those that are imported the most come first, then types by the number of their members, then what is documented
    and public; ties by path and line.
    """
    found: list[tuple[tuple[object, ...], CodeEntity, int]] = []
    for path in paths:
        entities = code.entities.get(path, ())
        members = Counter(one.parent for one in entities if one.parent)
        for one in (*entities, *_owners(entities)):
            is_owner = one.parent == one.name
            if (one.parent and not is_owner) or one.kind not in DEFINITIONS or one.ordinal:
                continue
            if one.name == "default":  # what a file exports without a name
                continue
            uses = code.imports.names[path, one.name]
            size = members[one.name] if one.kind != "function" else 0
            key = (-uses, -size, one.name.startswith("_"), not one.docstring, one.line - one.end_line, path, one.line)
            found.append((key, one, uses))
    found.sort(key=lambda row: row[0])
    shown: dict[str, tuple[CodeEntity, int]] = {}
    for _, one, uses in found:
        shown.setdefault(one.name, (one, uses))
    return list(shown.values())[:most]


def key_files(code: Code, most: int) -> list[str]:
    """The files that are imported by the most others, then those that hold the most definitions."""
    paths = measurable(code)
    ranked = sorted(
        paths, key=lambda path: (_declares(path), -code.importers[path], -len(code.definitions(path)), path)
    )
    return [path for path in ranked if code.importers[path] or code.definitions(path)][:most]


def first_line(code: Code, path: str) -> str:
    """The first line of what a file says about itself, "" where it says nothing."""
    own = next((one for one in code.entities.get(path, ()) if one.kind == "file"), None)
    lines = [plain(line) for line in own.docstring.split("\n")[:40]] if own is not None else []
    text = next((line for line in lines if any(map(str.isalpha, line))), "")
    return "" if _SAYS_NOTHING.match(text) or (" " not in text and text.isascii()) else text
