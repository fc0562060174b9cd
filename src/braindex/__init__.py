"""braindex: one local memory of a codebase for every IDE agent.

The Python face is small on purpose: parse a file into entities. Everything else is reached through the
`braindex` command or the MCP server.
"""

from typing import TYPE_CHECKING, Any

from braindex.domain.entities import CodeEntity

if TYPE_CHECKING:
    from braindex.indexing.extract import extract_entities

__all__ = ["CodeEntity", "extract_entities"]


def __getattr__(name: str) -> Any:
    """Imports the parser at first use: `braindex --help` and the server's start need none of it."""
    if name == "extract_entities":
        from braindex.indexing.extract import extract_entities  # noqa: PLC0415 - see above

        return extract_entities
    raise AttributeError(name)
