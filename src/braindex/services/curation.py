"""The memory looked through and kept in order by a person: found, edited, merged, forgotten."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from braindex.domain.duplicates import NEARLY_SAME, Alike, MergePlan, checked_cosine, grouped, merge_plan
from braindex.domain.memories import About, Memory, MemoryLabels, Note, NoteChanged, now
from braindex.domain.options import WorkspaceOptions
from braindex.domain.results import Workspace
from braindex.registry.index import IndexStore
from braindex.registry.memory_browsing import MemoryFilter
from braindex.services.freshness import Freshness
from braindex.services.memories import Memories
from braindex.services.roots import checked_root
from braindex.services.ties import Ties
from braindex.services.workspaces import Workspaces

T = TypeVar("T")
PAGE: Final = 50
MOST_PAIRS: Final = 5_000  # of notes that are nearly the same; who has more merges the first ones first
_EVERYTHING: Final = MemoryFilter()


class NearPairs(Protocol):
    """(place, later place, cosine) of the pairs of unit vectors whose cosine is at least `least`, best first."""

    def __call__(
        self, matrix: bytes | bytearray, count: int, least: float, most: int
    ) -> list[tuple[int, int, float]]: ...


@dataclass(frozen=True, slots=True)
class Kept:
    """A note or an episode, and in a line what a note is about and has changed since, else ""."""

    memory: Memory
    stale: str = ""

    def as_json(self) -> dict[str, Any]:
        what = "note" if isinstance(self.memory, Note) else "episode"
        return {"type": what, **self.memory.as_json(), "stale": self.stale or None}


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """A page of what a filter lets through, newest first, and how many there are in all."""

    items: tuple[Kept, ...]
    total: int
    offset: int


class Curation:
    """The notes and episodes of any known workspace, for whoever looks after them."""

    def __init__(
        self,
        workspaces: Workspaces,
        freshness: Freshness,
        memories: Memories,
        options: Callable[[Path], WorkspaceOptions],
        near_pairs: NearPairs,
    ) -> None:
        self._workspaces = workspaces
        self._freshness = freshness
        self._memories = memories
        self._options = options
        self._near_pairs = near_pairs

    def page(
        self,
        workspace: Workspace,
        narrowed: MemoryFilter = _EVERYTHING,
        *,
        stale: bool = False,
        limit: int = PAGE,
        offset: int = 0,
    ) -> MemoryPage:
        """A page of notes and episodes; with `stale`, only notes of which something has changed since.

        Raises NotAPage, what a filter that cannot be read raises, and what opening the workspace or its memory raises.
        """
        tied = self._changed(workspace) if stale else None
        found, total = self._memories.browse(workspace, narrowed, tied=tied, limit=limit, offset=offset)
        return MemoryPage(tuple(self._with_staleness(workspace, found)), total, offset)

    def kept(self, workspace: Workspace, reference: str) -> Kept:
        """One note or episode by its id or how it begins.

        Raises UnknownMemory, AmbiguousMemory, NotAReference, NoMemoryYet.
        """
        [found] = self._with_staleness(workspace, [self._memories.memory(workspace, reference)])
        return found

    def labels(self, workspace: Workspace) -> MemoryLabels:
        """The categories, kinds and clients that there are to filter by, with counts."""
        return self._memories.labels(workspace)

    def edit(
        self,
        workspace: Workspace,
        reference: str,
        *,
        text: str | None = None,
        category: str | None = None,
        about: Sequence[str] | None = None,
        renew: bool = False,
        seen: str = "",
    ) -> Note:
        """Change what is given of a note, which keeps its id and creation and gets a new time of update and vector.

        Of `about` (as `Notes.save` takes it), what the note is tied to already stays as it was made, unless `renew`
        says that the note was looked at and holds for the code as it is. `seen` is the update of the note that the
        change was made from. Raises NoteChanged, NothingTiedTo, TiedToMany, what `checked_note` does, and as `kept`.
        """
        old = self._memories.note(workspace, reference)
        if seen and old.updated != seen:
            raise NoteChanged(old.id)
        ties = self._tied(workspace, old, about, renew=renew)
        return self._memories.edit_note(workspace, old, text=text, category=category, about=ties)

    def duplicates(self, workspace: Workspace, least: float = NEARLY_SAME) -> list[Alike]:
        """Notes whose vectors have at least that cosine, in groups around the newest of each, the newest group first.

        Raises NotACosine.
        """
        checked_cosine(least)
        ids, matrix = self._memories.note_vectors(workspace)
        pairs = self._near_pairs(matrix, len(ids), least, MOST_PAIRS)
        notes = self._memories.of_ids(workspace, sorted({ids[at] for one, other, _ in pairs for at in (one, other)}))
        newest = sorted(notes, key=lambda one: (notes[one].updated, one), reverse=True)
        known = ((ids[one], ids[other], cosine) for one, other, cosine in pairs)
        groups = grouped(newest, (each for each in known if each[0] in notes and each[1] in notes))
        return [Alike(notes[one], tuple((notes[other], cosine) for other, cosine in others)) for one, others in groups]

    def plan_merge(self, workspace: Workspace, keep: str, others: Sequence[str], text: str | None = None) -> MergePlan:
        """What a merge would leave, with nothing changed. Raises NothingToMerge, and as `kept`."""
        notes = [self._memories.note(workspace, one) for one in dict.fromkeys(others)]
        return merge_plan(self._memories.note(workspace, keep), notes, now(), text)

    def merge(self, workspace: Workspace, keep: str, others: Sequence[str], text: str | None = None) -> MergePlan:
        """Put one note in place of several, all of it or nothing; with its text joined of theirs unless one is given.

        Raises as `plan_merge` does, NoteChanged, and what `checked_note` does.
        """
        plan = self.plan_merge(workspace, keep, others, text)
        self._memories.merge_notes(workspace, plan.note, (plan.keep, *plan.others))
        return plan

    def _tied(
        self, workspace: Workspace, note: Note, about: Sequence[str] | None, *, renew: bool
    ) -> tuple[About, ...] | None:
        """What a note is about from now on; None for no change."""
        if about is None and not renew:
            return None
        wanted = [one.strip() for one in ([tie.written for tie in note.about] if about is None else about)]
        known = {} if renew else {tie.written: tie for tie in note.about}
        fresh = [one for one in wanted if one and one not in known]
        found = self._with_ties(workspace, lambda ties: ties.about(fresh)) if fresh else ()
        return (*(known[one] for one in dict.fromkeys(wanted) if one in known), *found)

    def _changed(self, workspace: Workspace) -> list[About]:
        """What notes are tied to and is not as it was when they were made."""
        known = self._memories.ties(workspace)
        return self._with_ties(workspace, lambda ties: ties.changed(known)) if known else []

    def _with_staleness(self, workspace: Workspace, memories: Sequence[Memory]) -> list[Kept]:
        tied = [one for one in memories if isinstance(one, Note) and one.about]
        stale = self._with_ties(workspace, lambda ties: ties.stale(tied)) if tied else {}
        return [Kept(one, stale.get(one.id, "")) for one in memories]

    def _with_ties(self, workspace: Workspace, use: Callable[[Ties], T]) -> T:
        """What `use` returns of the ties over an index that follows the disk."""
        root = checked_root(workspace.path)

        def look(store: IndexStore) -> T:
            self._freshness.take_in(workspace, root, store)
            return use(Ties(store, root, self._options(root)))

        return self._workspaces.with_index(workspace, look)


def days(since: date | None, until: date | None) -> tuple[str | None, str | None]:
    """UTC days as the times of a filter: from the first of `since` up to the end of `until`."""
    last = None if until is None or until == date.max else until + timedelta(days=1)
    return (f"{since.isoformat()}T00:00:00Z" if since else None, f"{last.isoformat()}T00:00:00Z" if last else None)
