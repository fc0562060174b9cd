"""Parses a folder or a file now and stores nothing."""

import os
from collections.abc import Iterator
from pathlib import Path

from braindex.domain.entities import CodeEntity
from braindex.domain.errors import BraindexError
from braindex.domain.options import WorkspaceOptions
from braindex.domain.results import Skipped
from braindex.indexing.decode import read_text
from braindex.indexing.own_data import OwnFolders
from braindex.indexing.passages import index_file
from braindex.indexing.walk import Found, WalkRules, walk
from braindex.services.roots import checked_root


def list_entities(root: str | Path, options: WorkspaceOptions, own_folder: Path) -> Iterator[CodeEntity | Skipped]:
    """Every entity a scan would store, file by file in path order, and what is left out: first the files that cannot be
    read or parsed, each in its place, at the end what no scan looks into.

    `own_folder` is braindex's data folder, which is no source wherever it lies.
    """
    folder = checked_root(root)
    passed_over: list[Skipped] = []
    for found in walk(folder, WalkRules(max_file_bytes=options.max_file_bytes, own_folders=(own_folder,))):
        if isinstance(found, Skipped):
            passed_over.append(found)
        else:
            yield from _of_file(folder, found, options)
    yield from passed_over


def entities_of_file(
    file: Path, options: WorkspaceOptions, own_folder: Path, around: Path
) -> Iterator[CodeEntity | Skipped]:
    """The entities of one file whatever the ignore rules say of it, or why it is left out. Their path starts at the
    folder `around`, where the file is in it.
    """
    real = Path(os.path.realpath(file))
    folder = around if real.is_relative_to(around) else real.parent
    OwnFolders((own_folder,)).refuse(str(real.parent))
    status = real.stat()
    yield from _of_file(folder, Found(real.relative_to(folder).as_posix(), status.st_size, status.st_mtime_ns), options)


def _of_file(folder: Path, found: Found, options: WorkspaceOptions) -> Iterator[CodeEntity | Skipped]:
    source = read_text(folder, found, options.max_file_bytes)
    if isinstance(source, Skipped):
        yield source
        return
    try:
        units = index_file(found.path, source.data, options.skip_bare_files)
    except BraindexError as error:
        yield Skipped(found.path, str(error))
        return
    yield from (one.entity for one in units)
