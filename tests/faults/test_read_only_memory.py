"""A memory that the user may read and not write, or not even read: what is stored answers, and the rest says why not."""

import io
import json
import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

from braindex.cli.main import main
from braindex.registry.index import IndexStore

NOBODY = 65534
READS = (
    ["ask", "--json", "who closes a session?"],
    ["status"],
    ["workspaces", "list"],
    ["usage"],
    ["brief"],
    ["related", "close_session"],
)
WRITES = (
    ["scan"],
    ["brief", "--update"],
    ["workspaces", "drop", "project", "--yes"],
    ["usage", "purge", "--before", "2100-01-01", "--yes"],
)
EDITED = "def close_session():\n    pass\n\n\ndef added_later():\n    pass\n"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permissions are POSIX")


class Said(NamedTuple):
    code: int
    out: str
    err: str


class Box(NamedTuple):
    """A scanned project and its memory, where every user may come to."""

    base: Path

    @property
    def project(self) -> Path:
        return self.base / "project"

    @property
    def brain(self) -> Path:
        return self.base / "brain"

    @property
    def folder(self) -> Path:
        return next(one for one in (self.brain / "workspaces").iterdir() if one.is_dir())


def command(arguments: list[str]) -> Said:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(arguments)
    return Said(code, out.getvalue(), err.getvalue())


def prepared(box: Box) -> None:
    """Scans; each command once, since a user without rights may not be able to import what it needs."""
    os.environ.update(BRAIN_DIR=str(box.brain), HOME=str(box.base))
    os.chdir(box.project)
    for arguments in (["scan"], *READS, ["brief", "--update"], ["scan"]):
        assert command(arguments).code == 0, arguments


def given_away(box: Box) -> None:
    if os.geteuid() == 0:
        for folder, _, files in os.walk(box.base):
            for path in (folder, *(os.path.join(folder, one) for one in files)):
                os.chown(path, NOBODY, NOBODY)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def as_another_user(box: Box, close: Callable[[Box], None], commands: tuple[list[str], ...]) -> dict[str, Said]:
    """What commands say, each after the first, in a child process of a user without a superuser's rights."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            prepared(box)
            given_away(box)
            close(box)
            said = {" ".join(one[:2]): command(one) for one in commands}
            os.write(writing, json.dumps(said).encode())
            os._exit(0)
        except BaseException:  # noqa: BLE001 - the child must not go on as a second test run
            os.write(2, traceback.format_exc().encode())
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return {name: Said(*one) for name, one in json.loads(answer).items()}


def forbid(folder: Path, mode: int) -> None:
    """Takes rights from a folder and all that is in it."""
    for inside, _, files in os.walk(folder, topdown=False):
        for path in (*(os.path.join(inside, one) for one in files), inside):
            os.chmod(path, os.stat(path).st_mode & mode)


def without_writing_in_the_workspace(box: Box) -> None:
    forbid(box.folder, ~0o222)


def without_writing_anywhere(box: Box) -> None:
    forbid(box.brain, ~0o222)


@pytest.fixture(scope="module")
def base() -> Iterator[Callable[[], Box]]:
    made: list[Path] = []

    def make() -> Box:
        made.append(Path(tempfile.mkdtemp()))
        made[-1].chmod(0o755)
        (made[-1] / "project" / ".git").mkdir(parents=True)
        (made[-1] / "project" / "sessions.py").write_text("def close_session():\n    pass\n")
        return Box(made[-1])

    yield make
    for one in made:
        forbid_nothing(one)
        shutil.rmtree(one)


def forbid_nothing(folder: Path) -> None:
    for inside, _, _ in os.walk(folder):
        os.chmod(inside, 0o700)


@pytest.fixture(scope="module", params=[without_writing_in_the_workspace, without_writing_anywhere])
def read_only(request: pytest.FixtureRequest, base: Callable[[], Box]) -> dict[str, Said]:
    return as_another_user(base(), request.param, READS + WRITES)


def test_what_is_stored_can_be_read(read_only: dict[str, Said]) -> None:
    for arguments in READS:
        said = read_only[" ".join(arguments[:2])]
        assert said.code == 0, said
        assert "bug" not in said.err
    assert "close_session" in read_only["ask --json"].out
    assert "project" in read_only["workspaces list"].out
    assert "# project" in read_only["brief"].out


def test_what_has_to_write_is_one_clear_error_and_no_bug(read_only: dict[str, Said]) -> None:
    for name in ("scan", "brief --update", "workspaces drop"):
        said = read_only[name]
        assert said.code == 1, said
        assert len(said.err.splitlines()) == 1
        assert "cannot be written by this user. Give the user write permission for" in said.err


def test_a_question_and_the_status_say_that_changes_cannot_be_taken_in(read_only: dict[str, Said]) -> None:
    asked, status = read_only["ask --json"], read_only["status"]
    assert "answering from the last scan, since refreshing failed: " in asked.err
    assert "write.lock cannot be written by this user" in asked.err
    assert "changes cannot be taken in: " in status.out
    assert "index.db cannot be written by this user" in status.out


def test_an_edit_that_cannot_be_taken_in_is_said_beside_the_answer(base: Callable[[], Box]) -> None:
    def edited(box: Box) -> None:
        without_writing_anywhere(box)
        (box.project / "sessions.py").write_text(EDITED)

    said = as_another_user(base(), edited, READS[:2])
    answer = json.loads(said["ask --json"].out)
    assert [one["name"] for one in answer["sources"]][:1] == ["close_session"]
    assert answer["coverage"].startswith("changes since the last scan could not be taken in: ")


def test_a_ledger_that_cannot_be_written_is_purged_of_nothing(base: Callable[[], Box]) -> None:
    said = as_another_user(base(), without_writing_anywhere, WRITES[-1:])["usage purge"]
    assert said.code == 1
    assert "registry.db cannot be written by this user" in said.err


def test_a_lock_that_another_user_left_is_a_clear_error(base: Callable[[], Box]) -> None:
    said = as_another_user(base(), lambda box: (box.folder / "write.lock").chmod(0), (*READS, ["scan"]))
    assert all(said[" ".join(arguments[:2])].code == 0 for arguments in READS)
    assert said["scan"].code == 1
    assert "write.lock cannot be read by this user. Give the user read and write permission for" in said["scan"].err


def test_a_workspace_that_may_not_be_looked_into_is_a_clear_error_and_leaves_the_others(
    base: Callable[[], Box],
) -> None:
    said = as_another_user(base(), lambda box: box.folder.chmod(0), (*READS, *WRITES[:1], *WRITES[2:3]))
    for name in ("ask --json", "status", "scan", "related close_session", "workspaces drop"):
        assert said[name].code == 1, said[name]
        assert "cannot be read by this user" in said[name].err
    assert said["workspaces list"].code == said["usage"].code == 0


def test_changes_that_a_killed_process_left_in_the_log_are_read(base: Callable[[], Box]) -> None:
    def closed(box: Box) -> None:
        killed = os.fork()
        if killed == 0:
            IndexStore.open(box.folder).scan_failed("it was killed right after this")
            os._exit(0)
        os.waitpid(killed, 0)
        assert (box.folder / "index.db-wal").stat().st_size > 0
        without_writing_in_the_workspace(box)

    said = as_another_user(base(), closed, READS[:2])
    assert said["ask --json"].code == 0
    assert "failed" in said["status"].out
