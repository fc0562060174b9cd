"""Which lines of an entity an agent gets to see: those the question is about, under a token budget."""

import re
from collections.abc import Collection, Sequence
from typing import Final

from braindex.domain.tokens import count_tokens
from braindex.domain.words import terms

GAP: Final = "…"
LONGEST_LINE: Final = 160  # characters; a longer line is data, or cut
MOST_LINES: Final = 200  # of an entity are looked at: a question's answer seldom stands deeper, and lines cost time
_START: Final = 3  # letters of a stem that its word surely begins with
_WINDOW: Final = 4  # lines shown from a matching one on
_WINDOWS: Final = 3
_SAYS_SOMETHING: Final = re.compile(r"\w")


def excerpt(lines: Sequence[str], wanted: Collection[str], budget: int, asked: Sequence[int] = ()) -> str:
    """The lines worth their tokens, in order, gaps marked with `…`; common indentation removed.

    `lines` are an entity's own lines without its signature, `wanted` the question's index terms, `budget` the most
    tokens to spend. A text that fits is shown whole. Of the lines `asked` for, by their places in `lines`, the first is
    there whatever it costs.
    """
    return "\n".join(text for _, text in excerpt_lines(lines, wanted, budget, asked))


def excerpt_lines(
    lines: Sequence[str], wanted: Collection[str], budget: int, asked: Sequence[int] = ()
) -> list[tuple[int | None, str]]:
    """The lines of the `excerpt`, each with its place among the lines, None for a gap."""
    asked = [at for at in asked if 0 <= at < len(lines)][:_WINDOWS]
    shown = _dedented([_cut(line) for line in lines[: looked_at(asked)]])
    while shown and not shown[-1].strip():
        shown.pop()
    if len(lines) <= MOST_LINES and count_tokens("\n".join(shown)) <= budget:
        return list(enumerate(shown))
    return _with_gaps(shown, _chosen(shown, frozenset(wanted), budget, [at for at in asked if at < len(shown)]))


def looked_at(asked: Sequence[int]) -> int:
    """How many lines an excerpt may be taken from, of a text of any length."""
    return max([MOST_LINES, *(at + _WINDOW for at in asked)])


def _cut(line: str) -> str:
    line = line.rstrip().expandtabs(4)
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + GAP


def _dedented(lines: Sequence[str]) -> list[str]:
    indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    common = min(indents, default=0)
    return [line[common:] for line in lines]


def _chosen(lines: Sequence[str], wanted: frozenset[str], budget: int, asked: Sequence[int]) -> list[int]:
    """Line numbers until the budget is spent: the lines asked for, each with the one before and those after it, then
    windows from the lines on with most of the question's terms, the best first, and the opening lines where nothing
    matches."""
    chosen = set(asked[:1])
    budget -= sum(count_tokens(lines[at]) + 1 for at in chosen)
    for at in asked:
        budget = _take(lines, range(max(0, at - 1), at + _WINDOW - 1), chosen, budget)
    starts = tuple({one[:_START] for one in wanted})
    looked = lines[:MOST_LINES]
    worth = [len(wanted.intersection(terms(line))) if _may_hold(line, starts) else 0 for line in looked]
    best = max(worth, default=0)
    centres = sorted(
        (index for index, one in enumerate(worth) if one and one * 2 >= best), key=lambda at: (-worth[at], at)
    )
    for centre in (*centres[:_WINDOWS], 0):
        if centre not in chosen:
            budget = _take(lines, range(centre, centre + _WINDOW), chosen, budget)
    return sorted(chosen)


def _take(lines: Sequence[str], wanted: range, chosen: set[int], budget: int) -> int:
    """Adds a window of lines, as long as the budget lasts; returns what is left of it.

    A line that is only punctuation says nothing at the end of a window.
    """
    window = [at for at in wanted if at < len(lines)]
    while window and not _SAYS_SOMETHING.search(lines[window[-1]]):
        window.pop()
    for index in window:
        cost = 0 if index in chosen else count_tokens(lines[index]) + 1
        if cost > budget:
            break
        chosen.add(index)
        budget -= cost
    return budget


def _may_hold(line: str, starts: tuple[str, ...]) -> bool:
    """A quick look before a line is split into terms: a stem keeps the first letters of its word."""
    low = line.lower()
    return any(start in low for start in starts)


def _with_gaps(lines: Sequence[str], chosen: Sequence[int]) -> list[tuple[int | None, str]]:
    parts = list[tuple[int | None, str]]()
    last = -1
    for index in chosen:
        if any(line.strip() for line in lines[last + 1 : index]):
            parts.append((None, GAP))
        parts.append((index, lines[index]))
        last = index
    if any(line.strip() for line in lines[last + 1 :]):
        parts.append((None, GAP))
    return parts


def shares(count: int, budget: int) -> list[int]:
    """How a budget is split over ranked sources: the first gets about three times what the last gets."""
    if count <= 0:
        return []
    weights = [1.0 - index / (1.5 * count) for index in range(count)]
    total = sum(weights)
    return [int(budget * weight / total) for weight in weights]
