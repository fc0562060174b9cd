import io

import pytest

from braindex.cli.confirm import ConfirmationNeeded, confirm


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("typed", "agreed"), [("y\n", True), ("Yes\n", True), ("\n", False), ("no\n", False), ("", False)]
)
def test_only_a_clear_yes_agrees(monkeypatch, typed, agreed):
    shown = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    monkeypatch.setattr("sys.stderr", shown)
    assert confirm("Forget it?", yes=False) is agreed
    assert shown.getvalue() == "Forget it? [y/N] "


def test_without_a_terminal_nothing_is_assumed(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with pytest.raises(ConfirmationNeeded, match="--yes"):
        confirm("Forget it?", yes=False)


def test_yes_asks_nothing(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert confirm("Forget it?", yes=True)
