"""`braindex hook CLIENT EVENT`: a client's hook in, JSON in its shape out. It never breaks the client: whatever goes
wrong is an empty answer, exit code 0 and a line in the log, within a second.
"""

import json
import logging
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from braindex import light
from braindex.cli.clients import CLIENTS, client_called
from braindex.cli.clients.spec import Client
from braindex.cli.clients.transcript import last_turn
from braindex.cli.logs import start_hook_log
from braindex.config import load_settings
from braindex.domain.errors import BraindexError, UsageError
from braindex.domain.turns import Told
from braindex.services.detached import detached

log: Final = logging.getLogger(__name__)

SECONDS: Final = 0.8  # after which the answer is empty, whatever is being waited for
# What a client tells is told once; to keep it waits for nothing but the machine, which may be busy.
KEEPING_SECONDS: Final = 3.0
_LARGEST_INPUT: Final = 20_000_000  # bytes


class NotAHook(UsageError):
    def __init__(self, why: str) -> None:
        names = ", ".join(one.name for one in CLIENTS)
        super().__init__(f"{why}; use `braindex hook CLIENT EVENT` with one of {names}, and its hook's JSON as input")


def run_hook(arguments: Sequence[str]) -> int:
    """Answers one hook. Always 0: other codes mean to some clients that the turn is blocked."""
    answer: list[dict[str, Any]] = []
    kept = threading.Event()
    start_hook_log(_log_folder(os.environ))

    def work() -> None:
        try:
            answer.append(_answered(arguments, kept))
        except BraindexError as error:
            log.warning("hook %s: %s", " ".join(arguments)[:100], error)
        except Exception:
            log.exception("hook %s failed", " ".join(arguments)[:100])
        finally:
            kept.set()

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(SECONDS)
    if worker.is_alive():
        log.warning("hook %s: no answer within %s s", " ".join(arguments)[:100], SECONDS)
        kept.wait(KEEPING_SECONDS - SECONDS)
    _print(answer[0] if answer else {})
    logging.shutdown()
    os._exit(0)  # whatever the worker waits for, and with no time for what an interpreter does at its end


def _print(answer: Mapping[str, Any]) -> None:
    try:
        os.write(1, (json.dumps(answer) + "\n").encode())
    except OSError:
        log.warning("the answer of a hook could not be written")


def _answered(arguments: Sequence[str], kept: threading.Event) -> dict[str, Any]:
    """The answer; `kept` is set when what the client told is written down."""
    client, event = _named(arguments)
    told = _told(client, event)
    if told.moment == "other":
        return {}
    settings = load_settings(os.environ, Path(_folder(told)))
    endings = light.endings(settings)
    if told.moment in {"start", "prompt"}:
        with endings.begun(told) as known:
            kept.set()
            if known is None or told.moment not in client.injecting:
                return {}
            text = light.loop(settings).context(told, known, at_prompts="prompt" in client.injecting)
            return client.injected(told.event, text) if text else {}
    if told.moment == "answer":
        endings.answered(told)
    elif endings.after(told):
        detached(("record", "--waiting"), {}, _folder(told))  # at most one of them stores, and nobody waits for it
    return {}


def _named(arguments: Sequence[str]) -> tuple[Client, str]:
    if len(arguments) != 2:
        raise NotAHook(f"a hook is named by its client and its event, not by {len(arguments)} words")
    client = client_called(arguments[0])
    if client is None:
        raise NotAHook(f"no client is called {arguments[0][:50]!r}")
    return client, arguments[1]


def _told(client: Client, event: str) -> Told:
    """What the input says, and where it does not name the prompt or the answer, what the transcript does."""
    try:
        given = json.loads(sys.stdin.buffer.read(_LARGEST_INPUT))
    except (ValueError, RecursionError, OSError, AttributeError) as error:
        raise NotAHook(f"the input is no JSON ({type(error).__name__})") from None
    if not isinstance(given, dict):
        raise NotAHook("the input is no JSON object")
    told = client.told(event, given)
    missing = (told.moment == "prompt" and not told.prompt) or (told.moment == "end" and not told.answer)
    if missing and told.transcript:
        prompt, answer = last_turn(told.transcript)
        told = replace(told, prompt=told.prompt or prompt, answer=told.answer or answer)
    return told


def _folder(told: Told) -> str:
    """The folder that the client works in."""
    return next((one for one in (told.cwd, *told.roots) if os.path.isdir(one)), "") or os.getcwd()


def _log_folder(environ: Mapping[str, str]) -> Path:
    """Where a hook's log lies, found without the settings, which may be what is wrong."""
    given = os.path.expanduser(environ.get("BRAIN_DIR", "").strip())
    return Path(given) if os.path.isabs(given) else Path(os.path.expanduser("~")) / ".brain"
