"""What a project says about itself and its plans, in its own words: README, changelog, roadmap, TODO comments."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from braindex.services.briefing.quoting import plain, without_elements, without_tags
from braindex.services.briefing.reading import ProjectFiles

_HEADING: Final = re.compile(r"\s{0,3}+(#{1,6}+)\s++(.*+)")
_UNDERLINE: Final = re.compile(r"\s*+([=\-~^\"'#*+])\1{2,}+\s*+")
_FENCE: Final = re.compile(r"\s*+(?:`{3}|~{3})")
# An image, an image in a link, and either by a reference. What is between the brackets holds none that opens.
_ALT, _TARGET = r"\[[^\[\]]*+\]", r"\([^()]*+(?:\([^()]*+\)[^()]*+)*+\)"
_BADGE: Final = re.compile(rf"!{_ALT}(?:{_TARGET}|{_ALT})|\[!{_ALT}{_TARGET}\](?:{_TARGET}|{_ALT})?+|<img\b[^<>]*+>")
_REFERENCE: Final = re.compile(r"\s*+\[[^\]]++\]:\s")
_NO_PROSE: Final = re.compile(
    r"\s*+(?:(?:pip3?|npm|npx|yarn|pnpm|brew|docker|git|cargo|go|curl|conda|uv|poetry|gem|composer)\s|\||\.\.\s|:[\w-]+:|[-*+]\s|\d+[.)]\s|>>>|\$\s|---|===|\[!\w+\]|<)"
)
_NOTE: Final = re.compile(r"(?<!\s)\s*+(?:>\s*+)++")
_HTML: Final = re.compile(r"<(style|script|picture|svg|table)\b", re.IGNORECASE)
_LETTERS: Final = re.compile(r"[^\W\d_]")
_CJK: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_BORING: Final = re.compile(
    r"(?i)table of contents|contents|licen[cs]e|licen[cs]ing|contribut\w*|sponsors?|backers?|acknowledge?ments?"
    r"|credits?|authors?|badges?|thanks|donate|support|community|team|changelog|maintainers?|links?"
    r"|current project team members"
)
_PLANS: Final = re.compile(
    r"(?i)\b(?:roadmap|future (?:plans?|work|directions?)|planned|what'?s next|to-?do(?: list)?|upcoming"
    r"|milestones?|known (?:issues|limitations|gaps)|not yet|limitations)\b|计划|路线图|待办|ロードマップ|今後|로드맵"
)
_UNRELEASED: Final = re.compile(r"(?i)\b(?:unreleased|upcoming|next (?:release|version)|dev)\b")
_RELEASE: Final = re.compile(r"\d\.\d|unreleased|upcoming", re.IGNORECASE)
_OPEN: Final = re.compile(r"\W*+(?:unreleased|not (?:yet )?released|in development)\b", re.IGNORECASE)
_ITEM: Final = re.compile(r"\s*+(?:[-*+]|\d++[.)])\s++(?:\[( |x|X)\]\s++)?(.*+)")
_TAGS: Final = ("TODO", "FIXME", "XXX", "HACK")
_COMMENT: Final = re.compile(r"#|//|/\*|<!--|^\s*+\*|;;|--")
_TODO: Final = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b(?:\([^)\n]*+\))?[:\s-]*+([^\n]*+)")
_DEPRECATED: Final = re.compile(
    r"(?:Pending)?DeprecationWarning\b|@deprecated\b|\.\. deprecated::|#\[deprecated|@Deprecated\b"
)
_BULLETS: Final = re.compile("[\u2022\u00b7|]")  # between the links of a line of links
_CODE_OF_CONDUCT: Final = re.compile(
    r"(?i)code of conduct|copyright|all rights reserved|^(?:learn|read|see|click) (?:more|here)\b"
)
_CHANGELOGS: Final = ("changelog", "changes", "history", "news", "releases", "release_notes")
_ITEM_LINES: Final = 3  # of a list item are read on
_SHORTEST: Final = 25  # letters of a paragraph worth quoting
_SHORTEST_CJK: Final = 8


@dataclass(frozen=True, slots=True)
class Passage:
    """Words of the project, as plain text, and where they stand."""

    text: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Todo:
    tag: str
    text: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Document:
    """A document's paragraphs of prose and its headings: (level, text, line). `items` are list items with the heading
    they stand under and whether they are ticked off.
    """

    path: str
    paragraphs: tuple[Passage, ...]
    headings: tuple[tuple[int, str, int], ...]
    items: tuple[tuple[str, Passage, bool], ...]


def readme_path(files: ProjectFiles, base: str) -> str:
    """The README at the root, else the first one on the way up from the folder with the code, "" without either."""
    found = [path for name, paths in files.by_name.items() if name.partition(".")[0] == "readme" for path in paths]
    order = {"readme.md": 0, "readme.rst": 1, "readme": 2, "readme.txt": 3}
    found.sort(key=lambda path: (order.get(posixpath.basename(path).lower(), 9), path))
    folders = ["", base]
    while posixpath.dirname(folders[-1]):
        folders.append(posixpath.dirname(folders[-1]))
    return next((path for folder in folders for path in found if posixpath.dirname(path) == folder), "")


def read_document(path: str, text: str, *, most: int = 60_000) -> Document:
    """Paragraphs, headings and items of a Markdown, reStructuredText or plain text file, line by line."""
    text = without_elements(text[:most], _HTML)
    reader = _Reader(path)
    for number, line in enumerate(without_tags(text).split("\n"), 1):
        reader.take(number, line)
    reader.end_paragraph()
    return Document(path, tuple(reader.paragraphs), tuple(reader.headings), tuple(reader.items))


class _Reader:
    """What of a document has been read, and the paragraph that is being read."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._pending: list[str] = []
        self._start = 0
        self._in_fence = False
        self.paragraphs: list[Passage] = []
        self.headings: list[tuple[int, str, int]] = []
        self.items: list[tuple[str, Passage, bool]] = []

    def take(self, number: int, line: str) -> None:
        if _FENCE.match(line):
            self._in_fence = not self._in_fence
            self.end_paragraph()
        elif not self._in_fence and not self._take_mark(number, line):
            if (
                not line.strip()
                or line.startswith(("    ", "\t"))
                or _REFERENCE.match(line)
                or _UNDERLINE.fullmatch(line)
            ):
                self.end_paragraph()
            else:
                self._start = self._start if self._pending else number
                self._pending.append(line[:4000])

    def _take_mark(self, number: int, line: str) -> bool:
        """Takes a heading, an item or the line that goes on with one."""
        heading, item = _HEADING.fullmatch(line[:500]), _ITEM.fullmatch(line[:2000])
        if heading:
            self.end_paragraph()
            self.headings.append((len(heading[1]), plain(heading[2].rstrip().rstrip("#").rstrip()), number))
        elif len(self._pending) == 1 and _UNDERLINE.fullmatch(line):
            self.headings.append((1 if "=" in line else 2, plain(self._pending.pop()[:500]), number - 1))
        elif item:
            self.end_paragraph()
            under = self.headings[-1][1] if self.headings else ""
            self.items.append((under, Passage(plain(item[2]), self._path, number), (item[1] or " ") != " "))
        elif self._goes_on(number, line):
            under, first, done = self.items[-1]
            self.items[-1] = (under, Passage(f"{first.text} {plain(line[:500])}", self._path, first.line), done)
        else:
            return False
        return True

    def _goes_on(self, number: int, line: str) -> bool:
        """Whether an indented line belongs to the item just before it."""
        is_near = bool(self.items) and number - self.items[-1][1].line <= _ITEM_LINES
        return is_near and not self._pending and line.startswith("  ") and bool(line.strip())

    def end_paragraph(self) -> None:
        if self._pending:
            text = _prose(self._pending)
            if _says_something(text):
                self.paragraphs.append(Passage(text, self._path, self._start))
            self._pending = []


