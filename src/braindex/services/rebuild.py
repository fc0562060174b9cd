"""An index made by another model or version, or wanted afresh, is made beside the old one, which serves till then.

Everything is read, parsed and embedded into an index of its own in the workspace's folder, as by any scan: a stop, a
kill or a provider that fails costs nothing of the old index, and the next scan goes on where this one ended, with what
was paid for. Then one transaction, which waits for no provider, replaces the content of the old index. The outbox tells
the vector index on disk, as after any change.
"""

import contextlib
import logging
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from braindex.domain.ports import Embedder
from braindex.registry.failures import StoreDamaged
from braindex.registry.index import IndexStore
from braindex.registry.stored_vectors import VectorMismatch
from braindex.services.counts import Counts
from braindex.services.ingest import fits

log = logging.getLogger(__name__)

BESIDE: Final = "rebuilding"  # the folder of the index that is being made, in the workspace's

# One scan into an index by a model. The third is the index that was made beside, whose vectors are taken.
Scan = Callable[[IndexStore, Embedder, IndexStore | None], Counts]


def bring_up_to_date(
    folder: Path, store: IndexStore, embedder: Embedder, local: Embedder, scan: Scan, *, afresh: bool = False
) -> Counts:
    """The workspace's index as `embedder` makes it. `local` needs no network. `afresh`: all of it is made anew, as a
    person asked for.

    Raises ScanStopped, EngineFailed, and what the stores raise. The caller holds the writer's lock.
    """
    if afresh:
        _forget(folder)
        return _made_anew(folder, store, embedder, scan)
    if fits(store, embedder):
        try:
            counts = scan(store, embedder, None)
        except VectorMismatch:
            log.info("the model %s gives vectors of another dimension by now", embedder.model)
        else:
            _forget(folder)
            return counts
    elif fits(store, local):
        scan(store, local, None)  # what serves meanwhile is at least up to date
    return _made_anew(folder, store, embedder, scan)


def _made_anew(folder: Path, store: IndexStore, embedder: Embedder, scan: Scan) -> Counts:
    with _beside(folder) as beside:
        try:
            scan(beside, embedder, None)
        except VectorMismatch:  # begun before the dimension changed
            beside.clear()
            scan(beside, embedder, None)
        with store.transaction():
            store.clear()
            counts = scan(store, embedder, beside)
    _forget(folder)
    return counts


@contextlib.contextmanager
def _beside(folder: Path) -> Iterator[IndexStore]:
    """The index that is being made, as far as it is; one that is damaged is begun anew, now or at the next scan."""
    path = folder / BESIDE
    with _opened(folder) as beside:
        try:
            yield beside
        except StoreDamaged as damage:
            if damage.path.parent == path:
                beside.close()  # Windows deletes no file that is open
                _forget(folder)
            raise


def _opened(folder: Path) -> IndexStore:
    try:
        return IndexStore.open(folder / BESIDE)
    except StoreDamaged:
        _forget(folder)
        return IndexStore.open(folder / BESIDE)


def _forget(folder: Path) -> None:
    if (folder / BESIDE).exists():
        shutil.rmtree(folder / BESIDE, ignore_errors=True)  # what is left over is brought up to date the next time
