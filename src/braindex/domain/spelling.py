"""Which known words a word that nothing has may mean: one that it begins, or one that it is a slip away from."""

from collections.abc import Iterable, Mapping
from typing import Final

SHORTEST: Final = 4  # letters; a shorter word is a slip away from too many
_TWO_SLIPS: Final = 9  # letters from which two slips are likelier than two words
MOST_MEANT: Final = 3


def slips(word: str, other: str, most: int) -> int:
    """How many letters have to be put in, left out, changed or swapped with the next to make one word the other, or
    `most` + 1 where it is more: the optimal string alignment distance (Damerau 1964).
    """
    if abs(len(word) - len(other)) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(word, 1):
        now = [row]
        for column, sign in enumerate(other, 1):
            cost = min(last[column] + 1, now[column - 1] + 1, last[column - 1] + (letter != sign))
            if before and column > 1 and letter == other[column - 2] and word[row - 2] == sign:
                cost = min(cost, before[column - 2] + 1)
            now.append(cost)
        if min(now) > most:
            return most + 1
        before, last = last, now
    return last[-1]


def starts(word: str) -> tuple[str, ...]:
    """The two letters that words a slip away are looked for by: its first two, those swapped, and its first and third
    (for a second one that is too many, or swapped with the third)."""
    return tuple(dict.fromkeys((word[:2], word[:2][::-1], word[:1] + word[2:3])))


def meant(word: str, known: Mapping[str, int], most: int = MOST_MEANT) -> list[str]:
    """Of known words, with how often each is used, those that a word may mean, the likeliest first: fewer slips, then
    the more frequent. A word that another begins counts as one slip, the shortest of them first.
    """
    if len(word) < SHORTEST:
        return []
    allowed = 2 if len(word) >= _TWO_SLIPS else 1
    found = [(distance, -count, len(one), one) for one, count, distance in _near(word, known.items(), allowed)]
    return [one for *_, one in sorted(found)[:most]]


def _near(word: str, known: Iterable[tuple[str, int]], allowed: int) -> Iterable[tuple[str, int, int]]:
    letters = set(word)
    for one, count in known:
        if one.startswith(word):
            yield one, count, min(1, len(one) - len(word))
        # One slip puts at most one letter in and takes one out, which tells most words apart without counting slips.
        elif abs(len(one) - len(word)) <= allowed and len(letters ^ set(one)) <= 2 * allowed:
            distance = slips(word, one, allowed)
            if distance <= allowed:
                yield one, count, distance
