"""`braindex record`: store what a turn did, from standard input."""

import argparse
import json
import logging
import sys
from typing import Any, Final

from braindex.cli.errors import DONE
from braindex.cli.invocation import Command, Invocation, add_json_option, add_workspace_option
from braindex.cli.logs import start_hook_log
from braindex.cli.output import json_line, line
from braindex.domain.errors import UsageError
from braindex.domain.memories import Episode, checked_episode, new_id, now

_LONGEST: Final = 2_000_000  # characters
_TEXTS: Final = ("prompt", "summary", "outcome", "kind", "client", "session", "commit")


class NothingToRecord(UsageError):
    def __init__(self, why: str) -> None:
        super().__init__(
            f"{why}; give on standard input what came of the turn, as text or as a JSON object with summary and, as "
            "far as they are known, prompt, outcome, files (a list of paths), kind, client, session and commit"
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--prompt", metavar="TEXT", help="what was asked")
    parser.add_argument("--outcome", metavar="WORD", help="what came of it in a word, such as done or failed")
    parser.add_argument("--kind", metavar="WORD", help="turn (the default), task, or any other word")
    parser.add_argument("--client", metavar="NAME", help="who did it")
    parser.add_argument("--waiting", action="store_true", help="store what hooks have left, and read nothing")
    add_workspace_option(parser)
    add_json_option(parser)


def run(invocation: Invocation) -> int:
    arguments = invocation.arguments
    if arguments.waiting:
        start_hook_log(invocation.settings.brain_dir, console=True)
        stored = invocation.app.recorder().drain()
        _say(invocation, {"stored": stored}, f"Stored: {stored}")
        return DONE
    arguments.path_argument = None
    episode = checked_episode(_episode(arguments, sys.stdin.read(_LONGEST)))
    workspace = invocation.workspace()
    known = not invocation.app.recorder().record(workspace, episode)
    answer = {"workspace_id": workspace.id, "episode": episode.id, "known": known}
    _say(invocation, answer, f"{'Known already' if known else 'Recorded'}: {episode.id}")
    return DONE


def _say(invocation: Invocation, answer: dict[str, Any], text: str) -> None:
    if invocation.arguments.json:
        json_line(answer)
    else:
        line(text)


def _episode(arguments: argparse.Namespace, text: str) -> Episode:
    given = _given(text)
    flags = {name: value for name in ("prompt", "outcome", "kind", "client") if (value := getattr(arguments, name))}
    texts = {name: flags.get(name) or _text(given, name) for name in _TEXTS}
    if not (texts["summary"].strip() or texts["prompt"].strip()):
        raise NothingToRecord("nothing is to be recorded")
    files = given.get("files") or []
    if not isinstance(files, list) or not all(isinstance(one, str) for one in files):
        raise NothingToRecord("files is no list of paths")
    texts["kind"] = texts["kind"] or "turn"
    return Episode(id=new_id(), created=now(), files=tuple(files), **texts)


def _given(text: str) -> dict[str, Any]:
    """What was given: a JSON object, or text, which is a summary."""
    if not text.lstrip().startswith("{"):
        return {"summary": text.strip()}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {"summary": text.strip()}
    return found if isinstance(found, dict) else {"summary": text.strip()}


def _text(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    if value is not None and not isinstance(value, str):
        raise NothingToRecord(f"{name} is no text")
    return value or ""


COMMAND: Final = Command(
    "record", "store what a turn did, from standard input", add_arguments, run,
    logs_from=logging.WARNING,
)  # fmt: skip
