r"""What a question is narrowed to, as SQL.

A path filter is read from the workspace root, with `/` (on Windows `\` too). Without a wildcard it names a
file, or a folder and everything below it: `src` takes in `src/a.py`, not `src2/a.py`. With wildcards it is a
glob as git and editors read them: `*` and `?` stay inside one name, `[a-z]` and `[!a-z]` are one character,
`**` is any number of folders, `{a,b}` is either; a glob without `/` is looked for at any depth (`*.py`), one
with `/` from the root (`src/**/*.py`, `/*.md`); a folder that matches takes in everything below it. A path
that really contains such characters (`app/[id]/page.tsx`) is found by its own name as well.
"""

import functools
import os
import re
import unicodedata
from typing import Any, Final

from braindex.domain.errors import UsageError
from braindex.domain.units import EntityFilter
from braindex.registry.database import Database, storable

_WILD: Final = re.compile(r"[*?\[]|\{[^{},]*+,[^{}]*+\}")
_CHOICE: Final = re.compile(r"\{([^{},]*+,[^{}]*+)\}")
_CLASS: Final = re.compile(r"\[([!^]?)(\]?[^\]]*+)\]")
LONGEST_GLOB: Final = 1_000  # characters: every `[` of one looks for its end, and each pair of braces doubles the rest
_MAX_CHOICES: Final = 64  # `{a,b}{c,d}…` doubles with each group


class GlobTooLong(UsageError):
    def __init__(self, length: int) -> None:
        super().__init__(
            f"the path filter is a pattern of {length:,} characters; at most {LONGEST_GLOB:,} are read: name a folder, "
            "or shorten the pattern"
        )


def conditions(narrowed: EntityFilter) -> tuple[str, list[Any]]:
    """A condition on the `entities` table and its parameters; `1` where everything passes.

    Raises GlobTooLong for a path with wildcards of more than LONGEST_GLOB characters.
    """
    parts: list[str] = []
    parameters: list[Any] = []
    for column, wanted in (("kind", narrowed.kind), ("language", narrowed.language)):
        if wanted is not None:
            parts.append(f"entities.{column} = ?")
            parameters.append(storable(wanted))
    path = _normal(narrowed.path or "")
    if path.strip("/"):
        sql, values = _path_condition(path)
        parts.append(f"entities.file IN (SELECT id FROM files WHERE {sql})")  # noqa: S608 - constants only
        parameters += values
    return " AND ".join(parts) or "1", parameters


def register(database: Database) -> None:
    """Make `path_matches(pattern, path)` known to SQL."""
    database.function("path_matches", 2, path_matches)


def path_matches(pattern: str, path: str) -> bool:
    """Whether a path below the root is what a glob names, or lies in a folder that it names."""
    return _compiled(pattern).fullmatch(path) is not None


def _normal(path: str) -> str:
    text = unicodedata.normalize("NFC", storable(path)).strip()
    if os.sep == "\\":
        text = text.replace("\\", "/")
    while text.startswith("./"):
        text = "/" + text[2:].lstrip("/")
    return "" if text == "." else text.rstrip("/")


def _path_condition(path: str) -> tuple[str, list[str]]:
    literal = path.lstrip("/")
    # "0" is the character after "/": everything below a folder is one range of the index on path.
    sql, values = "path = ? OR (path >= ? AND path < ?)", [literal, f"{literal}/", f"{literal}0"]
    if _WILD.search(path):
        if len(path) > LONGEST_GLOB:
            raise GlobTooLong(len(path))
        return f"{sql} OR path_matches(?, path)", [*values, path]
    return sql, values


@functools.lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    choices = [_regex(one) for one in _choices(pattern)]
    return re.compile("|".join(f"(?:{one})" for one in choices), re.DOTALL)


def _choices(pattern: str) -> list[str]:
    """`a{b,c}` as `ab` and `ac`, the innermost braces first; too many are left as they are written."""
    found = [pattern]
    while any(_CHOICE.search(one) for one in found):
        wider: list[str] = []
        for one in found:
            match = _CHOICE.search(one)
            options = match.group(1).split(",") if match else [""]
            wider += [one[: match.start()] + option + one[match.end() :] if match else one for option in options]
        if len(wider) > _MAX_CHOICES:
            break
        found = wider
    return found


def _regex(pattern: str) -> str:
    """Atomic groups take the first place where a middle part fits: no pattern makes matching explode."""
    segments = [one for one in pattern.split("/") if one]
    if "/" not in pattern:
        segments.insert(0, "**")
    groups: list[list[str]] = [[]]
    for segment in segments:
        if segment == "**":
            groups.append([])
        else:
            groups[-1].append(_segment(segment))
    if len(groups) == 1:
        return "/".join(groups[0]) + "(?:/.*)?"
    head = "".join(f"{one}/" for one in groups[0])
    middle = "".join("(?>(?:[^/]+/)*?" + "".join(f"{one}/" for one in group) + ")" for group in groups[1:-1] if group)
    tail = "(?:[^/]+/)*" + "/".join(groups[-1]) + "(?:/.*)?" if groups[-1] else ".+"
    return head + middle + tail


def _segment(segment: str) -> str:
    """One name of a path, where a star never crosses a slash."""
    pieces = [_piece(one) for one in re.split(r"\*+", segment)]
    if len(pieces) == 1:
        return pieces[0]
    middle = "".join(f"(?>[^/]*?{one})" for one in pieces[1:-1])
    return f"{pieces[0]}{middle}[^/]*{pieces[-1]}"


def _piece(text: str) -> str:
    out, at = "", 0
    while at < len(text):
        match = _CLASS.match(text, at)
        if match:
            out += _character_class(match)
            at = match.end()
        else:
            out += "[^/]" if text[at] == "?" else re.escape(text[at])
            at += 1
    return out


def _character_class(match: re.Match[str]) -> str:
    negation, inside = match.groups()
    escaped = "".join(one if one == "-" else re.escape(one) for one in inside)
    regex = f"(?!/)[{'^' if negation else ''}{escaped}]"
    try:
        re.compile(regex)
    except re.error:  # a range that runs backwards: the characters as they are written
        return re.escape(match.group())
    return regex
