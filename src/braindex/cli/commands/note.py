"""`braindex note`: what is remembered on purpose (notes), and what hooks recorded (episodes): added, looked through,
deleted, exported and imported.
"""

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from braindex.cli.confirm import confirm
from braindex.cli.errors import DONE, FAILED
from braindex.cli.invocation import Command, Invocation, add_json_option, add_workspace_option
from braindex.cli.memory_lines import episode_lines, memory_lines, note_lines
from braindex.cli.output import json_line, line, note
from braindex.domain.display import echoed, safe_line
from braindex.domain.errors import UsageError
from braindex.domain.memories import Episode, Memory, Note, checked_time
from braindex.domain.periods import UnknownPeriod, first_day

if TYPE_CHECKING:
    from braindex.registry.memory_episodes import EpisodeFilter

_SHOWN: Final = 50
_LARGEST_IMPORT: Final = 200_000_000  # characters


class NoteFileUnreadable(UsageError):
    def __init__(self, path: str, error: Exception) -> None:
        why = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)  # which repeats the path
        super().__init__(f"{echoed(path)} cannot be read ({why}); nothing was taken in")


class NotesHaveNone(UsageError):
    def __init__(self, option: str) -> None:
        super().__init__(f"{option} chooses among episodes, and notes are listed; add --episodes")


class EpisodesHaveNone(UsageError):
    def __init__(self) -> None:
        super().__init__("--category chooses among notes; episodes have a --kind, such as turn or review")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True, title="actions")
    _action(actions, "add", "remember a text", add, _add_arguments)
    _action(actions, "list", "the notes, or with --episodes what hooks recorded, newest first", listed, _list_arguments)
    _action(actions, "show", "all of a note or an episode", show, _show_arguments)
    _action(actions, "remove", "delete notes and episodes for good", remove, _remove_arguments)
    _action(actions, "export", "print notes and episodes as JSON Lines, or as Markdown", export, _export_arguments)
    _action(actions, "import", "take in an export, or Markdown with a heading over each note", import_notes, _import)


def run(invocation: Invocation) -> int:
    action: Callable[[Invocation], int] = invocation.arguments.action
    return action(invocation)


def add(invocation: Invocation) -> int:
    arguments = invocation.arguments
    text = " ".join(arguments.text)
    if text.strip() == "-":
        text = _read("-")
    author = invocation.environ.get("USER", "")
    workspace = invocation.workspace()
    here, root = invocation.place(workspace.path), Path(workspace.path)
    about = [about_meant(one, root, here) for one in arguments.about or ()]
    saved = invocation.app.notes.save(workspace, text, arguments.category or "", author, about)
    if arguments.json:
        json_line({"workspace_id": workspace.id, **saved.as_json()})
        return DONE
    line(f"{'Known already' if saved.known else 'Remembered'}: {saved.note.id}")
    for one in saved.similar:
        note(f"braindex: note {one.memory.id} says nearly the same; `braindex note remove` forgets one of them")
    return DONE


def about_meant(text: str, root: Path, here: Path) -> str:
    """What a note is about, from the workspace's root: a path, `path:line` or `path::name` that the working directory
    has is meant from there; anything else stays as it is.
    """
    path, mark, rest = text.strip().partition("::")
    if not mark:
        before, colon, line = path.rpartition(":")
        path, mark, rest = (before, colon, line) if line.isdecimal() else (path, "", "")
    meant = Path(os.path.normpath(here / os.path.expanduser(path))) if path else here
    if not path or not meant.is_relative_to(root) or not os.path.lexists(meant):
        return text
    return f"{meant.relative_to(root).as_posix()}{mark}{rest}"


def listed(invocation: Invocation) -> int:
    arguments = invocation.arguments
    narrowing = {f"--{name}": getattr(arguments, name) for name in ("client", "kind", "since")}
    given = next((name for name, value in narrowing.items() if value is not None), None)
    if given and not arguments.episodes:
        raise NotesHaveNone(given)
    if arguments.episodes and arguments.category is not None:
        raise EpisodesHaveNone
    return _list_episodes(invocation) if arguments.episodes else _list_notes(invocation)


def _list_notes(invocation: Invocation) -> int:
    arguments = invocation.arguments
    workspace = invocation.workspace()
    notes = invocation.app.notes
    found = notes.list(workspace, category=arguments.category, limit=arguments.limit, offset=arguments.offset)
    total = notes.count(workspace, arguments.category)
    if arguments.json:
        json_line({"workspace_id": workspace.id, "notes": [one.as_json() for one in found], "total": total})
        return DONE
    _page([note_lines(one.note, one.stale) for one in found], arguments, total, "notes")
    return DONE


def _list_episodes(invocation: Invocation) -> int:
    arguments = invocation.arguments
    workspace, memories = invocation.workspace(), invocation.app.memories
    narrowed = _narrowed(arguments)
    found = memories.episodes(workspace, narrowed, limit=arguments.limit, offset=arguments.offset)
    total = memories.count_episodes(workspace, narrowed)
    if arguments.json:
        json_line({"workspace_id": workspace.id, "episodes": [one.as_json() for one in found], "total": total})
        return DONE
    _page([episode_lines(one) for one in found], arguments, total, "episodes")
    return DONE


