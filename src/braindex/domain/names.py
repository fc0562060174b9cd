"""How a person refers to a workspace."""

from collections.abc import Sequence
from typing import Final

from braindex.domain.display import echoed
from braindex.domain.errors import BraindexError
from braindex.domain.identity import short_id
from braindex.domain.results import Workspace

LISTED_AT_MOST: Final = 10  # workspaces that an error names


class UnknownWorkspace(BraindexError):
    def __init__(self, reference: str) -> None:
        self.reference = reference
        super().__init__(
            f"no workspace is known as '{echoed(reference)}'; `braindex workspaces list` names the known ones, "
            f"`braindex scan PATH` adds one"
        )


class AmbiguousWorkspace(BraindexError):
    def __init__(self, reference: str, matches: Sequence[Workspace]) -> None:
        listed = ", ".join(f"{short_id(one.id)} ({echoed(one.path)})" for one in matches[:LISTED_AT_MOST])
        if len(matches) > LISTED_AT_MOST:
            listed += f" and {len(matches) - LISTED_AT_MOST} more"
        super().__init__(f"'{echoed(reference)}' means several workspaces: {listed}; use the id or the path")


def one_workspace(reference: str, matches: Sequence[Workspace]) -> Workspace:
    """The only match. Raises UnknownWorkspace or AmbiguousWorkspace."""
    if not matches:
        raise UnknownWorkspace(reference)
    if len(matches) > 1:
        raise AmbiguousWorkspace(reference, matches)
    return matches[0]
