"""Attacks, one a test: what a stranger's page, another dashboard or another user of the machine may try."""

import pytest
from tests.fakes.browser import HOST, NAVIGATION, SUBMISSION, Browser, browser_of

from braindex.bootstrap import App
from braindex.dashboard.access import Access
from braindex.dashboard.create import ROOMS
from braindex.dashboard.desk import Way
from braindex.dashboard.guard import CONTENT_SECURITY_POLICY, HEADERS, MOST_BODY_BYTES
from braindex.domain.results import Workspace

WAYS = [way for room in ROOMS for way in room.ways]
POSTS = [way for way in WAYS if way.method == "POST"]
TRAVERSALS = (
    "../../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e/%2e%2e/etc/passwd",
    "/etc/passwd",
    "..\\..\\etc",
    "a%00b",
)


def address(way: Way, workspace: str = "00000000-0000-0000-0000-000000000000") -> str:
    return way.path.replace("{workspace}", workspace).replace("{", "").replace("}", "")


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.method} {way.path}")
def test_no_view_is_there_for_who_has_no_session(browser: Browser, way: Way) -> None:
    browser.cookies.clear()
    headers = NAVIGATION if way.method == "GET" else SUBMISSION
    answer = browser.send(way.method, address(way), headers)
    assert answer.status_code == 401
    assert "link that works once" in answer.text


@pytest.mark.parametrize("way", POSTS, ids=lambda way: way.path)
def test_no_form_is_taken_without_the_token_of_its_session(browser: Browser, way: Way) -> None:
    for csrf in ("", "guessed", "\u00e9"):
        answer = browser.post(address(way), {"csrf": csrf})
        assert answer.status_code == 403
        assert "not of this session" in answer.text


def test_the_token_of_another_session_is_worth_nothing(app: App, shop: Workspace) -> None:
    mine, other = browser_of(app), browser_of(app)
    answer = mine.post(f"/workspaces/{shop.id}/drop", {"csrf": other.csrf})
    assert answer.status_code == 403
    assert [one.workspace.id for one in app.workspaces.list()] == [shop.id]


def test_the_session_of_another_dashboard_opens_nothing(app: App, browser: Browser) -> None:
    other = browser_of(app)
    browser.cookies = other.cookies
    assert browser.get("/workspaces").status_code == 401


def test_a_link_works_once(browser: Browser) -> None:
    token = browser.access.link()
    assert browser.get(f"/enter?token={token}").status_code == 200
    second = browser.get(f"/enter?token={token}")
    assert second.status_code == 401
    assert "set-cookie" not in second.headers


def test_who_only_looks_whether_a_link_works_does_not_spend_it(browser: Browser) -> None:
    token = browser.access.link()
    assert browser.send("HEAD", f"/enter?token={token}", NAVIGATION).status_code == 401
    assert browser.get(f"/enter?token={token}").status_code == 200


def test_the_cookie_of_a_session_is_for_this_site_and_no_script(browser: Browser) -> None:
    cookie = browser.enter().headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "path=/" in cookie
    assert "domain" not in cookie


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:47123",
        "localhost:47123",
        "127.0.0.1",
        "127.0.0.1:80",
        "[::1]:47123",
        "0.0.0.0:47123",
    ],
)
def test_a_name_that_was_rebound_to_this_machine_reaches_nothing(browser: Browser, host: str) -> None:
    answer = browser.send("GET", "/workspaces", NAVIGATION | {"host": host})
    assert answer.status_code == 421
    assert browser.send("GET", "/static/dashboard.css", NAVIGATION | {"host": "evil.example"}).status_code == 421
    assert browser.send("GET", "/enter?token=x", NAVIGATION | {"host": "evil.example"}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example", "sec-fetch-site": "cross-site"},
        {"origin": "http://evil.example", "sec-fetch-site": ""},
        {"origin": "null", "sec-fetch-site": "cross-site"},
        {"origin": "null", "sec-fetch-site": ""},
        {"origin": "", "sec-fetch-site": ""},
        {"origin": f"https://{HOST}", "sec-fetch-site": ""},
        {"origin": "http://127.0.0.1:9999", "sec-fetch-site": "same-site"},
        {"origin": f"http://{HOST}", "sec-fetch-site": "same-site"},
        {"origin": f"http://{HOST}.evil.example", "sec-fetch-site": ""},
        {"origin": "null", "sec-fetch-site": "none"},
    ],
)
def test_a_form_of_another_site_or_port_is_refused(
    app: App, browser: Browser, shop: Workspace, headers: dict[str, str]
) -> None:
    answer = browser.send("POST", f"/workspaces/{shop.id}/drop", SUBMISSION | headers, f"csrf={browser.csrf}")
    assert answer.status_code == 403
    assert app.workspaces.list()


@pytest.mark.parametrize("origin", ["null", f"http://{HOST}", ""])
def test_a_form_of_this_page_is_taken_however_the_browser_names_its_origin(
    browser: Browser, shop: Workspace, origin: str
) -> None:
    answer = browser.post(f"/workspaces/{shop.id}/scan", origin=origin)
    assert answer.status_code == 303


