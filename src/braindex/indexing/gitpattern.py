"""One line of an ignore file, read as git reads it: gitignore(5) and wildmatch, as a regular expression.

Every run of wildcards but the last is an atomic group that takes the leftmost fit. Leftmost is enough,
because what follows may use everything to its right, and it keeps matching polynomial: a hostile line of many
`*` cannot hang a scan.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

_SPECIAL: Final = frozenset("*?[\\")
# Wildcards: within one segment; any number of folders; the same but at least one (before an escaped slash);
# the rest.
_STAR: Final = "*"
_FOLDERS: Final = "**/"
_SOME_FOLDERS: Final = "**\\/"
_REST: Final = "**"
_ACROSS: Final = frozenset({_FOLDERS, _SOME_FOLDERS, _REST})
_POSIX_CLASSES: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r"\ \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"\x21-\x7e",
    "lower": "a-z",
    "print": r"\x20-\x7e",
    "punct": r"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    "space": r"\ \t\n\r\f\v",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


class InvalidPattern(ValueError):
    """A line that git accepts and that can match nothing: an open bracket, a lone backslash at the end."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One rule. `text` is the line as written.

    `regex` describes, in octets, the last segment of a path with `by_name`, else the path from the ignore
    file's own folder. `literal` is the exact name of a `by_name` rule without wildcards. `segments` are those
    of a rule that names a path, unparsed and in octets.
    """

    text: str
    negated: bool
    only_folders: bool
    by_name: bool
    regex: str
    literal: str | None
    segments: tuple[str, ...]

    @property
    def is_catch_all(self) -> bool:
        """Whether the rule leaves out everything, as a list of exceptions starts (`*`, `/*`, `**`)."""
        return not self.negated and self.text.strip("/") in {"*", "**", "**/*"}


def parse(line: str) -> Pattern | None:
    """The rule on one line (without its newline), None for a blank line or a comment.

    Raises InvalidPattern where no path can ever match.
    """
    text = _trim(unicodedata.normalize("NFC", line.removesuffix("\r")))
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    glob = text[1:] if negated else text
    only_folders = glob.endswith("/")
    glob = glob[:-1] if only_folders else glob
    by_name = "/" not in glob
    if not glob or (glob.endswith("/") and not glob.endswith("**/")):
        raise InvalidPattern(text)
    path = octets(glob.removeprefix("/"))
    return Pattern(
        text=text,
        negated=negated,
        only_folders=only_folders,
        by_name=by_name,
        regex=name_regex(octets(glob)) if by_name else _path_regex(path),
        literal=glob if by_name and not _SPECIAL.intersection(glob) else None,
        segments=() if by_name else tuple(path.split("/")),
    )


def _trim(line: str) -> str:
    """The line without trailing spaces, but for one that a backslash escapes. Tabs are part of a pattern."""
    bare = line.rstrip(" ")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if backslashes % 2 and len(bare) < len(line) else bare


def octets(text: str) -> str:
    """The text with one character for each byte of its UTF-8: git's `?` and brackets match bytes."""
    return text if text.isascii() else text.encode("utf-8").decode("latin-1")


def literal_runs(pattern: Pattern) -> list[str]:
    """The runs of fixed text in a pattern, in octets: a path that it matches holds each of them."""
    glob = pattern.text.removeprefix("!") if pattern.negated else pattern.text
    glob = octets(glob.removesuffix("/"))
    if pattern.by_name:
        tokens, runs = _tokens(glob, paths=False), [""]
    else:
        glob = glob.removeprefix("/")
        cut = _first_special(glob)
        tokens, runs = _tokens(glob[cut:], paths=True), [glob[:cut]]
    for token in tokens:
        char = _fixed(token)
        if char:
            runs[-1] += char
        else:
            runs.append("")
    return [run for run in runs if run]


def _fixed(token: str) -> str:
    """The one character that a token stands for, "" for a wildcard or a class."""
    if len(token) == 2 and token[0] == "\\":
        return token[1]
    return token if len(token) == 1 and token != _STAR else ""


def _first_special(glob: str) -> int:
    return next((at for at, char in enumerate(glob) if char in _SPECIAL), len(glob))


def name_regex(glob: str) -> str:
    """A regular expression for one name; `**` means no more than `*` here."""
    return _join(_tokens(glob, paths=False))


def _path_regex(glob: str) -> str:
    """A regular expression for a path.

    The text before the first wildcard is compared as it is, and a `**` right after it counts as one at the
    start of a segment: git cuts that prefix off before it looks at wildcards.
    """
    cut = _first_special(glob)
    return re.escape(glob[:cut]) + _join(_tokens(glob[cut:], paths=True))


