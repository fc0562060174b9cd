"""What a scan and the processes that read for it say to each other: frames of plain values on a pipe.

A frame is its length in eight bytes, little-endian, and that many bytes of `marshal`: both ends are one installation on
one machine, and for tuples of text and bytes it is several times as fast as pickle.
"""

import marshal
import struct
from collections.abc import Sequence
from dataclasses import astuple, fields
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, Final

from braindex.domain.entities import CodeEntity
from braindex.domain.options import WorkspaceOptions
from braindex.domain.ports import Passage
from braindex.domain.results import Skipped
from braindex.domain.units import Terms, Unit
from braindex.indexing.walk import Found
from braindex.services.reading import Outcome, Task

_LENGTH: Final = struct.Struct("<Q")
_ENTITY: Final = attrgetter(*(one.name for one in fields(CodeEntity)))
_TERMS: Final = attrgetter(*(one.name for one in fields(Terms)))
_PASSAGE: Final = attrgetter(*(one.name for one in fields(Passage)))


class PipeClosed(EOFError):
    """The process at the other end is gone."""


def write(pipe: IO[bytes], value: Any) -> None:
    """Sends one value. Raises OSError when nobody reads any more."""
    data = marshal.dumps(value)
    pipe.write(_LENGTH.pack(len(data)))
    pipe.write(data)
    pipe.flush()


def read(pipe: IO[bytes]) -> Any:
    """The next value. Raises PipeClosed at the end, which may come in the middle of one."""
    size = _LENGTH.unpack(_exactly(pipe, _LENGTH.size))[0]
    return marshal.loads(_exactly(pipe, size))  # noqa: S302 - written by a child of this very process


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise PipeClosed
    return data


def greeting(version: str, root: Path, options: WorkspaceOptions, *, embeds: bool) -> tuple[Any, ...]:
    """What a reading process has to know."""
    return version, str(root), astuple(options), embeds


def greeted(value: tuple[Any, ...]) -> tuple[str, Path, WorkspaceOptions, bool]:
    version, root, options, embeds = value
    return version, Path(root), WorkspaceOptions(*options), embeds


def packed_tasks(tasks: Sequence[Task]) -> list[Any]:
    return [(astuple(one.found), one.digest, dict(one.known)) for one in tasks]


def unpacked_tasks(value: list[Any]) -> list[Task]:
    return [Task(Found(*found), digest, known) for found, digest, known in value]


def packed(outcomes: Sequence[Outcome]) -> list[Any]:
    return [
        (
            one.path, one.digest, one.same, None if one.skipped is None else astuple(one.skipped),
            [
                (unit.id, _ENTITY(unit.entity), unit.digest, _TERMS(unit.terms), unit.vector, unit.references)
                for unit in one.units
            ],
            {key: _PASSAGE(passage) for key, passage in one.unembedded.items()},
        )
        for one in outcomes
    ]  # fmt: skip


def unpacked(value: list[Any]) -> list[Outcome]:
    return [
        Outcome(
            path, digest,
            tuple(_unit(*unit) for unit in units),
            None if skipped is None else Skipped(*skipped),
            same,
            {key: Passage(*passage) for key, passage in unembedded.items()},
        )
        for path, digest, same, skipped, units, unembedded in value
    ]  # fmt: skip


def _unit(key: str, entity: tuple[Any, ...], digest: bytes, terms: tuple[str, ...], *rest: Any) -> Unit:
    return Unit(key, CodeEntity(*entity), digest, Terms(*terms), *rest)
