"""Which collection of which Chroma server holds a workspace's vectors, and which ones nobody has deleted yet.

The outbox of `index.db` tells what one index has not taken in. So a workspace has one index at a time, and the file
`vector_db.server` in its folder says that it is on a server. An index in any other place is then out of date.
"""

import contextlib
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from filelock import FileLock, Timeout

from braindex.domain.hosts import shown_host
from braindex.vectors.backing import VectorIndexUnavailable

FILE: Final = "vector_db.server"
LEFTOVERS: Final = "chroma_leftovers.json"  # beside the workspaces' folders
_LOCK_WAIT: Final = 2.0  # seconds; the list is changed in a moment
_MOST_SWEPT: Final = 20  # collections that one sync deletes


@dataclass(frozen=True, slots=True)
class Placement:
    """`address` is the server with tenant and database, without secrets; `id` is the server's, "" until it told."""

    address: str
    collection: str
    id: str = ""
    rebuild: bool = False


_UNREADABLE: Final = Placement("", "", rebuild=True)


def placement(folder: Path) -> Placement | None:
    """Where the vectors of the workspace in `folder` are, or None where they are on no server.

    A file that cannot be read is one that asks for a rebuild.
    """
    try:
        found = json.loads((folder / FILE).read_bytes())
        return _placement(found)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, TypeError, KeyError):
        return _UNREADABLE


def place(folder: Path, where: Placement) -> None:
    """Note where the vectors are. Raises VectorIndexUnavailable where that cannot be written."""
    try:
        _write(folder / FILE, asdict(where))
    except OSError as error:
        raise VectorIndexUnavailable(folder / FILE, str(error)) from error


def doubt(folder: Path) -> None:
    found = placement(folder)
    if found is not None and not found.rebuild:
        place(folder, replace(found, rebuild=True))


def retire(folder: Path) -> Placement | None:
    """Forget where the vectors are; their collection is noted as one to be deleted. Returns what it was."""
    found = placement(folder)
    if found is None:
        return None
    if found.collection:
        _changed(folder.parent, lambda rows: [*rows, found])
    with _named_errors(folder):
        (folder / FILE).unlink(missing_ok=True)
    return found


def forget_embedded(folder: Path, names: tuple[str, ...]) -> None:
    """Delete the embedded index, which a server takes the place of."""
    with _named_errors(folder):
        for name in names:
            path = folder / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


def sweep(workspaces: Path, address: str, delete: Callable[[str], None]) -> None:
    """Delete what is left over on the server at `address`, with `delete(collection)`. What it raises ends that."""
    if not (workspaces / LEFTOVERS).exists():
        return
    for row in [one for one in _rows(workspaces) if one.address == address][:_MOST_SWEPT]:
        delete(row.collection)
        _changed(workspaces, lambda rows, gone=row: [one for one in rows if one != gone])  # type: ignore[misc]


def left_over(workspaces: Path) -> list[Placement]:
    """The collections that are to be deleted, on whichever server."""
    return _rows(workspaces)


def known_left_over(workspaces: Path) -> dict[str, int]:
    """How many collections are to be deleted, by the server as it may be shown: scheme, host and port.

    One whose server never told its id was most likely never made: deleting it is tried all the same.
    """
    return dict(Counter(shown_host(one.address) for one in _rows(workspaces) if one.id))


def _rows(workspaces: Path) -> list[Placement]:
    try:
        return [_placement(one) for one in json.loads((workspaces / LEFTOVERS).read_bytes())]
    except (OSError, ValueError, TypeError, KeyError):
        return []


def _changed(workspaces: Path, change: Callable[[list[Placement]], list[Placement]]) -> None:
    """The list, changed by one process at a time. What cannot be noted costs a collection that stays, and no more."""
    with contextlib.suppress(OSError, Timeout), FileLock(workspaces / f"{LEFTOVERS}.lock", _LOCK_WAIT, mode=0o600):
        rows = list(dict.fromkeys(change(_rows(workspaces))))
        if rows:
            _write(workspaces / LEFTOVERS, [asdict(one) for one in rows])
        else:
            (workspaces / LEFTOVERS).unlink(missing_ok=True)


def _placement(found: Any) -> Placement:
    """Raises KeyError, TypeError or ValueError for what is none."""
    made = Placement(found["address"], found["collection"], found["id"], found["rebuild"] is True)
    if not all(isinstance(one, str) for one in (made.address, made.collection, made.id)):
        raise TypeError
    return made


def _write(path: Path, content: Any) -> None:
    """Whole or not at all, readable by its owner alone."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


@contextlib.contextmanager
def _named_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise VectorIndexUnavailable(folder, str(error)) from error
