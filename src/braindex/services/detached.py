"""Hands work that nobody has to wait for to a process of its own, which outlives the command."""

import json
import os
import subprocess
import sys
import tempfile
from typing import Any, Final

_COMMAND: Final = (sys.executable, "-P", "-m", "braindex")
_NO_WINDOW: Final = getattr(subprocess, "DETACHED_PROCESS", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)


def detached(arguments: tuple[str, ...], given: dict[str, Any], folder: str | None = None) -> "subprocess.Popen[bytes]":
    """Starts braindex with arguments and a JSON object on its standard input; it has no terminal and no output.

    It runs in the same environment and folder, or in the one that is named, and so with the same settings. Raises
    OSError where it cannot start.
    """
    # A file, not a pipe: a reader that is slow to start would hold up whoever writes.
    with tempfile.TemporaryFile() if given else open(os.devnull, "w+b") as stdin:
        stdin.write(json.dumps(given).encode("utf-8", "backslashreplace"))
        stdin.seek(0)
        return subprocess.Popen(
            [*_COMMAND, *arguments],
            stdin=stdin,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=os.name == "posix",
            creationflags=_NO_WINDOW if os.name == "nt" else 0,
        )
