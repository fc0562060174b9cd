"""What stands in a relation to an entity: by name, within the languages that can refer to one another."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from braindex.domain.entities import CALLABLE_KINDS, TYPE_KINDS, CodeEntity, EntityHead
from braindex.domain.penalties import is_test
from braindex.domain.relations import Link
from braindex.languages import language_named, languages_referring_to
from braindex.registry.index import IndexStore
from braindex.registry.references import Referring
from braindex.services.related_names import module_name

_DEFINED: Final = CALLABLE_KINDS | TYPE_KINDS
_IMPORTED: Final = _DEFINED | {"variable", "constant", "property", "namespace"}
_MOST_BASES: Final = 30  # types that are looked through for the method that one of the same name would call
# As what a relation is stored that is asked for from its other end.
_STORED_AS: Final[Mapping[str, str]] = {"callers": "call", "derived": "base", "importers": "import"}


class _Named(NamedTuple):
    """A stored entity, and its row."""

    row: int
    head: EntityHead


@dataclass(frozen=True, slots=True)
class Asked:
    """By what entities are referred to: those for which this is the same are referred to by the same."""

    kind: str
    name: str
    languages: frozenset[str]


def asked_by(relation: str, entity: EntityHead) -> Asked | None:
    """What to look for in a relation that others have to an entity; None for one that it has itself."""
    kind = _STORED_AS.get(relation)
    return None if kind is None else Asked(kind, _name_for(kind, entity), languages_referring_to(entity.language))


def referring(
    store: IndexStore, entities: Mapping[int, EntityHead], asked: Asked, limit: int
) -> tuple[list[Link], int]:
    """The nearest of those who refer to what is asked for, and how many they are. `entities` are the definitions of the
    name, by row: near is what is near to the first.

    Left out is the entity itself; of several methods of the name any may call another.
    """
    here = next(iter(entities.values())).path
    found = [one for one in _referring(store, asked) if len(entities) > 1 or one.row not in entities]
    distances = {path: _distance(here, path) for path in {one.path for one in found}}
    found.sort(key=lambda one: (distances[one.path], one.line, one.row))
    shown = [one.row for one in found[:limit]]
    lines = store.reference_lines(asked.kind, asked.name, shown)
    links = [Link(one.name, one.kind, one.path, lines[row]) for row, one in store.heads(shown).items()]
    return sorted(links, key=lambda one: (distances[one.path], one.line, one.name)), len(found)


def callers(store: IndexStore, entity: EntityHead, limit: int) -> tuple[tuple[Link, ...], int]:
    """Who calls an entity by its name, nearest first, at most `limit`, and how many more there are. It need not be in
    the index: what was removed may still be called.
    """
    asked = Asked("call", _name_for("call", entity), languages_referring_to(entity.language))
    found, count = referring(store, {store.rows_of([entity.id]).get(entity.id, -1): entity}, asked, limit)
    return tuple(found), max(0, count - limit)


def _referring(store: IndexStore, asked: Asked) -> Iterator[Referring]:
    for one in store.referring(asked.kind, asked.name, asked.languages) if asked.name else ():
        if asked.kind == "base" and one.kind not in TYPE_KINDS:  # only types derive
            continue
        if asked.kind == "call" and one.name == asked.name and not one.parent:  # a function calls itself by its name
            continue
        yield one


def own_links(store: IndexStore, relation: str, row: int, entity: EntityHead) -> list[Link]:
    """What an entity calls, derives from or has as members, all of it."""
    return _FOUND_BY[relation](store, _Named(row, entity))


def _name_for(kind: str, entity: EntityHead) -> str:
    """The name by which an entity is called, imported or derived from, "" where it cannot be: of a constructor its
    class's, of a file its module's.
    """
    spec = language_named(entity.language)
    if spec is None:
        return ""
    if kind == "import" and entity.kind == "file":
        return module_name(entity.path)
    if kind == "import":  # where a folder is the module, nothing in it is imported by itself
        return entity.name if entity.kind in _IMPORTED and spec.module == "file" else ""
    if kind == "base":
        return entity.name if entity.kind in spec.base_kinds else ""
    if entity.kind == "constructor" and entity.parent:
        return entity.parent
    return entity.name if entity.kind in _IMPORTED else ""


def _calls(store: IndexStore, entity: _Named) -> list[Link]:
    """The functions and types that it calls. What is built in or comes from elsewhere is not worth its name."""
    links: list[Link] = []
    for name, found in _meant(store, entity, "call").items():
        if name != entity.head.name:
            links += [_link(name, found[0].head, len(found) - 1)] if found else []
        elif found and entity.head.parent:  # a function that calls its own name calls itself
            links.append(_link(name, _overridden(store, entity, found) or found[0].head, len(found) - 1))
    return links


def _bases(store: IndexStore, entity: _Named) -> list[Link]:
    """What it derives from. A base from elsewhere is worth its name, behind those that are known."""
    if entity.head.kind not in TYPE_KINDS:
        return []
    meant = _meant(store, entity, "base")
    known = [_link(name, found[0].head, len(found) - 1) for name, found in meant.items() if found]
    return [*known, *(Link(name) for name, found in meant.items() if not found)]


def _meant(store: IndexStore, entity: _Named, kind: str) -> dict[str, list[_Named]]:
    """What each name may mean that an entity refers to in a way: the nearest first, the entity itself left out."""
    spec = language_named(entity.head.language)
    if spec is None:
        return {}
    languages = spec.refers_to | {spec.name}
    kinds = spec.base_kinds if kind == "base" else _DEFINED
    references = store.references([entity.row]).get(entity.row, ())
    by_name: dict[str, list[_Named]] = {name: [] for one, name, _ in references if one == kind}
    for row, one in store.heads(store.rows_by_name(list(by_name))).items():
        if one.name in by_name and one.kind in kinds and one.language in languages and row != entity.row:
            by_name[one.name].append(_Named(row, one))
    for found in by_name.values():
        found.sort(key=partial(_nearness, entity.head.path))
    return by_name


def _overridden(store: IndexStore, method: _Named, found: list[_Named]) -> EntityHead | None:
    """Of the methods of one name, that of a base class of the method's own class, the next one up."""
    pending = _classes(store, method.head)
    seen: set[int] = set()
    while pending and len(seen) < _MOST_BASES:
        one = pending.pop(0)
        if one.row in seen:
            continue
        seen.add(one.row)
        bases = [alike[0] for alike in _meant(store, one, "base").values() if alike]
        for base in bases:
            for _, held in found:
                if (held.parent, held.path) == (base.head.name, base.head.path):
                    return held
        pending += bases
    return None