def _prose(lines: Sequence[str]) -> str:
    """A paragraph as plain text, "" for one of badges, images, tables, notes or directives."""
    if _NO_PROSE.match(lines[0]):
        return ""
    text = _BADGE.sub("", " ".join(_NOTE.sub("", line) for line in lines))
    text = plain(text)
    return "" if re.match(r"\[!\w+\]", text) else text.strip(" |·•-")


def _says_something(text: str) -> bool:
    letters = len(_LETTERS.findall(text[:400]))
    enough = _SHORTEST_CJK if _CJK.search(text[:400]) else _SHORTEST
    if len(_BULLETS.findall(text[:400])) > 1:
        return False
    if _CODE_OF_CONDUCT.search(text[:400]):
        return False
    return letters >= enough and letters * 2 > len(text[:400].replace(" ", "")) and not text.endswith(":")


def topics(document: Document) -> list[tuple[str, int]]:
    """The headings of the first two levels below the title that say what the document is about."""
    found = [(text, line) for level, text, line in document.headings[:60] if level in {2, 3} and text]
    return [one for one in found if not _BORING.fullmatch(one[0].strip(" :!"))]


def plans(files: ProjectFiles, readme: Document | None) -> list[Passage]:
    """Open items under headings of the README, of a roadmap or a TODO file that say what is planned, and what the
    changelog lists as not yet released.
    """
    found: list[Passage] = []
    for name in ("roadmap", "todo", "plan", "future"):
        for path in files.at_root(f"{name}.md", f"{name}.rst", f"{name}.txt", name):
            document = read_document(path, files.text(path) or "")
            found += [one for _, one, done in document.items if not done and one.text] or list(document.paragraphs[:3])
    if readme is not None:
        found += [one for under, one, done in readme.items if not done and one.text and _PLANS.search(under)]
    return found


