"""The notes that have to do with a change: those about what it touches, then those that say something near to it."""

from collections.abc import Sequence
from typing import Final

from braindex.domain.memories import About, Note
from braindex.domain.results import Workspace
from braindex.domain.reviews import FileSummary, Reminder
from braindex.services.memories import Memories, quietly
from braindex.services.ties import Ties

NOTED: Final = 5


def noted(
    memories: Memories, workspace: Workspace, ties: Ties, files: Sequence[FileSummary], subject: str
) -> tuple[Reminder, ...]:
    """At most five notes, of any age, each marked where what it is about has changed since it was made. A memory that
    cannot be read costs the review these alone.
    """

    def search() -> list[Reminder]:
        similar = memories.similar(workspace, subject, NOTED, what="note", staleness=ties.stale)  # gives up first
        tied = [one for one in memories.all_notes(workspace) if any(_touches(tie, files) for tie in one.about)][:NOTED]
        stale = ties.stale(tied)
        found = {one.id: _reminder(one, stale.get(one.id, "")) for one in tied}
        for near in similar:
            if isinstance(near.memory, Note):
                found.setdefault(near.memory.id, _reminder(near.memory, near.stale))
        return list(found.values())[:NOTED]

    return tuple(quietly(search, list[Reminder]()))


def _touches(tie: About, files: Sequence[FileSummary]) -> bool:
    """Whether a change touches what a note is about: an entity, a file, or a folder."""
    for one in files:
        paths = {one.diff.path, one.diff.old_path}
        if tie.qualified_name:
            named = any(entity.head.qualified_name == tie.qualified_name for entity in one.entities)
            if named and tie.path in paths:
                return True
        elif any(path == tie.path or path.startswith(f"{tie.path}/") for path in paths):
            return True
    return False


def _reminder(note: Note, stale: str) -> Reminder:
    return Reminder(note.id, note.created, note.category, note.text, stale)
