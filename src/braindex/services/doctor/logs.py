"""The last errors that braindex wrote down. A log has ids, counts and errors; nothing else of it is shown."""

import itertools
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from braindex.domain.display import shortened
from braindex.domain.health import Check, counted, enumerated
from braindex.domain.secrets import redacted
from braindex.services.doctor.parts import Installation

_NAME: Final = re.compile(r"server-[1-9][0-9]{0,9}\.log(?:\.[0-9]+)?")
# `2026-11-30 10:00:00,123 ERROR braindex.services.scan: message`, as every handler of braindex writes it.
_TIME: Final = r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),\d+ "
_ERROR: Final = re.compile(_TIME + r"(ERROR|CRITICAL) \S+: (.*)")
_TROUBLE: Final = re.compile(_TIME + r"(WARNING|ERROR|CRITICAL) \S+: (.*)")
_RECORD: Final = re.compile(_TIME + r"[A-Z]+ ")
# `package.module.KeyError: 'x'`, which ends a traceback; its other lines are indented, or a sentence.
_TYPE: Final = re.compile(r"(?:[A-Za-z_]\w*\.)*([A-Z]\w*)(?::|$)")
_TAIL: Final = 200_000  # bytes of each log that are looked through, from its end
_MOST: Final = 3  # errors that are shown
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def last_errors(here: Installation) -> Iterator[Check]:
    """When the last errors were, what failed, and the type of what was raised."""
    logs = _logs(here.brain_dir)
    found = sorted((time, text, path.name) for path in logs for time, text in _errors(path))
    if not found:
        yield Check("logs", "ok", f"no error in {counted(len(logs), 'log')}" if logs else "there is none")
        return
    shown = "; ".join(f"{time} {text}" for time, text, _ in found[-_MOST:])
    what = "1 error" if len(found) == 1 else f"{len(found):,} errors, the last"
    holders = list(dict.fromkeys(name for _, _, name in reversed(found)))
    gone = f"{enumerated(holders, 3)} {'is' if len(holders) == 1 else 'are'} deleted"
    remedy = (
        f"the whole text is in {here.brain_dir / holders[0]}; this note goes when {gone}: by you, which is safe, or by "
        "braindex, which keeps the logs of the last processes"
    )
    yield Check("logs", "note", f"{what}: {shown}", remedy)


def last_troubles(path: Path) -> list[tuple[str, str]]:
    """(time, what happened) of each warning and error near the end of a log, the last one last."""
    return list(_errors(path, _TROUBLE))


def _logs(folder: Path) -> list[Path]:
    try:
        return sorted(one for one in folder.iterdir() if _NAME.fullmatch(one.name))
    except OSError:
        return []


def _errors(path: Path, wanted: re.Pattern[str] = _ERROR) -> Iterator[tuple[str, str]]:
    """(time, first line with the type of what was raised) of each error near the end of a log; what is no file of ours
    has none.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | _NO_FOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            file.seek(max(0, os.fstat(descriptor).st_size - _TAIL))
            lines = file.read(_TAIL).decode("utf-8", "replace").splitlines()
    except (OSError, ValueError):
        return
    for number, line in enumerate(lines):
        match = wanted.match(line)
        if match:
            kind = _raised(lines[number + 1 :])
            yield match[1], shortened(redacted(match[3])) + (f" ({kind})" if kind else "")


def _raised(below: Iterable[str]) -> str:
    """The type at the end of the traceback that follows an error; "" where there is none. Its message stays unread:
    it may quote what was worked on.
    """
    found = ""
    for line in itertools.takewhile(lambda one: not _RECORD.match(one), below):
        match = _TYPE.match(line)
        found = match[1] if match else found
    return found
