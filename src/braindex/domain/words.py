"""Text to words, and words to index terms: the one definition that scans and questions share."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

# An identifier or a run of letters and digits, underscores included.
TOKEN: Final = re.compile(r"\w+")
# The sub-words of a token: an acronym before a capitalised word, a word, an acronym, a number, and a run of
# letters beyond ASCII. The bundled vocabulary was built with this split, so changing it means another model.
SUBWORD: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^\W\d_A-Za-z]+")

# Words of English questions that say nothing about code. A question made of nothing else keeps them.
STOP_WORDS: Final = frozenset(
    "a about after all also an and any are as at be been being between both but by can could did do does doing done "
    "each for from get gets got had has have having here how i if in into is it its itself just let like make makes "
    "may me might more most must my no not of off on once one only or other our out over own please same shall she "
    "should show so some such tell than that the their them then there these they this those through to too under "
    "up us use used uses using very via was we were what when where which while who whom whose why will with within "
    "without would you your".split()
)

_MEMO_LIMIT: Final = 200_000
_KEPT_TEXTS: Final = 1_024  # a chunk of files has some hundred entities
_MAX_TOKEN: Final = 64  # longer runs are data (hashes, base64), not words

_CJK: Final = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")


def subwords(text: str) -> list[str]:
    """Lower-case sub-words in order: camelCase, snake_case and digits split, punctuation dropped."""
    return [word.lower() for word in SUBWORD.findall(text)]


def _strip_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word


def _undouble(word: str) -> str:
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz" else word


def stem(word: str) -> str:
    """A light stem of a lower-case English word: parse, parses, parsed, parser and parsing become one.

    Suffixes only, no dictionary: the same rule runs over code and over questions, so a wrong stem is wrong on both
    sides alike. Words of three letters or fewer and words that are not ASCII stay as they are.
    """
    if len(word) <= 3 or not word.isascii() or not word.isalpha():
        return word
    word = _strip_plural(word)
    for suffix in ("ations", "ation", "ators", "ator", "ating", "ated", "ate"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            return word[: -len(suffix)]
    for suffix in ("ings", "ing", "ers", "er", "ors", "or", "ed", "ion", "able", "ment"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = _undouble(word[: -len(suffix)])
            break
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    return "i".join((word[:-1], "")) if word.endswith("y") and len(word) > 3 else word


def _cjk_bigrams(word: str) -> list[str]:
    """Overlapping pairs of a run of CJK text, which has no spaces to split at; a single sign stays itself."""
    return [word[i : i + 2] for i in range(len(word) - 1)] or [word]


def _terms_of(token: str) -> tuple[str, ...]:
    words = SUBWORD.findall(token)
    terms: list[str] = []
    for word in words:
        low = word.lower()
        if _CJK.search(low):
            terms.extend(_cjk_bigrams(low))
        else:
            terms.append(stem(low))
    if len(words) > 1 and token.isascii():
        terms.append(token.strip("_").lower().replace("_", ""))
    return tuple(terms)


class _TermMemo(dict[str, str]):
    """A token's terms, space separated. Source repeats its identifiers, so most look-ups hit; bounded, and safe to
    race.
    """

    def __missing__(self, token: str) -> str:
        terms = " ".join(_terms_of(token)) if len(token) <= _MAX_TOKEN else ""
        if len(self) < _MEMO_LIMIT:
            self[token] = terms
        return terms


_MEMO: Final = _TermMemo()


@lru_cache(maxsize=_KEPT_TEXTS)
def tokens(text: str) -> list[str]:
    """The tokens of a text in order; not to be changed. An entity's text is asked for twice in short order, by its
    terms and by the model.
    """
    return TOKEN.findall(text)


def term_text(text: str) -> str:
    """The index terms of a text, space separated: the stems of its sub-words, and each compound identifier whole
    (getUser → get user getuser).
    """
    return " ".join(filter(None, map(_MEMO.__getitem__, tokens(text))))


def terms(text: str) -> list[str]:
    """The index terms of a text, in order."""
    return term_text(text).split()


def content_words(words: Iterable[str]) -> list[str]:
    """The words that are not stop words, or all of them when nothing else is left."""
    words = list(words)
    return [word for word in words if word not in STOP_WORDS] or words
