"""Who calls this, what does it call, what derives from it: from the references that scans store."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from braindex.domain.display import echoed
from braindex.domain.entities import TYPE_KINDS, EntityHead
from braindex.domain.errors import UsageError
from braindex.domain.relations import MOST_LINKS, RELATIONS, Link, Related, Relatives, asked_relation
from braindex.domain.results import Workspace
from braindex.registry.index import IndexStore
from braindex.services.freshness import Freshness
from braindex.services.related_links import Asked, asked_by, own_links, referring
from braindex.services.related_names import definitions, full_name, importable
from braindex.services.roots import checked_root
from braindex.services.workspaces import Workspaces

MOST_DEFINITIONS: Final = 5  # of one name that are answered for
_MOST_ANSWERED: Final = 12  # links in an answer, beside its sources
# Definitions of one name that are looked at for something to say: each takes a few milliseconds.
_MOST_LOOKED_AT: Final = 25
_Group = Mapping[int, EntityHead]  # definitions of which the same is true, by row


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

    def of(self, workspace: Workspace, name: str, limit: int = MOST_LINKS) -> Relatives:
        """What is related to each entity of a name (see `definitions`), at most `limit` a relation, of at most five.

        Changes on disk are taken in first. Raises TooFewLinks, NothingCalled, and what opening the workspace raises.
        """
        if limit < 1:
            raise TooFewLinks(limit)
        root = checked_root(workspace.path)

        def look(store: IndexStore) -> Relatives | None:
            coverage = self._freshness.take_in(workspace, root, store)
            with store.snapshot():
                heads = definitions(store, name)
                if not heads:
                    return None
                found = _answered(store, _each(store, heads), limit, tuple(RELATIONS))
                return _relatives(found, heads, coverage)

        found = self._workspaces.with_index(workspace, look)
        if found is None:
            raise NothingCalled(name)
        return found


def related_to(store: IndexStore, question: str) -> Relatives | None:
    """What a question asks for by a relation and a name ("who calls parse_date"), or None."""
    asked = asked_relation(question)
    if asked is None:
        return None
    relation, name = asked
    with store.snapshot():
        heads = importable(store, name) if relation == "importers" else definitions(store, name)
        if not heads:
            return None
        is_own = asked_by(relation, heads[0]) is None
        groups = _each(store, heads) if is_own else _together(store, heads, relation)
        found = _answered(store, groups, _MOST_ANSWERED, (relation,))
        known = [one for one in found if one.links]
        return _relatives(known or _as_one(found), heads)


def _each(store: IndexStore, heads: Sequence[EntityHead]) -> list[_Group]:
    """Each definition by itself; of many those that refer to something, and types, which have members."""
    rows = store.rows_of([one.id for one in heads])
    if len(heads) > _MOST_LOOKED_AT:
        referring_rows = store.references(rows.values())
        heads = sorted(heads, key=lambda one: one.kind not in TYPE_KINDS and rows[one.id] not in referring_rows)
    return [{rows[one.id]: one} for one in heads[:_MOST_LOOKED_AT]]


def _together(store: IndexStore, heads: Sequence[EntityHead], relation: str) -> list[_Group]:
    """The definitions that are referred to by the same, together: a name does not tell which of them is meant."""
    rows = store.rows_of([one.id for one in heads])
    groups: dict[Asked | None, dict[int, EntityHead]] = {}
    for head in heads:
        groups.setdefault(asked_by(relation, head), {})[rows[head.id]] = head
    return list(groups.values())


def _answered(store: IndexStore, groups: Iterable[_Group], limit: int, wanted: Sequence[str]) -> list[Related]:
    """At most a few, first those of which there is anything to say."""
    known: list[Related] = []
    bare: list[Related] = []
    for group in groups:
        one = _related(store, group, limit, wanted)
        (known if one.links else bare).append(one)
        if len(known) == MOST_DEFINITIONS:
            break
    return [*known, *bare][:MOST_DEFINITIONS]


def _as_one(bare: Sequence[Related]) -> list[Related]:
    """Definitions of which there is nothing to say, in one block."""
    places = [Link(one.name, one.kind, one.path, one.line) for one in bare]
    places += [link for one in bare for link in one.also]
    return [replace(bare[0], also=tuple(places[1:MOST_DEFINITIONS]))]


def _related(store: IndexStore, group: _Group, limit: int, wanted: Sequence[str]) -> Related:
    """What stands in the wanted relations to an entity, or to a group of which the same is true."""
    row, head = next(iter(group.items()))
    links: dict[str, tuple[Link, ...]] = {}
    left_out: dict[str, int] = {}
    for relation in wanted:
        asked = asked_by(relation, head)
        if asked is None:
            found = own_links(store, relation, row, head)
            count = len(found)
        else:
            found, count = referring(store, group, asked, limit)
        if found:
            links[relation] = tuple(found[:limit])
        if count > limit:
            left_out[relation] = count - limit
    also = tuple(Link(one.name, one.kind, one.path, one.line) for one in list(group.values())[1:MOST_DEFINITIONS])
    return Related(
        head.id, head.name, head.kind, head.path, head.line, head.end_line, links, left_out,
        wanted[0] if len(wanted) == 1 else "", also,
    )  # fmt: skip


def _relatives(found: Iterable[Related], heads: Sequence[EntityHead], coverage: str = "") -> Relatives:
    shown = tuple(found)
    places = {(one.path, one.line) for related in shown for one in related.also}
    places |= {(one.path, one.line) for one in shown}
    names = {full_name(one): (one.path, one.line) in places for one in heads}
    hidden = next((name for name, is_shown in names.items() if not is_shown), "")
    return Relatives(shown, len(heads), hidden if len(names) > 1 else "", coverage)
