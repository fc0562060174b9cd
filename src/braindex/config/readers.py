"""How the text of a setting becomes its value. Each raises ValueError for a text that is none of its kind."""

import math
import os
from collections.abc import Callable
from typing import Final

from braindex.domain.hosts import corrected_host

UNSET: Final = ""


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