def test_a_browser_that_says_nothing_of_sites_is_told_by_its_origin(browser: Browser, shop: Workspace) -> None:
    answer = browser.post(f"/workspaces/{shop.id}/scan", origin=f"http://{HOST}", sec_fetch_site="")
    assert answer.status_code == 303


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_no_other_page_loads_a_view_as_a_script_picture_or_frame(browser: Browser, site: str) -> None:
    for mode, kind in (("no-cors", "script"), ("no-cors", "image"), ("navigate", "iframe"), ("cors", "empty")):
        answer = browser.get("/workspaces", sec_fetch_site=site, sec_fetch_mode=mode, sec_fetch_dest=kind)
        assert answer.status_code == 403


def test_a_link_on_another_page_may_be_followed(browser: Browser) -> None:
    assert browser.get("/workspaces", sec_fetch_site="cross-site").status_code == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_no_other_method_does_anything(app: App, browser: Browser, shop: Workspace, method: str) -> None:
    answer = browser.send(method, f"/workspaces/{shop.id}/drop", SUBMISSION, f"csrf={browser.csrf}")
    assert answer.status_code == 405
    assert app.workspaces.list()


def test_nothing_is_changed_by_a_link(app: App, browser: Browser, shop: Workspace) -> None:
    for way in POSTS:
        browser.get(f"{address(way, shop.id)}?csrf={browser.csrf}")
    assert [one.workspace.id for one in app.workspaces.list()] == [shop.id]


def test_every_answer_has_the_policies(browser: Browser) -> None:
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    answers = [
        browser.get("/workspaces"),
        browser.get("/static/dashboard.js"),
        browser.get("/nowhere"),
        browser.get("/enter?token=x"),
        browser.get("/workspaces", host="evil.example"),
        browser.enter(),
    ]
    for answer in answers:
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS


@pytest.mark.parametrize("path", TRAVERSALS)
def test_no_part_of_an_address_is_opened_as_a_file(browser: Browser, path: str) -> None:
    for prefix in ("/static/", "/static/vendor/", "/", "/workspaces/", "/usage/"):
        answer = browser.get(f"{prefix}{path}")
        assert answer.status_code == 404
        assert "root:" not in answer.text


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.method} {way.path}")
def test_no_parameter_is_opened_as_a_file(app: App, browser: Browser, shop: Workspace, way: Way) -> None:
    """A path is no workspace here, though it is one on the command line."""
    for path in (*TRAVERSALS, shop.path, shop.name, "~"):
        place = address(way, path.replace("/", "%2f").replace("\\", "%5c"))
        if "{workspace}" in way.path:
            answer = browser.get(place) if way.method == "GET" else browser.post(place)
            assert answer.status_code in {404, 405}, place  # 405: with a slash in it, it is no address of a form
        answer = browser.get(f"/usage?workspace={path}&period=month&measure={path}")
        assert "root:" not in answer.text
    assert [one.workspace.id for one in app.workspaces.list()] == [shop.id]


def test_a_form_that_is_too_large_is_refused_whatever_it_says_of_its_size(browser: Browser) -> None:
    large = b"a" * (MOST_BODY_BYTES + 1)
    path = "/workspaces/x/brief/edit"
    assert browser.send("POST", path, SUBMISSION, large).status_code == 413
    assert browser.send("POST", path, SUBMISSION | {"content-length": "9" * 30}, b"a").status_code == 413
    assert browser.send("POST", path, SUBMISSION | {"content-length": "-1"}, b"a").status_code == 413
    assert browser.send("POST", path, SUBMISSION | {"content-length": "1"}, large).status_code == 413


def test_an_address_or_a_form_of_endless_fields_is_refused(browser: Browser) -> None:
    assert browser.get("/workspaces?q=" + "a" * 20_000).status_code == 414
    many = "&".join(f"a{n}=1" for n in range(500))
    answer = browser.send("POST", "/workspaces/x/scan", SUBMISSION, f"csrf={browser.csrf}&{many}")
    assert answer.status_code == 400


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "multipart/form-data; boundary=x", ""])
def test_what_is_no_form_of_a_page_is_refused(browser: Browser, kind: str) -> None:
    answer = browser.send("POST", "/workspaces/x/scan", SUBMISSION | {"content-type": kind}, f"csrf={browser.csrf}")
    assert answer.status_code == 400


def test_a_cookie_jar_full_of_others_is_read_past(browser: Browser) -> None:
    kept = browser.cookies[browser.access.cookie]
    name = browser.access.cookie
    header = f'other=1; {name}=stale; bad"=x; =; {name}={kept}; z'
    assert browser.send("GET", "/workspaces", NAVIGATION | {"cookie": header}).status_code == 200


def test_a_session_ends_with_its_dashboard(app: App, browser: Browser) -> None:
    again = Access(47_123)
    assert again.session(browser.cookies[again.cookie]) is None


def test_what_was_asked_is_never_repeated_by_a_refusal(browser: Browser) -> None:
    browser.cookies.clear()
    answer = browser.get("/workspaces/<script>?q=<script>")
    assert answer.headers["content-type"].startswith("text/plain")
    assert "<script>" not in answer.text