def _narrowed(arguments: argparse.Namespace) -> "EpisodeFilter":
    from braindex.registry.memory_episodes import EpisodeFilter  # noqa: PLC0415 - no other command's start needs it

    since = None if arguments.since is None else beginning(arguments.since)
    return EpisodeFilter(since=since, client=arguments.client, kind=arguments.kind)


def beginning(text: str) -> str | None:
    """From when on: a period as reports know it, or a time. None for all time. Raises NotATime."""
    try:
        day = first_day(text, datetime.now(UTC).date())
    except UnknownPeriod:
        return checked_time("--since", text)
    return None if day is None else day.isoformat()


def _page(shown: Sequence[str], arguments: argparse.Namespace, total: int, what: str) -> None:
    """A page, and how to see the rest."""
    for one in shown:
        line(one)
    if not shown:
        line(f"No {what}." if not total else f"No more {what}: there are {total:,}.")
    elif (end := arguments.offset + len(shown)) < total:
        note(f"braindex: {arguments.offset + 1:,} to {end:,} of {total:,} {what}; --offset {end} shows the next")


def show(invocation: Invocation) -> int:
    workspace = invocation.workspace()
    found = invocation.app.memories.memory(workspace, invocation.arguments.id)
    stale = invocation.app.notes.stale(workspace, found) if isinstance(found, Note) else ""
    if invocation.arguments.json:
        what = {"type": "note", "stale": stale or None} if isinstance(found, Note) else {"type": "episode"}
        json_line({"workspace_id": workspace.id, **what, **found.as_json()})
    else:
        line(memory_lines(found, stale))
    return DONE


def remove(invocation: Invocation) -> int:
    """All of them are found before the first is deleted: a mistyped id deletes nothing."""
    workspace, memories = invocation.workspace(), invocation.app.memories
    found = [memories.memory(workspace, one) for one in dict.fromkeys(invocation.arguments.id)]
    for one in found:
        if not confirm(f"Forget the {_called(one)}?", yes=invocation.arguments.yes):
            note("braindex: it was not forgotten" if len(found) > 1 else "braindex: nothing was forgotten")
            return FAILED
        memories.forget_memory(workspace, one)
        line(f"Forgotten: {one.id}")
    return DONE


def _called(one: Memory) -> str:
    if isinstance(one, Episode):
        return f"episode {one.id}: {safe_line(one.prompt or one.summary)[:200]}"
    return f"note {one.id}: {safe_line(one.text)[:200]}"


def export(invocation: Invocation) -> int:
    arguments = invocation.arguments
    workspace = invocation.workspace()
    for text in invocation.app.notes.exported(workspace, markdown=arguments.markdown, episodes=arguments.episodes):
        line(text)
    return DONE


def import_notes(invocation: Invocation) -> int:
    text = _read(invocation.arguments.file)
    merged = invocation.app.notes.take(invocation.workspace(), text)
    line(f"Taken in: {merged.notes} notes and {merged.episodes} episodes that were not there")
    return DONE


def _read(path: str) -> str:
    try:
        if path == "-":
            return sys.stdin.read(_LARGEST_IMPORT)
        with open(os.path.expanduser(path), encoding="utf-8") as file:
            return file.read(_LARGEST_IMPORT)
    except (OSError, UnicodeDecodeError, AttributeError) as error:
        raise NoteFileUnreadable(path, error) from error


def _action(
    actions: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    explained: str,
    action: Callable[[Invocation], int],
    arguments: Callable[[argparse.ArgumentParser], None],
) -> None:
    parser = actions.add_parser(name, help=explained, description=explained)
    add_workspace_option(parser)
    arguments(parser)
    parser.set_defaults(action=action)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="+", metavar="TEXT", help="what to remember; - reads it from standard input")
    parser.add_argument("--category", metavar="C", help="one line, such as decision, convention or bug")
    parser.add_argument(
        "--about",
        action="append",
        metavar="A",
        help="what it is about: an entity's name, a path, `path:line` or `path::name`, from here or from the "
        "workspace's root; may be repeated",
    )
    add_json_option(parser)


def _list_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--category", metavar="C", help="only notes of this category")
    parser.add_argument("--episodes", action="store_true", help="what hooks and reviews recorded, instead of the notes")
    parser.add_argument("--client", metavar="NAME", help="only episodes of this client, such as claude-code")
    parser.add_argument("--kind", metavar="K", help="only episodes of this kind, such as turn or review")
    parser.add_argument(
        "--since", metavar="WHEN", help="only episodes from then on: today, week, 7d or 2026-11-01T10:00"
    )
    parser.add_argument("--limit", type=int, default=_SHOWN, metavar="N", help=f"so many at most (default {_SHOWN})")
    parser.add_argument("--offset", type=int, default=0, metavar="N", help="leave out the newest N")
    add_json_option(parser)


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the id of a note or an episode, or how it begins")
    add_json_option(parser)


def _remove_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="+", metavar="ID", help="the id of a note or an episode, or how it begins")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _export_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--markdown", action="store_true", help="for people, instead of JSON Lines")
    parser.add_argument("--episodes", action="store_true", help="what hooks and reviews recorded as well")


def _import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the export; - reads standard input")


COMMAND: Final = Command(
    "note", "notes and episodes: add, list, show, remove, export, import", add_arguments, run,
    logs_from=logging.WARNING,
)  # fmt: skip
