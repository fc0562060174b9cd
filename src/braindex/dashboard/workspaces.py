"""Workspaces: what each holds, scanning it with its progress, making its index anew, dropping it."""

from collections import Counter
from typing import Any, Final

from starlette.responses import Response

from braindex.dashboard.asked import Asked
from braindex.dashboard.desk import Desk, Room, Way, address, sent_to, workspace_of
from braindex.dashboard.paging import page_of
from braindex.domain.results import Workspace

SKIPPED_A_PAGE: Final = 50
WORKSPACES_A_PAGE: Final = 100
LOOK_SECONDS: Final = 20.0  # for a look through the largest folders
NO_LOOK_SECONDS: Final = 0.02  # enough where the last look still holds


def listed(desk: Desk, asked: Asked) -> Response:
    """Every known workspace, by name."""
    wanted = asked.word("q").casefold()
    known = [
        one
        for one in desk.app.workspaces.list()
        if wanted in one.workspace.name.casefold() or wanted in one.workspace.path.casefold()
    ]
    page = page_of(known, asked.number("page"), WORKSPACES_A_PAGE)
    return desk.page(asked, "workspaces.html", "workspaces", "Workspaces", page=page, wanted=asked.word("q"))


def one(desk: Desk, asked: Asked) -> Response:
    """What a workspace holds."""
    workspace = workspace_of(desk, asked)
    return desk.page(asked, "workspace.html", "workspaces", workspace.name, workspace, **_facts(desk, asked, workspace))


def facts(desk: Desk, asked: Asked) -> Response:
    """The part of that page which a scan changes."""
    workspace = workspace_of(desk, asked)
    return desk.part(asked, "_facts.html", workspace=workspace, **_facts(desk, asked, workspace))


def freshness(desk: Desk, asked: Asked) -> Response:
    """What is behind the disk: by itself, since a look through a large folder takes longer than a page may."""
    workspace = workspace_of(desk, asked)
    return desk.part(asked, "_freshness.html", status=desk.app.status.of(workspace, LOOK_SECONDS))


def progress(desk: Desk, asked: Asked) -> Response:
    """How far a scan is, asked for every second while one runs."""
    workspace = workspace_of(desk, asked)
    part = desk.part(asked, "_scan.html", workspace=workspace, status=desk.app.scans.status(workspace))
    if not _runs(desk, workspace):
        part.headers["HX-Trigger"] = "scan-ended"
    return part


def scan(desk: Desk, asked: Asked) -> Response:
    """Starts a scan, or joins the one that runs."""
    workspace = workspace_of(desk, asked)
    desk.app.scans.start(workspace)
    return _watched(desk, asked, workspace)


def confirm_rebuild(desk: Desk, asked: Asked) -> Response:
    workspace = workspace_of(desk, asked)
    status = desk.app.status.of(workspace, NO_LOOK_SECONDS)
    return desk.page(asked, "rebuild.html", "workspaces", "Make the index anew", workspace, status=status)


def rebuild(desk: Desk, asked: Asked) -> Response:
    """Has the index made anew; the old one answers until the new one is whole."""
    workspace = workspace_of(desk, asked)
    desk.app.scans.start(workspace, afresh=True)
    return sent_to(address(workspace))


def confirm_drop(desk: Desk, asked: Asked) -> Response:
    """Says what would be lost."""
    workspace = workspace_of(desk, asked)
    status = desk.app.status.of(workspace, NO_LOOK_SECONDS)
    return desk.page(asked, "drop.html", "workspaces", "Drop the workspace", workspace, status=status)


def drop(desk: Desk, asked: Asked) -> Response:
    desk.app.workspaces.drop(workspace_of(desk, asked))
    return sent_to("/workspaces", "dropped")


def _watched(desk: Desk, asked: Asked, workspace: Workspace) -> Response:
    if asked.partial:
        return desk.part(asked, "_scan.html", workspace=workspace, status=desk.app.scans.status(workspace))
    return sent_to(address(workspace))


def _runs(desk: Desk, workspace: Workspace) -> bool:
    return desk.app.scans.status(workspace).state == "running"


def _facts(desk: Desk, asked: Asked, workspace: Workspace) -> dict[str, Any]:
    status = desk.app.status.of(workspace, NO_LOOK_SECONDS)
    reasons = Counter(one.reason for one in status.skipped)
    reason = asked.word("reason")
    skipped = [one for one in status.skipped if not reason or one.reason == reason]
    return {
        "status": status,
        "reasons": reasons.most_common(),
        "reason": reason,
        "skipped": page_of(skipped, asked.number("page"), SKIPPED_A_PAGE),
        "footprint": desk.app.footprint.of(workspace),
    }


ROOM: Final = Room(
    "workspaces",
    "Workspaces",
    (
        Way("/workspaces", listed),
        Way("/workspaces/{workspace}", one),
        Way("/workspaces/{workspace}/facts", facts),
        Way("/workspaces/{workspace}/freshness", freshness),
        Way("/workspaces/{workspace}/scan", progress),
        Way("/workspaces/{workspace}/scan", scan, "POST"),
        Way("/workspaces/{workspace}/rebuild", confirm_rebuild),
        Way("/workspaces/{workspace}/rebuild", rebuild, "POST"),
        Way("/workspaces/{workspace}/drop", confirm_drop),
        Way("/workspaces/{workspace}/drop", drop, "POST"),
    ),
)
