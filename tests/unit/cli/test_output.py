import errno
import io
import json
import os

import pytest

from braindex.cli.output import OutputFailed, Style, as_json, is_terminal, line, note, style


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    "value",
    [
        "plain",
        "Привет 你好 🌍 Ativação",
        "a\u202eb\u200bc\x1b[31m\x7f\x85\xad\ufeff\U000e0041",
        "lone \udcff surrogate",
        {"path": "a\tb\nc", "items": [1, None, 0.5, True]},
    ],
)
def test_json_reads_back_the_same_and_holds_nothing_that_fools_a_terminal(value):
    text = as_json(value)
    assert json.loads(text) == value
    assert "\n" not in text
    assert not {"\u202e", "\u200b", "\x1b", "\x7f", "\x85", "\xad", "\ufeff", "\udcff"} & set(text)


def test_letters_of_every_script_stay_readable_in_json():
    assert as_json("Привет 你好 🌍") == '"Привет 你好 🌍"'


def test_colours_are_for_terminals_and_not_with_no_color():
    assert style(Terminal(), {"WT_SESSION": "1"}).enabled
    assert not style(io.StringIO(), {"WT_SESSION": "1"}).enabled
    assert not style(Terminal(), {"WT_SESSION": "1", "NO_COLOR": "1"}).enabled
    assert not style(Terminal(), {"WT_SESSION": "1", "TERM": "dumb"}).enabled


def test_without_colours_text_is_left_as_it_is():
    assert Style(enabled=False).bold("x") == "x"
    assert Style(enabled=True).bold("x") == "\x1b[1mx\x1b[0m"
    assert Style(enabled=True).bold("") == ""


class Broken(io.StringIO):
    """A stream that fails as the system says."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number

    def write(self, _: str) -> int:
        raise OSError(self._number, os.strerror(self._number))


def test_a_result_that_cannot_be_written_is_an_expected_failure_with_its_reason(monkeypatch):
    monkeypatch.setattr("sys.stdout", Broken(errno.ENOSPC))
    with pytest.raises(OutputFailed, match=os.strerror(errno.ENOSPC)):
        line("x")
    monkeypatch.setattr("sys.stdout", None)
    with pytest.raises(OutputFailed, match="closed"):
        line("x")


def test_a_reader_that_has_gone_is_told_from_a_full_disk(monkeypatch):
    monkeypatch.setattr("sys.stdout", Broken(errno.EPIPE))
    with pytest.raises(BrokenPipeError):
        line("x")


def test_a_note_that_nobody_can_read_is_no_failure(monkeypatch):
    for stream in (None, Broken(errno.EPIPE), Broken(errno.ENOSPC)):
        monkeypatch.setattr("sys.stderr", stream)
        note("x")


def test_a_stream_that_is_closed_is_no_terminal():
    closed = Terminal()
    closed.close()
    assert [is_terminal(one) for one in (None, closed, io.StringIO(), Terminal())] == [False, False, False, True]
