"""What is brought back before a turn: similar notes and episodes, the code nearest to the request, the brief once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from braindex.domain.diffs import FileDiff
from braindex.domain.display import shortened
from braindex.domain.entities import EntityHead
from braindex.domain.memories import Episode, Note
from braindex.domain.options import WorkspaceOptions
from braindex.domain.ranking import inverse_frequency
from braindex.domain.recall import (
    BRIEF_TITLE,
    ENTITIES,
    RECALLED,
    Place,
    Recalled,
    context_block,
    names_in,
    telling_terms,
)
from braindex.domain.results import Workspace
from braindex.domain.units import StoredEntity
from braindex.domain.words import terms
from braindex.registry.briefs import read_text
from braindex.registry.index import IndexStore
from braindex.services.memories import Memories, quietly
from braindex.services.ties import Ties
from braindex.services.workspaces import Workspaces

T = TypeVar("T")

_MOST_TERMS: Final = 32  # of a question that are searched for
_CANDIDATES: Final = 60
LONGEST_QUESTION: Final = 4_000  # characters: of a longer request its beginning and its end say what it is about
_MOST_IDENTIFIERS: Final = 12
_SAME_NAME: Final = 2  # entities of one name that are shown
# What an entity's name, signature, path and docstring have to share with the request; measured by bench/recall.py.
LEAST_SHARED: Final = 2  # telling words …
LEAST_SHARE: Final = 0.55  # … their share of the request's, each by how rare it is …
LEAST_HELD: Final = 0.6  # … and their weight, in weights of a word that no entity holds
_AS_IF: Final = 50  # entities: among fewer, a word that one of them holds is not common because of that


@dataclass(frozen=True, slots=True)
class Context:
    """The block for the agent, "" for none, and the ids of what it tells."""

    text: str = ""
    ids: tuple[str, ...] = ()
    memories: tuple[Recalled, ...] = ()
    places: tuple[Place, ...] = ()
    has_brief: bool = False


class Recalling:
    """Reads what is known of a workspace; writes nothing and parses only what a note is tied to."""

    def __init__(self, workspaces: Workspaces, memories: Memories, options: Callable[[Path], WorkspaceOptions]) -> None:
        self._workspaces = workspaces
        self._memories = memories
        self._options = options

    def context(
        self, workspace: Workspace, question: str, told: Sequence[str] = (), session: str = "", *, brief: bool = True
    ) -> Context:
        """What a question brings back that is not among the ids `told` already, nor an episode of the conversation
        `session`. Nothing where nothing has enough to do with it; then no brief either, unless nothing is asked.
        """
        known, question = frozenset(told), shortened(question, LONGEST_QUESTION)
        memories = self._similar(workspace, question, known, session)
        places = [one for one in self._places(workspace, question) if one.id not in known][:ENTITIES]
        text = self._brief(workspace) if brief and (memories or places or not question.strip()) else ""
        block = context_block(workspace.name, text, memories, places, question)
        if not block:
            return Context()
        ids = (*(one.memory.id for one in memories), *(one.id for one in places))
        return Context(block, ids, tuple(memories), tuple(places), has_brief=BRIEF_TITLE in block.split("\n"))

    def latest(self, workspace: Workspace, told: Sequence[str] = ()) -> Context:
        """What a client that takes no context with a prompt is told at the start: the brief, and the last of the notes
        and episodes.
        """
        known = frozenset(told)
        notes = [Recalled(one, None, 0.0) for one in self._memories.notes(workspace, limit=RECALLED)]
        episodes = [Recalled(one, None, 0.0) for one in self._memories.episodes(workspace, limit=RECALLED)]
        found = sorted((*notes, *episodes), key=lambda one: one.memory.created, reverse=True)
        memories = [one for one in found if one.memory.id not in known][:RECALLED]
        brief = self._brief(workspace)
        block = context_block(workspace.name, brief, memories, (), "")
        ids = tuple(one.memory.id for one in memories) if block else ()
        return Context(block, ids, tuple(memories), has_brief=BRIEF_TITLE in block.split("\n"))

    def _similar(self, workspace: Workspace, question: str, known: frozenset[str], session: str) -> list[Recalled]:
        if not question.strip():
            return []
        found = quietly(
            lambda: self._memories.similar(
                workspace,
                question,
                RECALLED + len(known),
                staleness=lambda notes: self._stale(workspace, notes),
                unasked=True,
            ),
            list[Recalled](),
        )
        return [one for one in found if one.memory.id not in known and not _is_of(one, session)][:RECALLED]

    def _stale(self, workspace: Workspace, notes: Sequence[Note]) -> dict[str, str]:
        root = Path(workspace.path)
        return self._looked_up(workspace, lambda store: Ties(store, root, self._options(root)).stale(notes), {})

    def _places(self, workspace: Workspace, question: str) -> list[Place]:
        return self._looked_up(workspace, lambda store: places(store, question), [])

    def _looked_up(self, workspace: Workspace, use: Callable[[IndexStore], T], nothing: T) -> T:
        """What the index says as it is, without a look at the disk; `nothing` where there is none, or it is locked."""

        def look() -> T:
            if not self._workspaces.has_index(workspace):
                return nothing
            return self._workspaces.with_index(workspace, use)

        return quietly(look, nothing)

    def _brief(self, workspace: Workspace) -> str:
        return quietly(lambda: read_text(self._workspaces.folder(workspace)), "")


def _is_of(one: Recalled, session: str) -> bool:
    return bool(session) and isinstance(one.memory, Episode) and one.memory.session == session


def question_of(files: Sequence[FileDiff]) -> str:
    """What a change is about, as a question: its paths, what the hunks lie in, and the lines that changed, cut."""
    sections = [hunk.section for one in files for hunk in one.hunks]
    lines = [text for one in files for hunk in one.hunks for sign, _, _, text in hunk.numbered() if sign in "+-"]
    parts = [*(one.path for one in files), *dict.fromkeys(sections), *lines]
    return "\n".join(parts)[:LONGEST_QUESTION]


def places(store: IndexStore, question: str) -> list[Place]:
    """The entities that a request names, then those whose name, signature, path and docstring share enough of its
    telling words, best first.
    """
    named = _named(store, question)
    wanted = telling_terms(question)[:_MOST_TERMS]
    found, read = dict.fromkeys(named, 0.0), dict[int, StoredEntity]()
    if len(wanted) >= LEAST_SHARED:
        total = max(_AS_IF, store.entity_count())
        frequencies = store.frequencies(wanted)
        weights = {term: inverse_frequency(frequencies.get(term, 0), total) for term in wanted}
        known = [term for term in wanted if term in frequencies]
        read = store.entities([row for row, _ in store.search(known, _CANDIDATES)] if known else [])
        shares = _shares(read, weights, inverse_frequency(0, total))
        found |= dict(sorted(shares.items(), key=lambda one: -one[1]))
    chosen = list(found)[: 2 * ENTITIES]
    read |= store.entities([row for row in chosen if row not in read])
    return [
        Place(one.id, one.entity.qualified_name, one.entity.path, one.entity.line, one.entity.signature)
        for row in chosen
        if (one := read.get(row)) is not None
    ]


def _named(store: IndexStore, question: str) -> list[int]:
    """Rows of the entities whose names stand in a request as names: `name`, name(), snake_case, camelCase."""
    found: list[int] = []
    for name in names_in(question)[:_MOST_IDENTIFIERS]:
        rows = store.rows_by_name([name])
        heads = store.heads(rows[:_CANDIDATES])
        found += [row for row in rows if row in heads and _is_definition(heads[row])][:_SAME_NAME]
    return list(dict.fromkeys(found))


def _is_definition(head: EntityHead) -> bool:
    return head.kind not in {"file", "code-block", "heading"}


def _shares(read: Mapping[int, StoredEntity], weights: Mapping[str, float], rarest: float) -> dict[int, float]:
    """Of each entity that says enough of what was asked, the weight of the words that it says."""
    whole = sum(weights.values())
    found: dict[int, float] = {}
    for row, stored in read.items():
        one = stored.entity
        if one.kind == "code-block":
            continue
        said = frozenset(terms(f"{one.qualified_name} {one.signature} {one.path} {one.docstring[:1000]}"))
        shared = [term for term in weights if term in said]
        weight = sum(weights[term] for term in shared)
        if len(shared) >= LEAST_SHARED and weight >= LEAST_SHARE * whole and weight >= LEAST_HELD * rarest:
            found[row] = weight
    return found