def _classes(store: IndexStore, method: EntityHead) -> list[_Named]:
    """The nearest entity that is called as a method's parent is."""
    heads = store.heads(store.rows_by_name([method.parent])).items()
    alike = [_Named(row, one) for row, one in heads if (one.name, one.language) == (method.parent, method.language)]
    return sorted(alike, key=partial(_nearness, method.path))[:1]


def _members(store: IndexStore, entity: _Named) -> list[Link]:
    """What is defined directly inside, or elsewhere in its module with the entity as its owner; of a file, what is
    defined in it outside everything else.
    """
    head = entity.head
    file = {one.id: one.entity for one in store.of_file(head.path) if one.entity.kind not in {"code-block", "file"}}
    if head.kind == "file":
        return [_member(one) for one in file.values() if not one.parent]
    own = file.get(head.id)
    if own is None:
        return []
    spec = language_named(head.language)
    around = list(file.values())
    if spec is not None and spec.module == "folder":
        around = [one.entity for one in store.of_folder(head.path.rpartition("/")[0], head.name)]
    inside = [one for one in file.values() if one.parent == own.name and one != own and _holds(own, one)]
    return [_member(one) for one in (*inside, *_outside(own, around))]


def _outside(own: CodeEntity, around: list[CodeEntity]) -> list[CodeEntity]:
    """The members of a type that are written outside it, and outside all that is called so; those of its file first."""
    namesakes = [one for one in around if one.name == own.name]
    members = [
        one
        for one in around
        if (one.parent, one.language) == (own.name, own.language) and not any(_holds(other, one) for other in namesakes)
    ]
    return sorted(members, key=lambda one: one.path != own.path)


def _holds(outer: CodeEntity, inner: CodeEntity) -> bool:
    return outer.path == inner.path and outer.start <= inner.start and inner.end <= outer.end


def _member(entity: CodeEntity) -> Link:
    return Link(entity.name, entity.kind, entity.path, entity.line)


def _link(name: str, head: EntityHead, others: int) -> Link:
    return Link(name, head.kind, head.path, head.line, others)


def _nearness(here: str, there: _Named) -> tuple[tuple[bool, bool, int, str], int]:
    return _distance(here, there.head.path), there.head.line


def _distance(here: str, there: str) -> tuple[bool, bool, int, str]:
    """Nearer first: the file itself, then files that share more of the way to it, tests last."""
    mine, other = here.split("/"), there.split("/")
    shared = next((at for at, (one, two) in enumerate(zip(mine, other, strict=False)) if one != two), len(mine))
    return here != there, is_test(there) and not is_test(here), -shared, there


# By the words of `RELATIONS`.
_FOUND_BY: Final[Mapping[str, Callable[[IndexStore, _Named], list[Link]]]] = {
    "calls": _calls,
    "bases": _bases,
    "members": _members,
}
