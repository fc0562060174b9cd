"""`braindex setup`: connects clients in their own files, after showing the change, and takes it out again."""

import argparse
import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from braindex.cli.confirm import confirm
from braindex.cli.errors import DONE, FAILED
from braindex.cli.invocation import Command, Invocation, Mistaken, add_json_option
from braindex.cli.output import json_line, line, note, style
from braindex.cli.setup import plan
from braindex.cli.setup.machine import clients_found, command_path, on_path, project_root, this_machine
from braindex.cli.setup.plan import Chosen, FileChange
from braindex.cli.setup.rows import BARE, ROWS, At, ClientRow, Machine, Scope
from braindex.cli.setup.showing import as_json, change_lines, summary
from braindex.cli.setup.writing import check_places, read_file, write
from braindex.domain.display import safe_path
from braindex.domain.errors import UsageError

NAMES: Final = tuple(one.name for one in ROWS)


class _Names(tuple[str, ...]):
    """Names to choose from; argparse asks whether none at all, an empty list, is among them as well."""

    __slots__ = ()

    def __contains__(self, one: object) -> bool:
        return one == [] or super().__contains__(one)


class NoClientFound(UsageError):
    def __init__(self) -> None:
        super().__init__(f"no client was found on this machine; name one: braindex setup {'|'.join(NAMES)}")


class NoProjectFiles(UsageError):
    def __init__(self, row: ClientRow) -> None:
        super().__init__(f"{row.name} reads no files of a project; leave `--scope project` out, or use `--scope user`")


class NoProjectHere(UsageError):
    def __init__(self) -> None:
        super().__init__("the working directory is no project: go into one, or use `--scope user`")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "clients",
        nargs="*",
        metavar="CLIENT",
        choices=_Names(NAMES),
        help=f"{', '.join(NAMES)} (default: those that are found on this machine)",
    )
    parser.add_argument(
        "--scope",
        choices=("project", "user"),
        help="this project's files, which are committed, or the user's (default: the project's where a client has any)",
    )
    parser.add_argument("--remove", action="store_true", help="take out what setup has written (default: everywhere)")
    parser.add_argument("--dry-run", action="store_true", help="show what would be written, and write nothing")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_json_option(parser)


def run(invocation: Invocation) -> int:
    return set_up(invocation.arguments, invocation.environ, invocation.cwd_if_any)


def mistaken(call: Mistaken) -> int:
    """The same: nothing here depends on settings."""
    return set_up(call.arguments, call.environ, call.cwd)


def set_up(arguments: argparse.Namespace, environ: Mapping[str, str], cwd: Path | None) -> int:
    """Exit code 1 where the user declined."""
    around = _around(environ, cwd)
    if arguments.remove:
        chosen = around.to_remove(arguments.clients, arguments.scope)
        changes = plan.removed(chosen, read_file)
    else:
        chosen = around.to_set_up(arguments.clients, arguments.scope)
        changes = plan.set_up(chosen, read_file)
    check_places(changes)
    to_do = [one for one in changes if one.action != "keep"]
    if to_do and not arguments.dry_run and not _agreed(arguments, environ, to_do):
        note("braindex: nothing was written")
        return FAILED
    if not arguments.dry_run:
        for one in to_do:
            write(one)
    _tell(arguments, around, chosen, changes)
    return DONE


