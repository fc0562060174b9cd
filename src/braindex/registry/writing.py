"""Files in, files out: what of a batch is new, changed, kept or gone, and the write that follows."""

# ruff: noqa: S608 - only constants of this room become part of a statement; values are parameters

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from braindex.domain.units import FileUnits, Unit
from braindex.registry import meta
from braindex.registry.database import Database
from braindex.registry.entities import Entities
from braindex.registry.files import Files
from braindex.registry.fulltext import FullText
from braindex.registry.meta import Meta
from braindex.registry.outbox import Outbox
from braindex.registry.references import References
from braindex.registry.stored_vectors import StoredVectors, VectorMismatch

Placed = tuple[int, int, Unit]  # row, file id, unit


@dataclass(frozen=True, slots=True)
class WriteCounts:
    """What a write did, in entities. `kept` ones had their lines brought up to date and nothing else."""

    added: int = 0
    changed: int = 0
    kept: int = 0
    removed: int = 0


@dataclass(slots=True)
class Plan:
    """The difference between a batch and what is stored. `gone` maps ids to rows."""

    added: list[Placed] = field(default_factory=list)
    changed: list[Placed] = field(default_factory=list)
    kept: list[Placed] = field(default_factory=list)
    gone: dict[str, int] = field(default_factory=dict)

    def counts(self) -> WriteCounts:
        return WriteCounts(len(self.added), len(self.changed), len(self.kept), len(self.gone))

    def embedded(self) -> Iterator[Placed]:
        """What has a new text, and so a new vector and new terms."""
        yield from self.added
        yield from self.changed


class Tables:
    """The tables of an index, and the writes that touch several of them. The caller holds the transaction."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.meta = Meta(database)
        self.files = Files(database)
        self.entities = Entities(database)
        self.vectors = StoredVectors(database)
        self.fulltext = FullText(database)
        self.references = References(database)
        self.outbox = Outbox(database)

    def replace(self, batch: Sequence[FileUnits]) -> WriteCounts:
        """Store files whole. Of a path or an id that comes twice, the last counts."""
        by_path = {one.file.path: one for one in batch}
        self.files.put(one.file for one in by_path.values())
        plan = self._plan(by_path)
        self._check_dimension(unit for _, _, unit in plan.embedded())
        self._remove_rows(plan.gone)
        self._write_rows(plan)
        self.meta.add(meta.ENTITY_COUNT, len(plan.added))
        self.meta.add(meta.GENERATION, 1)
        return plan.counts()

    def remove(self, paths: Iterable[str]) -> int:
        """Forget files with everything of theirs; returns how many there were."""
        files = self.files.ids(paths).values()
        if not files:
            return 0
        known = self.entities.known("file", files)
        self._remove_rows({one: row for one, (row, _) in known.items()})
        self.meta.add(meta.GENERATION, 1)
        return self.files.delete(files)

    def clear(self) -> None:
        """Forget all that a scan rebuilds, the model and its dimension too. Counters move on, never back."""
        self.fulltext.clear()
        self.references.clear()
        for table in ("outbox", "vectors", "entities", "files", "skipped"):
            self.database.run(f"DELETE FROM {table}")
        self.meta.forget(meta.MODEL, meta.DIMENSION)
        self.meta.set(meta.VECTOR_COUNT, 0)
        self.meta.set(meta.ENTITY_COUNT, 0)
        for counter in (meta.GENERATION, meta.VECTOR_GENERATION, meta.APPLIED_GENERATION):
            self.meta.add(counter, 1)

    def check(self) -> None:
        """Raises StoreDamaged where the tables contradict each other: one of them lost rows."""
        entities = self.database.value("SELECT count(*) FROM entities")
        if entities != self.meta.number(meta.ENTITY_COUNT):
            raise self.database.damaged("it lost entities")
        if entities != self.fulltext.count():
            raise self.database.damaged("its full-text index has not as many rows as it has entities")
        if self.vectors.count() != self.meta.number(meta.VECTOR_COUNT):
            raise self.database.damaged("it lost vectors")
        if self.database.value("SELECT count(*) FROM entities WHERE file NOT IN (SELECT id FROM files)"):
            raise self.database.damaged("it lost files")

    def _plan(self, by_path: dict[str, FileUnits]) -> Plan:
        files = self.files.ids(by_path)
        wanted = {unit.id: (files[path], unit) for path, one in by_path.items() for unit in one.units}
        known = self.entities.known("file", files.values())
        known.update(self.entities.known("id", [one for one in wanted if one not in known]))
        plan, row = Plan(), self.entities.next_row()
        for one, (file, unit) in wanted.items():
            if one not in known:
                plan.added.append((row, file, unit))
                row += 1
            else:
                group = plan.kept if known[one][1] == unit.digest else plan.changed
                group.append((known[one][0], file, unit))
        plan.gone = {one: row for one, (row, _) in known.items() if one not in wanted}
        return plan

    def _check_dimension(self, units: Iterable[Unit]) -> None:
        sizes = {len(unit.vector) for unit in units if unit.vector is not None}
        if not sizes:
            return
        stored = self.meta.get(meta.DIMENSION)
        first = min(sizes) // 4 if stored is None else int(stored)
        for size in sizes:
            if size != first * 4 or size == 0:
                raise VectorMismatch(self.database.path, first, size // 4)
        if stored is None:
            self.meta.set(meta.DIMENSION, first)

    def _remove_rows(self, gone: dict[str, int]) -> None:
        if not gone:
            return
        self.fulltext.delete(gone.values())
        self.references.delete(gone.values())
        without_vector = self.vectors.delete(gone.values())
        self.entities.delete(gone.values())
        self.meta.add(meta.ENTITY_COUNT, -len(gone))
        self._tell(gone)
        self._vectors_moved(-without_vector)

    def _write_rows(self, plan: Plan) -> None:
        changed = [row for row, _, _ in plan.changed]
        self.fulltext.delete(changed)
        lost = self.vectors.delete(changed)
        self.entities.update(plan.kept + plan.changed)
        self.entities.insert(plan.added)
        self.fulltext.put((row, unit.terms) for row, _, unit in plan.embedded())
        self.references.delete(row for row, _, _ in plan.kept + plan.changed)
        self.references.put((row, unit.references) for row, _, unit in plan.kept + plan.changed + plan.added)
        vectors = [(row, unit.vector) for row, _, unit in plan.embedded() if unit.vector is not None]
        stored = self.vectors.put(vectors, self.meta.number(meta.VECTOR_GENERATION) + 1)
        # An entity that lost its vector must leave ChromaDB too; one that never had one was never there.
        self._tell(unit.id for _, _, unit in plan.changed)
        self._tell(unit.id for _, _, unit in plan.added if unit.vector is not None)
        if lost or stored:
            self._vectors_moved(stored - lost)

    def _tell(self, ids: Iterable[str]) -> None:
        """ChromaDB is told of changes where it has a copy of the vectors."""
        if self.meta.number(meta.OUTBOX_KEPT):
            self.outbox.add(ids)

    def _vectors_moved(self, difference: int) -> None:
        self.meta.add(meta.VECTOR_COUNT, difference)
        self.meta.add(meta.VECTOR_GENERATION, 1)
