"""Places that a question's text names: paths, `path:line`, and the frames of a stack trace; and its error message."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from braindex.domain.words import terms

READ_CHARACTERS: Final = 20_000  # of a pasted trace; its frames are more than an answer can show long before
MOST_MENTIONS: Final = 12
_MOST_MESSAGE: Final = 600  # characters; what follows is data
_FEWEST: Final = 2  # terms that a run of fixed words needs to say anything
_SHINGLE: Final = 3

# Every quantifier is bounded or gives nothing back: a question may be 40 kB of anything.
_PYTHON_FRAME: Final = re.compile(
    r'File "(?P<path>[^"\n]{1,400}+)", line (?P<line>\d{1,7})(?:, in (?P<name>[^\s,]{1,200}))?'
)
_SCRIPT_FRAME: Final = re.compile(
    r"(?:^|\s)at (?:async |new )?(?:(?P<name>[^\s()]{1,200}+) (?:\[as [^\]\n]{1,100}\] )?)?"
    r"\(?(?:file://)?(?P<path>[^\s()]{1,400}?):(?P<line>\d{1,7}):\d{1,7}\)?"
)
_LOCATION: Final = re.compile(
    r"(?<![\w/.@\\~+-])(?P<path>(?:[A-Za-z]:)?[\w./@\\~+-]{0,400}?[\w+-]\.[A-Za-z]\w{0,7})"
    r"(?:(?::|#L|\()(?P<line>\d{1,7})(?:[:,]\d{1,7})?\)?)?(?![\w/\\]|\.\w)"
)
_TRACEBACK: Final = re.compile(
    r"Traceback \(most recent call last\)|^[ \t]*+at \S[^\n]*:\d{1,7}:\d{1,7}\)?$", re.MULTILINE
)
_ERROR_NAME: Final = r"(?:[A-Za-z_][\w.]{0,120}?)?(?:Error|Exception|Warning|Fault|Panic)"
_ERROR_LINE: Final = re.compile(
    r"^[>|E ]{0,8}(?:(?:Uncaught|Unhandled|Caused by:|thrown:|panic:|fatal:)\s+)?"
    r"(?:\((?:in promise|node)[^)\n]{0,40}\)\s*)?"
    rf"(?P<name>{_ERROR_NAME})(?:\s?\[[^\]\n]{{1,60}}\])?:\s+(?P<text>\S[^\n]*)$",
    re.MULTILINE,
)
_FAILURE_LINE: Final = re.compile(
    r"^[ \t]{0,8}+(?:[^\s:]{1,300}+:[ \t])?(?:error|fatal|panic)(?: ?\[?[A-Z]{0,4}\d{1,6}\]?)?:\s+(?P<text>\S[^\n]*)$",
    re.MULTILINE | re.IGNORECASE,
)
# What a program fills in: quoted text, numbers, paths, addresses, and what stands in brackets of any kind.
_FILLED_IN: Final = re.compile(
    r"'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|`[^`\n]{0,200}`|“[^”\n]{0,200}”|‘[^’\n]{0,200}’|<[^<>\n]{0,200}>|\{[^{}\n]{0,200}\}"
    r"|\[[^\[\]\n]{0,200}\]|\([^()\n]{0,200}\)|\b\d[\w.]{0,40}|(?<![\w.~-])[\w.~-]{0,60}+[/\\][^\s'\"]{1,200}|: "
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A place in a file as a question names it: `path` as written with `/`, `line` from 1 or None, `name` the function
    that a frame says it is in, or "".
    """

    path: str
    line: int | None = None
    name: str = ""


def mentions(text: str) -> tuple[Mention, ...]:
    """The places that a text names, the most telling first, each once.

    The innermost frame of a trace comes first: the last of Python's, the first of JavaScript's. Whether there is such a
    file is for others to say: `app.set` looks like one.
    """
    text = text[:READ_CHARACTERS]
    python = [_mention(match) for match in _PYTHON_FRAME.finditer(text)][::-1]
    script = [_mention(match) for match in _SCRIPT_FRAME.finditer(text)]
    found = dict.fromkeys([*python, *script])
    frames = {(one.path, one.line) for one in found}
    for match in _LOCATION.finditer(_SCRIPT_FRAME.sub(" ", _PYTHON_FRAME.sub(" ", text))):
        one = _mention(match)
        if (one.path, one.line) not in frames:
            found.setdefault(one)
    return tuple(found)[:MOST_MENTIONS]


def lines_of(found: Iterable[Mention], path: str) -> tuple[int, ...]:
    """The lines that are named of a file, each once, the most telling first. A file is known by its own name: which of
    several of that name is meant is for others to say.
    """
    called = path.casefold().rpartition("/")[2]
    lines = (one.line for one in found if one.path.casefold().rpartition("/")[2] == called)
    return tuple(dict.fromkeys(line for line in lines if line is not None))


def _mention(match: re.Match[str]) -> Mention:
    groups = match.groupdict()
    path = groups["path"].replace("\\", "/").removeprefix("./")
    name = (groups.get("name") or "").rsplit(".", 1)[-1]
    return Mention(path, int(groups["line"]) if groups["line"] else None, name.strip("<>"))


def error_shown(text: str) -> tuple[str, str]:
    """The class and the message of the error that a text shows, each "" where it shows none.

    Of a chain of errors the last of Python's traceback, else the first.
    """
    text = text[:READ_CHARACTERS]
    named = list(_ERROR_LINE.finditer(text))
    if named:
        last = named[-1] if "Traceback (most recent call last)" in text else named[0]
        return last["name"].rsplit(".", 1)[-1], last["text"][:_MOST_MESSAGE].strip()
    failed = _FAILURE_LINE.search(text)
    return "", failed["text"][:_MOST_MESSAGE].strip() if failed else ""


def is_trace(text: str) -> bool:
    """Whether a text holds a stack trace."""
    return _TRACEBACK.search(text[:READ_CHARACTERS]) is not None


def shingles(message: str) -> tuple[tuple[str, ...], ...]:
    """Runs of three terms of a message that its source may hold word for word, each once; two where no more stand
    between two values that the program filled in.

    Overlapping runs are the shingles of Broder (1997), by which near-duplicates are told.
    """
    return tuple(dict.fromkeys(run for fixed in _FILLED_IN.split(message) for run in _runs(terms(fixed))))


def _runs(words: list[str]) -> Iterator[tuple[str, ...]]:
    if len(words) >= _FEWEST:
        for start in range(max(1, len(words) - _SHINGLE + 1)):
            yield tuple(words[start : start + _SHINGLE])
