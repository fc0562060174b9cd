"""Ignore files: read with git's semantics, kept one a folder, asked for the rule that decides on a path."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from braindex.domain.results import Skipped
from braindex.indexing.gitpattern import InvalidPattern, Pattern, octets, parse
from braindex.indexing.opening import Unreadable, read_file
from braindex.indexing.ruleindex import RuleIndex, Ways

GITIGNORE: Final = ".gitignore"
MEMIGNORE: Final = ".memignore"
# Rules are written by hand; what is larger is a mistake, and would be matched against every path.
MAX_IGNORE_BYTES: Final = 1_000_000
# Up to so many rules, one expression for all of them is quicker than looking up the few that may match.
_FEW_RULES: Final = 100


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern and where it stands. `shown` is the ignore file's path relative to the root."""

    pattern: Pattern
    shown: str
    line: int

    def reason(self) -> str:
        return f"ignored by {self.shown}:{self.line} `{self.pattern.text}`"


class RuleFile:
    """The rules of one ignore file.

    `base` is the file's folder relative to the root, with a `/` at its end ("" for the root). For a file
    above the root, `above` is the way from its folder down to the root, with a `/` at its end. Paths are
    relative to the root, but for `match`.
    """

    __slots__ = (
        "_above",
        "_base",
        "_compiled",
        "_flags",
        "_globs",
        "_index",
        "_literals",
        "_paths",
        "_ready",
        "_rules",
        "_ways",
    )

    def __init__(self, rules: Sequence[Rule], *, base: str = "", above: str = "", fold_case: bool = False) -> None:
        self._rules = tuple(rules)
        self._base = len(base)
        self._above = above
        flags = re.DOTALL | re.ASCII | (re.IGNORECASE if fold_case else re.NOFLAG)
        self._flags = flags
        self._ready: GitIgnoreSpec | None = None
        self._compiled: dict[int, GitIgnoreSpecPattern] = {}
        patterns = [rule.pattern for rule in rules]
        self._ways = Ways(flags)
        for one in filter(_names_a_path, patterns):
            self._ways.add(one.segments)
        self._index = RuleIndex(patterns, fold_case=fold_case) if len(patterns) > _FEW_RULES else None
        if self._index is None:
            self._prepare(patterns, flags, fold_case=fold_case)

    def _prepare(self, patterns: Sequence[Pattern], flags: re.RegexFlag, *, fold_case: bool) -> None:
        # Most paths match nothing. Asking all names, then all paths, in one expression each is what makes
        # that cheap. Folded names take the expression: str.lower and re.IGNORECASE differ on a few letters.
        names = [one for one in patterns if one.by_name]
        self._literals = frozenset() if fold_case else frozenset(one.literal for one in names if one.literal)
        self._globs = _any_of([one.regex for one in names if fold_case or not one.literal], flags)
        self._paths = _any_of([one.regex for one in patterns if not one.by_name], flags)

    @property
    def _spec(self) -> GitIgnoreSpec:
        """Compiled at the first hit: many ignore files never have one.

        pathspec's own translation differs from git's in POSIX classes, trailing tabs, reversed ranges, a
        backslash at the end and `foo/**` against foo itself, so its spec is given ready expressions: it keeps
        the order.
        """
        if self._ready is None:
            patterns = [_compiled(rule.pattern, self._flags) for rule in self._rules]
            self._ready = GitIgnoreSpec(patterns, backend="simple")
        return self._ready

    def last(self, path: str, name: str, *, is_folder: bool) -> Rule | None:
        """The last rule that matches: the one that decides, as far as this file goes."""
        return self.match(self._above + path[self._base :], name, is_folder=is_folder)

    def match(self, local: str, name: str, *, is_folder: bool) -> Rule | None:
        """The same for a path relative to the ignore file's own folder."""
        subject = octets(local)
        if self._index is not None:
            return next(self._matching(self._index, _marked(subject, is_folder=is_folder)), None)
        if not self._may_match(subject, name):
            return None
        index = self._spec.check_file(_marked(subject, is_folder=is_folder), ()).index
        return None if index is None else self._rules[index]

    def before(self, rule: Rule, path: str, *, is_folder: bool) -> Rule | None:
        """The last rule above `rule` that matches as well."""
        subject = _marked(octets(self._above + path[self._base :]), is_folder=is_folder)
        if self._index is not None:
            return next((one for one in self._matching(self._index, subject) if one.line < rule.line), None)
        pairs = zip(self._spec.patterns, self._rules, strict=True)
        matching = [one for pattern, one in pairs if one.line < rule.line and pattern.match_file(subject)]
        return matching[-1] if matching else None

    def reaches(self, folder: str) -> bool:
        """Whether a `!` rule names a path that lies, or may lie, below the folder."""
        return self._ways.lead_below(octets(self._above + folder[self._base :]).split("/"))

    def _matching(self, index: RuleIndex, subject: str) -> Iterator[Rule]:
        """The rules that match a path, the last first, each compiled when it is first looked at."""
        for number in index.candidates(subject):
            rule = self._rules[number]
            pattern = self._compiled.get(number)
            if pattern is None:
                pattern = self._compiled[number] = _compiled(rule.pattern, self._flags)
            if pattern.match_file(subject):
                yield rule

    def _may_match(self, subject: str, name: str) -> bool:
        return (
            name in self._literals
            or (self._globs is not None and self._globs.fullmatch(octets(name)) is not None)
            or (self._paths is not None and self._paths.fullmatch(subject) is not None)
        )


