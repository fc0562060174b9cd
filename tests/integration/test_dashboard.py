"""The dashboard as a process: its link, its socket, its end, and others beside it."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil  # type: ignore[import-untyped]
import pytest
from tests.conftest import MakeProject, scanned

from braindex.bootstrap import App

Start = Callable[..., tuple["subprocess.Popen[str]", str]]


@pytest.fixture
def start(brain: Path) -> Iterator[Start]:
    """Starts dashboards of one data folder: `start("--port", "8000")` gives the process and its link."""
    begun: list[subprocess.Popen[str]] = []

    def one(*arguments: str) -> tuple["subprocess.Popen[str]", str]:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "braindex", "dashboard", "--no-open", *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "BRAIN_DIR": str(brain)},
        )  # fmt: skip
        begun.append(process)
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    yield one
    for process in begun:
        process.kill()
        process.communicate()


@contextmanager
def entered(link: str) -> Iterator[httpx.Client]:
    base = link.split("/enter", maxsplit=1)[0]
    with httpx.Client(base_url=base, trust_env=False, timeout=60) as client:
        assert client.get(link).status_code == 200
        yield client


def test_the_link_that_is_printed_opens_the_dashboard_once(start: Start, app: App, make_project: MakeProject) -> None:
    workspace = scanned(app, make_project({"a.py": "def f(): ...\n"}))
    _, link = start()
    with entered(link) as client:
        assert workspace.path in client.get("/workspaces").text
        assert client.get("/").headers["location"] == "/workspaces"
    assert httpx.get(link, trust_env=False).status_code == 401
    assert httpx.get(f"{link.split('/enter', maxsplit=1)[0]}/workspaces", trust_env=False).status_code == 401


def test_nothing_but_loopback_is_bound(start: Start) -> None:
    process, link = start()
    port = httpx.URL(link).port
    bound = [one.laddr for one in psutil.Process(process.pid).net_connections() if one.status == psutil.CONN_LISTEN]
    assert [(one.ip, one.port) for one in bound] == [("127.0.0.1", port)]


def test_a_rebound_name_reaches_nothing_of_the_real_server(start: Start) -> None:
    _, link = start()
    with entered(link) as client:
        assert client.get("/workspaces", headers={"host": "evil.example"}).status_code == 421
        twice = (
            b"GET /workspaces HTTP/1.1\r\nHost: evil.example\r\nHost: %s\r\n\r\n" % str(client.base_url.netloc).encode()
        )
        with socket.create_connection(("127.0.0.1", client.base_url.port or 0), 10) as raw:
            raw.sendall(twice)
            assert b" 400 " in raw.recv(4096) or b" 421 " in raw.recv(4096)


def test_what_is_no_http_leaves_the_others_alone(start: Start) -> None:
    _, link = start()
    with entered(link) as client:
        for junk in (
            b"\x16\x03\x01\x00",
            b"GET " + b"a" * 100_000,
            b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n",
            b"",
        ):
            with socket.create_connection(("127.0.0.1", client.base_url.port or 0), 10) as raw:
                raw.sendall(junk)
        assert client.get("/workspaces").status_code == 200


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_it_ends_when_it_is_asked_to_also_while_a_browser_is_connected(
    start: Start, app: App, make_project: MakeProject, number: int, code: int
) -> None:
    scanned(app, make_project({"a.py": "def f(): ...\n"}))
    process, link = start()
    with entered(link) as client:
        client.get("/workspaces")
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    assert process.returncode == code
    assert out == ""
    assert "Traceback" not in err


def test_several_dashboards_at_once_keep_their_sessions_apart(start: Start) -> None:
    _, one = start()
    _, other = start()
    with httpx.Client(trust_env=False, timeout=60) as client:  # one browser, one jar: cookies know no port
        for link in (one, other):
            assert client.get(link).status_code == 200
        for link in (one, other):
            assert client.get(link.split("/enter", maxsplit=1)[0] + "/workspaces").status_code == 200


def test_a_port_that_is_taken_is_an_error_that_says_so(start: Start) -> None:
    _, link = start()
    port = str(httpx.URL(link).port)
    process, nothing = start("--port", port)
    _, err = process.communicate(timeout=60)
    assert nothing == ""
    assert process.returncode == 1
    assert f"port {port} of 127.0.0.1 cannot be had" in err


@pytest.mark.parametrize("port", ["70000", "-1", "http", "80 80"])
def test_what_is_no_port_is_a_wrong_argument(start: Start, port: str) -> None:
    process, _ = start(f"--port={port}")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "give a port" in err


def test_the_log_holds_no_token(start: Start, brain: Path) -> None:
    process, link = start()
    with entered(link) as client:
        client.get("/workspaces?q=secret-words")
        client.get("/nowhere")
        cookie = next(iter(client.cookies.values()))
    process.terminate()
    _, err = process.communicate(timeout=20)
    logged = err + "".join(path.read_text() for path in brain.glob("*.log"))
    for secret in (link.rsplit("=", 1)[1], cookie, "secret-words"):
        assert secret not in logged


def test_a_scan_of_another_process_is_seen_and_its_result_too(
    start: Start, app: App, make_project: MakeProject
) -> None:
    root = make_project({"a.py": "def f(): ...\n"})
    workspace = scanned(app, root)
    _, link = start()
    with entered(link) as client:
        assert "1 file" in client.get(f"/workspaces/{workspace.id}/rebuild").text
        (root / "b.py").write_text("def g(): ...\n")
        command = [sys.executable, "-P", "-m", "braindex", "scan", str(root)]
        environ = {**os.environ, "BRAIN_DIR": str(app.settings.brain_dir)}
        subprocess.run(command, env=environ, check=True, capture_output=True)
        assert "2 files" in client.get(f"/workspaces/{workspace.id}/rebuild").text
