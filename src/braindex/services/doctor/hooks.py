"""What hooks left to be recorded: turns that wait, turns that can never be stored, and how the last hook failed."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from braindex.domain.display import argument
from braindex.domain.health import Check, counted
from braindex.registry.conversations import HOOKS_LOG, Conversations, Left
from braindex.services.doctor.logs import last_troubles
from braindex.services.doctor.parts import Installation

NAME: Final = "hooks"
# A turn is stored within seconds of its end; on a busy machine, or behind many others, within a few minutes.
SOON: Final = 300.0  # seconds
# Each later turn tries again, so that one which waits longer has met a lasting obstacle, or nobody worked since.
LONG: Final = 3_600.0  # seconds
_HOURS: Final = 2 * 3_600.0
_DAYS: Final = 2 * 86_400.0


def left(here: Installation) -> Iterator[Check]:
    """What hooks left behind in the data folder; where no hook ever ran there, that alone."""
    conversations = Conversations(here.brain_dir)
    found = conversations.left()
    if found is None:
        yield Check(NAME, "ok", "none has run yet")
        return
    yield waiting(found, time.time)
    if found.refused:
        folder = argument(str(conversations.refused_folder))
        detail = f"{counted(found.refused, 'turn')} can never be stored: set aside in {folder}"
        remedy = f"read them, if you like, and delete {folder}: whatever else hooks leave is stored without them"
        yield Check(NAME, "broken", detail, remedy)
    yield from _failures(here.brain_dir / HOOKS_LOG)


def waiting(found: Left, now: Callable[[], float]) -> Check:
    """How many turns wait to be stored, and for how long already. A clock that was set back makes no age."""
    if not found.waiting:
        return Check(NAME, "ok", "no turn waits to be stored")
    age = max(0.0, now() - found.oldest)
    turns = f"{counted(found.waiting, 'turn')} {'waits' if found.waiting == 1 else 'wait'} to be stored"
    if age < SOON:
        return Check(NAME, "ok", f"{turns}, which happens in the background")
    remedy = "`braindex record --waiting` stores them, or says what is in the way"
    return Check(NAME, "note" if age < LONG else "broken", f"{turns}, the oldest for {_spoken(age)}", remedy)


def _failures(log: Path) -> Iterator[Check]:
    troubles = last_troubles(log)
    if troubles:
        when, text = troubles[-1]
        what = "one hook failed" if len(troubles) == 1 else f"{len(troubles):,} hooks failed, the last"
        remedy = f"the whole text is in {argument(str(log))}; this note goes when you delete it, which is safe"
        yield Check(NAME, "note", f"{what}: {when} {text}", remedy)


def _spoken(seconds: float) -> str:
    """A span of time as people say it."""
    if seconds < _HOURS:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3_600:.0f} hours" if seconds < _DAYS else f"{seconds / 86_400:.0f} days"
