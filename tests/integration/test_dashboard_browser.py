"""Every view and action in a real Chromium, under the real policy, with scans running beside it."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.fakes.chromium import CHROMIUM, WITHOUT, Watched, axe_faults, chromium, visit

from braindex.bootstrap import App, build_app
from braindex.config import load_settings
from braindex.domain.memories import About, Episode, Note
from braindex.domain.results import Workspace
from braindex.domain.usage import Call, Usage
from braindex.registry.ledger import Ledger

# Whoever checks a change has one (`.ci/run` sees to it); who only tries the project out may not.
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=WITHOUT)
expect.set_options(timeout=30_000)  # a shared machine is slow at times
SCRIPT = "<script>alert(1)</script>"
FILES = {
    "shop.py": 'class Basket:\n    def price(self, items):\n        """The price of a basket."""\n        return sum(items)\n',
    "README.md": "# Shop\n\nSells apples.\n",
    "<script>alert(1)<.bin": "\0\1\2" * 50,
    "evil.py": f'def evil():\n    """{SCRIPT}"""\n    return "{SCRIPT}"\n',
    "evil.html": f'<main id="x">{SCRIPT}<h1>{SCRIPT}</h1></main>\n',
}
MANY = "\n".join(f"def function_{n}(value):\n    return value + {n}\n" for n in range(400))


@dataclass
class World:
    """A memory with a workspace whose names are hostile, and a running dashboard over it."""

    app: App
    shop: Workspace
    other: Workspace
    link: str

    @property
    def base(self) -> str:
        return self.link.split("/enter", maxsplit=1)[0]

    def of(self, place: str) -> str:
        return f"{self.base}/workspaces/{self.shop.id}{place}"


def _written(root: Path, files: dict[str, str]) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (root / name).write_text(text, encoding="utf-8")
    return root


def _used(app: App, workspace: Workspace) -> None:
    now = datetime.now(UTC)
    with Ledger.open(app.settings.brain_dir) as ledger:
        ledger.add(*(
            Call(workspace.id, "deepseek-flash", "m", "ask", now - timedelta(days=day), Usage(900, 90, 640, 260), 10**9, 50)
            for day in range(20)
        ))  # fmt: skip


def _remembered(app: App, workspace: Workspace) -> None:
    """A note about code, an episode, and briefs that were replaced."""
    when = "2026-05-01T12:00:00Z"
    note = Note("a" * 16, f"Baskets are emptied at night. {SCRIPT}", SCRIPT, SCRIPT, when, when, (About("shop.py"),))
    episode = Episode("e" * 16, SCRIPT, "pi", "s", when, f"review {SCRIPT}", SCRIPT, "accepted", ("shop.py",), "abc")
    app.memories.take(workspace, [note, episode])
    if not app.brief_history.versions(workspace):
        app.briefs.update(workspace, f"# {SCRIPT}\n\nOne.\n")
        app.briefs.update(workspace, "# Shop\n\nTwo.\n")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    brain = tmp_path / "brain"
    app = build_app(load_settings({"BRAIN_DIR": str(brain)}, tmp_path))
    shop, other = (app.workspaces.open(_written(tmp_path / name, FILES)) for name in ("<script>alert(2)<", "other"))
    for workspace in (shop, other):
        app.scans.run(workspace)
    _used(app, shop)
    for text in (f"Prices are in cents {SCRIPT}", f"All prices are in cents {SCRIPT}", "Apples come from the garden"):
        app.memories.add_note(shop, text, "<i>decision", "claude-code")
    command = [sys.executable, "-P", "-m", "braindex", "dashboard", "--no-open"]
    environ = {**os.environ, "BRAIN_DIR": str(brain)}
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ
    ) as process:
        assert process.stdout is not None
        yield World(app, shop, other, process.stdout.readline().strip())
        process.kill()
    app.close()


def views(world: World) -> list[str]:
    """The address of every view, each with something in it."""
    _remembered(world.app, world.shop)
    places = ["", "/rebuild", "/drop", "/ask", "/ask?q=what+is+evil", "/brief", "/brief/edit", "/brief/make"]
    places += ["/brief/history", f"/brief/history/diff?from={world.app.brief_history.versions(world.shop)[0].id}"]
    places += ["/memory", "/memory?q=prices&what=note", "/memory/duplicates", f"/memory/of/{'a' * 16}"]
    places += [f"/memory/of/{'a' * 16}/edit", f"/memory/of/{'e' * 16}/forget"]
    of_all = ["/workspaces", "/usage", "/usage?measure=tokens", "/health?checks=quick"]
    return [*of_all, *(world.of(place) for place in places)]


@pytest.fixture(scope="module")
def engine() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def page(engine: Browser, world: World) -> Iterator[Page]:
    """A page that entered through the link. Nothing may be wrong on it, and nothing may leave the dashboard."""
    context = engine.new_context(base_url=world.base, reduced_motion="reduce")
    context.set_default_timeout(30_000)
    one = context.new_page()
    watched = Watched(one, world.base)
    one.goto(world.link)
    one.wait_for_url("**/workspaces")
    yield one
    context.close()
    assert watched.faults == []


def test_the_link_leads_to_the_workspaces_and_its_token_leaves_the_address(page: Page, world: World) -> None:
    expect(page.get_by_role("heading", name="Workspaces", level=1)).to_be_visible()
    assert "token" not in page.url
    cookie = page.context.cookies()[0]
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")


def test_no_view_has_a_serious_fault_of_accessibility_in_either_theme(page: Page, world: World) -> None:
    faults = {}
    for place in ["/nowhere", *views(world)]:
        page.emulate_media(color_scheme="light")
        visit(page, place)
        faults[place] = axe_faults(page)
        page.emulate_media(color_scheme="dark")
        faults[f"{place} in the dark"] = axe_faults(page, "color-contrast", "link-in-text-block")
    assert {place: found for place, found in faults.items() if found} == {}


def test_no_view_is_wider_than_its_window(page: Page, world: World) -> None:
    for place in views(world):
        visit(page, place)
        for width in (360, 2560):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, place


def test_names_that_are_scripts_are_text(page: Page, world: World) -> None:
    places = views(world)
    world.app.briefs.update(world.shop, f"# {SCRIPT}\n\n- <img src=x onerror=alert(1)>\n")
    for place in places:
        visit(page, place)
        assert page.locator("script:not([src])").count() == 0
        assert page.locator("main img").count() == 0
    page.goto(world.of("/brief"))
    expect(page.get_by_role("heading", name=SCRIPT)).to_be_visible()  # and no dialog: `page` would have noticed


def test_a_script_that_reached_a_page_would_not_run(engine: Browser, world: World) -> None:
    context = engine.new_context()
    page = context.new_page()
    page.goto(world.link)
    page.wait_for_url("**/workspaces")
    page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.ran = true";
        document.body.append(script);
    }""")
    assert page.evaluate("window.ran") is None
    with page.expect_console_message(lambda message: "Content Security Policy" in message.text):
        page.evaluate("""() => { document.body.innerHTML = '<img src="data:," onerror="window.ran = true">'; }""")
    assert page.evaluate("window.ran") is None
    context.close()


