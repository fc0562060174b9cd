"""The guard before every view: host, method, origin, session and size are looked at here, and nowhere else.

Whoever reaches a loopback port may be a page of any site (DNS rebinding, cross-site requests) or another user of the
machine. The name in `Host`, what the browser says of the origin, and a cookie that only a link opens tell them apart.
"""

from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from braindex.dashboard.access import Access
from braindex.domain.errors import UsageError

MOST_BODY_BYTES: Final = 1_000_000  # a note or a brief is far smaller
MOST_QUERY_BYTES: Final = 16_384
SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
METHODS: Final = SAFE_METHODS | {"POST"}
ENTRANCE: Final = "/enter"
STATIC: Final = "/static/"

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
TOO_LARGE: Final = "the form is larger than this page takes"
NO_SESSION: Final = (
    "This page opens through a link that works once. Press Enter in the terminal in which `braindex dashboard` runs "
    "for another one, or run it again."
)


class Guard:
    """ASGI middleware. What passes has a session in its scope's state, except for the entrance and static files."""

    def __init__(self, app: ASGIApp, access: Access, host: str) -> None:
        """`host` is `address:port`, the one name under which this dashboard is reached."""
        self._app = app
        self._access = access
        self._host = host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # no lifespan to follow, and no socket to open
        refusal = self._refusal(scope)
        await (refusal or self._app)(scope, _Bounded(receive), _with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        headers, method = Headers(scope=scope), scope["method"]
        required = (
            (headers.getlist("host") == [self._host], 421, "this dashboard is reached under its own address alone"),
            (method in METHODS, 405, "no view takes this method"),
            (len(scope.get("query_string", b"")) <= MOST_QUERY_BYTES, 414, "the address is too long"),
            (self._is_ours(method, headers), 403, "the request came from another page"),
            (method in SAFE_METHODS or not _says_too_much(headers), 413, TOO_LARGE),
            (self._is_let_in(scope, headers), 401, NO_SESSION),
        )
        return next((_refused(status, why) for holds, status, why in required if not holds), None)

    def _is_let_in(self, scope: Scope, headers: Headers) -> bool:
        """Whether a request has a session, which is noted, or needs none."""
        path = scope["path"]
        if path == ENTRANCE or path.startswith(STATIC):
            return True
        session = next(filter(None, map(self._access.session, self._cookies(headers))), None)
        if session is not None:
            scope.setdefault("state", {})["session"] = session
        return session is not None

    def _is_ours(self, method: str, headers: Headers) -> bool:
        """Whether a request comes from a page of this dashboard or, to look at one, from the person at the browser.

        `same-site` is not enough: every port of this machine is the same site. Our own policy makes browsers send
        `Origin: null` with a form; then `Sec-Fetch-Site`, which no page can forge, has to say that it is ours.
        """
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if method in SAFE_METHODS:
            navigates = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
            return site in {None, "same-origin", "none"} or navigates
        if site not in {None, "same-origin"}:
            return False
        return origin == f"http://{self._host}" or (origin in {None, "null"} and site == "same-origin")

    def _cookies(self, headers: Headers) -> Iterable[str]:
        """What browsers send under the session's name; it may be there twice, under several paths."""
        for header in headers.getlist("cookie"):
            for part in header.split(";"):
                try:
                    found = SimpleCookie(part).get(self._access.cookie)
                except CookieError:
                    continue
                if found is not None:
                    yield found.value


class BodyTooLarge(UsageError):
    """More came than a request may bring, and than it said it would."""

    def __init__(self) -> None:
        super().__init__(TOO_LARGE)


class _Bounded:
    """Counts what is received, whatever the request said about its length."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._left = MOST_BODY_BYTES

    async def __call__(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise BodyTooLarge
        return message


def _says_too_much(headers: Headers) -> bool:
    length = headers.get("content-length", "0")
    return not length.isdecimal() or len(length) > 9 or int(length) > MOST_BODY_BYTES


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
        await send(message)

    return sending


def _refused(status: int, why: str) -> Response:
    """Plain text: nothing of what was asked is repeated."""
    headers = {"Allow": ", ".join(sorted(METHODS))} if status == 405 else None
    return PlainTextResponse(f"{why}\n", status, headers)
