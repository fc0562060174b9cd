import contextlib
import sqlite3
import threading

import pytest
from tests.conftest import MakeProject, ask, scanned
from tests.fakes.browser import Browser, browser_of

from braindex.bootstrap import App
from braindex.dashboard.desk import address
from braindex.domain.results import ScanProgress, ScanStatus, Skipped, Workspace

SCRIPT = "<script>alert(1)</script>"
SHOWN = "&lt;script&gt;alert(1)&lt;"  # a file's name holds no slash


def test_every_known_workspace_is_listed_with_what_it_holds(app: App, browser: Browser, shop: Workspace) -> None:
    page = browser.get("/workspaces").text
    assert f'href="/workspaces/{shop.id}"' in page
    assert shop.path in page
    assert ">2<" in page  # files


def test_a_memory_without_a_workspace_says_how_one_is_made(browser: Browser) -> None:
    assert "braindex scan PATH" in browser.get("/workspaces").text


def test_a_workspace_is_found_by_a_part_of_its_name(app: App, browser: Browser, make_project: MakeProject) -> None:
    for name in ("apples", "pears"):
        scanned(app, make_project({"a.py": "def f(): ...\n"}, name))
    page = browser.get("/workspaces?q=PEA").text
    assert ">pears<" in page
    assert ">apples<" not in page


def test_a_folder_that_is_gone_is_marked_as_missing(app: App, browser: Browser, make_project: MakeProject) -> None:
    root = make_project({"a.py": "def f(): ...\n"}, "gone")
    scanned(app, root)
    (root / "a.py").unlink()
    root.rmdir()
    assert "missing" in browser.get("/workspaces").text


def test_many_workspaces_come_a_page_at_a_time(app: App, browser: Browser, make_project: MakeProject) -> None:
    for number in range(102):
        root = make_project({}, f"w{number:03}")
        app.workspaces.register(app.workspaces.open(root))
    first, second = browser.get("/workspaces").text, browser.get("/workspaces?page=2").text
    assert "1–100 of 102" in first
    assert ">w101<" in second
    assert browser.get("/workspaces?page=999999999999").status_code == 200
    assert "1–100 of 102" in browser.get("/workspaces?page=-1").text


def test_a_workspace_shows_its_entities_and_what_was_left_out(browser: Browser, shop: Workspace) -> None:
    page = browser.get(f"/workspaces/{shop.id}").text
    for words in (shop.path, shop.id, "python", "markdown", "function", "big.bin", "Entities by kind"):
        assert words in page
    assert browser.part(f"/workspaces/{shop.id}/freshness").text.strip() == "current"


def test_what_was_skipped_is_narrowed_to_a_reason(app: App, browser: Browser, make_project: MakeProject) -> None:
    files = {"a.py": "def f(): ...\n", "b.bin": b"\0\1\2" * 50, "node_modules/x.js": "var a\n"}
    workspace = scanned(app, make_project(files, "mixed"))
    reason = next(one.reason for one in app.status.of(workspace).skipped if one.path == "b.bin")
    page = browser.get(f"/workspaces/{workspace.id}?reason={reason}").text
    assert ">b.bin<" in page
    assert ">node_modules" not in page


def test_names_of_files_and_workspaces_are_text(app: App, browser: Browser, make_project: MakeProject) -> None:
    name = SCRIPT.replace("/", "")
    files = {f"{name}.bin": b"\0\1\2" * 50, "a.py": f'def f():\n    """{SCRIPT}"""\n', "\u202etxt.bin": b"\0\1" * 90}
    workspace = scanned(app, make_project(files, name))
    for place in (
        "/workspaces",
        f"/workspaces/{workspace.id}",
        f"/workspaces/{workspace.id}/brief",
        "/usage",
        "/health?checks=quick",
    ):
        page = browser.get(place).text
        assert "<script>alert" not in page, place
        assert "\u202e" not in page, place
    page = browser.get(f"/workspaces/{workspace.id}").text
    assert "&lt;script&gt;alert(1)&lt;script&gt;.bin" in page
    assert "\\u202etxt.bin" in page


def test_a_scan_takes_in_what_changed(app: App, browser: Browser, shop: Workspace, make_project: MakeProject) -> None:
    make_project({"more.py": "def added(): ...\n"}, "shop")
    answer = browser.post(f"/workspaces/{shop.id}/scan")
    assert answer.status_code == 303
    handle = app.scans.running(shop)
    assert handle is None or handle.wait(30)
    assert app.status.of(shop).files == 3


