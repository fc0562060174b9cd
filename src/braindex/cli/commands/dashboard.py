"""`braindex dashboard`: the local page."""

import argparse
import logging
import os
import sys
import threading
import webbrowser
from importlib import import_module
from typing import Any, Final

from braindex.cli.errors import DONE
from braindex.cli.invocation import Command, Invocation
from braindex.cli.output import is_terminal, line, note
from braindex.cli.version import installed_version

_HELP: Final = (
    "Opens a page in the browser: the workspaces, a question and why each source ranks where it does, notes and "
    "episodes, the brief, what engines cost, and what doctor says. It is served on 127.0.0.1 alone, to whoever has "
    "the link that is printed; the link works once. Ctrl-C ends it."
)
LARGEST_PORT: Final = 65_535


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _HELP
    parser.add_argument("--port", type=_port, default=0, metavar="N", help="the port (default: a free one)")
    parser.add_argument("--no-open", action="store_true", help="print the link, and open no browser")


def run(invocation: Invocation) -> int:
    # By name: the surfaces never import each other, and no other command needs a web server.
    serving: Any = import_module("braindex.dashboard.serving")
    dashboard = serving.Dashboard(
        invocation.app, invocation.arguments.port, version=installed_version(), log_path=invocation.log_path
    )
    line(dashboard.link())
    if is_terminal(sys.stdin):
        note("braindex: the link works once, in one browser; Enter prints another. Ctrl-C ends the dashboard")
        threading.Thread(target=_print_more, args=(dashboard,), name="links", daemon=True).start()
    dashboard.serve(lambda: None if invocation.arguments.no_open else _open(dashboard.link()))
    return DONE


def _print_more(dashboard: Any) -> None:
    """A link for every line that is entered."""
    for _ in sys.stdin:
        line(dashboard.link())


def _open(link: str) -> None:
    """In a browser with windows: one of text would take the terminal over. What it prints is nobody's result."""
    if sys.platform not in {"darwin", "win32"} and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return
    threading.Thread(target=webbrowser.open, args=(link,), name="browser", daemon=True).start()


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) > LARGEST_PORT:
        raise argparse.ArgumentTypeError(f"give a port between 1 and {LARGEST_PORT}, or 0 for a free one")
    return int(text)


COMMAND: Final = Command(
    "dashboard", "open the local page: look at the memory and correct it", add_arguments, run, logs_from=logging.WARNING
)
