"""Names in braindex's own `.env` that no setting has: a misspelt one would go unseen, since nothing reads it."""

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from braindex.config.table import SETTINGS
from braindex.domain.display import echoed

_NAMES: Final = tuple(row.name for row in SETTINGS)
_FOLDER: Final = "BRAIN_DIR"
_MOST: Final = 10  # names that are told one by one
# The share of characters in common from which a name is taken for a slip of another (difflib's own default).
_ALIKE: Final = 0.6


def without_effect(variables: Mapping[str, str], path: Path, *, is_users: bool) -> tuple[str, ...]:
    """A line for each variable of the `.env` at `path` that nothing reads, with the setting that may be meant.

    Names are told, values never. BRAIN_DIR is one of them where the file is the user's: a data folder is found before
    its own file is read.
    """
    lines = [f"{name} in {path} {_instead(name)}" for name in map(echoed, _unknown(variables))]
    more = len(lines) - _MOST
    lines = [*lines[:_MOST], f"{more:,} more names in {path} are no settings"] if more > 0 else lines
    if is_users and variables.get(_FOLDER, "").strip():
        lines.append(f"{_FOLDER} in {path} has no effect there, since it is read too late: set it in the environment")
    return tuple(lines)


def _unknown(variables: Iterable[str]) -> list[str]:
    return [name for name in variables if name not in _NAMES]


def _instead(name: str) -> str:
    meant = difflib.get_close_matches(name.upper(), _NAMES, 1, _ALIKE)
    if not meant:
        return "is no setting"
    if meant[0] == name.upper():
        return f"does not count: {meant[0]} is written in capitals"
    return f"is no setting; {meant[0]} is one"
