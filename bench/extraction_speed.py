"""Part `throughput` of `bench/extraction.py`: lines and entities a CPU second, as a scan extracts them."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from braindex.domain.errors import BraindexError
from braindex.indexing.passages import index_file
from braindex.languages import language_for

ROUNDS = 3  # of which the fastest counts
LARGEST = 1_000_000  # bytes
LEFT_OUT = frozenset({"node_modules", ".git", ".venv"})


@dataclass(frozen=True)
class Speed:
    folder: str
    files: int
    lines: int
    entities: int
    seconds: float

    def line(self) -> str:
        return (
            f"{self.folder}: {self.files:,} files, {self.lines / self.seconds:,.0f} lines and "
            f"{self.entities / self.seconds:,.0f} entities a CPU second ({self.lines:,} and {self.entities:,} in "
            f"{self.seconds:.2f} s)"
        )


def sources(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if language_for(path.name) and path.is_file() and not LEFT_OUT.intersection(path.parts):
            data = path.read_bytes()
            if len(data) <= LARGEST and b"\0" not in data:
                yield path.relative_to(folder).as_posix(), data


def measure(folder: Path) -> Speed:
    """Entities, references and passages of every file, in one process."""
    files = list(sources(folder))
    for path, _ in files:
        index_file(path, b"")  # loads its grammar
    entities, best = 0, float("inf")
    for _ in range(ROUNDS):
        entities, started = 0, time.process_time()
        for path, data in files:
            try:
                entities += len(index_file(path, data))
            except BraindexError:
                continue
        best = min(best, time.process_time() - started)
    lines = sum(data.count(b"\n") + 1 for _, data in files)
    return Speed(folder.name, len(files), lines, entities, best)
