"""Runs git, bounded in time and in what it says: never through a shell, and in an environment of ours."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from braindex.forge.failures import DiffTooLarge, GitTooSlow, NoGit

_COMPLAINTS: Final = 10_000  # bytes that are read of what git says on standard error
# Of GIT_* only what says where a user's own configuration lies. The rest is set by a hook's git for another folder or
# moment (GIT_DIR, GIT_WORK_TREE, GIT_PREFIX, GIT_CONFIG_PARAMETERS …), or runs programs (GIT_EXTERNAL_DIFF).
_KEPT: Final = re.compile(r"GIT_CONFIG_(?:GLOBAL|SYSTEM|NOSYSTEM|COUNT|KEY_\d+|VALUE_\d+)")


@dataclass(frozen=True, slots=True)
class Ended:
    """A program that ended: its exit code, its output, and the beginning of its complaints."""

    code: int
    out: bytes
    complaint: str

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "replace")

    @property
    def line(self) -> str:
        return self.text.strip()


def git_program(root: Path, environ: Mapping[str, str]) -> str:
    """Where git is. One that lies in the workspace may be a stranger's, and is none. Raises NoGit."""
    found = shutil.which("git", path=environ.get("PATH"))
    if found is None or Path(os.path.realpath(found)).is_relative_to(os.path.realpath(root)):
        raise NoGit
    return os.path.abspath(found)


def git_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for git: messages in English, no question asked, nothing written, nothing fetched."""
    kept = {name: value for name, value in environ.items() if not name.startswith("GIT_") or _KEPT.fullmatch(name)}
    ours = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_PAGER": ""}
    return {**kept, **ours, "LC_ALL": "C", "LANGUAGE": ""}


def bounded(
    command: Sequence[str], environ: Mapping[str, str], *, seconds: float, largest: int, stdin: bytes = b""
) -> Ended:
    """Runs a program to its end, or ends it after `seconds` or `largest` bytes of output.

    Raises NoGit where it cannot be started, GitTooSlow, DiffTooLarge.
    """
    late = threading.Event()
    # Files, not pipes: whoever reads one pipe while another fills up waits for ever.
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as complaints:
        given.write(stdin)
        given.seek(0)
        try:
            process = subprocess.Popen(
                command, stdin=given, stdout=subprocess.PIPE, stderr=complaints, env=environ,
                start_new_session=os.name == "posix",
            )  # fmt: skip
        except OSError:
            raise NoGit from None
        with _ended_after(seconds, process, late), process:
            out = _read(process, largest)
        if late.is_set():
            raise GitTooSlow(seconds)
        if len(out) > largest:
            raise DiffTooLarge(largest)
        complaints.seek(0)
        return Ended(process.returncode, out, complaints.read(_COMPLAINTS).decode("utf-8", "replace"))


def _read(process: "subprocess.Popen[bytes]", largest: int) -> bytes:
    """The output, at most a byte more than `largest`: then, or at an interrupt, nobody reads on, and it is ended."""
    stream: IO[bytes] | None = process.stdout
    out = b""
    complete = False
    try:
        out = stream.read(largest + 1) if stream is not None else b""
        complete = len(out) <= largest
    finally:
        if not complete:
            _kill(process)
    return out


@contextlib.contextmanager
def _ended_after(seconds: float, process: "subprocess.Popen[bytes]", late: threading.Event) -> Iterator[None]:
    def end() -> None:
        late.set()
        _kill(process)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """With what it started, such as a filter of the user's: a pipe that one of them holds open would be waited for."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