def test_a_scan_is_started_and_watched_to_its_end(page: Page, world: World) -> None:
    _written(Path(world.shop.path), {f"more_{n}.py": MANY for n in range(40)})
    page.goto(world.of(""))
    page.get_by_role("button", name="Scan now").click()
    expect(page.locator("#facts dd").first).to_have_text("44", timeout=60_000)
    expect(page.locator("#scan").get_by_role("status")).to_contain_text("complete")


def test_a_scan_of_another_process_is_watched_as_well(page: Page, world: World) -> None:
    _written(Path(world.shop.path), {f"more_{n}.py": MANY for n in range(60)})
    page.goto(world.of(""))
    environ = {**os.environ, "BRAIN_DIR": str(world.app.settings.brain_dir)}
    command = [sys.executable, "-P", "-m", "braindex", "scan", world.shop.path]
    with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL) as scan:
        page.get_by_role("button", name="Scan now").click()
        expect(page.locator("#facts dd").first).to_have_text("64", timeout=60_000)
        assert scan.wait(60) == 0


def test_the_index_is_made_anew(page: Page, world: World) -> None:
    page.goto(world.of(""))
    page.get_by_role("link", name="Make the index anew…").click()
    page.get_by_role("button", name="Make the index anew").click()
    page.wait_for_url(world.of(""))
    expect(page.locator("#scan").get_by_role("status")).to_contain_text("complete")
    expect(page.locator("#facts dd").first).to_have_text("4")


