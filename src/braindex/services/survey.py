"""What a workspace's folder holds now, against what its index knows: one walk, judged by stat alone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from braindex.domain.options import WorkspaceOptions
from braindex.domain.results import Skipped
from braindex.domain.units import FileRecord
from braindex.indexing.plan import Plan, plan
from braindex.indexing.walk import WalkRules, walk
from braindex.registry.index import IndexStore


def known_files(store: IndexStore, options: WorkspaceOptions) -> dict[str, FileRecord]:
    """The records to survey against. A file that a change of SKIP_BARE_FILES concerns counts as another one."""
    known = store.files()
    concerned = tuple(store.skip_bare().symmetric_difference(options.skip_bare_files))
    if not concerned:
        return known
    return {
        path: replace(one, size=-1, digest=b"") if path.lower().endswith(concerned) and not one.refused else one
        for path, one in known.items()
    }


@dataclass(frozen=True, slots=True)
class Survey:
    """`seen` counts the files walked to, `todo` is what an index has to do.

    `skipped` is what was left out, by the walk now or by an earlier reading of a file that has not changed since.
    """

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
    *,
    on_folder: Callable[[str], None] = lambda _: None,
) -> Survey:
    """Walks the root. `own_folder` is braindex's data folder; `at_each` is called for every row and may raise,
    `on_folder` for every folder, as `walk` does.

    Raises what `walk` raises when the root is gone, unreadable or emptied.
    """
    rules = WalkRules(
        max_file_bytes=options.max_file_bytes, own_folders=(own_folder,), known_files=bool(known), on_folder=on_folder
    )
    found, skipped = [], []
    for one in walk(root, rules):
        at_each()
        if isinstance(one, Skipped):
            skipped.append(one)
        else:
            found.append(one)
    last_scan_ns = max((one.scanned_ns for one in known.values()), default=0)
    todo = plan(found, known, last_scan_ns)
    skipped += [Skipped(path, known[path].refused) for path in todo.unchanged if known[path].refused]
    return Survey(len(found), skipped, todo)
