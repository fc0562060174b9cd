"""What a view is, and what all of them share: the use cases, the templates, and work that is under way.

A view is a plain function that may block; it runs in a thread of its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote

from jinja2 import Environment
from starlette.responses import HTMLResponse, RedirectResponse, Response

from braindex.bootstrap import App
from braindex.dashboard import templates
from braindex.dashboard.asked import CSRF_FIELD, Asked
from braindex.dashboard.notices import NOTICES
from braindex.dashboard.paging import query_with
from braindex.dashboard.works import Works
from braindex.domain.names import UnknownWorkspace
from braindex.domain.results import Workspace

Method = Literal["GET", "POST"]
View = Callable[["Desk", Asked], Response]


@dataclass(frozen=True, slots=True)
class Way:
    """One address of a view. `{workspace}` in the path is an id; no other part of a path is a name of a file."""

    path: str
    view: View
    method: Method = "GET"


@dataclass(frozen=True, slots=True)
class Room:
    """A place in the navigation. `of_workspace`: its address is `/workspaces/{workspace}/<name>`."""

    name: str
    title: str
    ways: tuple[Way, ...]
    of_workspace: bool = False


@dataclass(frozen=True, slots=True)
class Desk:
    """Given to every view."""

    app: App
    rooms: Sequence[Room]
    templates: Environment
    version: str = ""
    works: Works = field(default_factory=Works)

    def page(
        self, asked: Asked, template: str, room: str, title: str, workspace: Workspace | None = None, **values: Any
    ) -> Response:
        """A whole page. `room` is the name of the one that is marked in the navigation."""
        shared: dict[str, Any] = {
            "room": room,
            "title": title,
            "workspace": workspace,
            "rooms": self.rooms,
            "version": self.version,
        }
        if workspace is not None:
            shared["workspaces"] = [one.workspace for one in self.app.workspaces.list()]
        return self.part(asked, template, **shared, **values)

    def part(self, asked: Asked, template: str, /, **values: Any) -> Response:
        """What a template makes of values, a whole page or a part of one."""
        return HTMLResponse(self.templates.get_template(template).render(asked=asked, **values))


def workspace_of(desk: Desk, asked: Asked) -> Workspace:
    """The known workspace whose id is in the address: it is compared, and never opened as a path.

    Raises UnknownWorkspace.
    """
    wanted = asked.place["workspace"]
    for one in desk.app.workspaces.list():
        if one.workspace.id == wanted:
            return one.workspace
    raise UnknownWorkspace(wanted)


def address(workspace: Workspace, *places: str) -> str:
    """The address of a view of a workspace: `address(workspace, "brief", "edit")`."""
    return "/".join(("/workspaces", quote(workspace.id, safe=""), *(quote(one, safe="") for one in places)))


def environment() -> Environment:
    """The templates, with what all of them may use."""
    return templates.environment(address=address, csrf_field=CSRF_FIELD, notices=NOTICES, query_with=query_with)


def sent_to(place: str, notice: str = "") -> Response:
    """After a form was taken in: the browser loads this page, so that a reload sends nothing twice.

    `notice` is a word of the table in `notices`, shown once on top of it.
    """
    return RedirectResponse(f"{place}{'&' if '?' in place else '?'}done={notice}" if notice else place, 303)
