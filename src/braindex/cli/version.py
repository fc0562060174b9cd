"""The version that is installed."""

from typing import Final

UNINSTALLED: Final = "0+source"


def installed_version() -> str:
    """The distribution's version, or `0+source` when the sources run without being installed."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - slow, and rarely needed

    try:
        return version("braindex")
    except PackageNotFoundError:
        return UNINSTALLED