def unreleased(files: ProjectFiles) -> tuple[Passage | None, list[Passage]]:
    """The changelog's first heading that names a version or what is not released yet, and the items under it."""
    for path in files.at_root(*(f"{name}{suffix}" for name in _CHANGELOGS for suffix in (".md", ".rst", ".txt", ""))):
        text = files.text(path) or ""
        document = read_document(path, text, most=30_000)
        heads = [one for one in document.headings if _RELEASE.search(one[1])]
        if not heads:
            continue
        _, title, line = heads[0]
        following = next((one[2] for one in document.headings if one[2] > line and one[0] <= heads[0][0]), 1 << 30)
        items = [one for _, one, _ in document.items if line < one.line < following and one.text]
        if any(_OPEN.match(one) for one in text[:30_000].split("\n")[line : line + 5]):
            title = f"{title}, unreleased"
        return Passage(title, path, line), items
    return None, []


def is_unreleased(title: str) -> bool:
    return _UNRELEASED.search(title) is not None


def todos(texts: Iterable[tuple[str, str]]) -> Iterator[Todo]:
    """TODO and FIXME comments, in file order."""
    for path, text in texts:
        for number, line in _lines_with(_TAGS, text):
            comment = _COMMENT.search(line[:400])
            match = _TODO.search(line[:400], comment.end()) if comment else None
            if match is not None:
                yield Todo(match.group(1), match.group(2).strip(" */->:"), path, number)


def deprecations(texts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, int]]:
    """How many lines of each file mark something as deprecated, in the way of its language."""
    for path, text in texts:
        count = sum(_DEPRECATED.search(line) is not None for _, line in _lines_with(("eprecat",), text))
        if count:
            yield path, count


def _lines_with(words: Sequence[str], text: str) -> Iterator[tuple[int, str]]:
    """(number, line) of each line that holds one of the words. Plain searches: a pattern takes ten times as long."""
    places: list[int] = []
    for word in words:
        at = text.find(word)
        while at >= 0:
            places.append(at)
            at = text.find(word, at + 1)
    number, at, last = 1, 0, 0
    for place in sorted(places):
        number += text.count("\n", at, place)
        at = place
        if number != last:
            last = number
            end = text.find("\n", at)
            yield number, text[text.rfind("\n", 0, at) + 1 : len(text) if end < 0 else end]
