"""The hard facts of a workspace, gathered from its index and a few of its files: what a brief is made of.

Everything is read from what is there, in path order: the same content gives the same facts, whatever the order of
indexing. Nothing is guessed: what cannot be found is left out.
"""

import posixpath
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from braindex.domain.options import WorkspaceOptions
from braindex.registry.index import IndexStore, Totals
from braindex.services.briefing.conventions import conventions
from braindex.services.briefing.entry_points import declared_points, distinct, shown_points
from braindex.services.briefing.imports import ImportReader
from braindex.services.briefing.manifest import EntryPoint
from braindex.services.briefing.manifests import Manifests, find_manifests
from braindex.services.briefing.prose import (
    Document,
    Passage,
    Todo,
    deprecations,
    plans,
    read_document,
    readme_path,
    todos,
    unreleased,
)
from braindex.services.briefing.reading import ProjectFiles
from braindex.services.briefing.roles import PARSED, is_code, written_in
from braindex.services.briefing.structure import Code, Part, files_by_role, load_entities, parts_of
from braindex.services.briefing.tooling import Tooling, tooling

_DOCUMENTS: Final = (
    "contributing", "agents", "claude", "architecture", "development", "hacking", "changelog", "changes", "history",
    "security", "roadmap",
)  # fmt: skip
_SOURCE_TEXT: Final = 4_500_000  # bytes of source read for imports, most of what may be read in all


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a workspace.

    `main_package` is the folder of the package that is most of a monorepo, "" where there is none. `base` is
    the folder that holds nearly all of the code, "" the root; `languages` count files of code; `documents` are written
    for those who work on the project; `first_files` are there to open where nothing else stands out.
    """

    name: str
    totals: Totals
    languages: tuple[tuple[str, int], ...]
    folders: tuple[tuple[str, int], ...]
    manifests: Manifests
    main_package: str
    readme: Document | None
    code: Code
    base: str
    parts: tuple[Part, ...]
    entry_points: tuple[EntryPoint, ...]
    conventions: tuple[str, ...]
    tooling: Tooling
    planned: tuple[Passage, ...]
    release: Passage | None
    release_items: tuple[Passage, ...]
    todos: tuple[Todo, ...]
    deprecations: tuple[tuple[str, int], ...]
    documents: tuple[str, ...]
    first_files: tuple[str, ...]
    scanned_whole: bool


def gather(name: str, root: Path, store: IndexStore, options: WorkspaceOptions) -> Facts:
    """The facts as of one moment of the index. Raises a StoreError when the index cannot be read."""
    with store.snapshot():
        return _gather(name, root, store, options)


def _gather(name: str, root: Path, store: IndexStore, options: WorkspaceOptions) -> Facts:
    files = ProjectFiles(root, store, options)
    manifests = find_manifests(files)
    main = _main_package(manifests, files)
    code = Code(files_by_role(files))
    reader = ImportReader(files, {one.name: one.folder for one in manifests.every if one.kind == "Node" and one.name})
    texts, is_whole = _source_texts(files, code)
    code.imports = reader.read(texts)
    code.importers = code.imports.importers()
    load_entities(code, files, store)
    base, parts = parts_of(code)
    path = readme_path(files, base)
    readme = read_document(path, files.text(path) or "") if path else None
    release, items = unreleased(files)
    declared = declared_points(manifests, main, code, reader)
    points = distinct([*declared, *shown_points(files, code, [base] if base else _folders_of(parts), texts)])
    return Facts(
        name=name, totals=store.totals(), languages=_languages(files), folders=_folders(files),
        manifests=manifests, main_package=main, readme=readme, code=code, base=base, parts=tuple(parts),
        entry_points=tuple(points),
        conventions=tuple(conventions(code, texts)), tooling=tooling(files, manifests, code),
        planned=tuple(plans(files, readme)), release=release, release_items=tuple(items), todos=tuple(todos(texts)),
        deprecations=tuple(deprecations(texts)),
        documents=tuple(_documents(files)), first_files=tuple(_first_files(files, code)),
        scanned_whole=is_whole and _measured_whole(files, code),
    )  # fmt: skip


def _folders_of(parts: Sequence[Part]) -> list[str]:
    return [part.path for part in parts if part.is_folder][:3] or [""]


def _main_package(manifests: Manifests, files: ProjectFiles) -> str:
    """The folder of the package that holds most of a monorepo's files of code, "" where the root is the package."""
    homes = {one.folder for one in manifests.packages}
    counts: Counter[str] = Counter()
    for path in files.paths:
        if is_code(path):
            folder = posixpath.dirname(path)
            while folder and folder not in homes:
                folder = posixpath.dirname(folder)
            counts[folder] += 1
    best = min(counts, key=lambda one: (-counts[one], one), default="")
    return best if counts[best] * 2 > counts.total() else ""


def _source_texts(files: ProjectFiles, code: Code) -> tuple[list[tuple[str, str]], bool]:
    """The texts of the source files, the shallowest first as far as the limit reaches, by path; whether it reached."""
    found: list[tuple[str, str]] = []
    left = _SOURCE_TEXT
    paths = [path for path in code.source if is_code(path)]
    for path in sorted(paths, key=lambda one: (one.count("/"), one)):
        left -= files.size(path)
        if left < 0:
            return sorted(found), False
        text = files.text(path)
        if text is not None:
            found.append((path, text))
    return sorted(found), True


def _measured_whole(files: ProjectFiles, code: Code) -> bool:
    return all(path in code.entities for path in code.source if files.language(path) in PARSED)


def _languages(files: ProjectFiles) -> tuple[tuple[str, int], ...]:
    counts = Counter(language for path in files.paths if (language := written_in(path)))
    return tuple(sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def _folders(files: ProjectFiles) -> tuple[tuple[str, int], ...]:
    counts = Counter(path.partition("/")[0] for path in files.paths if "/" in path)
    return tuple(sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def _first_files(files: ProjectFiles, code: Code) -> list[str]:
    """What there is to open where nothing else stands out."""
    at_root = [path for path in files.paths if "/" not in path and not path.startswith(".")]
    return list(dict.fromkeys([*code.source[:4], *at_root]))[:8]


def _documents(files: ProjectFiles) -> Iterator[str]:
    for name in _DOCUMENTS:
        for folder in ("", "docs/", ".github/"):
            found = [f"{folder}{name}{end}" for end in (".md", ".rst", ".txt", "")]
            lower = {path.lower(): path for one in found for path in files.by_name.get(posixpath.basename(one), ())}
            path = next((lower[one] for one in found if one in lower), None)
            if path is not None:
                yield path
                break
