"""How a planned change is shown: as a diff, without what is secret in it."""

import difflib
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any, Final

from braindex.cli.output import Style
from braindex.cli.setup.plan import Chosen, FileChange
from braindex.domain.display import safe, safe_path
from braindex.domain.health import counted
from braindex.domain.secrets import redacted

_DONE: Final = {
    "create": "created", "change": "changed", "delete": "deleted", "restore": "restored", "keep": "left as it is",
}  # fmt: skip


def diff(change: FileChange) -> str:
    """A unified diff; "" where nothing changes. Keys and tokens on the lines around a change are left out."""
    old, new = _lines(change.before), _lines(change.after)
    name = safe_path(str(change.path))
    names = ("/dev/null" if change.before is None else name, "/dev/null" if change.after is None else name)
    return safe(redacted("\n".join(difflib.unified_diff(old, new, *names, n=2, lineterm=""))))


def change_lines(change: FileChange, shown: Style) -> Iterator[str]:
    """A heading, which names the backup, and the diff below it."""
    kept = f"; as it was: {safe_path(change.backup.name)}" if change.makes_backup else ""
    yield shown.bold(f"{change.action} {safe_path(str(change.path))}") + f"  ({', '.join(change.clients)}{kept})"
    for line in diff(change).split("\n")[2:]:
        yield shown.accent(line) if line.startswith("+") else shown.dim(line) if line.startswith(" ") else line


def summary(changes: Sequence[FileChange], *, written: bool) -> str:
    """`created 2 files, changed 1 file`, in the order of the changes."""
    actions = dict.fromkeys(one.action for one in changes if one.action != "keep")
    told = [
        f"{_DONE[action] if written else action} {counted(sum(one.action == action for one in changes), 'file')}"
        for action in actions
    ]
    return ", ".join(told)


def as_json(
    chosen: Sequence[Chosen],
    changes: Sequence[FileChange],
    root: PurePath | None,
    notes: Sequence[str],
    *,
    written: bool,
) -> dict[str, Any]:
    """The JSON that scripts rely on (shapes only gain keys)."""
    return {
        "written": written,
        "project": None if root is None else str(root),
        "clients": [{"name": one.row.name, "scope": one.scope} for one in chosen],
        "files": [
            {
                "path": str(one.path),
                "clients": list(one.clients),
                "action": one.action,
                "backup": str(one.backup) if one.makes_backup else None,
                "diff": diff(one),
            }
            for one in changes
        ],
        "notes": list(notes),
    }


def _lines(content: bytes | None) -> list[str]:
    text = (content or b"").decode("utf-8", "replace")
    return [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")] if text else []
