# ruff: noqa: S104 - read, never bound

import pytest

from braindex.domain.hosts import corrected_host, is_loopback, is_loopback_host, shown_host


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("  ", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("http://0.0.0.0:11434/", "http://127.0.0.1:11434"),
        ("[::]", "http://[::1]:11434"),
        ("::", "http://[::1]:11434"),
        ("[::]:8080", "http://[::1]:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("::1", "http://[::1]:11434"),
        ("127.0.0.1", "http://127.0.0.1:11434"),
        ("localhost", "http://localhost:11434"),
        ("'localhost:99'", "http://localhost:99"),
        ('"10.0.0.5"', "http://10.0.0.5:11434"),
        ("http://box", "http://box:80"),
        ("HTTPS://box", "https://box:443"),
        ("https://box:8443/", "https://box:8443"),
        ("http://box/ollama/", "http://box:80/ollama"),
        ("box.example.com", "http://box.example.com:11434"),
    ],
)
def test_a_host_is_read_as_ollama_reads_it(text: str, url: str) -> None:
    assert corrected_host(text) == url


@pytest.mark.parametrize(
    "text",
    ["ftp://box", "box:port", "box:0", "box:70000", "user:secret@box", "two words", "http://[::1", "[zz]", "a:b:c"],
)
def test_a_host_that_is_none_is_refused_with_a_reason_that_does_not_repeat_it(text: str) -> None:
    with pytest.raises(ValueError, match=r"^(must|has)") as caught:
        corrected_host(text)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:11434", "http://127.0.0.2", "http://localhost:1/x", "HTTP://LOCALHOST", "https://[::1]:443",
        "http://[::ffff:127.0.0.1]", "127.0.0.1:9",
    ],
)  # fmt: skip
def test_loopback_is_known(url: str) -> None:
    assert is_loopback(url)


@pytest.mark.parametrize(
    "url",
    [
        "", "http://", "http://0.0.0.0", "http://10.0.0.1", "http://8.8.8.8", "http://[::ffff:8.8.8.8]", "http://[::]",
        "http://127.0.0.1@evil.example", "http://127.0.0.1:80@evil.example", "http://evil.example#@127.0.0.1",
        "http://evil.example/127.0.0.1", "http://127.0.0.1\\@evil.example", "http://localhost.evil.example",
        "http://127.0.0.1.evil.example", "http://127.1", "http://user@localhost",
    ],
)  # fmt: skip
def test_what_is_not_certainly_loopback_is_not(url: str) -> None:
    assert not is_loopback(url)


def test_a_host_alone_is_judged_the_same() -> None:
    assert [is_loopback_host(one) for one in ("localhost", "127.9.9.9", "::1", "::ffff:127.0.0.1")] == [True] * 4
    assert not any(is_loopback_host(one) for one in ("", "0.0.0.0", "::", "::ffff:8.8.8.8", "localhost.", "fe80::1"))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://user:secret@example.com:80/path?key", "http://example.com:80"),
        ("https://example.com#secret", "https://example.com"),
        ("http://example.com\\secret", "http://example.com"),
        ("http://sec ret", "an address"),
    ],
)
def test_of_an_address_only_scheme_host_and_port_are_shown(url: str, shown: str) -> None:
    assert shown_host(url) == shown
