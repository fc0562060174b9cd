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


def test_removing_old_logs_from_a_folder_that_is_not_there_is_nothing(tmp_path):
    logs.remove_old(tmp_path / "missing")
