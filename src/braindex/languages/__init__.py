"""The languages braindex reads.

Adding one: a row here and in a file of its own, a query file in `queries/`, a sample in `tests/languages/`.
"""

from typing import Final

from braindex.languages.css import CSS
from braindex.languages.go import GO
from braindex.languages.html import HTML
from braindex.languages.javascript import JAVASCRIPT, JSX
from braindex.languages.markdown import MARKDOWN
from braindex.languages.python import PYTHON
from braindex.languages.spec import LanguageSpec
from braindex.languages.typescript import TSX, TYPESCRIPT

__all__ = ["LANGUAGES", "LANGUAGE_NAMES", "LanguageSpec", "language_for", "language_named", "languages_referring_to"]

LANGUAGES: Final[tuple[LanguageSpec, ...]] = (
    PYTHON,
    JAVASCRIPT,
    JSX,
    TYPESCRIPT,
    TSX,
    HTML,
    CSS,
    MARKDOWN,
    GO,
)

LANGUAGE_NAMES: Final = frozenset({*(spec.name for spec in LANGUAGES), "text"})  # "text" is every other file

_BY_NAME: Final = {spec.name: spec for spec in LANGUAGES}
_BY_SUFFIX: Final = {suffix: spec for spec in LANGUAGES for suffix in spec.suffixes}


def language_for(path: str) -> LanguageSpec | None:
    """The language of a path by its last suffix, in any case, or None."""
    name = path.replace("\\", "/").rsplit("/", 1)[-1]
    return _BY_SUFFIX.get(name[name.rfind(".") :].lower()) if "." in name else None


def language_named(name: str) -> LanguageSpec | None:
    """The language of a name, or None for text."""
    return _BY_NAME.get(name)


def languages_referring_to(name: str) -> frozenset[str]:
    """The languages whose references may mean an entity of a language: itself, and those that say so."""
    return frozenset({name, *(spec.name for spec in LANGUAGES if name in spec.refers_to)})
