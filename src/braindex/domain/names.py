"""How a person refers to a workspace."""

from collections.abc import Sequence

from braindex.domain.errors import BraindexError
from braindex.domain.identity import short_id
from braindex.domain.results import Workspace


class UnknownWorkspace(BraindexError):
    def __init__(self, reference: str) -> None:
        super().__init__(
            f"no workspace is known as {reference!r}; `braindex workspaces list` names the known ones, "
            f"`braindex scan PATH` adds one"
        )


class AmbiguousWorkspace(BraindexError):
    def __init__(self, reference: str, matches: Sequence[Workspace]) -> None:
        listed = ", ".join(f"{short_id(one.id)} ({one.path})" for one in matches)
        super().__init__(f"{reference!r} means several workspaces: {listed}; use the id or the path")


def one_workspace(reference: str, matches: Sequence[Workspace]) -> Workspace:
    """The only match. Raises UnknownWorkspace or AmbiguousWorkspace."""
    if not matches:
        raise UnknownWorkspace(reference)
    if len(matches) > 1:
        raise AmbiguousWorkspace(reference, matches)
    return matches[0]
