"""Thousands of ignore rules, asked about thousands of paths: which rules can match a path at all."""

import re
import string
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from braindex.indexing.gitpattern import InvalidPattern, Pattern, literal_runs, name_regex

_GRAM: Final = 4  # characters; shorter ones stand in most paths, longer ones in too few rules
_LOWER: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


class RuleIndex:
    """Finds candidate rules by a few characters that a path must hold for a rule to match it: of those in the rule's
    fixed text, the ones that the fewest rules hold.

    With `fold_case` ASCII letters are the same in either case, as for `re.ASCII | re.IGNORECASE`.
    """

    __slots__ = ("_always", "_by_gram", "_fold_case", "_sizes")

    def __init__(self, patterns: Sequence[Pattern], *, fold_case: bool) -> None:
        self._fold_case = fold_case
        grams = [self._grams(pattern) for pattern in patterns]
        often = Counter(gram for some in grams for gram in some)
        by_gram: defaultdict[str, list[int]] = defaultdict(list)
        self._always: list[int] = []
        for number, some in enumerate(grams):
            if some:
                by_gram[min(some, key=lambda gram: (often[gram], gram))].append(number)
            else:
                self._always.append(number)
        self._by_gram = dict(by_gram)
        self._sizes = tuple({len(gram) for gram in by_gram})

    def _grams(self, pattern: Pattern) -> set[str]:
        longest = self._folded(max(literal_runs(pattern), key=len, default=""))
        size = min(_GRAM, len(longest))
        return {longest[at : at + size] for at in range(len(longest) - size + 1)} if size else set()

    def _folded(self, text: str) -> str:
        return text.translate(_LOWER) if self._fold_case else text

    def candidates(self, path: str) -> list[int]:
        """The numbers of the rules that may match a path (in octets), the last first."""
        path = self._folded(path)
        found = set(self._always)
        for size in self._sizes:
            for at in range(len(path) - size + 1):
                found.update(self._by_gram.get(path[at : at + size], ()))
        return sorted(found, reverse=True)


@dataclass(slots=True)
class _Step:
    """One segment of the paths that rules name, and what follows it. `is_open`: the way goes on through any folders."""

    regex: re.Pattern[str] | str = ""  # of a segment with wildcards, compiled when it is first asked
    literals: dict[str, "_Step"] = field(default_factory=dict)
    globs: dict[str, "_Step"] = field(default_factory=dict)
    is_open: bool = False


class Ways:
    """The paths that `!` rules name, as a tree of segments: whether one of them lies below a folder."""

    __slots__ = ("_first", "_flags")

    def __init__(self, flags: re.RegexFlag) -> None:
        self._flags = flags
        self._first = _Step()

    def add(self, segments: Sequence[str]) -> None:
        """Adds a path by its segments, which are globs in octets."""
        here = self._first
        for segment in segments:
            try:
                regex = None if segment == "**" else name_regex(segment)
            except InvalidPattern:  # a bracket with a slash in it
                regex = None
            if regex is None:
                here.is_open = True
                return
            if any(char in segment for char in "*?[\\"):
                here = here.globs.setdefault(segment, _Step(regex))
            else:
                here = here.literals.setdefault(self._folded(segment), _Step())

    def lead_below(self, parts: Sequence[str]) -> bool:
        """Whether a way goes on behind these segments (in octets)."""
        here = [self._first]
        for part in parts:
            if any(step.is_open for step in here):
                return True
            here = [following for step in here for following in self._following(step, part)]
        return any(step.is_open or step.literals or step.globs for step in here)

    def _following(self, step: _Step, part: str) -> Iterator[_Step]:
        literal = step.literals.get(self._folded(part))
        if literal is not None:
            yield literal
        for glob in step.globs.values():
            if isinstance(glob.regex, str):
                glob.regex = re.compile(glob.regex, self._flags)
            if glob.regex.fullmatch(part):
                yield glob

    def _folded(self, text: str) -> str:
        return text.translate(_LOWER) if self._flags & re.IGNORECASE else text
