"""A question to ranked candidates: both arms, one order."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from braindex.domain.account import Account
from braindex.domain.bm25 import bm25f, counted
from braindex.domain.engines import EngineFailed
from braindex.domain.explanation import Found
from braindex.domain.ports import DenseIndex, Embedder, Vector, VectorSource, WordModel
from braindex.domain.question import Analysis, analyse
from braindex.domain.ranking import (
    WEIGHTS,
    Candidate,
    cosine,
    inverse_frequency,
    rank,
    soft_match,
)
from braindex.domain.results import Workspace
from braindex.domain.units import EntityFilter
from braindex.domain.words import terms
from braindex.registry.index import IndexStore
from braindex.services.evidence import as_meant, named_rows, pointed_rows, with_acronyms, written_rows
from braindex.services.explaining import Pool

# Candidates of each arm. Measured on labelled questions over 17 projects: questions for a file gain up to .02 between
# 40 and 80 and nothing beyond; most of it is there at 60, and every candidate costs time.
ARM_LIMIT: Final = 60
FEEDBACK_SOURCES: Final = 4
FEEDBACK_WEIGHT: Final = 0.4
_FLOAT_BYTES: Final = 4
COMMON_SHARE: Final = 10  # a word in over a tenth of the entities is no evidence …
COMMON_LEAST: Final = 5  # … unless these are so few that a tenth of them says nothing


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Candidates, best first, and what the question was understood as. `note` says in one line why the vectors could
    not help, or not from where they should, else "".
    """

    analysis: Analysis
    candidates: tuple[Candidate, ...]
    note: str = ""
    pool: Pool | None = None
    """What an explanation is made of, where one is wanted."""


class OpenDense(Protocol):
    """Opens the dense arm that lies in a workspace's folder, over the vectors that its index holds."""

    def __call__(self, folder: Path, source: VectorSource) -> DenseIndex: ...


class Embedders(Protocol):
    """Who embeds what."""

    @property
    def local(self) -> WordModel:
        """The model that needs no network."""
        ...

    def of(self, workspace: Workspace, stopped: Callable[[], bool] = lambda: False) -> Embedder:
        """The one that the settings choose for a workspace, for one use, which ends soon after `stopped` turns true."""
        ...


