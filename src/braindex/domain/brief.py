"""The brief's form: nine sections in order, within a size, which no text put into it can break."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from braindex.domain.display import safe, safe_line
from braindex.domain.tokens import count_tokens

SECTIONS: Final = (
    "Overview", "Technical Stack", "Core Architecture", "Primary Conventions", "Purpose", "Key Files",
    "Data Flow", "Development & Testing", "Future Roadmap",
)  # fmt: skip
MAX_TOKENS: Final = 1200
_NOTHING: Final = {
    "Overview": "Nothing in the index says what this project is.",
    "Technical Stack": "Nothing in the index says what this project is built with.",
    "Core Architecture": "Nothing in the index has a structure that could be named.",
    "Primary Conventions": "Nothing in the index is enough code to read conventions from.",
    "Purpose": "Nothing in the index says what this project is for.",
    "Key Files": "Nothing in the index stands out as a key file.",
    "Data Flow": "Nothing in the index imports another file of the project.",
    "Development & Testing": "Nothing in the index says how this project is built or tested.",
    "Future Roadmap": "Nothing in the index says what is planned.",
}
NOTHING_FOUND: Final = frozenset(_NOTHING.values())  # what a section says that has nothing to say
# What a section may take of the size, against the others: structure tells an agent more than plans do.
_SHARES: Final = {
    "Overview": 8, "Technical Stack": 10, "Core Architecture": 19, "Primary Conventions": 11, "Purpose": 10,
    "Key Files": 12, "Data Flow": 13, "Development & Testing": 13, "Future Roadmap": 8,
}  # fmt: skip
_LONGEST_NAME: Final = 80  # characters
_LONGEST_SECTION: Final = MAX_TOKENS * 4  # characters that are looked at: no section can use more
_SHORTEST: Final = 80  # bytes below which a section is not cut further: nine of them are well within the size
_HEADING: Final = re.compile(r"[ \t]{0,3}(#{1,2})(?!#)[ \t]*")
_FENCE: Final = re.compile(r"[ \t>]*(?:`{3,}|~{3,})")
_RULE: Final = re.compile(r"[ \t]*(?:=+|-+|(?:[-*_][ \t]*){3,})[ \t]*")  # also underlines that make a heading
_OPENS_HTML: Final = re.compile(r"<(?=[!?])|<(?=/?(?:script|style|pre|textarea|details|div|system)\b)", re.IGNORECASE)
_TITLE: Final = re.compile(r"##[ \t]+(.+?)[ \t]*")
_SENTENCE_END: Final = re.compile(r"[.!?][\"')\]]?(?=\s)|[\u3002\uff01\uff1f]")
_ELLIPSIS: Final = "…"


@dataclass(frozen=True, slots=True)
class EntitiesMoved:
    """How many entities came, are not what they were, and went, since a brief was made."""

    added: int
    changed: int
    removed: int


def compose(name: str, sections: Mapping[str, str]) -> str:
    """The brief as Markdown, at most MAX_TOKENS, ending in one newline. A missing or empty section says so.

    Where the texts are too long, the section that is longest for its share is shortened first, from its end, line by
    line or sentence by sentence, until all fit: what a section leaves of its share goes to the others.
    """
    texts = {title: _within(sections.get(title, "")) or _NOTHING[title] for title in SECTIONS}
    heading = "# " + (safe_line(name)[:_LONGEST_NAME].strip(" #`") or "Project")
    sizes = {title: _size(text) for title, text in texts.items()}
    while count_tokens(_joined(heading, texts)) > MAX_TOKENS:
        longest = max(SECTIONS, key=lambda title: sizes[title] / _SHARES[title])
        shorter = _shorter(texts[longest])
        if shorter == texts[longest]:
            break
        texts[longest], sizes[longest] = shorter, _size(shorter)
    return _joined(heading, texts)


def parse(text: str) -> dict[str, str]:
    """Text by title, of the sections a brief has, in their order. Of a title that comes twice the texts are joined."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        title = _title(line)
        if title is None:
            current.append(line)
        else:
            current = found.setdefault(title, [])
    return {title: "\n".join(found[title]).strip() for title in SECTIONS if title in found}


def check(text: str) -> list[str]:
    """What is wrong with a brief, in words a user can act on; empty when nothing is."""
    found = parse(text)
    problems = [f"the section `## {title}` is missing" for title in SECTIONS if title not in found]
    problems += [f"the section `## {title}` is empty" for title, body in found.items() if not body]
    titles = [title for line in text.splitlines() if (title := _title(line)) is not None]
    problems += [f"the section `## {title}` comes twice" for title in SECTIONS if titles.count(title) > 1]
    if list(dict.fromkeys(titles)) != list(found):
        problems.append(f"the sections are out of order; the order is {', '.join(SECTIONS)}")
    tokens = count_tokens(text)
    if tokens > MAX_TOKENS:
        problems.append(f"the brief has {tokens:,} tokens, and at most {MAX_TOKENS:,} are allowed")
    if safe(text.replace("\r\n", "\n")) != text.replace("\r\n", "\n"):
        problems.append("the brief holds control, bidirectional or invisible characters")
    return problems


def _title(line: str) -> str | None:
    match = _TITLE.fullmatch(line)
    return match.group(1) if match is not None and match.group(1) in SECTIONS else None


def _joined(heading: str, texts: Mapping[str, str]) -> str:
    return "\n\n".join([heading, *(f"## {title}\n{texts[title]}" for title in SECTIONS)]) + "\n"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _within(text: str) -> str:
    """A section's text as it may stand between two headings: no heading, rule or fence of its own."""
    text = safe(text[: 2 * _LONGEST_SECTION].replace("\r\n", "\n").replace("\r", "\n"))
    lines = [_line(line) for line in text.split("\n") if not _FENCE.match(line) and not _RULE.fullmatch(line)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")[:_LONGEST_SECTION].strip()


def _line(line: str) -> str:
    line = _OPENS_HTML.sub("&lt;", line.rstrip())
    heading = _HEADING.match(line)
    return line if heading is None else f"### {line[heading.end() :]}".rstrip(" #")


def _shorter(text: str) -> str:
    """The text without its last line, else its last sentence, else its last quarter; as it is when it is short."""
    if _size(text) <= _SHORTEST:
        return text
    lines = text.split("\n")
    if len(lines) > 1:
        return _without_leads(lines[:-1])
    ends = [match.end() for match in _SENTENCE_END.finditer(text) if match.end() < len(text)]
    if ends:
        return text[: ends[-1]].rstrip()
    cut = text.removesuffix(_ELLIPSIS)[: len(text) * 3 // 4]
    at = cut.rfind(" ")
    shorter = (cut[:at] if at > len(cut) // 2 else cut).rstrip(" ,;") + _ELLIPSIS
    return f"{shorter}`" if shorter.count("`") % 2 else shorter


def _without_leads(lines: Sequence[str]) -> str:
    """Lines without blank ones at the end, and without a last one that only leads to what was cut off."""
    kept = list(lines)
    while len(kept) > 1 and (not kept[-1].strip() or kept[-1].rstrip().endswith(":") or kept[-1].startswith("#")):
        kept.pop()
    return "\n".join(kept).rstrip()