def _marked(path: str, *, is_folder: bool) -> str:
    return path + "/" if is_folder else path


def _compiled(pattern: Pattern, flags: re.RegexFlag) -> GitIgnoreSpecPattern:
    lead = "(?:.*/)?" if pattern.by_name else ""
    tail = "/" if pattern.only_folders else "/?"
    # The look-behind keeps `foo/**` from matching the folder foo/ itself.
    expression = re.compile(rf"\A{lead}{pattern.regex}(?<!/){tail}\Z", flags)
    return GitIgnoreSpecPattern(expression, not pattern.negated)


def _any_of(regexes: list[str], flags: re.RegexFlag) -> re.Pattern[str] | None:
    return re.compile("|".join(f"(?:{one})" for one in regexes), flags) if regexes else None


def _names_a_path(pattern: Pattern) -> bool:
    """A rule that begins with `**` names no path: it does not open every folder that is left out."""
    return pattern.negated and bool(pattern.segments) and pattern.segments[0] != "**"


def deciding(files: Sequence[RuleFile], path: str, name: str, *, is_folder: bool) -> tuple[Rule, int] | None:
    """The deciding rule of the files, nearest folder first, and the index of its file."""
    for index, one in enumerate(files):
        rule = one.last(path, name, is_folder=is_folder)
        if rule is not None:
            return rule, index
    return None


def next_deciding(
    files: Sequence[RuleFile], decided: tuple[Rule, int], path: str, name: str, *, is_folder: bool
) -> Rule | None:
    """The rule that would decide if the deciding one were not there."""
    rule, index = decided
    second = files[index].before(rule, path, is_folder=is_folder)
    if second is not None:
        return second
    rest = deciding(files[index + 1 :], path, name, is_folder=is_folder)
    return rest[0] if rest else None


def read_rules(
    where: str, shown: str, *, base: str = "", above: str = "", fold_case: bool = False
) -> tuple[RuleFile | None, list[Skipped]]:
    """The rules in the file at `where`, and a row for what in it could not be used."""
    try:
        data = read_file(where, MAX_IGNORE_BYTES + 1)
    except Unreadable as error:
        return None, [Skipped(shown, f"{error}; its rules are not applied")]
    if len(data) > MAX_IGNORE_BYTES:
        return None, [Skipped(shown, f"larger than {MAX_IGNORE_BYTES:,} bytes; its rules are not applied")]
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None, [Skipped(shown, "UTF-16, which git does not read; its rules are not applied: save it as UTF-8")]
    rules, trouble = _rules(data, shown)
    return (RuleFile(rules, base=base, above=above, fold_case=fold_case) if rules else None), trouble


def _rules(data: bytes, shown: str) -> tuple[list[Rule], list[Skipped]]:
    rules: list[Rule] = []
    bad: list[str] = []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        try:
            pattern = parse(line.decode("utf-8"))
        except UnicodeDecodeError:
            bad.append(f"line {number} is not UTF-8")
        except InvalidPattern as error:
            bad.append(f"line {number} `{error}` is not a valid pattern")
        else:
            if pattern is not None:
                rules.append(Rule(pattern, shown, number))
    return rules, [Skipped(shown, "; ".join(bad) + ": not applied")] if bad else []