def test_a_workspace_is_dropped_after_a_confirmation(page: Page, world: World) -> None:
    page.goto(f"/workspaces/{world.other.id}")
    page.get_by_role("link", name="Drop…").click()
    page.get_by_role("link", name="Keep it").click()
    page.get_by_role("link", name="Drop…").click()
    page.get_by_role("button", name="Drop it for good").click()
    expect(page.get_by_role("status").first).to_contain_text("was dropped")
    assert [one.workspace.id for one in world.app.workspaces.list()] == [world.shop.id]
    assert Path(world.other.path).is_dir()


def test_a_question_is_asked_and_its_sources_say_why(page: Page, world: World) -> None:
    page.goto(world.of("/ask"))
    page.get_by_label("Question").fill("what is the price of a basket?")
    page.get_by_role("button", name="Find sources").click()
    first = page.locator("article.source").first
    expect(first).to_contain_text("price")
    expect(first).to_contain_text("shop.py")
    first.get_by_text("Why it ranks here").click()
    expect(first.get_by_role("table")).to_be_visible()
    assert (first.get_by_role("link").first.get_attribute("href") or "").startswith("vscode://file/")


def test_notes_are_found_edited_merged_and_deleted(page: Page, world: World) -> None:
    page.goto(world.of("/memory"))
    expect(page.get_by_role("heading", name="3 memories")).to_be_visible()
    page.get_by_label("Words or id").fill("garden")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("heading", name="1 memory")).to_be_visible()
    page.get_by_role("link", name=re.compile("^Edit")).click()
    page.get_by_label("Text", exact=True).fill("Pears come from the garden")
    page.get_by_role("button", name="Change the note").click()
    expect(page.get_by_text("Pears come from the garden")).to_be_visible()
    page.goto(world.of("/memory?q=garden"))
    page.get_by_role("link", name=re.compile("^Delete")).click()
    page.get_by_role("button", name="Delete it for good").click()
    expect(page.get_by_role("heading", name="2 memories")).to_be_visible()
    assert {one.text for one in world.app.memories.all_notes(world.shop)} == {
        f"Prices are in cents {SCRIPT}",
        f"All prices are in cents {SCRIPT}",
    }
    page.get_by_role("link", name="Notes that say nearly the same…").click()
    page.get_by_role("button", name="Merge…").click()
    page.get_by_role("button", name="Merge them").click()
    expect(page.get_by_role("status").first).to_be_visible()
    assert len(world.app.memories.all_notes(world.shop)) == 1


def test_a_brief_is_edited_and_made_anew(page: Page, world: World) -> None:
    page.goto(world.of("/brief"))
    page.get_by_role("link", name="Edit…").click()
    expect(page.get_by_role("heading", name="What this does to the prompt cache")).to_be_visible()
    page.get_by_label("The whole brief").fill("# Our shop\n\nBy hand.\n")
    page.get_by_role("button", name="Replace the brief").click()
    expect(page.get_by_role("heading", name="Our shop")).to_be_visible()
    assert world.app.briefs.text(world.shop) == "# Our shop\n\nBy hand.\n"
    page.get_by_role("link", name="Make it anew…").click()
    page.get_by_label("written or edited by hand").check()
    page.get_by_role("button", name="Make it anew").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


def test_usage_is_drawn_and_downloaded(page: Page, world: World) -> None:
    page.goto("/usage")
    expect(page.locator("figure.chart canvas")).to_have_count(4)
    page.get_by_label("Chart").select_option("tokens")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("figure.chart canvas")).to_have_count(4)
    assert "measure=tokens" in page.url
    with page.expect_download() as download:
        page.get_by_role("link", name="Download CSV").click()
    assert len(Path(download.value.path()).read_text().splitlines()) == 21


def test_health_comes_by_itself_and_again_on_request(page: Page) -> None:
    page.goto("/health")
    expect(page.get_by_text("nothing is broken")).to_be_visible()
    page.get_by_role("link", name="Check every page and vector, too").click()
    expect(page.get_by_text("after the full check")).to_be_visible()


