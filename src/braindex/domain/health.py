"""What an examination of an installation finds: one line a check, and what to do about it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

# `note`: worth knowing, and nothing fails for it. `broken`: something does not work, or its data is damaged.
Health = Literal["ok", "note", "broken"]


@dataclass(frozen=True, slots=True)
class Check:
    """One finding. `detail` says in one line what was found, `remedy` what to do, "" where nothing needs to be done.

    The three of the workspace are "" for what concerns no single one. Texts may hold names of files as they are:
    whoever shows them escapes them.
    """

    name: str
    state: Health
    detail: str
    remedy: str = ""
    workspace_id: str = ""
    workspace_name: str = ""
    workspace_path: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "state": self.state,
            "detail": self.detail,
            "remedy": self.remedy or None,
            "workspace_id": self.workspace_id or None,
            "workspace_name": self.workspace_name or None,
            "workspace_path": self.workspace_path or None,
        }


def is_sound(checks: Iterable[Check]) -> bool:
    """Whether nothing is broken."""
    return all(one.state != "broken" for one in checks)


def report_as_json(checks: Iterable[Check]) -> dict[str, Any]:
    """The JSON that scripts rely on (shapes only gain keys)."""
    found = list(checks)
    return {"ok": is_sound(found), "checks": [one.as_json() for one in found]}


def enumerated(names: Iterable[str], most: int = 5) -> str:
    """`a, b, c and 4 more`."""
    known = list(names)
    more = len(known) - most
    return ", ".join(known[:most]) + (f" and {more} more" if more > 0 else "")


def first_of(problems: Sequence[str], most: int = 3) -> str:
    """`a; b; c; and 4 more`, for findings that are sentences: the first ones say most."""
    more = len(problems) - most
    return "; ".join(problems[:most]) + (f"; and {more:,} more" if more > 0 else "")


def counted(number: int, noun: str) -> str:
    """`1 log`, `2 logs`, `1,200 logs`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def megabytes(size: int) -> str:
    """A size in bytes as people read it: decimal megabytes, `under 0.1 MB` for what is small."""
    return "under 0.1 MB" if size < 100_000 else f"{size / 1_000_000:,.1f} MB"
