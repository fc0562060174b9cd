"""The dashboard as an ASGI application: the guard around a table of ways."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from braindex.bootstrap import App
from braindex.dashboard import ask, assets, brief, health, memory, usage, workspaces
from braindex.dashboard.access import NOBODY, Access
from braindex.dashboard.asked import Asked, ForeignForm, NoSuchPage, NotAForm, asked_of
from braindex.dashboard.desk import Desk, Room, Way, address, environment, workspace_of
from braindex.dashboard.failures import answered, told
from braindex.dashboard.guard import ENTRANCE, STATIC, BodyTooLarge, Guard
from braindex.services.threads import in_thread

# In the order of the navigation. A new view is one file and one row.
ROOMS: Final[tuple[Room, ...]] = (
    workspaces.ROOM,
    ask.ROOM,
    memory.ROOM,
    brief.ROOM,
    usage.ROOM,
    health.ROOM,
)
SPENT: Final = (
    "This link was used, or is too old. Press Enter in the terminal in which `braindex dashboard` runs for another, or "
    "run it again."
)
Endpoint = Callable[[Request], Awaitable[Response]]


def create_dashboard(
    app: App, access: Access, host: str, *, version: str = "", log_path: str = "", rooms: Sequence[Room] = ROOMS
) -> ASGIApp:
    """The application. `host` is the `address:port` that browsers have to name; nothing is served under another."""
    desk = Desk(app, rooms, environment(), version)
    ways = [way for room in rooms for way in room.ways]
    routes = [_entrance(desk, access), _static(), *(_route(desk, way, log_path) for way in ways)]
    routes += [_route(desk, _choice(room), log_path) for room in rooms if room.of_workspace]
    routes += [_route(desk, Way("/", _start), log_path), _route(desk, Way("/{path:path}", _nowhere), log_path)]
    starlette = Starlette(routes=routes)
    starlette.router.redirect_slashes = False  # an address that is not there leads to no other
    return Guard(starlette, access, host)


def _route(desk: Desk, way: Way, log_path: str) -> Route:
    async def endpoint(request: Request) -> Response:
        try:
            asked = await asked_of(request)
        except (BodyTooLarge, NotAForm, ForeignForm) as refusal:
            return told(desk, Asked(request.state.session), refusal)
        return await in_thread(lambda: answered(desk, way.view, asked, log_path))

    return Route(way.path, endpoint, methods=[way.method])


def _entrance(desk: Desk, access: Access) -> Route:
    """A link opens a session. Not by a redirect: from a page of another site its cookie would not come along."""

    async def enter(request: Request) -> Response:
        # Whoever only looks whether a link works (a chat, a scanner) does not spend it.
        token = request.query_params.get("token", "") if request.method == "GET" else ""
        cookie = access.enter(token)
        if cookie is None:
            return PlainTextResponse(f"{SPENT}\n", 401)
        page = desk.part(Asked(NOBODY), "enter.html")
        page.set_cookie(access.cookie, cookie, httponly=True, samesite="strict", path="/")
        return page

    return Route(ENTRANCE, enter, methods=["GET"])


def _static() -> Route:
    found = assets.read_assets()

    async def send(request: Request) -> Response:
        asset = found.get(request.path_params["name"])
        if asset is None:
            return PlainTextResponse("there is no such file\n", 404)
        return Response(asset.content, media_type=asset.kind)

    return Route(STATIC + "{name:path}", send, methods=["GET"])


def _start(_desk: Desk, _asked: Asked) -> Response:
    return RedirectResponse("/workspaces", 303)


def _nowhere(_desk: Desk, _asked: Asked) -> Response:
    raise NoSuchPage


def _choice(room: Room) -> Way:
    """`/brief` leads to the brief of the workspace that is chosen, or of the one that was scanned last."""

    def choose(desk: Desk, asked: Asked) -> Response:
        if asked.word("workspace"):
            chosen = workspace_of(desk, Asked(asked.session, {"workspace": asked.word("workspace")}))
            return RedirectResponse(address(chosen, room.name), 303)
        known = desk.app.workspaces.list()
        if not known:
            return RedirectResponse("/workspaces", 303)
        latest = max(known, key=lambda one: one.last_scan or "")
        return RedirectResponse(address(latest.workspace, room.name), 303)

    return Way(f"/{room.name}", choose)
