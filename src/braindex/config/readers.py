"""How the text of a setting becomes its value. Each raises ValueError for a text that is none of its kind."""

import json
import math
import os
import re
from collections.abc import Callable
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from braindex.domain.hosts import corrected_host

UNSET: Final = ""
Headers = tuple[tuple[str, str], ...]
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # a token of RFC 9110, 5.6.2
_HEADER_VALUE: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")
# What belongs to the request itself: another value would change what is sent, or to whom.
_NOT_FOR_USERS: Final = frozenset(
    {"accept-encoding", "connection", "content-length", "content-type", "host", "te", "transfer-encoding", "upgrade"}
)


def number(*, zero: bool) -> Callable[[str], float]:
    """Reads a finite number above 0, or from 0 on."""

    def read(text: str) -> float:
        value = float(text)
        if not math.isfinite(value) or value < 0 or (value == 0 and not zero):
            raise ValueError
        return value

    return read


def positive_int(text: str) -> int:
    value = int(text)
    if value <= 0:
        raise ValueError
    return value


def whole_number(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError
    return value


def boolean(text: str) -> bool:
    match text.strip().lower():
        case "true" | "1" | "yes" | "on":
            return True
        case "false" | "0" | "no" | "off":
            return False
    raise ValueError


def suffixes(text: str) -> tuple[str, ...]:
    parts = [part.strip().lower() for part in text.split(",")]
    return tuple("." + part.lstrip(".") for part in parts if part)


def one_of(*values: str) -> Callable[[str], str]:
    """Reads one of some words, whatever its case; no text at all where "" is among them."""

    def read(text: str) -> str:
        if text.lower() not in values:
            raise ValueError
        return text.lower()

    return read


def words(text: str) -> tuple[str, ...]:
    """Words or phrases between commas, without those that are empty."""
    return tuple(" ".join(part.split()) for part in text.split(",") if part.strip())


def optional_amount(text: str) -> float | None:
    """A finite number from 0 on, or None where nothing is set."""
    return number(zero=True)(text) if text else None


def optional_days(text: str) -> int | None:
    """A whole number above 0, or None where nothing is set."""
    return positive_int(text) if text else None


def repository(text: str) -> str:
    """OWNER/NAME, or no text at all."""
    if text and (_REPOSITORY.fullmatch(text) is None or any(not part.strip(".") for part in text.split("/"))):
        raise ValueError
    return text


def file_path(text: str) -> str:
    """A path, its `~` read as the home directory."""
    path = os.path.expanduser(text)
    if path.startswith("~") or "\0" in path:  # the home of a user whom nobody knows, or no path at all
        raise ValueError
    return path


def url(text: str) -> str:
    """An http or https address without a trailing slash."""
    if not text.lower().startswith(("http://", "https://")) or any(one.isspace() for one in text):
        raise ValueError
    return text.rstrip("/")


def ollama_host(text: str) -> str:
    """As Ollama itself reads OLLAMA_HOST; an address to listen on everywhere becomes loopback."""
    return corrected_host(text)


def chroma_url(text: str) -> str:
    """An http or https address that may end in `?tenant=T&database=D`, or no text at all.

    A user name in it is refused, since it belongs into CHROMA_HEADERS; so is any other part that would be left unused.
    """
    if not text:
        return UNSET
    parts = urlsplit(url(text))
    pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    known = all(name in {"tenant", "database"} and value for name, value in pairs)
    if not parts.hostname or "@" in parts.netloc or parts.fragment or not known or len(dict(pairs)) < len(pairs):
        raise ValueError
    if parts.port == 0:  # reading the port raises ValueError for one that is out of range
        raise ValueError
    return parts._replace(scheme=parts.scheme.lower(), path=parts.path.rstrip("/")).geturl()


def headers(text: str) -> Headers:
    """HTTP headers: `Name: value` or `Name=value`, separated by commas or newlines, or one JSON object."""
    pairs = _headers_of_json(text) if text.startswith("{") else _headers_of_text(text)
    for name, value in pairs:
        allowed = name.lower() not in _NOT_FOR_USERS
        if not (allowed and _HEADER_NAME.fullmatch(name) and _HEADER_VALUE.fullmatch(value)):
            raise ValueError
    if len({name.lower() for name, _ in pairs}) < len(pairs):
        raise ValueError
    return pairs


def _headers_of_json(text: str) -> Headers:
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError from None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise ValueError
    return tuple((name, value.strip()) for name, value in found.items())


def _headers_of_text(text: str) -> Headers:
    """A value that holds a comma has to come as JSON: what follows the comma is no header."""
    parts = [part.strip() for part in re.split(r"[,\n]", text) if part.strip()]
    found = [re.fullmatch(r"([^:=\s]+)\s*[:=]\s*(.*)", part) for part in parts]
    if None in found:
        raise ValueError
    return tuple((match[1], match[2].strip()) for match in found if match is not None)
