"""The parser and the table of commands: what is listed is there, and no more is imported than is asked for."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from braindex.cli import commands
from braindex.cli.commands import COMMANDS, command_called
from braindex.cli.main import main

HUNG = 120
HEAVY = (
    "logging.handlers",
    "sqlite3",
    "pathspec",
    "numpy",
    "braindex.config",
    "braindex.services",
    "importlib.metadata",
)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_row_says_what_its_command_says(name: str) -> None:
    assert (command_called(name).name, command_called(name).help) == (name, COMMANDS[name])


def test_every_command_has_its_row() -> None:
    files = {path.stem for path in Path(commands.__file__).parent.glob("*.py")} - {"__init__"}
    assert files == set(COMMANDS)


def _imported(*arguments: str) -> set[str]:
    program = "import sys; from braindex.cli.main import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-P", "-c", program, *arguments]
    return set(subprocess.run(command, capture_output=True, text=True, timeout=HUNG, check=True).stderr.split())


def test_help_imports_no_command_and_nothing_heavy() -> None:
    imported = _imported("--help")
    assert not imported & set(HEAVY)
    assert [name for name in imported if name.startswith("braindex.cli.commands.")] == []


def test_a_command_does_not_import_the_others() -> None:
    imported = _imported("ask", "--help")
    assert [name for name in imported if name.startswith("braindex.cli.commands.")] == ["braindex.cli.commands.ask"]


def test_the_help_of_all_lists_each_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    listed = capsys.readouterr().out
    assert re.findall(r"^    ([a-z]\S*)", listed, re.MULTILINE) == list(COMMANDS)


def test_without_a_command_they_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "name a command: ask, related, scan" in capsys.readouterr().err


def test_a_command_that_there_is_not_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fly"]) == 2
    assert "invalid choice: 'fly'" in capsys.readouterr().err
