"""A real headless Chromium, driven by Playwright, that speaks to this machine alone and breaks the test on any fault."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
WITHOUT = "no Chromium is installed (apt-get install chromium), and CHROMIUM names none"
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
AXE = Path(__file__).resolve().parents[1] / "data" / "axe" / "axe.min.js"
SERIOUS = ("serious", "critical")


@contextmanager
def chromium() -> Iterator[Browser]:
    assert CHROMIUM is not None, WITHOUT
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


class Watched:
    """A page with what went wrong on it: messages of the console (a policy that was broken says so there), errors of
    scripts, and requests that left the dashboard.
    """

    def __init__(self, page: Page, base: str) -> None:
        self.faults: list[str] = []
        self._base = base
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("request", lambda request: self._request(request.url))
        page.on("dialog", lambda dialog: self.faults.append(f"dialog: {dialog.message}"))

    def _console(self, message: ConsoleMessage) -> None:
        expected = message.location["url"].endswith("/nowhere")  # a page that says that there is none
        if message.type in {"error", "warning"} and not expected:
            self.faults.append(f"{message.type}: {message.text}")

    def _request(self, url: str) -> None:
        if not url.startswith((self._base, "data:")):
            self.faults.append(f"request: {url}")


def visit(page: Page, place: str) -> None:
    """Goes to a view and stays until what it fetches by itself has come: htmx asks for it before the page has loaded."""
    page.goto(place)
    expect(page.locator(".htmx-request, .htmx-swapping, .htmx-settling")).to_have_count(0)


def axe_faults(page: Page, *rules: str) -> list[str]:
    """The serious faults that axe-core finds on a page (by some of its rules, if they are named), each with its places.

    Its script is run by the debugger, which the page's policy does not bind.
    """
    page.evaluate(AXE.read_text(encoding="utf-8"))
    options = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
    found: Any = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{one['id']}: {one['help']}: {[node['html'][:120] for node in one['nodes'][:3]]}"
        for one in found["violations"]
        if one["impact"] in SERIOUS
    ]
