"""What a scan reports: how far it is, what it did, and that it was stopped."""

from collections.abc import Callable
from dataclasses import dataclass, field

from braindex.domain.errors import BraindexError
from braindex.domain.results import ScanProgress, Skipped

Progress = Callable[[ScanProgress], None]


class ScanStopped(BraindexError):
    def __init__(self) -> None:
        super().__init__("the scan was stopped; what it had read is kept, and the next scan goes on from there")


@dataclass(slots=True)
class Counts:
    """What a scan did, in files (`seen` are all it walked to), what it left out, and what a user should know."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    seen: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
