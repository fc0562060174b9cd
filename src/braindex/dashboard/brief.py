"""The brief of a workspace: shown with what it was made of; made anew or edited, once its price has been said."""

from pathlib import Path
from typing import Any, Final

from starlette.responses import Response

from braindex.dashboard import brief_history
from braindex.dashboard.asked import Asked
from braindex.dashboard.desk import Desk, Room, Way, address, sent_to, workspace_of
from braindex.dashboard.markdown import blocks
from braindex.dashboard.works import Cancelled
from braindex.domain.brief import MAX_TOKENS
from braindex.domain.errors import BraindexError
from braindex.domain.results import Workspace
from braindex.registry.briefs import digest_of
from braindex.services.brief import BriefByHand, BriefChanged, BriefMisplaced, BriefView, GivenBrief, NoBrief

ROOM_NAME: Final = "brief"


def shown(desk: Desk, asked: Asked) -> Response:
    """The brief, how it stands, and what was there before."""
    workspace = workspace_of(desk, asked)
    return desk.page(
        asked, "brief.html", ROOM_NAME, "Brief", workspace, **_brief(desk, workspace), work=_work(desk, workspace)
    )


def edit(desk: Desk, asked: Asked) -> Response:
    """The brief in a field, with what a change of it does to the prompt cache."""
    workspace = workspace_of(desk, asked)
    given = _brief(desk, workspace)
    view: BriefView | None = given["view"]
    return _editing(desk, asked, workspace, "" if view is None else view.text, "")


def save(desk: Desk, asked: Asked) -> Response:
    """Locks the text of the form. One that cannot be a brief stays in the form."""
    workspace, text = workspace_of(desk, asked), asked.form.get("text", "")
    try:
        desk.app.briefs.update(
            workspace,
            text,
            replace_by_hand=asked.form.get("by_hand") == "yes",
            expected=asked.form.get("expected", ""),
        )
    except (GivenBrief, BriefByHand, BriefChanged) as refusal:
        return _editing(desk, asked, workspace, text, str(refusal))
    return sent_to(address(workspace, ROOM_NAME), "brief-edited")


def confirm(desk: Desk, asked: Asked) -> Response:
    """What making it anew costs and replaces."""
    workspace = workspace_of(desk, asked)
    return desk.page(
        asked,
        "brief_make.html",
        ROOM_NAME,
        "Make the brief anew",
        workspace,
        **_brief(desk, workspace),
        **_prices(desk, workspace),
    )


def make(desk: Desk, asked: Asked) -> Response:
    """Begins to make it anew, in the background: an engine takes up to minutes."""
    workspace = workspace_of(desk, asked)
    by_index, by_hand = asked.form.get("by") == "index", asked.form.get("by_hand") == "yes"

    def call(cancelled: Cancelled) -> BriefView:
        return desk.app.briefs.update(workspace, from_index=by_index, replace_by_hand=by_hand, cancelled=cancelled)

    desk.works.begin(_key(workspace), call)
    return sent_to(address(workspace, ROOM_NAME))


def making(desk: Desk, asked: Asked) -> Response:
    """How far the new brief is, asked for every second while it is made."""
    workspace = workspace_of(desk, asked)
    work = _work(desk, workspace)
    part = desk.part(asked, "_brief_work.html", workspace=workspace, work=work)
    if work is None or (not work["running"] and not work["failure"]):
        desk.works.forget(_key(workspace))
        part.headers["HX-Redirect"] = f"{address(workspace, ROOM_NAME)}?done=brief-made"
    return part


def stop(desk: Desk, asked: Asked) -> Response:
    """Asks the engine to stop; the old brief stands."""
    workspace = workspace_of(desk, asked)
    work = desk.works.get(_key(workspace))
    if work is not None:
        work.left.set()
        if not work.running:
            desk.works.forget(_key(workspace))
    return sent_to(address(workspace, ROOM_NAME))


def _key(workspace: Workspace) -> str:
    return f"brief {workspace.id}"


def _work(desk: Desk, workspace: Workspace) -> dict[str, Any] | None:
    """How the making of a brief stands, None where none was begun. `failure` is why it ended without one."""
    work = desk.works.get(_key(workspace))
    if work is None:
        return None
    error = None if work.running else work.future.exception()
    expected = isinstance(error, BraindexError)
    failure = "" if error is None else str(error) if expected else f"a bug in braindex: {type(error).__name__}"
    return {"running": work.running, "seconds": int(work.seconds), "failure": failure}


def _brief(desk: Desk, workspace: Workspace) -> dict[str, Any]:
    """The view and its blocks; where there is none, why."""
    try:
        view = desk.app.briefs.view(workspace)
    except BriefMisplaced as failure:
        return _missing(str(failure), by_hand=True)
    except NoBrief as failure:
        return _missing(str(failure), by_hand=False)
    by_hand = view.state.edited or view.state.given
    return {**_missing("", by_hand=by_hand), "view": view, "blocks": blocks(view.text)}


def _missing(why: str, *, by_hand: bool) -> dict[str, Any]:
    return {"view": None, "blocks": [], "missing": why, "by_hand": by_hand, "most_tokens": MAX_TOKENS}


def _prices(desk: Desk, workspace: Workspace) -> dict[str, Any]:
    """What a new text costs of the prompt caches, and who would write it."""
    return {
        "prefixes": desk.app.prefix_prices.of(workspace),
        "warmup": desk.app.settings.brief_warmup,
        "writer": desk.app.briefs.writer_of(Path(workspace.path)),
    }


def _editing(desk: Desk, asked: Asked, workspace: Workspace, text: str, refusal: str) -> Response:
    given = _brief(desk, workspace)
    view: BriefView | None = given["view"]
    expected = asked.form.get("expected") or ("" if view is None else digest_of(view.text))
    page = desk.page(
        asked,
        "brief_edit.html",
        ROOM_NAME,
        "Edit the brief",
        workspace,
        **given,
        **_prices(desk, workspace),
        text=text,
        refusal=refusal,
        expected=expected,
    )
    page.status_code = 400 if refusal else 200
    return page


ROOM: Final = Room(
    ROOM_NAME,
    "Brief",
    (
        Way("/workspaces/{workspace}/brief", shown),
        Way("/workspaces/{workspace}/brief/edit", edit),
        Way("/workspaces/{workspace}/brief/edit", save, "POST"),
        Way("/workspaces/{workspace}/brief/make", confirm),
        Way("/workspaces/{workspace}/brief/make", make, "POST"),
        Way("/workspaces/{workspace}/brief/making", making),
        Way("/workspaces/{workspace}/brief/stop", stop, "POST"),
        *brief_history.WAYS,
    ),
    of_workspace=True,
)
