"""The briefs that a workspace had: which, what has changed since each, and how far the code has moved on."""

from starlette.responses import Response

from braindex.dashboard.asked import Asked
from braindex.dashboard.desk import Desk, Way, workspace_of

SIGNS = {"+": "added", "-": "removed", "@": "place"}


def listed(desk: Desk, asked: Asked) -> Response:
    """The versions, the last one first, and the entities that moved since the present one was made."""
    workspace = workspace_of(desk, asked)
    return desk.page(
        asked,
        "brief_history.html",
        "brief",
        "Earlier briefs",
        workspace,
        versions=desk.app.brief_history.versions(workspace),
        moved=desk.app.brief_history.moved(workspace),
    )


def diff(desk: Desk, asked: Asked) -> Response:
    """The way from one version to the present brief, or to a later version."""
    workspace = workspace_of(desk, asked)
    old, new = asked.word("from"), asked.word("to")
    lines = desk.app.brief_history.diff(workspace, old, new)
    signed = [(_sign(line) if at > 1 else "place", line) for at, line in enumerate(lines)]
    return desk.page(
        asked,
        "brief_diff.html",
        "brief",
        "What has changed",
        workspace,
        lines=signed,
        earlier=desk.app.brief_history.version(workspace, old),
    )


def _sign(line: str) -> str:
    return SIGNS.get(line[:1], "same")


WAYS = (
    Way("/workspaces/{workspace}/brief/history", listed),
    Way("/workspaces/{workspace}/brief/history/diff", diff),
)
