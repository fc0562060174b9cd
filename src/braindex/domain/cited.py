"""The citations of a written answer, each held against the sources: what points nowhere is taken out."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from braindex.domain.results import Source

# `#path:line`, `#path:line-line` or `path#Lline`, with a distance after it or not. The lines are found first and the
# path is read back from there, each character once: one expression for both would read on from every sign that can
# begin a path.
_LINES: Final = r"(?P<line>\d{1,7})(?:\s?[-–]\s?L?(?P<end>\d{1,7}))?"
_PLACE: Final = re.compile(rf"(?::|#L){_LINES}(?P<distance>\s?\((?:L2\s)?\d(?:\.\d{{1,4}})?\))?")
_NO_PATH: Final = re.compile(r"[\s`'\"“”<>|*#:,;()\[\]]")
_BEGIN: Final = re.compile(r"(?<![\w/.@-])")
_LONGEST_PATH: Final = 300
# Without the leading `#` only what is plainly a file's name is a citation: `self.start:10` is code, `10:30` a time.
_FILE: Final = re.compile(
    r"(?!//)(?:.*/)?[^/]+\.(?:py|pyi|[cm]?[jt]sx?|html?|css|scss|less|md|mdx|rst|txt|json|ya?ml|toml|cfg|ini|xml|vue"
    r"|svelte|rs|go|java|kt|c|h|cc|cpp|hpp|cs|rb|php|swift|sh|sql|lock)\Z",
    re.IGNORECASE,
)
# Links that an editor or a browser would follow out of the workspace, and a block that only braindex writes.
_LEAVES: Final = re.compile(
    r"\b(?:file|vscode(?:-insiders)?|cursor|windsurf|zed|jetbrains|idea):/[^\s()\[\]<>`]++"
    r"|(?<=\]\()(?:javascript|vbscript|data|command):[^\s()\[\]<>`]++",
    re.IGNORECASE,
)
_SOURCES: Final = re.compile(r"^[ \t]*+Sources:[ \t]*+(?:\n|\Z)", re.MULTILINE)
_LINK: Final = re.compile(r"\[([^\[\]\n]{1,200}+)\]\(\s*+\)")
_BULLET: Final = re.compile(r"^[ \t]*+[-*+][ \t]*+(?:\n|\Z)", re.MULTILINE)
_EMPTY: Final = re.compile(r"\((?:[,;&\s]++|and|see|in|at)*+\)|\[\s*+\](?:\(\s*+\))?|``")
_SPACE_BEFORE_STOP: Final = re.compile(r"(?<![ \t])[ \t]++(?=[.,;:!?)])")
_SPACES: Final = re.compile(r"(?<=\S)[ \t]{2,}+")


@dataclass(frozen=True, slots=True)
class Checked:
    """An answer whose every citation is one of the sources, and how many had to go."""

    text: str
    removed: int


def check_citations(text: str, sources: Sequence[Source]) -> Checked:
    """Takes out every citation that none of the sources holds: another path, or lines outside of it.

    A true one stays, with the source's own distance where the engine gave another.
    """

    def judge(path: str, line: int, end: int, distance: str) -> str | None:
        source = _source(path, line, end, sources)
        if source is None:
            return None
        lines = f"{line}-{end}" if end != line else str(line)
        measured = f" ({source.distance:.2f})" if distance and source.distance is not None else ""
        return f"#{source.path}:{lines}{measured}"

    text, leaving = _LEAVES.subn("", _SOURCES.sub("", text))
    checked = _judged(text, [one.path for one in sources], judge)
    return Checked(_tidied(checked.text), checked.removed + leaving) if leaving else checked


def keep_citations(text: str, is_known: Callable[[str], bool]) -> str:
    """The text without citations of files that are not known; distances, which mean nothing here, go too."""

    def judge(path: str, line: int, end: int, _distance: str) -> str | None:
        return (f"#{path}:{line}-{end}" if end != line else f"#{path}:{line}") if is_known(path) else None

    return _judged(text, (), judge).text


def _judged(text: str, paths: Iterable[str], judge: Callable[[str, int, int, str], str | None]) -> Checked:
    """Every citation as `judge` (path, first and last line, distance) writes it; None takes it out."""
    removed = at = 0
    places, stand_ins = _named(text, paths)
    parts: list[str] = []
    for start, written, place in _cited(places):
        path = stand_ins.get(written, written)
        is_marked = start > at and places[start - 1] == "#"
        if not is_marked and path == written and not _FILE.match(path):
            continue
        line = int(place["line"])
        found = judge(path.removeprefix("./"), line, int(place["end"] or line), place["distance"] or "")
        removed += found is None
        parts += [places[at : start - is_marked], found or ""]
        at = place.end()
    kept = "".join(parts) + places[at:]
    for stand_in, path in stand_ins.items():
        kept = kept.replace(stand_in, path)
    return Checked(_tidied(kept) if removed else kept, removed)


def _cited(text: str) -> Iterator[tuple[int, str, re.Match[str]]]:
    """(start of the path, the path, its lines) of all that may be a citation."""
    floor = 0  # before it no path can begin
    for place in _PLACE.finditer(text):
        end = place.start()
        run = _NO_PATH.split(text[max(floor, end - _LONGEST_PATH) : end])[-1]
        begin = _BEGIN.search(text, end - len(run), end)
        if begin is not None and begin.start() < end:
            yield begin.start(), text[begin.start() : end], place
            floor = place.end()
        else:
            floor = end + 1


def _named(text: str, paths: Iterable[str]) -> tuple[str, dict[str, str]]:
    """The text with odd paths (with spaces or brackets) replaced by words that the pattern takes whole."""
    stand_ins: dict[str, str] = {}
    odd = {one for one in paths if len(one) > _LONGEST_PATH or _NO_PATH.search(one)}
    for number, path in enumerate(sorted(odd, key=len, reverse=True)):
        stand_in = f"\ue000{number}\ue001"
        if path in text:
            stand_ins[stand_in] = path
            text = text.replace(path, stand_in)
    return text, stand_ins


def _source(path: str, line: int, end: int, sources: Sequence[Source]) -> Source | None:
    here = [one for one in sources if one.path == path and one.line <= line <= end <= one.end_line]
    # Of an entity and the one around it, the one that begins at the line is meant.
    return min(here, key=lambda one: (one.line != line, one.end_line - one.line), default=None)


def _tidied(text: str) -> str:
    """Without the brackets, quotes and spaces that a removed citation leaves."""
    text = _BULLET.sub("", _EMPTY.sub("", _LINK.sub(r"\1", text)))
    return _SPACES.sub(" ", _SPACE_BEFORE_STOP.sub("", text)).strip()
