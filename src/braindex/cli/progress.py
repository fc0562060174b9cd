"""A progress bar on a terminal, and nothing in a pipe."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from braindex.cli.output import is_terminal
from braindex.domain.results import ScanProgress


@contextmanager
def scan_progress(label: str) -> Iterator[Callable[[ScanProgress], None] | None]:
    """What `Scans.run` reports to, or None where standard error is no terminal."""
    if not is_terminal(sys.stderr):
        yield None
        return
    from tqdm import tqdm  # noqa: PLC0415 - only a terminal needs it

    with tqdm(desc=label, unit=" files", leave=False, file=sys.stderr, dynamic_ncols=True) as bar:
        yield lambda progress: show(bar, progress)


def show(bar: Any, progress: ScanProgress) -> None:
    """Brings a tqdm bar up to the scan's progress."""
    bar.total = progress.files_total or None
    bar.n = progress.files_done
    bar.set_postfix_str(f"{progress.phase}, {progress.entities} entities", refresh=False)
    bar.refresh()
