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

__all__ = ["LANGUAGES", "LANGUAGE_NAMES", "LanguageSpec", "language_for"]

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

_BY_SUFFIX: Final = {suffix: spec for spec in LANGUAGES for suffix in spec.suffixes}


def language_for(path: str) -> LanguageSpec | None:
    """The language of a path by its last suffix, in any case, or None."""
    name = path.replace("\\", "/").rsplit("/", 1)[-1]
    return _BY_SUFFIX.get(name[name.rfind(".") :].lower()) if "." in name else None
