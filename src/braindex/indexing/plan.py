"""What a scan has to do, judged by stat alone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from braindex.domain.units import FileRecord
from braindex.indexing.walk import Found

# A file written again within the resolution of its file system's clock keeps its time; git calls it racily
# clean. Two seconds is the coarsest clock in use (FAT).
RACY_NS: Final = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Plan:
    """Files by what they need: `new` and `suspect` are to be read (a suspect may turn out the same).

    `retry` could not be read the last time and look the same: a scan tries, but nothing is known to be behind.
    """

    new: list[Found]
    suspect: list[Found]
    retry: list[Found]
    unchanged: list[str]
    removed: list[str]


def plan(found: Iterable[Found], known: Mapping[str, FileRecord], last_scan_ns: int) -> Plan:
    """Sorts the files of a walk against the records of the last scan.

    `last_scan_ns` is when the last scan ran, in nanoseconds since the epoch. The lists follow the order of
    `found`; `removed`, the known files that were not found, is sorted.
    """
    result = Plan([], [], [], [], [])
    gone = set(known)
    for one in found:
        gone.discard(one.path)
        record = known.get(one.path)
        if record is None:
            result.new.append(one)
        elif _may_differ(one, record, last_scan_ns):
            result.suspect.append(one)
        elif record.again:
            result.retry.append(one)
        else:
            result.unchanged.append(one.path)
    result.removed.extend(sorted(gone))
    return result


def _may_differ(one: Found, record: FileRecord, last_scan_ns: int) -> bool:
    return (
        one.size != record.size
        or one.mtime_ns != record.mtime_ns
        or record.scanned_ns - one.mtime_ns < RACY_NS
        or abs(last_scan_ns - one.mtime_ns) < RACY_NS
    )