@dataclass(frozen=True, slots=True)
class Arms:
    """What both arms of any workspace need, chosen by `bootstrap`."""

    embedders: Embedders
    open_dense: OpenDense

    def retriever(self, workspace: Workspace, folder: Path, store: IndexStore) -> "Retriever":
        """The arms of the workspace whose data is in `folder`, over its open index."""
        dense = self.open_dense(folder, store)
        return Retriever(store, dense, self.embedders.of(workspace), self.embedders.local)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question's vectors: `vector` is of the index's model, `words` of the one that compares words."""

    vector: Vector | None
    words: Vector | None
    note: str = ""


class Retriever:
    """Both arms of one workspace, for one question at a time.

    `embedder` makes the vectors that are searched for, `local` those that names and words are compared by; where the
    index was made by `local`, it does both.
    """

    def __init__(self, store: IndexStore, dense: DenseIndex, embedder: Embedder, local: WordModel) -> None:
        self._store = store
        self._dense = dense
        self._embedder = embedder
        self._local = local

    def retrieve(self, text: str, narrowed: EntityFilter, threshold: float, *, explain: bool = False) -> Retrieved:
        """Ranked candidates. One past the distance threshold stays only if a telling word of the question hits it.

        Where the index is another model's, or the provider fails, the question's words alone are searched for.
        """
        analysis = with_acronyms(self._store, as_meant(self._store, analyse(text)))
        while True:
            made_with = self._store.model()
            asked = self._asked(analysis.text, made_with)
            with self._store.snapshot():
                if self._store.model() == made_with:  # else an index made anew came in between
                    return self._ranked(analysis, self._fitting(asked), narrowed, threshold, explain)

    def _asked(self, text: str, made_with: str | None) -> _Asked:
        words = self._local.question(text)
        if made_with is None or _made_by(self._local, made_with):
            return _Asked(words, words)
        if not _made_by(self._embedder, made_with):
            return _Asked(
                None, words, "the index is of another embedding model: searched by the question's words alone"
            )
        try:
            return _Asked(self._embedder.question(text), words)
        except EngineFailed as failure:
            return _Asked(None, words, f"searched by the question's words alone, since {failure}")

    def _fitting(self, asked: _Asked) -> _Asked:
        """Without a vector that has not as many numbers as the stored ones: a provider may change its model."""
        stored = self._store.dimension()
        if asked.vector is None or stored is None or len(asked.vector) == stored * _FLOAT_BYTES:
            return asked
        note = "the embedding model gives other vectors than those of the index: searched by the question's words alone"
        return _Asked(None, asked.words, note)

    def _ranked(
        self, analysis: Analysis, question: _Asked, narrowed: EntityFilter, threshold: float, explain: bool
    ) -> Retrieved:
        vector = question.vector
        among = None if narrowed.is_empty else self._store.rows(narrowed)
        dense = self._dense.begin(vector, ARM_LIMIT, among) if vector is not None else list
        found = dict(self._store.search(analysis.terms, ARM_LIMIT, narrowed))
        written = written_rows(self._store, analysis, narrowed)
        named = named_rows(self._store, analysis, narrowed)
        pointed = pointed_rows(self._store, analysis, narrowed)
        near = [row for row, _ in dense()]
        rows = list(dict.fromkeys([*near, *found, *written, *named, *pointed]))
        remark = self._dense.remark
        distances = self._dense.distances(vector, rows) if vector is not None else {}
        total = self._store.entity_count()
        counts = self._store.frequencies(analysis.terms)
        idf = {term: inverse_frequency(counts.get(term, 0), total) for term in analysis.terms}
        texts = self._store.texts(rows)
        held = counted(texts, analysis.terms)
        telling = self._telling(analysis, counts, total)
        sure = {*written, *named, *pointed, *(row for row, one in held.items() if not telling.isdisjoint(one))}
        kept = [row for row in rows if row in sure or distances.get(row, float("inf")) <= threshold]
        lexical = bm25f({row: texts[row] for row in kept if row in texts}, held, idf)
        candidates = self._candidates(kept, distances, lexical)
        for one in candidates:
            one.written = written.get(one.row, 0.0)
            one.pointed = pointed.get(one.row, 0.0)
        self._measure(analysis, question, candidates, idf)
        note = "; ".join(part for part in (question.note, remark) if part)
        if not explain:
            return Retrieved(analysis, tuple(rank(analysis, candidates, idf, narrowed)), note)
        account, passed = Account(), set(kept)
        by: dict[Found, frozenset[int]] = {
            "meaning": frozenset(near),
            "words": frozenset(found),
            "name": frozenset(named),
            "verbatim": frozenset(written),
            "place": frozenset(pointed),
        }
        cut = self._store.heads([row for row in rows if row not in passed])
        pool = Pool(account, near, list(found), by, held, counts, idf, frozenset(telling), distances, cut)
        return Retrieved(analysis, tuple(rank(analysis, candidates, idf, narrowed, account)), note, pool)

    @staticmethod
    def _telling(analysis: Analysis, counts: Mapping[str, int], total: int) -> set[str]:
        """The words of the question that are evidence by themselves: neither stop words nor in over a tenth of the
        entities.
        """
        most = max(total // COMMON_SHARE, COMMON_LEAST)
        return {term for term in analysis.terms if counts.get(term, 0) <= most}

    def _candidates(
        self, rows: Sequence[int], distances: Mapping[int, float], lexical: Mapping[int, float]
    ) -> list[Candidate]:
        heads = self._store.heads(rows)
        return [
            Candidate(
                row=row,
                id=heads[row].id,
                entity=heads[row],
                distance=distances.get(row),
                dense=cosine(distances.get(row)),
                lexical=lexical.get(row, 0.0),
            )
            for row in rows
            if row in heads
        ]

    def _measure(
        self, analysis: Analysis, asked: _Asked, candidates: Sequence[Candidate], idf: Mapping[str, float]
    ) -> None:
        """Fills in the signals that need vectors, those that the question's type gives a weight."""
        weights = WEIGHTS[analysis.type]
        if weights.feedback and asked.vector is not None:
            self._feedback(asked.vector, candidates)
        if asked.words is None:
            return
        if weights.name_vector:
            names = [(one.entity.name, one.entity.parent) for one in candidates]
            for one, value in zip(candidates, self._local.name_similarities(asked.words, names), strict=True):
                one.name_vector = value
        if weights.soft_path:
            matches = self._soft(analysis, idf, [one.entity.path for one in candidates])
            for one in candidates:
                one.soft_path = matches[one.entity.path]

    def _feedback(self, vector: Vector, candidates: Sequence[Candidate]) -> None:
        """Pseudo-relevance feedback (Rocchio): the question moved towards its best first results."""
        top = max((one.dense for one in candidates), default=0.0) or 1.0
        most = max((one.lexical for one in candidates), default=0.0) or 1.0
        hybrid = {one.row: 0.7 * one.dense / top + 0.3 * one.lexical / most for one in candidates}
        near = [one for one in candidates if one.distance is not None]
        best = sorted(near, key=lambda one: (-hybrid[one.row], one.entity.path, one.entity.line, one.entity.name))
        sources = [(one.row, hybrid[one.row]) for one in best[:FEEDBACK_SOURCES]]
        if sources:
            moved = self._dense.blend(vector, sources, FEEDBACK_WEIGHT)
            distances = self._dense.distances(moved, [one.row for one in candidates])
            for one in candidates:
                one.feedback = cosine(distances.get(one.row))

    def _soft(self, analysis: Analysis, idf: Mapping[str, float], texts: Iterable[str]) -> dict[str, float]:
        from_words = [max((idf.get(term, 0.0) for term in terms(word)), default=0.0) for word in analysis.words]
        distinct = list(dict.fromkeys(texts))
        similarities = self._local.word_similarities(analysis.words, distinct)
        return {text: soft_match(one, from_words) for text, one in zip(distinct, similarities, strict=True)}


def _made_by(embedder: Embedder, made_with: str) -> bool:
    """Whether the stored vectors can be compared with this model's, whatever version of the indexing stored them."""
    return made_with.rpartition("/")[0] == embedder.model