def test_everything_is_reached_by_keyboard(page: Page, world: World) -> None:
    page.goto("/workspaces")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.get_by_role("link", name="Usage").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/usage")
    page.goto(world.of("/drop"))
    page.get_by_role("link", name="Keep it").focus()
    page.keyboard.press("Shift+Tab")
    expect(page.get_by_role("button", name="Drop it for good")).to_be_focused()


def test_what_has_the_focus_shows_it(page: Page, world: World) -> None:
    page.goto(world.of(""))
    for _ in range(12):
        page.keyboard.press("Tab")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none"


def test_each_view_has_the_landmarks_that_a_screen_reader_goes_by(page: Page, world: World) -> None:
    for place in views(world):
        page.goto(place)
        for role in ("banner", "main", "contentinfo"):
            expect(page.get_by_role(role)).to_have_count(1)
        expect(page.get_by_role("navigation", name="Views")).to_be_visible()
        expect(page.locator("h1")).to_have_count(1)
        expect(page.locator('nav [aria-current="page"]')).to_have_count(1)
        assert page.locator("table:not(.u-legend):not(:has(caption))").count() == 0


def test_the_theme_is_chosen_by_hand_and_kept(page: Page) -> None:
    page.emulate_media(color_scheme="light")
    page.goto("/workspaces")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_label("Theme").select_option("dark")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark != light
    page.goto("/usage")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
    page.get_by_label("Theme").select_option("")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == light


def test_views_work_without_scripts(engine: Browser, world: World) -> None:
    context = engine.new_context(base_url=world.base, java_script_enabled=False)
    one = context.new_page()
    one.goto(world.link)
    one.wait_for_url("**/workspaces")
    one.goto(world.of(""))
    one.get_by_role("button", name="Scan now").click()
    one.wait_for_url(re.compile(re.escape(world.of("")) + "$"))
    one.goto("/health?checks=quick")
    expect(one.get_by_text("nothing is broken")).to_be_visible()
    context.close()


def test_a_page_of_another_site_can_neither_read_nor_do_anything(engine: Browser, page: Page, world: World) -> None:
    """The same browser, its cookie included, on a page of another port: to the browser the same site."""
    stranger = subprocess.Popen(
        [sys.executable, "-P", "-m", "http.server", "--bind", "127.0.0.1", "0"],
        cwd=_written(Path(world.other.path) / "site", {"index.html": "<!doctype html><p>hello"}),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        assert stranger.stdout is not None
        address = re.search(r"http://[\d.:]+", stranger.stdout.readline())
        assert address is not None
        other = page.context.new_page()
        other.goto(f"{address[0]}/index.html")
        drop = world.of("/drop")
        sent = "(url) => fetch(url, {method: 'POST', credentials: 'include', mode: 'no-cors', body: new URLSearchParams({csrf: ''})}).then((r) => r.type).catch((e) => 'refused')"
        assert other.evaluate(sent, drop) in {"opaque", "refused"}
        read = "(url) => fetch(url, {credentials: 'include'}).then((r) => r.text()).catch((e) => 'refused')"
        assert other.evaluate(read, world.of("")) == "refused"
        other.evaluate(
            """(url) => {
            const form = document.createElement("form");
            form.method = "post";
            form.action = url;
            document.body.append(form);
            form.submit();
        }""",
            drop,
        )
        expect(other.get_by_text("the request came from another page")).to_be_visible()
        framed = page.context.new_page()
        framed.goto(f"{address[0]}/index.html")
        framed.evaluate(
            "(url) => { const f = document.createElement('iframe'); f.src = url; document.body.append(f); }",
            world.of(""),
        )
        framed.wait_for_load_state("networkidle")
        assert "Scan now" not in (framed.frames[-1].content() if len(framed.frames) > 1 else "")
    finally:
        stranger.kill()
        stranger.wait()
    assert {one.workspace.id for one in world.app.workspaces.list()} == {world.shop.id, world.other.id}


def test_a_dashboard_that_ended_is_said_on_the_page(engine: Browser, world: World) -> None:
    context = engine.new_context(base_url=world.base)
    one = context.new_page()
    one.goto(world.link)
    one.wait_for_url("**/workspaces")
    one.goto("/health")
    expect(one.get_by_text("nothing is broken")).to_be_visible()
    one.route("**/*", lambda route: route.abort())
    one.get_by_role("link", name="Look again").click()
    expect(one.locator("#lost")).to_be_visible()
    context.close()
