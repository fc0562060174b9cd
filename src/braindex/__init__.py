"""braindex: one local memory of a codebase for every IDE agent.

The Python face is small on purpose: parse a file into entities. Everything else is reached through the
`braindex` command or the MCP server.
"""

# Nothing is imported here, not even `typing`: under `python -m braindex` this module runs while the working directory,
# which may hold a stranger's `typing.py`, is still the first place that Python looks for modules.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from braindex.domain.entities import CodeEntity
    from braindex.indexing.extract import extract_entities

__all__ = ["CodeEntity", "extract_entities"]


def __getattr__(name: str) -> object:
    """Imports the parser at first use: `braindex --help` and the server's start need none of it."""
    if name == "extract_entities":
        from braindex.indexing.extract import extract_entities  # noqa: PLC0415 - see above

        return extract_entities
    if name == "CodeEntity":
        from braindex.domain.entities import CodeEntity  # noqa: PLC0415 - see above

        return CodeEntity
    raise AttributeError(name)
