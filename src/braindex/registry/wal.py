"""The write-ahead log as a file: how much of it counts.

Format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
"""

import contextlib
import os
import struct
from pathlib import Path
from typing import Final

_HEADER: Final = 32
_FRAME_HEADER: Final = 24


def cut_off_uncommitted(log: Path) -> None:
    """Shorten a write-ahead log to its last commit: a write that found no space leaves what it had written so far,
    and SQLite keeps it to write over it.

    The caller holds SQLite's write lock, so that nobody appends; readers look at nothing behind the last commit.
    """
    with contextlib.suppress(OSError):  # none, or not to be shortened: it stays as it is
        length = _committed(log)
        if 0 < length < log.stat().st_size:
            os.truncate(log, length)


def _committed(log: Path) -> int:
    """Bytes up to the last frame that ends a transaction of this log, or 0 where that cannot be told."""
    with log.open("rb") as file:
        header = file.read(_HEADER)
        if len(header) < _HEADER:
            return 0
        page_size, salts = struct.unpack(">I", header[8:12])[0], header[16:24]
        end, size = _HEADER, os.fstat(file.fileno()).st_size
        while file.tell() + _FRAME_HEADER + page_size <= size:
            frame = file.read(_FRAME_HEADER)
            if frame[8:16] != salts:  # left over from before SQLite began to write the log anew
                break
            file.seek(page_size, os.SEEK_CUR)
            if frame[4:8] != b"\0\0\0\0":  # the size of the database after a commit
                end = file.tell()
        return end
