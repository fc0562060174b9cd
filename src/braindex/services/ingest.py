"""One scan of one workspace: walk, plan, read, parse, embed, store. Everything heavy happens here, batch by batch."""

import gc
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from braindex.domain.engines import EngineCancelled
from braindex.domain.errors import BraindexError
from braindex.domain.options import WorkspaceOptions
from braindex.domain.ports import Embedder, Vector
from braindex.domain.results import ScanProgress, Skipped
from braindex.domain.units import FileRecord, FileUnits, Terms, Unit
from braindex.indexing.decode import SourceText, read_text
from braindex.indexing.extract import language_of
from braindex.indexing.passages import VERSION, Indexed, index_file, terms_of
from braindex.indexing.plan import Plan
from braindex.indexing.walk import Found
from braindex.registry.index import IndexStore
from braindex.services.counts import Counts, Progress, ScanStopped
from braindex.services.survey import known_files, survey

log = logging.getLogger(__name__)

BATCH_UNITS: Final = 1000  # entities in one transaction: large enough for SQLite, small enough to bound memory
_PROGRESS_EVERY: Final = 0.1  # seconds


@dataclass(slots=True)
class _Batch:
    files: list[tuple[FileRecord, list[Indexed]]] = field(default_factory=list)
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
    ) -> None:
        """`beside` is an index by the same model, whose vectors are taken instead of computed."""
        self._root = root
        self._store = store
        self._embedder = embedder
        self._options = options
        self._report = report
        self._should_stop = should_stop
        self._own_folder = own_folder
        self._beside = beside
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
        for one in (*todo.new, *todo.suspect, *todo.retry):
            self._check_stop()
            self._say("parsing")
            record = self._read_one(one, known.get(one.path), started)
            if record is not None:
                touched.append(record)
            self._done += 1
            if self._batch.units >= BATCH_UNITS:
                self._flush()
        if touched:
            self._store.touch(touched)

    def _read_one(self, found: Found, before: FileRecord | None, started: int) -> FileRecord | None:
        """Queues a file whose content is new; returns the record of one that was only touched."""
        source = read_text(self._root, found, self._options.max_file_bytes)
        record = FileRecord(
            path=found.path,
            size=found.size,
            mtime_ns=found.mtime_ns,
            digest=b"" if isinstance(source, Skipped) else source.digest,
            language=language_of(found.path) or "text",
            scanned_ns=started,
        )
        if isinstance(source, Skipped):
            return self._refuse(record, source, before)
        if before is not None and before.digest == source.digest:
            if before.refused:
                self._counts.skipped.append(Skipped(found.path, before.refused))
            return record
        units = self._parse(found.path, source)
        if isinstance(units, Skipped):
            return self._refuse(record, units, before)
        is_new = before is None or bool(before.refused)
        self._counts.added += is_new
        self._counts.changed += not is_new
        self._queue(record, units)
        return None

    def _refuse(self, record: FileRecord, skipped: Skipped, before: FileRecord | None) -> FileRecord | None:
        """A file that cannot be read or parsed leaves nothing behind but the reason, which stands until it changes."""
        self._counts.skipped.append(skipped)
        refused = replace(record, refused=skipped.reason, again=skipped.again)
        if before is not None and (before.refused, before.digest) == (refused.refused, refused.digest):
            return refused
        self._counts.removed += before is not None and not before.refused
        self._queue(refused, [])
        return None

    def _queue(self, record: FileRecord, units: list[Indexed]) -> None:
        self._batch.files.append((record, units))
        self._batch.units += max(1, len(units))

    def _parse(self, path: str, source: SourceText) -> list[Indexed] | Skipped:
        """The file's entities, or why there are none: one bad file never ends a scan."""
        try:
            return index_file(path, source.data, self._options.skip_bare_files)
        except BraindexError as error:
            return Skipped(path, str(error))
        except Exception as error:  # any parser fault costs one file, and its reason is shown
            log.exception("parsing failed for a file of %d bytes", len(source.data))
            return Skipped(path, f"could not be parsed ({type(error).__name__}); the log has the details")

    def _flush(self) -> None:
        if not self._batch.files:
            return
        self._say("storing", force=True)
        batch, self._batch = self._batch, _Batch()
        self._store.write(self._embedded(batch.files))

    def _embedded(self, files: Iterable[tuple[FileRecord, list[Indexed]]]) -> list[FileUnits]:
        """Units ready to store; only what is new or changed is embedded."""
        fresh: list[Indexed] = []
        files = list(files)
        for record, units in files:
            known = self._store.known_units(record.path)
            fresh += [one for one in units if known.get(one.id) != one.digest]
        by_id = self._ready(fresh)
        left = [one for one in fresh if one.id not in by_id]
        vectors = self._embedder.passages([one.passage for one in left])
        by_id.update((one.id, vector) for one, vector in zip(left, vectors, strict=True))
        return [FileUnits(record, tuple(_unit(one, by_id) for one in units)) for record, units in files]

    def _ready(self, units: Iterable[Indexed]) -> dict[str, Vector | None]:
        """The vectors that the index beside has of just these texts."""
        if self._beside is None:
            return {}
        digests: dict[str, dict[str, bytes]] = {}
        for one in units:
            if one.entity.path not in digests:
                digests[one.entity.path] = self._beside.known_units(one.entity.path)
        same = [one.id for one in units if digests[one.entity.path].get(one.id) == one.digest]
        rows = self._beside.rows_of(same)
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


_NO_TERMS: Final = Terms("", "", "", "", "", "")


def _unit(one: Indexed, fresh: Mapping[str, bytes | None]) -> Unit:
    """An unchanged unit carries neither terms nor vector: the store keeps what it has."""
    changed = one.id in fresh
    return Unit(
        id=one.id,
        entity=one.entity,
        digest=one.digest,
        terms=terms_of(one.passage) if changed else _NO_TERMS,
        vector=fresh.get(one.id),
    )
