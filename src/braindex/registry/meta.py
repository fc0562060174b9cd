"""Single values of an index: its counters, its embedding model, and the markers of its scans."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

from braindex.registry.database import Database
from braindex.registry.failures import StoreDamaged

# Counters start at a random number, so that one kept in memory never fits an index that was made anew.
SCHEMA: Final = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID",
    (
        "INSERT INTO meta VALUES ('generation', random() & 0xFFFFFFFFFFFF), "
        "('vector_generation', random() & 0xFFFFFFFFFFFF), "
        "('applied_generation', random() & 0xFFFFFFFFFFFF), ('vector_count', 0)"
    ),
)

# `outbox_kept` is 1 where ChromaDB has a copy of the vectors and is told of every change. A new index has none.
COUNTS: Final = (
    "INSERT INTO meta SELECT 'entity_count', count(*) FROM entities",
    "INSERT INTO meta SELECT 'outbox_kept', EXISTS (SELECT 1 FROM entities)",
)

GENERATION: Final = "generation"
VECTOR_GENERATION: Final = "vector_generation"
APPLIED_GENERATION: Final = "applied_generation"
VECTOR_COUNT: Final = "vector_count"
ENTITY_COUNT: Final = "entity_count"
OUTBOX_KEPT: Final = "outbox_kept"
COUNTERS: Final = frozenset(
    {GENERATION, VECTOR_GENERATION, APPLIED_GENERATION, VECTOR_COUNT, ENTITY_COUNT, OUTBOX_KEPT}
)
MODEL: Final = "model"
DIMENSION: Final = "dimension"
SKIP_BARE: Final = "skip_bare_files"
_STARTED: Final = "scan_started"
_FINISHED: Final = "scan_finished"
_ERROR: Final = "scan_error"
_COUNTED: Final = "counted"

Counts = tuple[dict[str, int], dict[str, int]]
"""Entities by language and by kind, the most frequent first."""


@dataclass(frozen=True, slots=True)
class ScanMarks:
    """How the last scan went. Times are as given by the caller (UTC, ISO 8601).

    `interrupted` also while one runs: whoever holds the scan's lock knows which. `last_scan` is when a scan
    last finished.
    """

    state: Literal["never", "complete", "interrupted", "failed"]
    last_scan: str | None
    last_error: str | None


class Meta:
    """The `meta` table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, key: str) -> Any:
        return self._database.value("SELECT value FROM meta WHERE key = ?", (key,))

    def set(self, key: str, value: Any) -> None:
        self._database.run("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def add(self, key: str, amount: int) -> None:
        """Move a counter. Raises StoreDamaged where it is gone."""
        if not self._database.run("UPDATE meta SET value = value + ? WHERE key = ?", (amount, key)):
            raise self._lost([key])

    def forget(self, *keys: str) -> None:
        self._database.many("DELETE FROM meta WHERE key = ?", [(key,) for key in keys])

    def number(self, key: str) -> int:
        """A counter. Raises StoreDamaged where it is gone or no number."""
        found = self.get(key)
        if not isinstance(found, int):
            raise self._lost([key])
        return found

    def keep_counts(self, generation: int, counts: Counts) -> None:
        """Keeps how many entities there are by language and by kind, in the content of a generation."""
        self.set(_COUNTED, json.dumps([generation, *counts]))

    def counts(self, generation: int) -> Counts | None:
        """What was kept, if it is of that content; what cannot be read is counted anew."""
        try:
            of, languages, kinds = json.loads(self.get(_COUNTED) or "")
            return (dict(languages), dict(kinds)) if of == generation else None
        except (ValueError, TypeError):
            return None

    def check(self) -> None:
        """Raises StoreDamaged unless every counter is there."""
        sql = "SELECT key FROM meta WHERE typeof(value) = 'integer'"
        lost = COUNTERS.difference(row[0] for row in self._database.rows(sql))
        if lost:
            raise self._lost(sorted(lost))

    def _lost(self, keys: Iterable[str]) -> StoreDamaged:
        return self._database.damaged(f"it lost {', '.join(keys)}")

    def scan_started(self, now: str) -> None:
        self.set(_STARTED, now)
        self.forget(_ERROR)

    def scan_finished(self, now: str) -> None:
        self.set(_FINISHED, now)
        self.forget(_STARTED, _ERROR)

    def scan_failed(self, error: str) -> None:
        self.set(_ERROR, error)
        self.forget(_STARTED)

    def scan_marks(self) -> ScanMarks:
        found: dict[str, Any] = dict(
            self._database.rows("SELECT key, value FROM meta WHERE key LIKE 'scan\\_%' ESCAPE '\\'")
        )
        finished, error = found.get(_FINISHED), found.get(_ERROR)
        if error is not None:
            return ScanMarks("failed", finished, error)
        if _STARTED in found:
            return ScanMarks("interrupted", finished, None)
        return ScanMarks("complete" if finished is not None else "never", finished, None)
