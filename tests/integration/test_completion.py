"""Completion, as a real bash does it with the script that braindex prints."""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from braindex.bootstrap import App
from braindex.cli.completion import SCRIPTS
from braindex.cli.completion.tree import Value, place_of
from braindex.cli.main import main
from braindex.cli.parser import build_parser

ROOT = Path(__file__).resolve().parents[2]
HUNG = 120


@pytest.fixture
def complete(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """`complete("note", "ad")` gives what bash proposes for the last word, in a folder with one file and one folder."""
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "completion.bash"
    script.write_text(capsys.readouterr().out, encoding="utf-8")
    command = tmp_path / "braindex"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m braindex "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    here = tmp_path / "here"
    (here / "sources of mine").mkdir(parents=True)
    (here / "notes.jsonl").write_text("", encoding="utf-8")
    bash = shutil.which("bash")
    assert bash is not None

    def completed(*words: str) -> list[str]:
        program = (
            'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _braindex; '
            'test ${#COMPREPLY[@]} -eq 0 || printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(
            [bash, "--norc", "-c", program, "bash", str(script), str(command), *words],
            cwd=here,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "BRAIN_DIR": str(tmp_path / "brain")},
            capture_output=True,
            text=True,
            timeout=HUNG,
            check=True,
        )
        assert done.stderr == ""
        return done.stdout.splitlines()

    return completed


def test_the_first_word_is_a_command(complete) -> None:
    assert complete("wo") == ["workspaces"]
    assert set(complete("")) >= {"ask", "scan", "serve", "completion"}


def test_behind_a_command_come_its_actions(complete) -> None:
    assert complete("note", "") == ["add", "list", "show", "remove", "export", "import"]


def test_a_dash_asks_for_the_options_of_the_place(complete) -> None:
    assert complete("ask", "--l") == ["--limit", "--language"]
    assert "--category" in complete("note", "add", "-")
    assert complete("--v") == ["--version"]


def test_an_option_with_choices_proposes_them(complete) -> None:
    assert complete("review", "--format", "t") == ["text"]
    assert complete("ask", "--language", "py") == ["python"]


def test_an_option_may_hold_its_value_behind_an_equals_sign(complete) -> None:
    assert complete("ask", "--language", "=", "py") == ["python"]
    assert "python" in complete("ask", "--language", "=")
    assert complete("ask", "--language", "=", "python", "--lim") == ["--limit"]


def test_a_value_is_not_taken_for_a_command(complete) -> None:
    assert complete("ask", "--workspace", "scan", "--lim") == ["--limit"]


def test_a_text_of_one_s_own_is_not_completed(complete) -> None:
    assert complete("ask", "--limit", "") == []
    assert complete("ask", "") == []


def test_the_clients_come_where_a_client_is_meant_and_not_behind_it(complete) -> None:
    assert complete("hook", "claude") == ["claude-code"]
    assert complete("hook", "claude-code", "") == []


def test_files_are_proposed_with_their_spaces(complete) -> None:
    assert set(complete("scan", "")) == {"sources of mine", "notes.jsonl"}
    assert complete("scan", "--json", "so") == ["sources of mine"]


def test_known_workspaces_are_proposed_beside_folders(complete, make_project, app: App) -> None:
    for name in ("shop", "shop window"):
        app.workspaces.register(app.workspaces.open(make_project({}, name)))
    assert complete("ask", "--workspace", "sh") == ["shop", "shop window"]
    assert complete("workspaces", "drop", "so") == ["sources of mine"]


def test_a_name_that_a_shell_would_expand_is_proposed_as_it_is(
    complete, make_project, app: App, tmp_path: Path
) -> None:
    for name in ("sh*p", "it's", "a $(touch x)"):
        app.workspaces.register(app.workspaces.open(make_project({}, name)))
    (tmp_path / "here" / "n*").write_text("", encoding="utf-8")
    assert set(complete("scan", "n")) == {"n*", "notes.jsonl"}
    assert complete("ask", "--workspace", "sh") == ["sh*p"]
    assert complete("ask", "--workspace", '"it') == complete("ask", "--workspace", "it\\'") == ["it's"]
    assert complete("ask", "--workspace", "a ") == []


def test_asking_for_workspaces_stores_nothing(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.setenv("BRAIN_DIR", str(tmp_path / "none"))
    assert main(["completion", "--workspaces"]) == 0
    assert capsys.readouterr().out == ""
    assert not (tmp_path / "none").exists()


def test_a_shell_that_there_is_no_script_for_is_a_usage_error(capsys) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert main(["completion"]) == 2
    assert "bash, zsh, fish" in capsys.readouterr().err


@pytest.mark.parametrize("shell", SCRIPTS)
def test_every_script_knows_every_command_and_option(shell: str) -> None:
    root = place_of(build_parser(), {})
    script = SCRIPTS[shell](root)
    for place in root.all():
        assert re.search(rf"(?<![\w-]){re.escape(place.name)}(?![\w-])", script)
        for flag in place.flags:
            written = f"-l {flag[2:]}" if shell == "fish" and flag.startswith("--") else flag
            assert written in script or f"-s {flag[1:]}" in script


@pytest.mark.parametrize("shell", SCRIPTS)
def test_a_help_text_cannot_break_out_of_a_script(shell: str) -> None:
    parser = argparse.ArgumentParser(prog="braindex", add_help=False)
    parser.add_argument("--odd", metavar="X", help="it's `odd`: $(exit 3)\nand \\ %(prog)s")
    root = place_of(parser, {"X": Value("words", ("one", "two"))})
    assert root.options[0].help == "it's `odd`: $(exit 3) and \\ braindex"
    quoted = {"bash": "", "zsh": "'--odd:it'\\''s `odd`\\: $(exit 3) and \\ braindex'",
              "fish": "-d 'it\\'s `odd`: $(exit 3) and \\\\ braindex'"}  # fmt: skip
    assert quoted[shell] in SCRIPTS[shell](root)
    assert "$(exit" not in SCRIPTS["bash"](root)