def _tokens(glob: str, *, paths: bool) -> list[str]:
    """Wildcards (the constants above) and regular expressions of one character each."""
    tokens: list[str] = []
    at = 0
    while at < len(glob):
        char = glob[at]
        if char == "*":
            token, at = _stars(glob, at, paths=paths)
        elif char == "[":
            token, at = _bracket(glob, at)
        elif char == "\\":
            if at + 1 == len(glob):
                raise InvalidPattern(glob)
            token, at = re.escape(glob[at + 1]), at + 2
        else:
            token, at = "[^/]" if char == "?" else re.escape(char), at + 1
        tokens.append(token)
    return tokens


def _stars(glob: str, at: int, *, paths: bool) -> tuple[str, int]:
    """The wildcard of a run of stars, and where it ends (behind the slash it takes with it)."""
    end = at
    while end < len(glob) and glob[end] == "*":
        end += 1
    if not paths or end - at < 2 or (at > 0 and glob[at - 1] != "/"):
        return _STAR, end
    if end == len(glob):
        return _REST, end
    if glob.startswith("/", end):
        return _FOLDERS, end + 1
    if glob.startswith("\\/", end):
        return _SOME_FOLDERS, end + 2
    return _STAR, end


def _bracket(glob: str, at: int) -> tuple[str, int]:
    """The character class that opens at `at`, and where it ends. It never matches a slash."""
    at += 1
    negated = glob[at : at + 1] in {"!", "^"} and bool(glob[at : at + 1])
    at += negated
    parts: list[str] = []
    last = ""  # the character a range may start with
    first = True
    while first or glob[at : at + 1] != "]":
        first = False
        part, last, at = _member(glob, at, last)
        parts.append(part)
    body = "".join(parts)
    if negated:
        return f"[^/{body}]", at + 1
    return (f"(?!/)[{body}]" if body else "(?!)"), at + 1


def _member(glob: str, at: int, last: str) -> tuple[str, str, int]:
    """One member of a class as regular expression, the character that may start a range, the next index."""
    char, after = _character(glob, at)
    if glob[at] == "-" and last and glob[at + 1 : at + 2] not in {"", "]"}:
        high, after = _character(glob, at + 1)
        return (f"{re.escape(last)}-{re.escape(high)}" if last <= high else ""), "", after
    if glob.startswith("[:", at):
        close = glob.find("]", at + 2)
        if close < 0:
            raise InvalidPattern(glob)
        if close > at + 2 and glob[close - 1] == ":":
            name = glob[at + 2 : close - 1]
            if name not in _POSIX_CLASSES:
                raise InvalidPattern(glob)
            return _POSIX_CLASSES[name], "", close + 1
    return re.escape(char), char, after


def _character(glob: str, at: int) -> tuple[str, int]:
    """The character at `at`, a backslash taken off, and the index behind it."""
    at += glob.startswith("\\", at)
    if at >= len(glob):
        raise InvalidPattern(glob)
    return glob[at], at + 1


def _join(tokens: list[str]) -> str:
    """The whole expression: runs between wildcards that cross folders, each but the last one atomic."""
    runs: list[tuple[str, list[str]]] = [("", [])]
    for token in tokens:
        if token in _ACROSS:
            runs.append((token, []))
        else:
            runs[-1][1].append(token)
    parts = []
    for index, (opening, run) in enumerate(runs):
        is_last = index == len(runs) - 1
        lead = {"": "", _FOLDERS: "(?:[^/]*/)*?", _SOME_FOLDERS: "(?:[^/]*/)+?", _REST: ".*"}[opening]
        body = lead + _run(run, is_last=is_last)
        parts.append(body if is_last else f"(?>{body})")
    return "".join(parts)


def _run(tokens: list[str], *, is_last: bool) -> str:
    """Tokens without a wildcard that crosses folders; each star but a last one at the very end is atomic."""
    pieces: list[list[str]] = [[]]
    for token in tokens:
        if token == _STAR:
            pieces.append([])
        else:
            pieces[-1].append(token)
    parts = ["".join(pieces[0])]
    for index, piece in enumerate(pieces[1:], 1):
        fixed = "".join(piece)
        at_end = is_last and index == len(pieces) - 1
        parts.append(f"[^/]*{fixed}" if at_end else f"(?>[^/]*?{fixed})")
    return "".join(parts)
