"""Addresses of engines: how OLLAMA_HOST is read, and what counts as this machine. Pure text rules, no look-up."""

import ipaddress
import re
from typing import Final

OLLAMA_PORT: Final = 11434
_DEFAULT_PORTS: Final = {"": OLLAMA_PORT, "http": 80, "https": 443}
_ANYWHERE: Final = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - read, never bound
# Strict on purpose: whatever another parser might read differently (a user name, a backslash) is no address here.
_AUTHORITY: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]*)(?::([0-9]{1,5}))?")
_LARGEST_PORT: Final = 65_535


def corrected_host(text: str) -> str:
    """The base URL that a value of OLLAMA_HOST means to a client, without a trailing slash.

    Ollama's own reading (its `envconfig`): quotes and spaces around it are dropped; without a scheme it is http and
    port 11434, with one the scheme's own port; a bare `:port` and the listen-anywhere addresses are what a server
    binds to, so here they become loopback.

    Raises ValueError with a reason that a settings error can show: another scheme, a port that is none, a user name.
    """
    shown = text.strip().strip("\"'").strip()
    scheme, rest = _split(shown)
    if scheme not in _DEFAULT_PORTS:
        raise ValueError("must begin with http:// or https://")  # what stands there may be a key
    authority, slash, path = rest.partition("/")
    if authority.count(":") > 1 and not authority.startswith("["):  # an IPv6 address without its brackets
        authority = f"[{authority}]"
    match = _AUTHORITY.fullmatch(authority)
    if match is None or (match[1].startswith("[") and _address(match[1]) is None):
        raise ValueError("must be an address like 127.0.0.1:11434 or http://host:port")
    port = int(match[2] or _DEFAULT_PORTS[scheme])
    if not 0 < port <= _LARGEST_PORT:
        raise ValueError("has a port that is none")
    host = _ANYWHERE.get(match[1], match[1])
    return f"{scheme or 'http'}://{host}:{port}{slash}{path}".rstrip("/")


def shown_host(url: str) -> str:
    """Scheme, host and port of a base URL, for messages: user names, paths and queries may be secrets."""
    scheme, rest = _split(url)
    authority = re.split(r"[/?#\\]", rest, maxsplit=1)[0].rpartition("@")[2]
    return f"{scheme or 'http'}://{authority}" if _AUTHORITY.fullmatch(authority) else "an address"


def is_loopback(url: str) -> bool:
    """Whether a base URL certainly leads to this machine: by an address of loopback, or by the name `localhost`."""
    _, rest = _split(url.strip())
    match = _AUTHORITY.fullmatch(re.split(r"[/?#]", rest, maxsplit=1)[0])
    return match is not None and is_loopback_host(match[1])


def is_loopback_host(host: str) -> bool:
    """The same of a host alone. 0.0.0.0 and other spellings (`127.1`) do not count; IPv4 inside IPv6 does."""
    if host.lower() == "localhost":
        return True
    found = _address(host)
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        return found.ipv4_mapped.is_loopback
    return found is not None and found.is_loopback


def runs_in_cloud(model: str) -> bool:
    """Whether a server on this machine would pass the prompt of a model on to ollama.com: its tag says so."""
    tag = model.lower().rpartition(":")[2]
    return tag == "cloud" or tag.endswith("-cloud")


def stays_here(host: str, model: str) -> bool:
    """Whether what is sent to an Ollama at this host, for this model, stays on this machine."""
    return is_loopback(host) and not runs_in_cloud(model)


def _split(text: str) -> tuple[str, str]:
    scheme, mark, rest = text.partition("://")
    return (scheme.lower(), rest) if mark else ("", text)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None
