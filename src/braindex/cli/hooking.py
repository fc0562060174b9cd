"""`braindex hook CLIENT EVENT`: a client's hook in, JSON in its shape out. It never breaks the client: whatever goes
wrong is an empty answer, exit code 0 and a line in the log, within a second.
"""

import contextlib
import json
import logging
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from braindex import light
from braindex.cli.clients import CLIENTS, client_called
from braindex.cli.clients.spec import Client
from braindex.cli.clients.transcript import last_turn
from braindex.cli.deadline import answer_within
from braindex.cli.logs import start_hook_log
from braindex.cli.output import is_terminal, note
from braindex.config import load_settings
from braindex.domain.display import echoed, safe_line
from braindex.domain.errors import BraindexError, UsageError
from braindex.domain.turns import Told
from braindex.registry.conversations import Conversations
from braindex.services.detached import detached
from braindex.services.resolution import path_of_uri

log: Final = logging.getLogger(__name__)

SECONDS: Final = 0.8  # after which the answer is empty, whatever is being waited for
_NOTHING: Final = b"{}\n"
_LARGEST_INPUT: Final = 100_000_000  # bytes: of what is longer nothing could be understood


class NotAHook(UsageError):
    def __init__(self, why: str) -> None:
        names = ", ".join(one.name for one in CLIENTS)
        super().__init__(f"{why}; use `braindex hook CLIENT EVENT` with one of {names}, and its hook's JSON as input")


class NotAnEvent(UsageError):
    def __init__(self, client: Client, event: str) -> None:
        super().__init__(
            f"{client.name} has no event {echoed(event)!r} at which anything is told or recorded; those it has are "
            f"{', '.join(client.events)}"
        )


def run_hook(arguments: Sequence[str]) -> int:
    """Answers one hook. Always 0: other codes mean to some clients that the turn is blocked."""
    _prepare_streams()
    start_hook_log(_log_folder(os.environ))
    until = time.monotonic() + SECONDS
    try:
        client, event = _named(arguments)
    except UsageError as mistake:
        _tell_once(mistake)
        answer = None if is_terminal(sys.stdin) else answer_within(SECONDS, _unread)
    else:
        keeps = client.named(event) in {"prompt", "answer", "end"}  # these are kept however busy the machine is
        answer = answer_within(SECONDS, lambda: _work(client, event, until), must_end=keeps)
        if answer is None:
            log.warning("hook %s %s: no answer within %s s", client.name, event[:100], SECONDS)
    _print(answer or _NOTHING)
    logging.shutdown()
    os._exit(0)  # whatever is waited for, and with no time for what an interpreter does at its end


def _prepare_streams() -> None:
    """A stream that is closed must not become the next file that is opened."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free


def _tell_once(mistake: UsageError) -> None:
    """A hook that is written down wrongly runs at every turn: one line in the log is enough. Whoever looks is told."""
    said = str(mistake)
    try:
        if Conversations(_log_folder(os.environ)).first_time(said):
            log.warning("%s", safe_line(said))
    except BraindexError as error:
        log.warning("%s (%s)", safe_line(said), error)
    if is_terminal(sys.stderr):
        note(f"braindex: {safe_line(said)}")


def _unread() -> bytes:
    """Takes what the client says and does nothing with it: one whose pipe breaks may take that for a failure."""
    with contextlib.suppress(OSError, AttributeError):
        sys.stdin.buffer.read(_LARGEST_INPUT)
    return _NOTHING


def _work(client: Client, event: str, until: float) -> bytes:
    try:
        return (json.dumps(_answered(client, event, until)) + "\n").encode()
    except BraindexError as error:
        log.warning("hook %s %s: %s", client.name, event, error)
    except Exception:
        log.exception("hook %s %s failed", client.name, event)
    return _NOTHING


def _print(answer: bytes) -> None:
    try:
        os.write(1, answer)
    except OSError:
        log.warning("the answer of a hook could not be written")


def _answered(client: Client, event: str, until: float) -> dict[str, Any]:
    """The answer. What the client told is written down first; nothing is told after `until` (monotonic seconds)."""
    told = _told(client, event)
    if told.moment == "other":
        return {}
    settings = load_settings(os.environ, Path(_folder(told)))
    endings = light.endings(settings)
    if told.moment in {"start", "prompt"}:
        with endings.begun(told) as known:
            if known is None or told.moment not in client.injecting or time.monotonic() > until:
                return {}
            text = light.loop(settings).context(
                told, known, at_prompts="prompt" in client.injecting, in_time=lambda: time.monotonic() < until
            )
            return client.injected(told.event, text) if text else {}
    if told.moment == "answer":
        endings.answered(told)
    elif endings.after(told):
        endings.stored_by(lambda: detached(("record", "--waiting"), {}, _folder(told)))
    return {}


def _named(arguments: Sequence[str]) -> tuple[Client, str]:
    """Raises NotAHook, NotAnEvent."""
    if len(arguments) != 2:
        raise NotAHook(f"a hook is named by its client and its event, not by {len(arguments)} words")
    client = client_called(arguments[0])
    if client is None:
        raise NotAHook(f"no client is called {echoed(arguments[0])!r}")
    if client.named(arguments[1]) == "other":
        raise NotAnEvent(client, arguments[1])
    return client, arguments[1]


def _told(client: Client, event: str) -> Told:
    """What the input says, and where it does not name the prompt or the answer, what the transcript does."""
    try:
        given = json.loads(sys.stdin.buffer.read(_LARGEST_INPUT))
    except (ValueError, RecursionError, OSError, AttributeError) as error:
        raise NotAHook(f"the input is no JSON ({type(error).__name__})") from None
    if not isinstance(given, dict):
        raise NotAHook("the input is no JSON object")
    told = _placed(client.told(event, given))
    missing = (told.moment == "prompt" and not told.prompt) or (told.moment == "end" and not told.answer)
    if missing and told.transcript:
        prompt, answer = last_turn(told.transcript)
        told = replace(told, prompt=told.prompt or prompt, answer=told.answer or answer)
    return told


def _placed(told: Told) -> Told:
    """With whole paths. A client that names no folder works in the one that its hook runs in."""
    try:
        here = os.getcwd()
    except OSError:  # it is gone
        here = ""
    roots = tuple(_whole(one, here) for one in told.roots)
    return replace(told, roots=roots, cwd=_whole(told.cwd, here) if told.cwd or not roots else "")


def _whole(folder: str, here: str) -> str:
    found = path_of_uri(folder) if folder.startswith("file:") else None
    return os.path.join(here, folder if found is None else str(found)) if folder else here


def _folder(told: Told) -> str:
    """The folder that the client works in, or what is left of the path to it."""
    paths = [Path(one) for one in (told.cwd, *told.roots) if one]
    around = (*paths, *(parent for one in paths for parent in one.parents))
    return next((str(one) for one in around if os.path.isdir(one)), os.sep)


def _log_folder(environ: Mapping[str, str]) -> Path:
    """Where a hook's log lies, found without the settings, which may be what is wrong."""
    given = os.path.expanduser(environ.get("BRAIN_DIR", "").strip())
    return Path(given) if os.path.isabs(given) else Path(os.path.expanduser("~")) / ".brain"
