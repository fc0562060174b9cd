"""The last errors that braindex wrote down. A log has ids, counts and errors; nothing else of it is shown."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from braindex.domain.display import shortened
from braindex.domain.health import Check
from braindex.services.doctor.parts import Installation

_NAME: Final = re.compile(r"server-[1-9][0-9]{0,9}\.log(?:\.[0-9]+)?")
# `2026-11-30 10:00:00,123 ERROR braindex.services.scan: message`, as every handler of braindex writes it.
_LINE: Final = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),\d+ (ERROR|CRITICAL) \S+: (.*)")
_TAIL: Final = 200_000  # bytes of each log that are looked through, from its end
_MOST: Final = 3  # errors that are shown
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def last_errors(here: Installation) -> Iterator[Check]:
    found: list[tuple[str, str, str]] = []
    logs = 0
    for path in _logs(here.brain_dir):
        logs += 1
        found += [(time, text, path.name) for time, text in _errors(path)]
    if not found:
        yield Check("logs", "ok", f"no error in {logs} logs" if logs else "there is none")
        return
    found.sort()
    newest = found[-1][2]
    shown = "; ".join(f"{time} {shortened(text)}" for time, text, _ in found[-_MOST:])
    what = "1 error" if len(found) == 1 else f"{len(found)} errors, the last"
    yield Check("logs", "note", f"{what}: {shown}", f"the whole text is in {here.brain_dir / newest}")


def _logs(folder: Path) -> list[Path]:
    try:
        return sorted(one for one in folder.iterdir() if _NAME.fullmatch(one.name))
    except OSError:
        return []


def _errors(path: Path) -> Iterator[tuple[str, str]]:
    """(time, first line) of each error near the end of a log; what is no file of ours is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _NO_FOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            file.seek(max(0, os.fstat(descriptor).st_size - _TAIL))
            lines = file.read(_TAIL).decode("utf-8", "replace").splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        match = _LINE.match(line)
        if match:
            yield match[1], match[3]
