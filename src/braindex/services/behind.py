"""How far an index is behind its folder: judged by stat, and by reading where stat cannot tell."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from braindex.domain.options import WorkspaceOptions
from braindex.domain.results import Skipped
from braindex.domain.units import FileRecord
from braindex.indexing.decode import read_text
from braindex.indexing.plan import RACY_NS
from braindex.indexing.walk import Found
from braindex.registry.index import IndexStore
from braindex.services.glance import Folders, Glance, Walked
from braindex.services.survey import known_files, survey


@dataclass(frozen=True, slots=True)
class Behind:
    """What an index has to take in, in files; `seen` are all that the walk came to.

    `unsettled` were written so close to the last scan that their times cannot tell: they were read and are as indexed.
    They have to be read at every look until a scan, which by now would settle it. `glance` tells the next look cheaply
    that nothing has changed since.
    """

    seen: int
    changed: int
    added: int
    removed: int
    unsettled: int
    glance: Glance | None = field(default=None, compare=False)

    def __bool__(self) -> bool:
        return bool(self.changed or self.added or self.removed)

    @property
    def words(self) -> str:
        """As in "3 files changed, 1 added since the last scan"; "" when nothing is behind."""
        counts = {"changed": self.changed, "added": self.added, "removed": self.removed}
        parts = [f"{count} {word}" for word, count in counts.items() if count]
        if not parts:
            return ""
        number, word = parts[0].split()
        parts[0] = f"{number} {'file' if number == '1' else 'files'} {word}"
        return f"{', '.join(parts)} since the last scan"


def behind(
    root: Path,
    store: IndexStore,
    options: WorkspaceOptions,
    own_folder: Path,
    at_each: Callable[[], None] = lambda: None,
) -> Behind:
    """How far an index is behind its folder. `at_each` is called for every file and may raise.

    Raises what `survey` raises when the root is gone, unreadable or emptied.
    """
    walked = Walked(os.path.realpath(root), options, store.generation(), time.monotonic(), time.time_ns())
    known, folders = known_files(store, options), Folders()
    found = survey(root, known, options, own_folder, at_each, on_folder=folders)
    changed = unsettled = 0
    for one in found.todo.suspect:
        at_each()
        if not _is_the_same(root, one, known, options):
            changed += 1
        elif time.time_ns() - one.mtime_ns >= RACY_NS:
            unsettled += 1
    result = Behind(found.seen, changed, len(found.todo.new), len(found.todo.removed), unsettled)
    if result or found.todo.suspect:
        return result
    files = {path: (known[path].size, known[path].mtime_ns) for path in found.todo.unchanged}
    files.update((one.path, (one.size, one.mtime_ns)) for one in found.todo.retry)
    beside = [one.path for one in found.skipped if not one.path.endswith("/") and one.path not in files]
    return replace(result, glance=walked.glance(files, beside, folders.times))


def _is_the_same(root: Path, found: Found, known: Mapping[str, FileRecord], options: WorkspaceOptions) -> bool:
    record = known[found.path]
    if (found.size, found.mtime_ns) != (record.size, record.mtime_ns):
        return False
    source = read_text(root, found, options.max_file_bytes)
    return bool(record.refused) if isinstance(source, Skipped) else source.digest == record.digest