@dataclass(frozen=True, slots=True)
class _Around:
    """Where the command runs."""

    machine: Machine
    root: Path | None

    def to_set_up(self, names: Sequence[str], scope: Scope | None) -> list[Chosen]:
        """Raises NoClientFound, NoProjectFiles, NoProjectHere, CommandNotFound."""
        self._check_scope(scope)
        rows = _named(names) if names else clients_found(self.machine)
        found = [(row, row.scope(scope, in_project=self.root is not None)) for row in rows]
        lacking = next((row for row, fitting in found if fitting is None), None)
        if names and lacking is not None:
            raise NoProjectFiles(lacking)
        chosen = [self._chosen(row, fitting) for row, fitting in found if fitting is not None]
        if not chosen:
            raise NoClientFound
        return chosen

    def to_remove(self, names: Sequence[str], scope: Scope | None) -> list[Chosen]:
        """Of each client, in this project and of the user. Raises NoProjectFiles, NoProjectHere."""
        self._check_scope(scope)
        rows = _named(names) if names else ROWS
        lacking = next((row for row in rows if row.project is None), None)
        if names and scope == "project" and lacking is not None:
            raise NoProjectFiles(lacking)
        at = At(self.machine, self.root, BARE)
        here = [] if self.root is None or scope == "user" else [row for row in rows if row.project is not None]
        own = [] if scope == "project" else rows
        return [*(Chosen(row, "project", at) for row in here), *(Chosen(row, "user", at) for row in own)]

    def notes(self, chosen: Sequence[Chosen]) -> list[str]:
        """What the user should know besides."""
        found = []
        environ = self.machine.environ
        if any(one.scope == "project" for one in chosen) and on_path(environ) is None:
            found.append("a project's files name the command as `braindex`, and it is not on this PATH: add its folder")
        pinned = [one.row.name for one in chosen if one.row.pinned]
        if pinned and self.root is not None:
            root = safe_path(str(self.root))
            found.append(
                f"{', '.join(pinned)}: no word from it says which project is open, so {root} is meant, unless the "
                "agent names another. Repeat this in another project to change it"
            )
        elif pinned:
            found.append(
                f"{', '.join(pinned)}: no word from it says which project is open; repeat this in a project to name it"
            )
        if environ.get("BRAIN_DIR", "").strip():
            found.append("BRAIN_DIR is set here, and clients do not pass it on: name it in the `env` of their entries")
        return found

    def _check_scope(self, scope: Scope | None) -> None:
        if scope == "project" and self.root is None:
            raise NoProjectHere

    def _chosen(self, row: ClientRow, scope: Scope) -> Chosen:
        # Clients with windows are started with a short PATH; what is committed cannot name one machine's path.
        command = BARE if scope == "project" else command_path(self.machine.environ, sys.argv[0], sys.executable)
        return Chosen(row, scope, At(self.machine, self.root, command))


def _around(environ: Mapping[str, str], cwd: Path | None) -> _Around:
    machine = this_machine(environ)
    return _Around(machine, project_root(cwd, Path(machine.home)))


def _named(names: Sequence[str]) -> list[ClientRow]:
    return [row for row in ROWS if row.name in names]


def _agreed(arguments: argparse.Namespace, environ: Mapping[str, str], changes: Sequence[FileChange]) -> bool:
    """Shows the changes first, on standard error where standard output is for JSON."""
    tell = note if arguments.json else line
    shown = style(sys.stderr if arguments.json else sys.stdout, environ)
    if not (arguments.json and arguments.yes):
        for one in changes:
            tell("\n".join(change_lines(one, shown)) + "\n")
    return confirm(f"{summary(changes, written=False).capitalize()}?", yes=arguments.yes)


def _tell(
    arguments: argparse.Namespace, around: _Around, chosen: Sequence[Chosen], changes: Sequence[FileChange]
) -> None:
    to_do = [one for one in changes if one.action != "keep"]
    notes = [] if arguments.remove else around.notes(chosen)
    if arguments.json:
        written = bool(to_do) and not arguments.dry_run
        json_line(as_json(chosen, changes, around.root, notes, written=written))
        return
    if arguments.dry_run:
        for change in to_do:
            line("\n".join(change_lines(change, style(sys.stdout, around.machine.environ))) + "\n")
    line(_conclusion(arguments, chosen, changes))
    for one in notes:
        note(f"braindex: {one}")


def _conclusion(arguments: argparse.Namespace, chosen: Sequence[Chosen], changes: Sequence[FileChange]) -> str:
    told = summary(changes, written=not arguments.dry_run)
    if arguments.remove:
        return told.capitalize() if told else "Nothing of braindex was found in clients' files"
    names = ", ".join(f"{one.row.name} ({one.scope})" for one in chosen)
    if not told:
        return f"Set up already: {names}"
    if arguments.dry_run:
        return f"Would {told} for {names}; nothing was written"
    return f"{told.capitalize()} for {names}. Restart the client, or reload its MCP servers"


COMMAND: Final = Command(
    "setup",
    "connect IDEs and agents: write their MCP entry, hooks and rules, after showing them",
    add_arguments,
    run,
    logs_from=logging.WARNING,
    mistaken=mistaken,
)
