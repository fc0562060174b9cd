"""Parses a folder now and stores nothing."""

from collections.abc import Iterator
from pathlib import Path

from braindex.domain.entities import CodeEntity
from braindex.domain.errors import BraindexError
from braindex.domain.options import WorkspaceOptions
from braindex.domain.results import Skipped
from braindex.indexing.decode import read_text
from braindex.indexing.passages import index_file
from braindex.indexing.walk import WalkRules, walk
from braindex.services.roots import checked_root


def list_entities(root: str | Path, options: WorkspaceOptions, own_folder: Path) -> Iterator[CodeEntity]:
    """Every entity a scan would store, file by file in path order. A file that cannot be parsed has none.

    `own_folder` is braindex's data folder, which is no source wherever it lies.
    """
    folder = checked_root(root)
    for found in walk(folder, WalkRules(max_file_bytes=options.max_file_bytes, own_folders=(own_folder,))):
        if isinstance(found, Skipped):
            continue
        source = read_text(folder, found, options.max_file_bytes)
        if isinstance(source, Skipped):
            continue
        try:
            units = index_file(found.path, source.data, options.skip_bare_files)
        except BraindexError:
            continue
        yield from (one.entity for one in units)
