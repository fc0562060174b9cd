"""What the prompt `add_language` says: how braindex learns to parse another language.

The text lies beside this file; its steps are those of CONTRIBUTING.md, and a test holds the two against each other.
"""

import re
from importlib.resources import files
from typing import Final

from braindex.domain.display import echoed
from braindex.domain.errors import UsageError
from braindex.languages import LANGUAGES

# Languages with a grammar of their own on the package index (`tree-sitter-<name>`) that many projects are written in.
GRAMMARS: Final = (
    "bash", "c", "c-sharp", "cpp", "dart", "elixir", "elm", "fortran", "graphql", "groovy", "haskell", "hcl", "java",
    "json", "julia", "kotlin", "lua", "php", "ruby", "rust", "scala", "sql", "swift", "toml", "xml", "yaml", "zig",
)  # fmt: skip

_NAME: Final = re.compile(r"[A-Za-z][\w+#.-]{0,39}")
_EXAMPLE: Final = "go"


class NotALanguage(UsageError):
    def __init__(self, name: str) -> None:
        super().__init__(
            f"'{echoed(name)}' is no name of a language; give it as its grammar is called on the package index, e.g. "
            "rust for tree-sitter-rust"
        )


def how_to_add(language: str) -> str:
    """The task, the steps, and a language that is there as an example, whole. Raises NotALanguage."""
    name = language.strip().casefold()
    if not _NAME.fullmatch(name):
        raise NotALanguage(language)
    said = {"language": name, "module": re.sub(r"\W", "_", name), "standing": _standing(name)}
    text = (files("braindex.server") / "adding_a_language.md").read_text(encoding="utf-8")
    for placeholder, value in said.items():
        text = text.replace(f"<{placeholder}>", value)
    return f"{text}\n{_example()}"


def _standing(name: str) -> str:
    read = {spec.name: spec for spec in LANGUAGES}
    if name in read:
        suffixes = ", ".join(read[name].suffixes)
        return f"It parses {name} already ({suffixes}): improve that row and that query file instead of adding others."
    return f"So far it parses {', '.join(read)}; every other text file is one entity."


def _example() -> str:
    room = files("braindex.languages")
    row = (room / f"{_EXAMPLE}.py").read_text(encoding="utf-8").strip()
    query = (room / "queries" / f"{_EXAMPLE}.scm").read_text(encoding="utf-8").strip()
    return (
        f"The whole of a language that is there, `src/braindex/languages/{_EXAMPLE}.py`:\n\n```python\n{row}\n```\n\n"
        f"and `queries/{_EXAMPLE}.scm`:\n\n```scheme\n{query}\n```\n"
    )
