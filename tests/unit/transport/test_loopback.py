"""The hook cannot be taken away again, so every test runs it in a process of its own."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.fakes.deepseek import KEY, FakeDeepSeek
from tests.fakes.ollama import FakeOllama

PRELUDE = """
import asyncio, os, socket, sys
from braindex.transport.loopback import LocalModeOnly, confine_to_loopback
confine_to_loopback(); confine_to_loopback()

def refused(attempt):
    try:
        attempt()
    except LocalModeOnly as told:
        assert "MEMORY_MODE" in str(told), told
        return True
    except OSError as other:
        print(other)
    return False

def tcp(): return socket.socket(socket.AF_INET, socket.SOCK_STREAM)
def udp(family=socket.AF_INET): return socket.socket(family, socket.SOCK_DGRAM)
"""


def confined(program: str, *args: str) -> str:
    """What a program prints that runs where nothing may leave loopback."""
    code = PRELUDE + textwrap.dedent(program)
    environ = {**os.environ, "HTTP_PROXY": "http://192.0.2.1:3128"}
    done = subprocess.run(
        [sys.executable, "-c", code, *args], env=environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_addresses_elsewhere_are_refused_however_they_are_reached() -> None:
    """192.0.2.0/24, 198.51.100.0/24 and 2001:db8::/32 are for documentation: nothing answers there."""
    said = confined("""
        attempts = {
            "connect": lambda: tcp().connect(("192.0.2.1", 80)),
            "connect_ex": lambda: tcp().connect_ex(("192.0.2.1", 80)),
            "create_connection": lambda: socket.create_connection(("192.0.2.1", 80), 1),
            "sendto": lambda: udp().sendto(b"x", ("198.51.100.7", 53)),
            "udp connect": lambda: udp().connect(("198.51.100.7", 53)),
            "anywhere": lambda: tcp().connect(("0.0.0.0", 80)),
            "empty": lambda: tcp().connect(("", 80)),
            "asyncio": lambda: asyncio.run(asyncio.open_connection("192.0.2.1", 80)),
        }
        if hasattr(socket.socket, "sendmsg"):
            attempts["sendmsg"] = lambda: udp().sendmsg([b"x"], [], 0, ("198.51.100.7", 53))
        if socket.has_ipv6:
            six = lambda: socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
            attempts["ipv6"] = lambda: six().connect(("2001:db8::1", 80))
            attempts["ipv4 in ipv6"] = lambda: six().connect(("::ffff:8.8.8.8", 80))
        print([name for name, attempt in attempts.items() if not refused(attempt)])
    """)
    assert said == "[]"


def test_names_are_not_even_looked_up() -> None:
    said = confined("""
        attempts = {
            "getaddrinfo": lambda: socket.getaddrinfo("example.invalid", 80),
            "bytes": lambda: socket.getaddrinfo(b"example.invalid", 80),
            "gethostbyname": lambda: socket.gethostbyname("example.invalid"),
            "gethostbyname_ex": lambda: socket.gethostbyname_ex("example.invalid"),
            "gethostbyaddr": lambda: socket.gethostbyaddr("192.0.2.1"),
            "getnameinfo": lambda: socket.getnameinfo(("192.0.2.1", 80), 0),
            "a name that begins like it": lambda: socket.getaddrinfo("localhost.example.invalid", 80),
            "asyncio": lambda: asyncio.run(asyncio.open_connection("example.invalid", 80)),
        }
        print([name for name, attempt in attempts.items() if not refused(attempt)])
    """)
    assert said == "[]"


def test_loopback_stays_open_by_each_of_its_names() -> None:
    said = confined("""
        server = socket.create_server(("127.0.0.1", 0))
        port = server.getsockname()[1]
        tcp().connect(("127.0.0.1", port))
        tcp().connect_ex(("127.0.0.2", port))
        tcp().connect(("localhost", port))
        socket.create_connection(("localhost", port), 5)
        socket.getaddrinfo(None, port); socket.gethostbyname("localhost")
        receiver = udp(); receiver.bind(("127.0.0.1", 0))
        udp().sendto(b"hello", receiver.getsockname())
        sender = udp(); sender.connect(receiver.getsockname()); sender.send(b"again")
        asyncio.run(asyncio.open_connection("localhost", port))
        left, right = socket.socketpair(); left.sendall(b"x")
        print(receiver.recv(9), receiver.recv(9))
    """)
    assert said == "b'hello' b'again'"


@pytest.mark.skipif(sys.platform == "win32", reason="Python has no Unix sockets there")
def test_unix_sockets_stay_open(tmp_path: Path) -> None:
    said = confined(
        """
        server = socket.socket(socket.AF_UNIX); server.bind(sys.argv[1]); server.listen()
        socket.socket(socket.AF_UNIX).connect(sys.argv[1])
        print("connected")
    """,
        os.path.relpath(tmp_path / "s"),
    )
    assert said == "connected"


def test_the_client_libraries_are_confined_too() -> None:
    said = confined("""
        import httpx, httpx2
        async def ask(client):
            async with client: await client.get("http://example.invalid/")
        attempts = {
            "httpx2": lambda: httpx2.get("http://192.0.2.1/", trust_env=False),
            "httpx2, a name": lambda: httpx2.get("http://example.invalid/", trust_env=False),
            "httpx2 through a proxy": lambda: httpx2.get("http://127.0.0.1/"),
            "httpx2, asynchronous": lambda: asyncio.run(ask(httpx2.AsyncClient(trust_env=False))),
            "httpx": lambda: asyncio.run(ask(httpx.AsyncClient(trust_env=False))),
        }
        print([name for name, attempt in attempts.items() if not refused(attempt)])
    """)
    assert said == "[]"


def test_an_engine_elsewhere_fails_with_the_reason_and_one_on_loopback_answers() -> None:
    program = """
        from braindex.domain.engines import Message
        from braindex.llm.deepseek import DeepSeek
        from braindex.transport.failures import StaysLocal
        from braindex.llm.ollama import Ollama
        ask = [Message("user", "Where is it?")]
        for far in (Ollama("m", "192.0.2.1"), Ollama("m", "far.invalid"), DeepSeek("deepseek-flash", "m", "k", "http://far.invalid")):
            try:
                far.complete(ask, max_tokens=9)
            except StaysLocal as told:
                assert "MEMORY_MODE" in str(told)
            else:
                raise AssertionError(far)
        print(Ollama("llama3.2", sys.argv[1]).complete(ask, max_tokens=9).text)
        print(DeepSeek("deepseek-flash", "deepseek-flash", sys.argv[3], sys.argv[2]).complete(ask, max_tokens=9).text)
    """
    with FakeOllama(answer_text="local") as ollama, FakeDeepSeek(answer_text="stand-in") as deepseek:
        assert confined(program, ollama.url, deepseek.url, KEY).split() == ["local", "stand-in"]


def test_a_hook_that_keeps_others_out_is_found_out() -> None:
    program = """
        import sys
        def jealous(event, args):
            if event == "sys.addaudithook":
                raise RuntimeError
        sys.addaudithook(jealous)
        from braindex.transport.loopback import NotConfined, confine_to_loopback
        try:
            confine_to_loopback()
        except NotConfined as told:
            print("MEMORY_MODE" in str(told))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "True"
