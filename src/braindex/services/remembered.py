"""Notes and episodes among the sources of an answer: how many, and where between the code."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from braindex.domain.excerpts import excerpt
from braindex.domain.memories import MemoryType, Note
from braindex.domain.options import WorkspaceOptions
from braindex.domain.ranking import cosine
from braindex.domain.recall import Recalled, telling_terms, text_of
from braindex.domain.results import Question, Source, Workspace
from braindex.registry.index import IndexStore
from braindex.services.memories import Memories, quietly
from braindex.services.ties import Ties

SHARE: Final = 4  # of an answer's sources, one in four is a memory at most; all where these are asked for
_NAME: Final = 60  # characters of the line that a memory is shown under
_TYPES: Final = ("note", "episode")


def remembered(
    memories: Memories, store: IndexStore, workspace: Workspace, question: Question, options: WorkspaceOptions
) -> list[Recalled]:
    """The memories that may stand in an answer, best first. Where a path is asked for, the notes about what is there;
    none where the question is narrowed to code. A memory that cannot be read costs the answer nothing.
    """
    only = _only(question.kind)
    if question.language or (question.kind and only is None):
        return []
    limit = question.limit if only else question.limit // SHARE
    if not limit:
        return []
    ties = Ties(store, Path(workspace.path), options)

    def search() -> list[Recalled]:
        wanted = question.limit * SHARE if question.path else limit
        return memories.similar(workspace, question.text, wanted, what=only, staleness=ties.stale)

    found = quietly(search, list[Recalled]())
    return [one for one in found if question.path is None or _is_about(one, question.path)][:limit]


def _only(kind: str | None) -> MemoryType | None:
    return "note" if kind == "note" else "episode" if kind == "episode" else None


def _is_about(one: Recalled, path: str) -> bool:
    paths = [about.path for about in one.memory.about] if isinstance(one.memory, Note) else one.memory.files
    return any(known == path or known.startswith(f"{path}/") for known in paths)


def as_source(one: Recalled, text: str, budget: int) -> Source:
    """A memory as an answer shows it: under its first line, with the lines that the question is about."""
    memory = one.memory
    is_note = isinstance(memory, Note)
    said = text_of(memory).strip()
    first = " ".join((said.split("\n", 1)[0] or memory.id).split())
    head = _head(one)
    return Source(
        id=memory.id,
        name=first if len(first) <= _NAME else first[: _NAME - 1] + "…",
        kind="note" if is_note else "episode",
        language="text",
        path="",
        line=0,
        end_line=0,
        signature=head,
        doc="",
        excerpt=excerpt(said.split("\n"), telling_terms(text), budget),
        distance=one.distance,
        score=one.score,
        stale=bool(one.stale),
        remark=_remark(one),
    )


def _head(one: Recalled) -> str:
    memory = one.memory
    if isinstance(memory, Note):
        by = f" by {memory.author}" if memory.author else ""
        category = f"{memory.category}, " if memory.category else ""
        return f"note {memory.id[:8]} ({category}{memory.updated[:10]}{by})"
    by = f" by {memory.client}" if memory.client else ""
    outcome = f", {memory.outcome}" if memory.outcome else ""
    return f"{memory.kind} {memory.id[:8]} ({memory.created[:10]}{by}{outcome})"


def _remark(one: Recalled) -> str:
    parts = [f"may be stale: {one.stale}"] * bool(one.stale)
    parts += [f"nearly the same: {', '.join(other[:8] for other in one.same)}"] * bool(one.same)
    return "; ".join(parts)


def placed(code: Sequence[Source], memories: Sequence[Recalled], *, pinned: bool) -> list[tuple[int, Recalled]]:
    """Where each memory goes: behind the code whose vector is nearer to the question than the memory's score says, and
    behind the first where the question is `pinned` to a place in the code. The places are indexes into the code's
    order, not falling.
    """
    found = list[tuple[int, Recalled]]()
    place = 1 if pinned and code else 0
    for one in memories:
        nearer = [at for at, source in enumerate(code) if cosine(source.distance) >= one.score]
        place = max(place, nearer[-1] + 1 if nearer else 0)
        found.append((place, one))
    return found
