import logging
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from braindex.cli import logs

SOURCE = Path(logs.__file__).parents[2]


def test_a_process_with_nothing_to_say_leaves_no_log(tmp_path):
    path = logs.start(tmp_path / "brain", logging.INFO)
    logging.getLogger("braindex.services").debug("a question")
    assert not Path(path).exists()
    assert Path(path).name == f"server-{os.getpid()}.log"


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")
def test_the_log_and_its_folder_are_private(tmp_path):
    path = Path(logs.start(tmp_path / "brain", logging.INFO))
    logging.getLogger("braindex.services").info("scanned 3 files")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert "INFO braindex.services: scanned 3 files" in path.read_text(encoding="utf-8")


def test_warnings_reach_standard_error_on_one_line_and_other_libraries_are_logged_from_there_on(tmp_path, capsys):
    path = Path(logs.start(tmp_path, logging.INFO))
    logging.getLogger("braindex.services").warning("an index was set aside", exc_info=ValueError("x"))
    logging.getLogger("other").info("chatter")
    assert capsys.readouterr() == ("", "braindex: warning: an index was set aside\n")
    written = path.read_text(encoding="utf-8")
    assert "ValueError: x" in written
    assert "chatter" not in written


def test_starting_twice_does_not_log_twice(tmp_path):
    logs.start(tmp_path, logging.INFO)
    path = Path(logs.start(tmp_path, logging.INFO))
    logging.getLogger("braindex").info("once")
    assert path.read_text(encoding="utf-8").count("once") == 1


def test_a_log_that_cannot_be_written_stops_nothing_and_says_nothing(tmp_path, capsys):
    (tmp_path / "brain").write_text("a file where the folder should be")
    logs.start(tmp_path / "brain", logging.INFO)
    logging.getLogger("braindex").info("lost")
    assert capsys.readouterr() == ("", "")


@pytest.mark.skipif(sys.platform == "win32", reason="whether a process lives is asked in another way there")
def test_old_logs_go_when_their_process_is_dead_and_stay_while_it_lives(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    for age in range(14):
        path = tmp_path / f"server-{dead.pid}.log{'.' + str(age) if age else ''}"
        path.write_text("")
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    alive = tmp_path / f"server-{os.getpid()}.log"
    alive.write_text("")
    os.utime(alive, (1, 1))
    other = tmp_path / "registry.db"
    other.write_text("")
    logs.remove_old(tmp_path)
    assert alive.exists()
    assert other.exists()
    assert len(list(tmp_path.glob(f"server-{dead.pid}.log*"))) == logs.KEPT_LOGS


@pytest.fixture
def many_dead_logs(tmp_path):
    """A folder with as many logs of a dead process as are kept, all newer than what a test adds."""
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    for number in range(logs.KEPT_LOGS):
        (tmp_path / f"server-{dead.pid}.log.{number}").write_text("")
    return tmp_path


@pytest.mark.parametrize(
    "name",
    [
        "server-2024-01.log", "server-1.log.bak", "server-1.log.1.gz", "server-1.log.", "server-1.log.x1",
        "server-.log", "server-0.log", "server-007.log", "server-1.LOG", "server-1.logs", "server-1.txt",
        "server-١.log", "server-99999999999.log", "server-1.log\n", "my-server-1.log", "server-1.2.log",
    ],
)  # fmt: skip
@pytest.mark.skipif(sys.platform == "win32", reason="names that Windows refuses")
def test_a_file_of_the_user_that_looks_like_an_old_log_stays(many_dead_logs, name):
    theirs = many_dead_logs / name
    theirs.write_text("")
    os.utime(theirs, (1, 1))
    logs.remove_old(many_dead_logs)
    assert theirs.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="links and process ids are POSIX")
def test_a_folder_or_link_by_a_logs_name_stays_and_so_does_what_it_leads_to(many_dead_logs, tmp_path_factory):
    (dead,) = {one.name.split(".")[0] for one in many_dead_logs.iterdir()}
    target = tmp_path_factory.mktemp("theirs") / "diary.txt"
    target.write_text("dear diary")
    (many_dead_logs / f"{dead}.log.98").mkdir()
    (many_dead_logs / f"{dead}.log.99").symlink_to(target)
    (many_dead_logs / f"{dead}.log.97").write_text("the one that goes")
    for name in ("97", "98"):
        os.utime(many_dead_logs / f"{dead}.log.{name}", (1, 1))
    logs.remove_old(many_dead_logs)
    assert target.read_text() == "dear diary"
    assert {f"{dead}.log.98", f"{dead}.log.99"} <= {one.name for one in many_dead_logs.iterdir()}
    assert not (many_dead_logs / f"{dead}.log.97").exists()


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="needs links that are not followed")
def test_a_link_in_the_logs_place_is_not_written_through(tmp_path, capsys):
    target = tmp_path / "diary.txt"
    target.write_text("dear diary")
    (tmp_path / f"server-{os.getpid()}.log").symlink_to(target)
    logs.start(tmp_path, logging.INFO)
    logging.getLogger("braindex").info("lost")
    assert target.read_text() == "dear diary"
    assert capsys.readouterr() == ("", "")


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")
def test_a_log_and_folders_that_others_could_read_are_theirs_no_more(tmp_path):
    path = tmp_path / f"server-{os.getpid()}.log"
    path.write_text("")
    path.chmod(0o644)
    logs.start(tmp_path, logging.INFO)
    logging.getLogger("braindex").info("said")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    deep = Path(logs.start(tmp_path / "a" / "b", logging.INFO))
    logging.getLogger("braindex").info("said")
    assert [stat.S_IMODE(one.stat().st_mode) for one in (deep.parent.parent, deep.parent)] == [0o700, 0o700]


def test_removing_old_logs_from_a_folder_that_is_not_there_is_nothing(tmp_path):
    logs.remove_old(tmp_path / "missing")
