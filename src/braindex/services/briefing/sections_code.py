"""The sections of a brief that tell of the code: its parts, its files, who imports whom, how it is written."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from braindex.domain.entities import CodeEntity
from braindex.services.briefing import structure
from braindex.services.briefing.facts import Facts
from braindex.services.briefing.manifest import EntryPoint
from braindex.services.briefing.quoting import code, counted, listed, place, quote
from braindex.services.briefing.structure import Part, central, first_line

_PARTS: Final = 10
_NAMES: Final = 3  # definitions named of each part
_FEW_FOLDERS: Final = 2
_CHAIN: Final = 6  # files of a chain of imports


def core_architecture(facts: Facts) -> list[str]:
    """The parts of the code with their central definitions."""
    if not facts.parts:
        return []
    where = f"{place(facts.base + '/')}" if facts.base else "the root"
    inside = sum(len(part.files) for part in facts.parts)
    every = len(structure.measurable(facts.code))
    count = counted(inside, "file") if inside == every else f"{inside:,} of {every:,} files"
    told = "its parts (paths from there, importers without tests) with their main definitions:"
    lines = [f"The code is in {where} ({count}); {told}"]
    lines += [_part(part, facts) for part in facts.parts[:_PARTS]]
    rest = facts.parts[_PARTS:]
    if rest:
        lines.append(f"- also {listed([place(_shown(part, facts)) for part in rest], 10)}")
    return lines


def _shown(part: Part, facts: Facts) -> str:
    return _from(facts.base, part.path) + ("/" if part.is_folder else "")


def _part(part: Part, facts: Facts) -> str:
    told = []
    if part.is_folder:
        told.append(counted(len(part.files), "file"))
    users = sum(part.imported_by.values())
    if users:
        told.append(f"imported by {counted(users, 'file')} outside it" if part.is_folder else f"imported by {users:,}")
    head = f"- {place(_shown(part, facts))}" + (f" ({', '.join(told)})" if told else "")
    said = _said_of(part, facts)
    names = [_definition(one, part) for one, _ in central(facts.code, part.files, _NAMES)]
    tail = ", ".join(names)
    return (
        head + (f": {quote(said, 70)}" if said else "") + (f" {tail}" if said and tail else f": {tail}" if tail else "")
    )


def _said_of(part: Part, facts: Facts) -> str:
    """What a part says of itself: a file's first line, a folder's package docstring."""
    paths = (
        [part.path]
        if not part.is_folder
        else [f"{part.path}/{name}" for name in ("__init__.py", "index.ts", "index.js")]
    )
    return next((said for path in paths if (said := first_line(facts.code, path))), "")


def _definition(one: CodeEntity, part: Part) -> str:
    """A definition with its line; with its file too where its part is a folder."""
    where = one.path[len(part.path) + 1 :] if part.is_folder else ""
    spot = f"{place(where, one.line)}" if where else f"line {one.line}"
    owned = " and its members" if one.kind == "namespace" and one.parent == one.name else ""
    return f"{code(one.name, 50)}{owned} ({spot})"


def primary_conventions(facts: Facts) -> list[str]:
    lines = list(facts.conventions)
    if lines and not facts.scanned_whole:
        lines.append(
            f"Measured on {counted(len(facts.code.entities), 'source file')} of {len(facts.code.source):,}, "
            "those that are imported most and the largest."
        )
    return lines


def key_files(facts: Facts) -> list[str]:
    here = [one for one in facts.entry_points if one.path][:5]
    shown = {one.path for one in here}
    lines = [_entry(one) for one in here]
    lines += [_key_file(path, facts) for path in structure.key_files(facts.code, 10) if path not in shown]
    built = dict.fromkeys(f"{code(one.target)} ({place(one.source)})" for one in facts.entry_points if not one.path)
    if built:
        lines.insert(len(here), f"- entry points that are not in the index: {listed(built, 3)}")
    if not lines:
        lines = [f"- {place(path)}" for path in facts.first_files]
    if facts.documents:
        lines.append(f"- to read: {listed([place(path) for path in facts.documents], 5)}")
    return lines


def _entry(one: EntryPoint) -> str:
    declared = f" ({place(one.source)})" if one.source else ""
    what = {
        "command": f"command {code(one.name, 40)}{declared}",
        "module": f"loaded by `import` of {code(one.name, 40)}"
        if _is_package(one)
        else "the index module of its folder",
        "run": f"run by `python -m` {code(one.name, 40)}",
        "script": "runs as a script",
        "begins": code(one.name, 60),
        "page": "the page at the root",
        "export": f"export {code(one.name, 40)}{declared}",
    }.get(one.what, f"{one.what}{declared}")
    return f"- {place(one.path, one.line)}: entry point, {what}"


def _is_package(one: EntryPoint) -> bool:
    return one.path.endswith("/__init__.py")


def _key_file(path: str, facts: Facts) -> str:
    users, definitions = facts.code.importers[path], len(facts.code.definitions(path))
    told = [
        f"imported by {counted(users, 'source file')}" if users else "",
        counted(definitions, "definition") if definitions else "",
    ]
    said = first_line(facts.code, path)
    return f"- {place(path)}: {', '.join(one for one in told if one)}" + (f"; {quote(said, 70)}" if said else "")


def data_flow(facts: Facts) -> list[str]:
    """Who imports whom: from the entry points on, between the parts, and where outside libraries come in."""
    edges = facts.code.imports.edges
    entries = [one.path for one in facts.entry_points if edges.get(one.path)]
    entries.sort(key=lambda path: -len(edges[path]))
    followed = list(dict.fromkeys(entries))[:1]
    lines = [_imports_of(path, facts, "entry point ") for path in followed]
    lines += _chain(facts, followed)
    if sum(part.is_folder for part in facts.parts) >= _FEW_FOLDERS:
        lines += _between(facts)
    lines += _outside(facts)
    lines += _foundations(facts)
    lines += [_imports_of(path, facts, "") for path in _coordinators(facts, followed)[:2]]
    return [f"Paths are from {place(facts.base + '/')}.", *lines] if lines and facts.base else lines


def _chain(facts: Facts, entries: Sequence[str]) -> Iterator[str]:
    """From an entry point on, each time to the imported file that itself imports the most."""
    edges = facts.code.imports.edges
    path = entries[0] if entries else ""
    chain = [path]
    while len(chain) < _CHAIN:
        open_ones = [one for one in edges.get(path, ()) if one not in chain]
        if not open_ones:
            break
        path = min(open_ones, key=lambda one: (-len(edges.get(one, ())), -facts.code.importers[one], one))
        chain.append(path)
    if len(chain) > 2:
        yield f"- a chain of imports from there: {' → '.join(place(_from(facts.base, one)) for one in chain)}"


def _imports_of(path: str, facts: Facts, what: str) -> str:
    targets = sorted(facts.code.imports.edges[path], key=lambda one: (-facts.code.importers[one], one))
    shown = [place(_from(facts.base, one)) for one in targets]
    return f"- {what}{place(_from(facts.base, path))} imports {listed(shown, 6)}"


def _from(folder: str, path: str) -> str:
    """A path as seen from a folder when it lies below it, else as it is."""
    return path[len(folder) + 1 :] if folder and path.startswith(f"{folder}/") else path


def _between(facts: Facts) -> Iterator[str]:
    """Of each part the parts it imports, those that import the most first."""
    ranked = sorted(facts.parts, key=lambda part: (-sum(part.imports.values()), part.path))
    shown = [part for part in ranked if part.imports and part.is_folder][:6]
    if shown:
        yield "Imports between the parts, with the number of importing files:"
    for part in shown:
        targets = sorted(part.imports.items(), key=lambda one: (-one[1], one[0]))
        others = [f"{place(_from(facts.base, one))} {count:,}" for one, count in targets]
        yield f"- {place(_from(facts.base, part.path))} → {listed(others, 5)}"


def _coordinators(facts: Facts, followed: Sequence[str]) -> list[str]:
    """The files that import the most others of the project."""
    edges = facts.code.imports.edges
    ranked = sorted(edges, key=lambda path: (-len(edges[path]), path))
    return [path for path in ranked if len(edges[path]) > 1 and path not in followed]


def _foundations(facts: Facts) -> Iterator[str]:
    edges, importers = facts.code.imports.edges, facts.code.importers
    found = [path for path in importers if importers[path] > 1 and not edges.get(path)]
    found.sort(key=lambda path: (-importers[path], path))
    if found:
        shown = [f"{place(_from(facts.base, path))} {importers[path]:,}" for path in found]
        yield f"Imported by others and importing no file of the project: {listed(shown, 4)}."


def _outside(facts: Facts) -> Iterator[str]:
    """Outside libraries by the number of files that import them, with a file to look at."""
    outside = facts.code.imports.outside
    counts = Counter({name: len(paths) for name, paths in outside.items()})
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    shown = [f"{code(name, 40)} in {_homes(outside[name], facts)}" for name, _ in ranked]
    if shown:
        yield f"Outside libraries come in at: {listed(shown, 4)}."


def _homes(paths: Sequence[str], facts: Facts) -> str:
    return (
        f"{place(_from(facts.base, paths[0]))}"
        if len(paths) == 1
        else f"{len(paths):,} files, such as {place(_from(facts.base, paths[0]))}"
    )
