"""`braindex note`: add, list, remove, export and import what is to be remembered."""

import argparse
import logging
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from braindex.cli.confirm import confirm
from braindex.cli.errors import DONE, FAILED
from braindex.cli.invocation import Command, Invocation, add_json_option, add_workspace_option
from braindex.cli.output import json_line, line, note
from braindex.domain.display import safe, safe_line, safe_path
from braindex.domain.errors import UsageError

if TYPE_CHECKING:
    from braindex.services.notes import Listed

_SHOWN: Final = 50
_LARGEST_IMPORT: Final = 200_000_000  # characters


class NoteFileUnreadable(UsageError):
    def __init__(self, path: str, error: Exception) -> None:
        super().__init__(f"{safe_path(path)} cannot be read ({error}); nothing was taken in")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True, title="actions")
    _action(actions, "add", "remember a text", add, _add_arguments)
    _action(actions, "list", "the notes, newest first", list_notes, _list_arguments)
    _action(actions, "remove", "delete a note for good", remove, _remove_arguments)
    _action(actions, "export", "print the notes as JSON Lines, or as Markdown", export, _export_arguments)
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
    saved = invocation.app.notes.save(workspace, text, arguments.category or "", author, arguments.about or ())
    if arguments.json:
        json_line({"workspace_id": workspace.id, **saved.as_json()})
        return DONE
    line(f"{'Known already' if saved.known else 'Remembered'}: {saved.note.id}")
    for one in saved.similar:
        note(f"braindex: note {one.memory.id} says nearly the same; `braindex note remove` forgets one of them")
    return DONE


def list_notes(invocation: Invocation) -> int:
    arguments = invocation.arguments
    workspace = invocation.workspace()
    notes = invocation.app.notes
    listed = notes.list(workspace, category=arguments.category, limit=arguments.limit, offset=arguments.offset)
    if arguments.json:
        total = notes.count(workspace, arguments.category)
        json_line({"workspace_id": workspace.id, "notes": [one.as_json() for one in listed], "total": total})
        return DONE
    for one in listed:
        line(_shown(one))
    if not listed:
        line("No notes.")
    return DONE


def remove(invocation: Invocation) -> int:
    workspace = invocation.workspace()
    found = invocation.app.memories.note(workspace, invocation.arguments.id)
    if not confirm(f"Forget the note {found.id}: {safe_line(found.text)[:200]}?", yes=invocation.arguments.yes):
        note("braindex: nothing was forgotten")
        return FAILED
    invocation.app.notes.forget(workspace, found.id)
    line(f"Forgotten: {found.id}")
    return DONE


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


def _shown(one: "Listed") -> str:
    found = one.note
    about = ", ".join(tie.written for tie in found.about)
    parts = [found.id, found.created[:10], safe_line(found.category), f"about {safe_line(about)}" if about else ""]
    parts.append(f"(may be stale: {safe_line(one.stale)})" if one.stale else "")
    head = "  ".join(part for part in parts if part)
    return head + "\n    " + safe(found.text).strip().replace("\n", "\n    ")


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
        "--about", action="append", metavar="A", help="a path, `path::name` or a name it is about; may be repeated"
    )
    add_json_option(parser)


def _list_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--category", metavar="C", help="only notes of this category")
    parser.add_argument("--limit", type=int, default=_SHOWN, metavar="N", help=f"notes at most (default {_SHOWN})")
    parser.add_argument("--offset", type=int, default=0, metavar="N", help="leave out the newest N")
    add_json_option(parser)


def _remove_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the note's id, or how it begins")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _export_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--markdown", action="store_true", help="for people, instead of JSON Lines")
    parser.add_argument("--episodes", action="store_true", help="what hooks recorded as well")


def _import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the export; - reads standard input")


COMMAND: Final = Command(
    "note", "remember something on purpose: add, list, remove, export, import", add_arguments, run,
    logs_from=logging.WARNING,
)  # fmt: skip
