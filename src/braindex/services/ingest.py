"""One scan of one workspace: walk, plan, read, parse, embed, store. Everything heavy happens here, batch by batch."""

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from braindex.domain.engines import EngineCancelled
from braindex.domain.options import WorkspaceOptions
from braindex.domain.ports import Embedder, Vector
from braindex.domain.results import ScanProgress, Skipped
from braindex.domain.units import FileRecord, FileUnits
from braindex.indexing.extract import language_of
from braindex.indexing.passages import VERSION
from braindex.indexing.plan import Plan
from braindex.indexing.walk import Found
from braindex.registry.index import IndexStore
from braindex.services.counts import Counts, Progress, ScanStopped
from braindex.services.crew import Crews
from braindex.services.reading import Outcome, Reader, Task, chunks, with_vectors
from braindex.services.survey import known_files, survey

BATCH_UNITS: Final = 1000  # entities in one transaction: large enough for SQLite, small enough to bound memory
_PROGRESS_EVERY: Final = 0.1  # seconds


@dataclass(slots=True)
class _Batch:
    files: list[tuple[FileRecord, Outcome]] = field(default_factory=list)
    units: int = 0


def _made_with(embedder: Embedder) -> str:
    return f"{embedder.model}/{VERSION}"


def fits(store: IndexStore, embedder: Embedder) -> bool:
    """Whether an index, unless it is empty, was made by this model, with vectors of as many numbers as far as that is
    known, and by this version of the indexing.
    """
    return store.model() in {None, _made_with(embedder)} and (
        not embedder.dimension or store.dimension() in {None, embedder.dimension}
    )


