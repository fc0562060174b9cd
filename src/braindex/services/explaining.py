"""Makes an explanation of what retrieval, ranking and verification took down of a question."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from braindex.domain.account import Account, Signal
from braindex.domain.bm25 import Counts
from braindex.domain.entities import EntityHead
from braindex.domain.explanation import Check, Corrected, Dropped, Explanation, Found, Placed, Word
from braindex.domain.question import Analysis
from braindex.domain.ranking import WEIGHTS, Candidate, cosine
from braindex.domain.recall import WORDS_WEIGHT, Recalled
from braindex.domain.units import StoredEntity

if TYPE_CHECKING:
    from braindex.services.verify import Verified

FOLLOWING: Final = 5  # candidates that found no room are listed


@dataclass(frozen=True, slots=True)
class Pool:
    """What was known of the candidates, all by row of the index: which search brought each up, best first, which of the
    question's terms it holds, and those that the threshold kept out.
    """

    account: Account
    dense: Sequence[int]
    lexical: Sequence[int]
    by: Mapping[Found, frozenset[int]]
    held: Mapping[int, Counts]
    counts: Mapping[str, int]
    idf: Mapping[str, float]
    telling: frozenset[str]
    distances: Mapping[int, float]
    cut: Mapping[int, EntityHead]


class Checks:
    """What the look at the disk changed, taken down while it is made."""

    def __init__(self) -> None:
        self.corrected: list[Corrected] = []

    def see(self, candidate: Candidate, stored: StoredEntity | None, seen: "Verified | None") -> None:
        head = candidate.entity
        found = _correction(stored, seen)
        if found is not None:
            self.corrected.append(Corrected(head.name, head.path, head.line, *found))


def _correction(stored: StoredEntity | None, seen: "Verified | None") -> tuple[Check, str] | None:
    if stored is None:
        return "gone", "it was taken out of the index while the question was answered"
    if seen is None:
        return "gone", "its file changed since the scan and no longer holds it, or is gone"
    was, now = stored.entity, seen.entity
    if seen.stale:
        return "stale", "its file changed since the scan and cannot be parsed now: its lines are those of the scan"
    if (was.line, was.end_line) != (now.line, now.end_line):
        return "moved", f"lines {was.line}-{was.end_line} are {now.line}-{now.end_line} by now"
    return None


def explained(
    analysis: Analysis,
    threshold: float,
    pool: Pool,
    ranked: Sequence[Candidate],
    *,
    cited: Sequence[str | Recalled],
    checks: Checks,
    note: str,
) -> Explanation:
    """The explanation of an answer whose sources are `cited`: ids of entities, and memories, in their order."""
    by_id = {one.id: one for one in ranked}
    placed = [_memory(one) if isinstance(one, Recalled) else _placed(by_id[one], pool) for one in cited]
    gone = {(one.name, one.path, one.line) for one in checks.corrected if one.check == "gone"}
    shown = {one for one in cited if isinstance(one, str)}
    left = [one for one in ranked if one.id not in shown]
    following = [one for one in left if (one.entity.name, one.entity.path, one.entity.line) not in gone]
    return Explanation(
        analysis=analysis,
        threshold=threshold,
        weights=asdict(WEIGHTS[analysis.type]),
        words=tuple(_words(analysis, pool)),
        candidates=len(ranked),
        placed=tuple(placed),
        cut=tuple(_cut(pool, threshold)),
        following=tuple(map(_following, following[:FOLLOWING])),
        corrected=tuple(checks.corrected),
        note=note,
    )


def of_memories(analysis: Analysis, threshold: float, recalled: Sequence[Recalled]) -> Explanation:
    """The explanation of an answer for which notes or episodes alone were looked through."""
    return Explanation(analysis, threshold, {}, (), 0, tuple(map(_memory, recalled)))


def _words(analysis: Analysis, pool: Pool) -> Iterator[Word]:
    for term in analysis.terms:
        yield Word(term, pool.counts.get(term, 0), pool.idf.get(term, 0.0), term in pool.telling)


def _placed(one: Candidate, pool: Pool) -> Placed:
    place, factor = pool.account.places[one.row]
    return Placed(
        id=one.id,
        name=one.entity.name,
        path=one.entity.path,
        line=one.entity.line,
        distance=one.distance,
        dense_rank=_rank(pool.dense, one.row),
        lexical_rank=_rank(pool.lexical, one.row),
        lexical=one.lexical,
        words=tuple(pool.held.get(one.row, ())),
        found_by=tuple(name for name, rows in pool.by.items() if one.row in rows),
        signals=tuple(pool.account.signals.get(one.row, ())),
        factors=pool.account.factors[one.row],
        file_place=place,
        place_factor=factor,
        before=one.score,
    )


def _memory(one: Recalled) -> Placed:
    """A note or an episode: its score is the cosine and the share of the question's words that it holds."""
    near = cosine(one.distance)
    share = max(0.0, one.score - near) / WORDS_WEIGHT
    signals = [Signal("dense", near, 1.0), Signal("words", share, WORDS_WEIGHT)]
    return Placed(
        id=one.memory.id,
        name=one.memory.id,
        path="",
        line=0,
        distance=one.distance,
        dense_rank=None,
        lexical_rank=None,
        lexical=0.0,
        words=(),
        found_by=(),
        signals=tuple(each for each in signals if each.value),
        factors=(),
        file_place=1,
        place_factor=1.0,
        before=one.score,
        remark="a memory: it stands behind the code whose meaning is nearer than its score",
    )


def _rank(rows: Sequence[int], row: int) -> int | None:
    return rows.index(row) + 1 if row in rows else None


def _cut(pool: Pool, threshold: float) -> Iterator[Dropped]:
    for row in sorted(pool.cut, key=lambda row: (pool.distances.get(row, float("inf")), row)):
        head, distance = pool.cut[row], pool.distances.get(row)
        far = "has no vector" if distance is None else f"is farther than {threshold:g} (QUERY_DISTANCE_THRESHOLD)"
        common = [term for term in pool.held.get(row, ()) if term not in pool.telling]
        why = f"it {far} and holds no telling word of the question"
        if common:
            why += f", only common ones ({', '.join(common[:3])})"
        yield Dropped(head.name, head.kind, head.path, head.line, distance, why)


def _following(one: Candidate) -> Dropped:
    head = one.entity
    return Dropped(head.name, head.kind, head.path, head.line, one.distance, f"score {one.score:.4f}: no room left")