def test_a_scan_that_runs_is_watched_until_it_ends(
    app: App, browser: Browser, shop: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = ScanStatus(shop, "running", 2, 5, complete=True, progress=ScanProgress("parsing", 1, 4, 3))
    with monkeypatch.context() as patched:
        patched.setattr(app.scans, "status", lambda _: running)
        part = browser.part(f"/workspaces/{shop.id}/scan")
    assert 'max="4" value="1"' in part.text
    assert "every 1s" in part.text
    assert "hx-trigger" not in {name.lower() for name in part.headers}
    ended = browser.part(f"/workspaces/{shop.id}/scan")
    assert "every 1s" not in ended.text
    assert ended.headers["hx-trigger"] == "scan-ended"


def test_an_index_is_made_anew_on_request(app: App, browser: Browser, shop: Workspace) -> None:
    with contextlib.closing(sqlite3.connect(app.workspaces.folder(shop) / "index.db")) as index:
        index.execute("UPDATE entities SET docstring = 'wrong', signature = 'wrong'")  # what no scan would notice
        index.commit()
    app.scans.run(shop)
    assert "wrong" in ask(app, shop, "where is price defined").sources[0].signature
    assert "answers until the new one is whole" in browser.get(f"/workspaces/{shop.id}/rebuild").text
    assert browser.post(f"/workspaces/{shop.id}/rebuild").status_code == 303
    handle = app.scans.running(shop)
    assert handle is None or handle.wait(60)
    assert ask(app, shop, "where is price defined").sources[0].signature == "def price(basket)"


def test_what_is_remembered_outlives_a_new_index(app: App, browser: Browser, shop: Workspace) -> None:
    app.memories.add_note(shop, "Prices are in cents")
    app.briefs.update(shop, "# By hand\n")
    handle = app.scans.start(shop, afresh=True)
    assert handle.wait(60)
    assert [one.text for one in app.memories.all_notes(shop)] == ["Prices are in cents"]
    assert app.briefs.text(shop) == "# By hand\n"
    assert not (app.workspaces.folder(shop) / "rebuilding").exists()


def test_a_workspace_is_dropped_once_it_was_said_what_is_lost(app: App, browser: Browser, shop: Workspace) -> None:
    app.memories.add_note(shop, "Prices are in cents")
    page = browser.get(f"/workspaces/{shop.id}/drop").text
    assert "1 note and 0 episodes" in page
    assert app.workspaces.list()
    answer = browser.post(f"/workspaces/{shop.id}/drop")
    assert answer.headers["location"] == "/workspaces?done=dropped"
    assert app.workspaces.list() == []
    assert "was dropped" in browser.get(answer.headers["location"]).text


def test_a_notice_is_a_row_of_a_table_and_never_the_text_of_an_address(browser: Browser) -> None:
    page = browser.get(f"/workspaces?done={SCRIPT}").text
    assert "alert(1)" not in page


def test_an_unknown_workspace_is_a_page_that_says_so(browser: Browser) -> None:
    answer = browser.get("/workspaces/nobody")
    assert answer.status_code == 404
    assert "no workspace is known as" in answer.text


def test_a_fault_in_a_view_is_a_page_and_its_traceback_is_in_the_log(
    app: App, shop: Workspace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    browser = browser_of(app, log_path="/somewhere/braindex.log")
    monkeypatch.setattr(app.workspaces, "list", lambda: 1 / 0)
    answer = browser.get("/workspaces")
    assert answer.status_code == 500
    assert "/somewhere/braindex.log" in answer.text
    assert "ZeroDivisionError" in caplog.text


def test_a_failure_of_a_part_is_a_part(browser: Browser) -> None:
    answer = browser.part("/workspaces/nobody/scan")
    assert answer.status_code == 404
    assert "<html" not in answer.text
    assert 'role="alert"' in answer.text


def test_several_browsers_look_at_once_while_a_scan_runs(app: App, shop: Workspace) -> None:
    browsers = [browser_of(app) for _ in range(4)]
    app.scans.start(shop)
    answers: list[int] = []
    threads = [
        threading.Thread(target=lambda one=one: answers.append(one.get(f"/workspaces/{shop.id}").status_code))
        for one in browsers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert answers == [200] * 4


def test_ten_thousand_skipped_files_page(
    app: App, browser: Browser, shop: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    skipped = tuple(Skipped(f"f{n}.bin", "binary") for n in range(10_000))
    status = ScanStatus(shop, "complete", 2, 5, complete=True, skipped=skipped)
    monkeypatch.setattr(app.status, "of", lambda *_: status)
    page = browser.get(f"/workspaces/{shop.id}?page=3")
    assert "101–150 of 10,000" in page.text
    assert len(page.content) < 40_000


def test_an_address_of_a_workspace_holds_its_id_alone(shop: Workspace) -> None:
    assert address(shop, "brief", "edit") == f"/workspaces/{shop.id}/brief/edit"
