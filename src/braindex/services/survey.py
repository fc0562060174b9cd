"""What a workspace's folder holds now, against what its index knows: one walk, judged by stat alone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from braindex.domain.options import WorkspaceOptions
from braindex.domain.results import Skipped
from braindex.domain.units import FileRecord
from braindex.indexing.plan import Plan, plan
from braindex.indexing.walk import WalkRules, walk


@dataclass(frozen=True, slots=True)
class Survey:
    """`seen` counts the files walked to, `skipped` is what was left out, `todo` what an index has to do."""

    seen: int
    skipped: list[Skipped]
    todo: Plan

    @property
    def is_behind(self) -> bool:
        """Whether any file appeared, changed or went since the last scan."""
        return bool(self.todo.new or self.todo.suspect or self.todo.removed)


def survey(
    root: Path,
    known: Mapping[str, FileRecord],
    options: WorkspaceOptions,
    own_folder: Path,
    at_each: Callable[[], None] = lambda: None,
) -> Survey:
    """Walks the root. `own_folder` is braindex's data folder; `at_each` is called for every row and may raise.

    Raises what `walk` raises when the root is gone, unreadable or emptied.
    """
    rules = WalkRules(max_file_bytes=options.max_file_bytes, own_folders=(own_folder,), known_files=bool(known))
    found, skipped = [], []
    for one in walk(root, rules):
        at_each()
        if isinstance(one, Skipped):
            skipped.append(one)
        else:
            found.append(one)
    last_scan_ns = max((one.scanned_ns for one in known.values()), default=0)
    return Survey(len(found), skipped, plan(found, known, last_scan_ns))
