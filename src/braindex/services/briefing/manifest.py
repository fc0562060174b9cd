"""What a package manifest says, whichever ecosystem it is of; values of an unexpected type count as not given."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

_REQUIREMENT: Final = re.compile(r"\s*((?:@[\w.-]+/)?[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)")
_MOST: Final = 400  # items of one list that are looked at


@dataclass(frozen=True, slots=True)
class Command:
    """A named command: a script, a make target, a test environment. `text` is what it runs, "" where unknown."""

    name: str
    text: str
    path: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """Where the project is entered. `what` says how (`command`, `main`, `module` …), `name` under which name.

    `target` is as it is written; `path` and `line` are where it is in the workspace, "" and 0 where that is not known.
    """

    what: str
    name: str
    target: str
    source: str
    path: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Manifest:
    """One manifest. `kind` is the ecosystem's name; `requires` the platform as written, such as `Python >=3.11`.

    Dependencies are bare names in the order they are written; `groups` are the names of optional groups.
    """

    path: str
    kind: str
    name: str = ""
    name_line: int = 0
    description: str = ""
    description_line: int = 0
    version: str = ""
    licence: str = ""
    requires: str = ""
    builds: str = ""
    dependencies: tuple[str, ...] = ()
    dev_dependencies: tuple[str, ...] = ()
    commands: tuple[Command, ...] = ()
    entry_points: tuple[EntryPoint, ...] = ()
    keywords: tuple[str, ...] = ()
    status: str = ""
    members: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]


def string(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def strings(value: object) -> tuple[str, ...]:
    """The strings of a list; () for anything else."""
    if not isinstance(value, list | tuple):
        return ()
    return tuple(one.strip() for one in value[:_MOST] if isinstance(one, str) and one.strip())


def table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def requirement_names(lines: Iterable[str]) -> tuple[str, ...]:
    """Bare names of requirements such as `urllib3>=1.26,<3 ; python_version < "4"`; URLs are passed over."""
    found: dict[str, None] = {}
    for line in lines:
        match = _REQUIREMENT.match(line)
        if match is not None and "://" not in line.split("@")[0]:
            found[match.group(1)] = None
    return tuple(found)
