"""The static files: a list, read once. What is not on it is not there, whatever an address says."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

_KINDS: Final = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
NAMES: Final = (
    "dashboard.css",
    "dashboard.js",
    "charts.js",
    "theme.js",
    "icon.svg",
    "vendor/htmx.min.js",
    "vendor/uPlot.iife.min.js",
    "vendor/uPlot.min.css",
)


@dataclass(frozen=True, slots=True)
class Vendored:
    """A file of somebody else's, shipped as it was published."""

    name: str
    package: str
    version: str
    licence: str
    sha256: str


VENDORED: Final = (
    Vendored(
        "vendor/htmx.min.js", "htmx.org", "2.0.11", "0BSD",
        "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717",
    ),
    Vendored(
        "vendor/uPlot.iife.min.js", "uplot", "1.6.32", "MIT",
        "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    ),
    Vendored(
        "vendor/uPlot.min.css", "uplot", "1.6.32", "MIT",
        "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asset:
    content: bytes
    kind: str


def read_assets() -> Mapping[str, Asset]:
    """Every static file by its name."""
    folder = files("braindex.dashboard") / "static"
    found = {}
    for name in NAMES:
        kind = _KINDS["." + name.rsplit(".", 1)[1]]
        found[name] = Asset(folder.joinpath(*name.split("/")).read_bytes(), f"{kind}; charset=utf-8")
    return found


def digest(name: str) -> str:
    """SHA-256 of a static file, in hex."""
    return hashlib.sha256((files("braindex.dashboard") / "static").joinpath(*name.split("/")).read_bytes()).hexdigest()
