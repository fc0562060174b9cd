"""Questions to vectors without numpy: for a hook, whose whole process may take half a second.

The same numbers as `BundledEmbedder.question`: the sum of the question's token rows, on the question side of the table,
L2-normalised. Importing numpy and unpacking the table take longer than reading the few rows that a question needs.
"""

import math
import struct
import zipfile
from array import array
from functools import cached_property
from typing import IO, Final

from braindex.domain.ports import Vector
from braindex.embedding.pieces import WEIGHTS, Pieces, data_folder, load_pieces

DIMENSION: Final = 256
QUESTION_TOKENS: Final = 64
_MAGIC: Final = b"\x93NUMPY"  # https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
_FLOAT: Final = 4


class PlainEmbedder:
    """The question side of the bundled model. Opens its files at the first question."""

    model = "braindex-static-2"

    @cached_property
    def _pieces(self) -> Pieces:
        return load_pieces()

    def question(self, text: str) -> Vector | None:
        """The question's vector over its first 64 tokens, or None when it has no word the model knows."""
        ids = self._pieces.ids(text, QUESTION_TOKENS)
        if not ids:
            return None
        total = [0.0] * DIMENSION
        with (data_folder() / WEIGHTS).open("rb") as file:
            table, scales = _members(file)
            for one in ids:
                file.seek(scales + one * _FLOAT)
                (scale,) = struct.unpack("<f", file.read(_FLOAT))
                file.seek(table + one * DIMENSION)
                row = array("b", file.read(DIMENSION))
                total = [known + scale * value for known, value in zip(total, row, strict=True)]
        length = math.hypot(*total) or 1.0
        return struct.pack(f"<{DIMENSION}f", *(value / length for value in total))


def _members(file: IO[bytes]) -> tuple[int, int]:
    """Where the rows of the table and the scales of its question side begin."""
    with zipfile.ZipFile(file) as archive:
        found = {one.filename: one.header_offset for one in archive.infolist()}
    return _numbers(file, found["table.npy"]), _numbers(file, found["qscale.npy"])


def _numbers(file: IO[bytes], header: int) -> int:
    """The offset of an array's first number, behind the headers of its member (not compressed) and of its format."""
    file.seek(header + 26)
    lengths: tuple[int, int] = struct.unpack("<HH", file.read(4))
    start = header + 30 + sum(lengths)
    file.seek(start)
    head = file.read(12)
    assert head[:6] == _MAGIC  # noqa: S101 - a package's own file
    length = int.from_bytes(head[8:12] if head[6] > 1 else head[8:10], "little")
    return start + (12 if head[6] > 1 else 10) + length
