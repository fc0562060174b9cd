"""A browser of the dashboard without a network: it keeps cookies, and says of itself what real ones do."""

import asyncio
import re
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

import httpx
from starlette.types import ASGIApp

from braindex.bootstrap import App
from braindex.dashboard.access import Access
from braindex.dashboard.create import create_dashboard

PORT = 47_123
HOST = f"127.0.0.1:{PORT}"
NAVIGATION = {"sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
SUBMISSION = {
    "sec-fetch-site": "same-origin",
    "sec-fetch-mode": "navigate",
    "sec-fetch-dest": "document",
    "origin": "null",  # what `Referrer-Policy: no-referrer` makes of a form's origin
    "content-type": "application/x-www-form-urlencoded",
}
_CSRF = re.compile(r'name="csrf" value="([^"]+)"')


class Browser:
    """One browser; `enter` opens a session through a link."""

    def __init__(self, asgi: ASGIApp, access: Access) -> None:
        self.access = access
        self.cookies: dict[str, str] = {}
        self.csrf = ""
        self._asgi = asgi

    def enter(self) -> httpx.Response:
        answer = self.get(f"/enter?token={self.access.link()}")
        self.cookies |= dict(answer.cookies)
        return answer

    def get(self, path: str, **headers: str) -> httpx.Response:
        answer = self.send("GET", path, NAVIGATION | _named(headers))
        if answer.headers["content-type"].startswith("text/html"):
            Nesting(answer.text)
        found = _CSRF.search(answer.text)
        self.csrf = found[1] if found else self.csrf
        return answer

    def part(self, path: str) -> httpx.Response:
        """As htmx asks for it."""
        asks = {"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}
        return self.send("GET", path, {**asks, "hx-request": "true"})

    def post(self, path: str, form: dict[str, Any] | None = None, **headers: str) -> httpx.Response:
        """A form as the page it is on sends it, the session's token included."""
        return self.send(
            "POST", path, SUBMISSION | _named(headers), urlencode({"csrf": self.csrf, **(form or {})}, True)
        )

    def send(self, method: str, path: str, headers: dict[str, str], body: str | bytes = "") -> httpx.Response:
        given = {
            "host": HOST,
            "cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()),
            **headers,
        }

        async def sent() -> httpx.Response:
            async with httpx.AsyncClient(
                transport=httpx.ASGITransport(self._asgi), base_url=f"http://{HOST}"
            ) as client:
                kept = {name: value for name, value in given.items() if value}
                return await client.request(method, path, headers=kept, content=body or None)

        return asyncio.run(sent())


class Nesting(HTMLParser):
    """Raises AssertionError where a tag of a page closes another than the one that was opened last."""

    EMPTY = frozenset({"meta", "link", "input", "img", "br", "hr"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self._open: list[str] = []
        self.feed(page)
        assert self._open == []

    def handle_starttag(self, tag: str, _: Any) -> None:
        self._open += [tag] * (tag not in self.EMPTY)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, f"line {self.getpos()[0]}"


def _named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def browser_of(app: App, **given: Any) -> Browser:
    """A browser that has entered the dashboard of an application, and holds the token of its forms."""
    access = Access(PORT)
    browser = Browser(create_dashboard(app, access, HOST, **given), access)
    browser.enter()
    session = access.session(browser.cookies[access.cookie])
    assert session is not None
    browser.csrf = session.csrf
    return browser
