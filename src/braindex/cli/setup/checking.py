"""What `braindex doctor` says of clients: who is connected, by a command that is there, with hooks and rules."""

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from braindex.cli.setup.jsonc import parse
from braindex.cli.setup.machine import NoHome, clients_found, on_path, project_root, this_machine
from braindex.cli.setup.members import reached
from braindex.cli.setup.parts import SERVER, Part, ServerEntry
from braindex.cli.setup.plan import Chosen, ClientFileUnusable, as_text
from braindex.cli.setup.rows import BARE, ROWS, At, Scope
from braindex.cli.setup.writing import read_file
from braindex.domain.errors import BraindexError
from braindex.domain.health import Check

NAME: Final = "clients"


def client_checks(environ: Mapping[str, str], cwd: Path | None) -> Iterator[Check]:
    """One finding a client and scope in which it is connected, and one a client that is here and is not."""
    try:
        machine = this_machine(environ)
    except NoHome as trouble:
        yield Check(NAME, "note", str(trouble))
        return
    root = project_root(cwd, Path(machine.home))
    here = {row.name for row in clients_found(machine)}
    for row in ROWS:
        places: list[Scope] = ["user"] if root is None or row.project is None else ["project", "user"]
        found = [_examined(Chosen(row, scope, At(machine, root, BARE)), environ) for scope in places]
        told = [one for one in found if one is not None]
        yield from told
        if not told and row.name in here:
            yield Check(NAME, "note", f"{row.title} is not connected", f"`braindex setup {row.name}` connects it")


def _examined(one: Chosen, environ: Mapping[str, str]) -> Check | None:
    """None where nothing of braindex is in the client's files."""
    try:
        entries = [entry for part in one.parts if isinstance(part, ServerEntry) if (entry := _entry(part)) is not None]
        present = {part.purpose for part in one.parts if _is_in(part)}
    except ClientFileUnusable as trouble:
        return Check(NAME, "broken", f"{_named(one)}: {trouble.path}: {trouble.why}", "correct the file")
    if not entries:
        return None
    again = f"`braindex setup {one.row.name} --scope {one.scope}`"
    wrong = [why for entry in entries if (why := _fault(entry, environ))]
    if wrong:
        return Check(NAME, "broken", f"{_named(one)} cannot start the server: {wrong[0]}", f"{again} puts it right")
    lacking = [purpose for purpose in ("hooks", "rules") if purpose in _wanted(one.parts) - present]
    if lacking:
        return Check(NAME, "note", f"{_named(one)} is connected, without {' and '.join(lacking)}", f"{again} adds them")
    return Check(NAME, "ok", f"{_named(one)} is connected{_besides(one)}")


def _entry(part: ServerEntry) -> Mapping[str, Any] | None:
    """The server's entry as it is in the file, None where there is none. Raises ClientFileUnusable."""
    text, _ = as_text(part.path, read_file(part.path))
    if not text.strip():
        return None
    try:
        node, rest = reached(parse(text), (part.key, SERVER))
    except BraindexError as error:
        raise ClientFileUnusable(part.path, str(error)) from error
    return None if rest else node.value


def _is_in(part: Part) -> bool:
    text, _ = as_text(part.path, read_file(part.path))
    try:
        return part.stripped(text) != text
    except BraindexError as error:
        raise ClientFileUnusable(part.path, str(error)) from error


def _fault(entry: Mapping[str, Any], environ: Mapping[str, str]) -> str:
    """Why an entry does not start a server, "" where it does."""
    command, arguments = entry.get("command"), entry.get("args")
    if not isinstance(command, str) or not command:
        return "its entry has no command"
    if command == BARE and on_path(environ) is None:
        return f"`{BARE}` is not on PATH"
    if os.path.isabs(command) and not (os.path.isfile(command) and os.access(command, os.X_OK)):
        return f"there is no command {command}"
    folder = _named_folder(arguments if isinstance(arguments, list) else [])
    return f"its project {folder} is gone" if folder and not os.path.isdir(folder) else ""


def _named_folder(arguments: Sequence[Any]) -> str:
    """The folder that `--workspace` names by its absolute path."""
    named = next((value for flag, value in pairwise(arguments) if flag == "--workspace"), "")
    return named if isinstance(named, str) and os.path.isabs(named) else ""


def _wanted(parts: Sequence[Part]) -> set[str]:
    return {part.purpose for part in parts}


def _besides(one: Chosen) -> str:
    more = [purpose for purpose in ("hooks", "rules") if purpose in _wanted(one.parts)]
    return f", with {' and '.join(more)}" if more else ""


def _named(one: Chosen) -> str:
    return f"{one.row.title} ({one.scope})"
