"""Notes that say nearly the same: which ones belong together, and what is left when they become one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from braindex.domain.errors import UsageError
from braindex.domain.memories import Note

NEARLY_SAME: Final = 0.85  # cosine of two notes' vectors; docs/notes.md says what was measured
LEAST: Final = 0.5  # below it notes have little more in common than their project


class NothingToMerge(UsageError):
    def __init__(self) -> None:
        super().__init__("a merge needs a note to keep and at least one other note; nothing was changed")


class NotACosine(UsageError):
    def __init__(self, least: float) -> None:
        super().__init__(f"how alike notes have to be is a cosine from {LEAST:g} to 1, not {least:g}")


@dataclass(frozen=True, slots=True)
class Alike:
    """A note, the newest of its group, and the others that say nearly the same, each with its cosine to that one."""

    note: Note
    others: tuple[tuple[Note, float], ...]


@dataclass(frozen=True, slots=True)
class MergePlan:
    """The `note` that a merge leaves in place of `keep` and the others, and in words what of these is kept in it and
    what goes.
    """

    note: Note
    keep: Note
    others: tuple[Note, ...]
    kept: tuple[str, ...]
    lost: tuple[str, ...]


def checked_cosine(least: float) -> float:
    """Raises NotACosine."""
    if not LEAST <= least <= 1.0:
        raise NotACosine(least)
    return least


def grouped(order: Sequence[str], pairs: Iterable[tuple[str, str, float]]) -> list[tuple[str, list[tuple[str, float]]]]:
    """Pairs of ids as groups around one of them, the first in `order` first. Each id is in one group: what is like one
    that is in another's group already is not like the whole of it.
    """
    place = {one: at for at, one in enumerate(order)}
    near: dict[str, list[tuple[str, float]]] = {}
    for one, other, cosine in pairs:
        near.setdefault(one, []).append((other, cosine))
        near.setdefault(other, []).append((one, cosine))
    taken = set[str]()
    found = list[tuple[str, list[tuple[str, float]]]]()
    for one in sorted(near, key=place.__getitem__):
        others = [] if one in taken else [each for each in near[one] if each[0] not in taken]
        if others:
            taken |= {one, *(each for each, _ in others)}
            found.append((one, sorted(others, key=lambda each: (-each[1], place[each[0]]))))
    return found


def merge_plan(keep: Note, others: Sequence[Note], updated: str, text: str | None = None) -> MergePlan:
    """One note in place of several: it has the id of `keep`, and the earliest creation, and is about all that
    they were about. Its text holds all of theirs, each once, unless one is given. Raises NothingToMerge.
    """
    others = [one for one in others if one.id != keep.id]
    if not others:
        raise NothingToMerge
    joined = _joined([keep, *others])
    ties = {(one.path, one.qualified_name): one for note in (*others, keep) for one in note.about}
    category = keep.category or next((one.category for one in others if one.category), "")
    author = keep.author or next((one.author for one in others if one.author), "")
    merged = replace(
        keep,
        text=joined if text is None else text.strip(),
        category=category,
        author=author,
        created=min(one.created for one in (keep, *others)),
        updated=updated,
        about=tuple(ties.values()),
    )
    kept, lost = _kept(merged, others, given=text), _lost(merged, others, text)
    return MergePlan(merged, keep, tuple(others), tuple(kept), tuple(lost))


def _joined(notes: Sequence[Note]) -> str:
    """The texts one below the other; one that another holds already, white space apart, is not repeated."""
    texts = list[str]()
    for note in notes:
        said = _plain(note.text)
        if any(said in _plain(one) for one in texts):
            continue
        texts = [one for one in texts if _plain(one) not in said] + [note.text.strip()]
    return "\n\n".join(texts)


def _kept(merged: Note, others: Sequence[Note], given: str | None) -> Iterable[str]:
    yield f"the id {merged.id} and the first creation, {merged.created[:10]}"
    if given is None:
        yield "every text, each once"
    if any(one.about for one in others):
        yield f"everything they are about ({len(merged.about)})"


def _lost(merged: Note, others: Sequence[Note], given: str | None) -> Iterable[str]:
    yield f"the ids {', '.join(one.id for one in others)}"
    unsaid = [one.id for one in others if _plain(one.text) not in _plain(merged.text)]
    if given is not None and unsaid:
        yield f"what only the texts of {', '.join(unsaid)} say"
    named = {"category": merged.category.casefold(), "author": merged.author}
    for field, now in named.items():
        gone = dict.fromkeys(
            value for one in others if (value := str(getattr(one, field))) and value.casefold() != now.casefold()
        )
        if gone:
            yield f"the {field} {', '.join(gone)}"


def _plain(text: str) -> str:
    return " ".join(text.split())
