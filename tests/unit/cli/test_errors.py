import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from braindex.cli import logs
from braindex.cli.errors import guarded
from braindex.domain.errors import BraindexError, UsageError


def failing(error: BaseException):
    def run() -> int:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (BraindexError("the drive\nis gone"), 1, "braindex: the drive is gone\n"),
        (UsageError("limit is 0"), 2, "braindex: limit is 0\n"),
        (KeyboardInterrupt(), 130, "braindex: interrupted\n"),
        (BraindexError("bad \x1b[31mname"), 1, "braindex: bad \\x1b[31mname\n"),
    ],
)
def test_an_expected_failure_is_one_line_and_its_exit_code(capsys, error, code, said):
    assert guarded(failing(error)) == code
    assert capsys.readouterr() == ("", said)


def test_a_command_that_ends_well_gives_its_own_code():
    assert guarded(lambda: 0) == 0
    assert guarded(lambda: 1) == 1


def test_a_bug_is_one_line_that_names_the_log_with_the_traceback(tmp_path, capsys):
    log = logs.start(tmp_path, logging.WARNING)
    assert guarded(failing(ZeroDivisionError("division by zero"))) == 3
    err = capsys.readouterr().err
    assert err == f"braindex: this is a bug: ZeroDivisionError: division by zero; the traceback is in {log}\n"
    assert "Traceback (most recent call last)" in Path(log).read_text(encoding="utf-8")


def test_a_bug_without_a_log_says_that_there_is_none(capsys):
    assert guarded(failing(ZeroDivisionError("x"))) == 3
    assert "there is no log" in capsys.readouterr().err


def test_a_reader_that_has_gone_ends_the_command_quietly(capsys):
    code = (
        "import sys; from braindex.cli.errors import guarded; from braindex.cli.output import line\n"
        "def run():\n"
        "    while True: line('x' * 1000)\n"
        "sys.exit(guarded(run))\n"
    )
    source = str(Path(logs.__file__).parents[2])
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": source},
    )
    assert child.stdout is not None
    child.stdout.read(10)
    child.stdout.close()
    assert child.wait(60) == 0
    assert child.stderr is not None
    assert child.stderr.read() == b""
    child.stderr.close()


def test_a_message_that_repeats_too_much_is_cut(capsys):
    assert guarded(failing(BraindexError("x" * 100_000))) == 1
    assert len(capsys.readouterr().err) < 4_000