@contextmanager
def _no_cycles() -> Iterator[None]:
    """Without the cycle collector, which finds nothing in a scan's millions of short-lived tuples and strings (about
    6 % of a cold scan's CPU time)."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


class Ingest:
    """The work of one scan. The caller holds the workspace's writer lock."""

    def __init__(
        self,
        root: Path,
        store: IndexStore,
        embedder: Embedder,
        options: WorkspaceOptions,
        *,
        own_folder: Path,
        report: Progress,
        should_stop: Callable[[], bool],
        beside: IndexStore | None = None,
        crews: Crews | None = None,
    ) -> None:
        """`beside` is an index by the same model, whose vectors are taken instead of computed. `crews` read large
        numbers of files in other processes.
        """
        self._root = root
        self._store = store
        self._embedder = embedder
        self._options = options
        self._report = report
        self._should_stop = should_stop
        self._own_folder = own_folder
        self._beside = beside
        self._crews = crews
        # A provider is asked for a whole batch at once, and for no vector that is there already.
        embeds = beside is None and crews is not None and crews.embedder is embedder
        self._reader = Reader(root, options, embedder if embeds else None)
        self._counts = Counts()
        self._batch = _Batch()
        self._done = 0
        self._total = 0
        self._last_report = 0.0

    def run(self) -> Counts:
        """Brings the index up to date. Raises ScanStopped when asked to stop, EngineFailed where a provider embeds, and
        what the store raises.
        """
        started = time.time_ns()
        self._expect_model()
        known = known_files(self._store, self._options)
        self._say("walking", force=True)
        try:
            with _no_cycles():
                self._bring_up_to_date(known, started)
        except EngineCancelled:  # the stop came while a provider was at it
            raise ScanStopped from None
        return self._counts

    def _bring_up_to_date(self, known: Mapping[str, FileRecord], started: int) -> None:
        here = survey(self._root, known, self._options, self._own_folder, self._check_stop)
        todo = here.todo
        self._counts.skipped += here.skipped
        self._total = self._counts.seen = here.seen
        self._done = here.seen - len(todo.new) - len(todo.suspect) - len(todo.retry)
        self._remove(todo, known)
        self._read_all(todo, known, started)
        self._flush()
        self._counts.skipped.sort(key=lambda one: one.path)
        self._store.record_skipped(self._counts.skipped)
        self._store.set_skip_bare(self._options.skip_bare_files)

    def _expect_model(self) -> None:
        """Vectors and terms of another model or version are never mixed with these: every file is indexed anew."""
        if not fits(self._store, self._embedder):
            self._store.clear()
        if self._store.model() is None:
            self._store.set_model(_made_with(self._embedder))

    def _remove(self, todo: Plan, known: Mapping[str, FileRecord]) -> None:
        if todo.removed:
            self._store.remove(todo.removed)
            self._counts.removed += sum(not known[path].refused for path in todo.removed)

    def _read_all(self, todo: Plan, known: Mapping[str, FileRecord], started: int) -> None:
        touched: list[FileRecord] = []
        files = (*todo.new, *todo.suspect, *todo.retry)
        found = {one.path: one for one in files}
        for outcomes in self._outcomes(files, known):
            for outcome in outcomes:
                record = self._take(outcome, found[outcome.path], known.get(outcome.path), started)
                if record is not None:
                    touched.append(record)
                self._done += 1
                if self._batch.units >= BATCH_UNITS:
                    self._flush()
            self._say("parsing")
            self._check_stop()
        if touched:
            self._store.touch(touched)

    def _outcomes(self, files: Sequence[Found], known: Mapping[str, FileRecord]) -> Iterator[list[Outcome]]:
        """What the files hold, in their order: of many, other processes read them."""
        groups = chunks(self._task(one, known.get(one.path)) for one in files)
        crew = self._crews.for_files(self._reader, sum(one.size for one in files)) if self._crews else None
        if crew is None:
            yield from map(self._reader.read, groups)
            return
        with crew:
            yield from crew.read(groups, self._check_stop)

    def _task(self, found: Found, before: FileRecord | None) -> Task:
        if before is None:
            return Task(found)
        return Task(found, before.digest, {} if before.refused else self._store.known_units(found.path))

    def _take(self, outcome: Outcome, found: Found, before: FileRecord | None, started: int) -> FileRecord | None:
        """Queues a file whose content is new; returns the record of one that was only touched."""
        record = FileRecord(
            path=found.path,
            size=found.size,
            mtime_ns=found.mtime_ns,
            digest=outcome.digest,
            language=language_of(found.path) or "text",
            scanned_ns=started,
        )
        if outcome.skipped is not None:
            return self._refuse(record, outcome.skipped, before)
        if outcome.same:
            if before is not None and before.refused:
                self._counts.skipped.append(Skipped(found.path, before.refused))
            return record
        is_new = before is None or bool(before.refused)
        self._counts.added += is_new
        self._counts.changed += not is_new
        self._queue(record, outcome)
        return None

    def _refuse(self, record: FileRecord, skipped: Skipped, before: FileRecord | None) -> FileRecord | None:
        """A file that cannot be read or parsed leaves nothing behind but the reason, which stands until it changes."""
        self._counts.skipped.append(skipped)
        refused = replace(record, refused=skipped.reason, again=skipped.again)
        if before is not None and (before.refused, before.digest) == (refused.refused, refused.digest):
            return refused
        self._counts.removed += before is not None and not before.refused
        self._queue(refused, Outcome(record.path, record.digest))
        return None

    def _queue(self, record: FileRecord, outcome: Outcome) -> None:
        self._batch.files.append((record, outcome))
        self._batch.units += max(1, len(outcome.units))

    def _flush(self) -> None:
        if not self._batch.files:
            return
        self._say("storing", force=True)
        batch, self._batch = self._batch, _Batch()
        self._store.write(self._embedded(batch.files))

    def _embedded(self, files: Sequence[tuple[FileRecord, Outcome]]) -> list[FileUnits]:
        """Files ready to store: what their reader left without vectors gets them here, all of it at once."""
        fresh = {one: passage for _, outcome in files for one, passage in outcome.unembedded.items()}
        if not fresh:
            return [FileUnits(record, outcome.units) for record, outcome in files]
        digests = {unit.id: unit.digest for _, outcome in files for unit in outcome.units if unit.id in fresh}
        vectors = self._ready({one: (passage.path, digests[one]) for one, passage in fresh.items()})
        left = {one: passage for one, passage in fresh.items() if one not in vectors}
        vectors.update(zip(left, self._embedder.passages(list(left.values())), strict=True))
        return [FileUnits(record, with_vectors(outcome, vectors).units) for record, outcome in files]

    def _ready(self, units: Mapping[str, tuple[str, bytes]]) -> dict[str, Vector | None]:
        """The vectors that the index beside has of just these texts, given as path and digest by id."""
        if self._beside is None:
            return {}
        known = {path: self._beside.known_units(path) for path in {path for path, _ in units.values()}}
        rows = self._beside.rows_of([one for one, (path, digest) in units.items() if known[path].get(one) == digest])
        vectors = self._beside.vectors(rows.values())
        return {one: vectors.get(row) for one, row in rows.items()}

    def _check_stop(self) -> None:
        if self._should_stop():
            self._flush()
            raise ScanStopped

    def _say(self, phase: str, *, force: bool = False) -> None:
        now = time.monotonic()
        if force or now - self._last_report >= _PROGRESS_EVERY:
            self._last_report = now
            self._report(ScanProgress(phase, self._done, self._total, self._store.entity_count()))
