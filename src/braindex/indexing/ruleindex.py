"""Thousands of ignore rules, asked about thousands of paths: which rules can match a path at all."""

import re
import string
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
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


class Ways:
    """The paths that `!` rules name, as a tree of segments: whether one of them lies below a folder."""

    __slots__ = ("_flags", "_globs", "_is_open", "_literals", "_regex")

    def __init__(self, flags: re.RegexFlag, regex: str = "") -> None:
        self._flags = flags
        self._regex: re.Pattern[str] | str = regex
        self._literals: dict[str, Ways] = {}
        self._globs: dict[str, Ways] = {}
        self._is_open = False  # the way goes on through any folders

    def add(self, segments: Sequence[str]) -> None:
        here = self
        for segment in segments:
            try:
                regex = None if segment == "**" else name_regex(segment)
            except InvalidPattern:  # a bracket with a slash in it
                regex = None
            if regex is None:
                here._is_open = True
                return
            here = here._inner(segment, regex)

    def _inner(self, segment: str, regex: str) -> "Ways":
        if any(char in segment for char in "*?[\\"):
            return self._globs.setdefault(segment, Ways(self._flags, regex))
        return self._literals.setdefault(self._folded(segment), Ways(self._flags))

    def _folded(self, text: str) -> str:
        return text.translate(_LOWER) if self._flags & re.IGNORECASE else text

    def lead_below(self, parts: Sequence[str]) -> bool:
        """Whether a way goes on behind these segments (in octets)."""
        here: list[Ways] = [self]
        for part in parts:
            if any(one._is_open for one in here):  # noqa: SLF001
                return True
            here = [inner for one in here for inner in one._matching(part)]  # noqa: SLF001
        return any(one._is_open or one._literals or one._globs for one in here)  # noqa: SLF001

    def _matching(self, part: str) -> Iterator["Ways"]:
        literal = self._literals.get(self._folded(part))
        if literal is not None:
            yield literal
        for inner in self._globs.values():
            if inner._matches(part):  # noqa: SLF001
                yield inner

    def _matches(self, part: str) -> bool:
        if isinstance(self._regex, str):
            self._regex = re.compile(self._regex, self._flags)
        return self._regex.fullmatch(part) is not None
