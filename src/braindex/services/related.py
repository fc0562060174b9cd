"""Who calls this, what does it call, what derives from it: from the references that scans store."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from braindex.domain.display import echoed
from braindex.domain.entities import CALLABLE_KINDS, TYPE_KINDS, EntityHead
from braindex.domain.errors import UsageError
from braindex.domain.penalties import is_test
from braindex.domain.relations import MOST_LINKS, RELATIONS, Link, Related, asked_relation
from braindex.domain.results import Workspace
from braindex.registry.index import IndexStore
from braindex.services.freshness import Freshness
from braindex.services.roots import checked_root
from braindex.services.workspaces import Workspaces

MOST_ENTITIES: Final = 5  # of one name that are answered for
_MOST_ANSWERED: Final = 12  # in an answer, beside its sources
_MOST_READ: Final = 2_000  # references to one name that are looked at
_DEFINED: Final = CALLABLE_KINDS | TYPE_KINDS


class TooFewLinks(UsageError):
    def __init__(self, limit: int) -> None:
        super().__init__(f"limit is {limit}, and has to be 1 or more")


class NothingCalled(UsageError):
    def __init__(self, name: str) -> None:
        super().__init__(
            f"no function, class or other entity is called {echoed(name)!r}; ask for it in words (`braindex ask`), or "
            "scan the workspace if it is new"
        )


class Relations:
    """The relations of the entities of any known workspace."""

    def __init__(self, workspaces: Workspaces, freshness: Freshness) -> None:
        self._workspaces = workspaces
        self._freshness = freshness

    def of(self, workspace: Workspace, name: str, limit: int = MOST_LINKS) -> tuple[tuple[Related, ...], str]:
        """What is related to each entity of a name (bare or qualified, at most five), at most `limit` a relation; and
        in one line what of the workspace is not covered, else "".

        Changes on disk are taken in first. Raises TooFewLinks, NothingCalled, and what opening the workspace raises.
        """
        if limit < 1:
            raise TooFewLinks(limit)
        root = checked_root(workspace.path)

        def look(store: IndexStore) -> tuple[tuple[Related, ...], str]:
            coverage = self._freshness.take_in(workspace, root, store)
            with store.snapshot():
                return tuple(related(store, one, limit) for one in named(store, name)), coverage

        found, coverage = self._workspaces.with_index(workspace, look)
        if not found:
            raise NothingCalled(name)
        return found, coverage


def related_to(store: IndexStore, question: str) -> Related | None:
    """What a question asks for by a relation and a name ("who calls parse_date"), or None."""
    asked = asked_relation(question)
    if asked is None:
        return None
    relation, name = asked
    with store.snapshot():
        found = named(store, name)
        return related(store, found[0], _MOST_ANSWERED, [relation]) if found else None


def named(store: IndexStore, name: str) -> list[EntityHead]:
    """The definitions of a name, at most five: those that are spelt so, else those that differ in case alone."""
    bare = name.strip().removesuffix("()")
    heads = [one for one in store.heads(store.rows_by_name([bare])).values() if one.kind not in {"file", "code-block"}]
    exact = [one for one in heads if bare in {one.name, one.qualified_name}] or heads
    exact.sort(key=lambda one: (one.kind not in _DEFINED, one.path, one.line))
    return exact[:MOST_ENTITIES]


def related(store: IndexStore, entity: EntityHead, limit: int, wanted: Iterable[str] = RELATIONS) -> Related:
    """What stands in the wanted relations to an entity."""
    row = next(iter(store.rows_of([entity.id]).values()))
    found = {relation: _FOUND_BY[relation](store, entity, row) for relation in wanted}
    return Related(
        entity.id, entity.name, entity.kind, entity.path, entity.line, entity.end_line,
        {relation: tuple(links[:limit]) for relation, links in found.items() if links},
        {relation: len(links) - limit for relation, links in found.items() if len(links) > limit},
    )  # fmt: skip


def callers(store: IndexStore, entity: EntityHead, limit: int) -> tuple[tuple[Link, ...], int]:
    """Who calls an entity by its name, nearest first, at most `limit`, and how many more there are. It need not be in
    the index: what was removed may still be called.
    """
    links = _referring("call", store, entity, store.rows_of([entity.id]).get(entity.id, -1))
    return tuple(links[:limit]), max(0, len(links) - limit)


def _referring(kind: str, store: IndexStore, entity: EntityHead, row: int) -> list[Link]:
    """Entities that refer to the name, those near to it first. A constructor is called by its class's name."""
    if kind == "base" and entity.kind not in TYPE_KINDS:
        return []
    name = entity.parent if entity.kind == "constructor" and entity.parent else entity.name
    lines = dict(store.referring(kind, name, _MOST_READ))
    lines.pop(row, None)
    heads = store.heads(lines)
    links = [Link(one.name, one.kind, one.path, lines[at]) for at, one in heads.items()]
    return sorted(links, key=lambda one: (*_distance(entity.path, one.path), one.line, one.name))


def _resolved(kind: str, wanted: frozenset[str], store: IndexStore, entity: EntityHead, row: int) -> list[Link]:
    """What the names it refers to stand for: of the entities of these kinds that are called so, the nearest. Names of
    types that nothing has stay names.
    """
    names = [(name, line) for one, name, line in store.references([row]).get(row, ()) if one == kind]
    by_name: dict[str, list[EntityHead]] = {name: [] for name, _ in names}
    for one in store.heads(store.rows_by_name(list(by_name))).values():
        if one.name in by_name and one.kind in wanted:
            by_name[one.name].append(one)
    links: list[Link] = []
    unknown: list[Link] = []
    for name, line in names:
        found = sorted(by_name[name], key=lambda one: (*_distance(entity.path, one.path), one.line))
        if found:
            nearest = found[0]
            links.append(Link(name, nearest.kind, nearest.path, nearest.line, len(found) - 1))
        elif wanted <= TYPE_KINDS:  # a base class from elsewhere is worth its name; a built-in that is called is not
            unknown.append(Link(name, line=line))
    return [*links, *(replace(one, line=0) for one in unknown)]


def _members(store: IndexStore, entity: EntityHead, _row: int) -> list[Link]:
    """What is defined directly inside."""
    file = store.of_file(entity.path)
    own = next((one.entity for one in file if one.id == entity.id), None)
    if own is None or own.kind == "file":
        return []
    inside = [one.entity for one in file if own.start <= one.entity.start and one.entity.end <= own.end]
    return [
        Link(one.name, one.kind, one.path, one.line)
        for one in inside
        if one.parent == own.name and one != own and one.kind != "code-block"
    ]


def _distance(here: str, there: str) -> tuple[bool, bool, int, str]:
    """Nearer first: the file itself, then files that share more of the way to it, tests last."""
    mine, other = here.split("/"), there.split("/")
    shared = next((at for at, (one, two) in enumerate(zip(mine, other, strict=False)) if one != two), len(mine))
    return here != there, is_test(there) and not is_test(here), -shared, there


# By the words of `RELATIONS`.
_FOUND_BY: Final[Mapping[str, Callable[[IndexStore, EntityHead, int], list[Link]]]] = {
    "callers": partial(_referring, "call"),
    "calls": partial(_resolved, "call", _DEFINED),
    "bases": partial(_resolved, "base", TYPE_KINDS),
    "derived": partial(_referring, "base"),
    "members": _members,
    "importers": partial(_referring, "import"),
}
