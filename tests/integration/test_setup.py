"""`braindex setup` as a user runs it: a home, a project, and clients' files in both."""

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import braindex.cli

SOURCE = Path(braindex.cli.__file__).parents[2]
HUNG = 60  # seconds
CLIENTS = "cursor vscode claude-desktop claude-code pi antigravity gemini cline windsurf zed".split()


class Box:
    """A home with one project, and `braindex` as a command on PATH."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project, self.bin = folder / "home", folder / "home" / "shop", folder / "bin"
        for one in (self.project, self.bin):
            one.mkdir(parents=True)
        (self.project / "pyproject.toml").write_text("[project]\nname = 'shop'\n")
        self.command = self.bin / "braindex"
        self.command.write_text(f'#!/bin/sh\nexec {sys.executable} -P -c "{STARTED}" "$0" "$@"\n')
        self.command.chmod(0o755)
        self.environ = {
            "PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": str(self.home), "PYTHONPATH": str(SOURCE),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
        }  # fmt: skip

    def run(self, *arguments: str, cwd: Path | None = None, **more: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [str(self.command), "setup", *arguments], cwd=cwd or self.project, env={**self.environ, **more},
            capture_output=True, text=True, timeout=HUNG, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def files(self) -> dict[str, bytes]:
        """Every file but braindex's own data."""
        return {
            str(one.relative_to(self.home)): one.read_bytes()
            for one in sorted(self.home.rglob("*"))
            if one.is_file() and ".brain" not in one.parts
        }


# Runs the command as the installed script does, whose own path is the first argument.
STARTED = "import sys; sys.argv = sys.argv[1:]; from braindex.cli.main import main; sys.exit(main())"


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


def test_every_client_is_set_up_and_taken_out_without_a_trace(box):
    settings = box.home / ".config" / "zed" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('// mine\n{\n\t"theme": "One", // dark\n}\n')
    settings.chmod(0o600)
    (box.project / "AGENTS.md").write_text("# Rules\n")
    before = box.files()
    for scope in ((), ("--scope", "user")):
        named = CLIENTS if scope else [one for one in CLIENTS if one != "claude-desktop"]
        done = box.run(*named, *scope, "--yes")
        assert done.returncode == 0, done.stderr
        again = box.run(*named, *scope)
        assert again.returncode == 0, "what is done needs no confirmation"
        assert again.stdout.startswith("Set up already: ")
    assert "// mine" in settings.read_text()
    assert settings.stat().st_mode & 0o777 == 0o600
    assert (settings.parent / "settings.json.before-braindex").read_bytes() == before[".config/zed/settings.json"]
    removed = box.run("--remove", "--yes")
    assert removed.returncode == 0, removed.stderr
    assert box.files() == before
    assert box.run("--remove").stdout == "Nothing of braindex was found in clients' files\n"


def test_without_a_name_the_clients_that_are_there_are_set_up(box):
    for sign in (".cursor", ".codeium/windsurf", ".pi/agent"):
        (box.home / sign).mkdir(parents=True)
    done = json.loads(box.run("--dry-run", "--json").stdout)
    assert done["clients"] == [
        {"name": "cursor", "scope": "project"},
        {"name": "pi", "scope": "project"},
        {"name": "windsurf", "scope": "user"},
    ]
    assert done["written"] is False
    assert {one["action"] for one in done["files"]} == {"create"}


def test_where_no_client_is_found_one_has_to_be_named(box):
    done = box.run("--yes")
    assert done.returncode == 2
    assert "no client was found" in done.stderr
    assert "windsurf" in done.stderr


def test_a_users_files_name_the_path_of_the_command_and_a_projects_its_name(box):
    assert box.run("claude-code", "cursor", "--yes").returncode == 0
    assert box.run("claude-code", "cursor", "--scope", "user", "--yes").returncode == 0
    for folder, command in ((box.project, "braindex"), (box.home, str(box.command))):
        servers = json.loads((folder / ".cursor" / "mcp.json").read_text())["mcpServers"]
        assert servers["braindex"]["command"] == command
        hooks = json.loads((folder / ".claude" / "settings.json").read_text())["hooks"]
        assert hooks["Stop"][0]["hooks"][0]["command"] == f"{command} hook claude-code Stop"


def test_the_hooks_that_are_written_run(box):
    assert box.run("claude-code", "--yes").returncode == 0
    hooks = json.loads((box.project / ".claude" / "settings.json").read_text())["hooks"]
    for event, groups in hooks.items():
        given = {"session_id": "s", "cwd": str(box.project), "hook_event_name": event, "prompt": "Why?"}
        done = subprocess.run(
            ["sh", "-c", groups[0]["hooks"][0]["command"]], env=box.environ, cwd=box.project, input=json.dumps(given),
            capture_output=True, text=True, timeout=HUNG, check=False,
        )  # fmt: skip
        assert (done.returncode, json.loads(done.stdout)) == (0, {})


def test_without_a_terminal_it_names_what_to_add_and_writes_nothing(box):
    before = box.files()
    done = box.run("cursor")
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert box.files() == before
    assert box.run("cursor", "--dry-run").returncode == 0
    assert box.files() == before


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("\n", 1)])
def test_on_a_terminal_it_shows_the_change_and_asks(box, typed, code):
    ours, theirs = pty.openpty()
    os.write(ours, typed.encode())
    done = subprocess.run(
        [str(box.command), "setup", "zed"], cwd=box.project, env=box.environ, stdin=theirs, stderr=theirs,
        stdout=subprocess.PIPE, text=True, timeout=HUNG, check=False,
    )  # fmt: skip
    os.close(theirs)
    os.close(ours)
    assert done.returncode == code
    assert '+    "braindex": {' in done.stdout
    assert (box.home / ".config" / "zed" / "settings.json").exists() == (code == 0)


def test_a_file_that_is_no_json_stops_it_before_anything_is_written(box):
    (box.project / ".vscode").mkdir()
    (box.project / ".vscode" / "mcp.json").write_text('{\n  "servers": {,}\n}')
    before = box.files()
    done = box.run("cursor", "vscode", "--yes")
    assert done.returncode == 1
    assert "mcp.json was left as it is" in done.stderr
    assert "line 2, column 15" in done.stderr
    assert box.files() == before


@pytest.mark.parametrize("kind", ["folder", "pipe", "loop"])
def test_what_is_no_file_under_a_files_name_does_not_keep_the_rest_from_being_taken_out(box, kind):
    before = box.files()
    box.run("zed", "--yes")
    path = box.home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    {"folder": path.mkdir, "pipe": lambda: os.mkfifo(path), "loop": lambda: path.symlink_to(path)}[kind]()
    done = box.run("--remove", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert box.files() == before
    assert "mcp.json was left as it is" in box.run("cursor", "--scope", "user", "--yes").stderr


@pytest.mark.parametrize("name", ["Code - Insiders", "VSCodium"])
def test_an_editor_that_is_vscode_under_another_name_is_set_up_with_it_where_it_is(box, name):
    folder = box.home / ".config" / name / "User"
    extension = folder / "globalStorage" / "saoudrizwan.claude-dev"
    extension.mkdir(parents=True)
    before = box.files()
    done = box.run("--scope", "user", "--yes", "--json")
    assert {one["name"] for one in json.loads(done.stdout)["clients"]} == {"vscode", "cline"}
    for path, key in (
        (folder / "mcp.json", "servers"),
        (extension / "settings" / "cline_mcp_settings.json", "mcpServers"),
    ):
        assert json.loads(path.read_text())[key]["braindex"]["command"] == str(box.command)
    assert (folder / "prompts" / "braindex.instructions.md").is_file()
    other = {"Code - Insiders": "VSCodium", "VSCodium": "Code - Insiders"}[name]
    assert not (box.home / ".config" / other).exists()
    assert ("ok", "VS Code (user) is connected, with hooks and rules", "") in Examined(box).found
    box.run("--remove", "--yes")
    assert box.files() == before


def test_a_link_out_of_the_project_stops_it_before_anything_is_written(box, tmp_path):
    (tmp_path / "outside").mkdir()
    (box.project / ".vscode").symlink_to(tmp_path / "outside")
    before = box.files()
    done = box.run("cursor", "vscode", "--yes")
    assert done.returncode == 1
    assert "leads out of the project" in done.stderr
    assert box.files() == before


def test_keys_near_a_change_are_not_shown(box):
    (box.home / ".claude.json").write_text('{\n  "apiKey": "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"\n}')
    done = box.run("claude-code", "--scope", "user", "--dry-run")
    assert done.returncode == 0
    assert "abcdefghijkl" not in done.stdout
    assert "apiKey" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "where", "told"),
    [
        (["zed", "--scope", "project"], "shop", "zed reads no files of a project"),
        (["cursor", "--scope", "project"], "", "the working directory is no project"),
        (["vi"], "shop", "invalid choice: 'vi'"),
    ],
)
def test_what_cannot_be_meant_is_said(box, arguments, where, told):
    done = box.run(*arguments, "--yes", cwd=box.home / where)
    assert done.returncode == 2
    assert told in done.stderr


@pytest.mark.parametrize("home", ["", " ", "shop", "~"])
def test_a_home_that_is_no_place_is_named_and_nothing_is_written(box, home):
    before = box.files()
    for arguments in (("zed", "--yes"), ("--remove", "--yes")):
        done = box.run(*arguments, HOME=home)
        assert done.returncode == 1
        assert f"HOME is {home!r}, which is no absolute path" in done.stderr
    assert box.files() == before


def test_in_the_home_directory_the_users_files_are_meant(box):
    done = json.loads(box.run("cursor", "zed", "--yes", "--json", cwd=box.home).stdout)
    assert [one["scope"] for one in done["clients"]] == ["user", "user"]
    assert done["project"] is None
    assert "--workspace" not in (box.home / ".config" / "zed" / "settings.json").read_text()


def test_a_folder_in_a_project_means_the_project(box):
    folder = box.project / "src" / "deep"
    folder.mkdir(parents=True)
    assert box.run("cursor", "--yes", cwd=folder).returncode == 0
    assert (box.project / ".cursor" / "mcp.json").exists()


def test_mistaken_settings_do_not_keep_it_from_its_work(box):
    done = box.run("cursor", "--yes", MEMORY_MODE="nonsense")
    assert done.returncode == 0
    assert (box.project / ".cursor" / "mcp.json").exists()


def test_a_command_that_is_nowhere_is_said(box):
    python = box.bin / "python"
    python.symlink_to(sys.executable)
    done = subprocess.run(
        [sys.executable, "-P", "-c", NOWHERE, str(python)], cwd=box.project, capture_output=True, text=True,
        env={**box.environ, "PATH": str(box.home)}, timeout=HUNG, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "no `braindex` was found" in done.stderr


# As a Python that has no command beside it would run it.
NOWHERE = (
    "import sys; sys.executable = '/nowhere/python'; from braindex.cli.main import main;"
    "sys.exit(main(['setup', 'zed', '--yes']))"
)


def test_the_server_that_an_entry_names_answers(box):
    assert box.run("zed", "--yes").returncode == 0
    entry = json.loads((box.home / ".config" / "zed" / "settings.json").read_text())["context_servers"]["braindex"]
    hello = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }  # fmt: skip
    done = subprocess.run(
        [entry["command"], *entry["args"]], cwd="/", env=box.environ, input=json.dumps(hello) + "\n",
        capture_output=True, text=True, timeout=HUNG, check=False,
    )  # fmt: skip
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "braindex"
    assert shutil.which(entry["command"]) == str(box.command)


class Examined:
    """What doctor says of clients."""

    def __init__(self, box: Box, **more: str) -> None:
        done = subprocess.run(
            [str(box.command), "doctor", "--quick", "--json"], cwd=box.project, env={**box.environ, **more},
            capture_output=True, text=True, timeout=HUNG, check=False,
        )  # fmt: skip
        self.code = done.returncode
        checks = [one for one in json.loads(done.stdout)["checks"] if one["name"] == "clients"]
        self.found = [(one["state"], one["detail"], one["remedy"] or "") for one in checks]


def test_doctor_says_nothing_of_clients_that_are_not_here(box):
    assert Examined(box).found == []


def test_doctor_names_a_client_that_is_not_connected_and_how_to_connect_it(box):
    (box.home / ".cursor").mkdir()
    [(state, detail, remedy)] = Examined(box).found
    assert (state, detail) == ("note", "Cursor is not connected")
    assert "`braindex setup cursor`" in remedy
    assert box.run("cursor", "--yes").returncode == 0
    assert Examined(box).found == [("ok", "Cursor (project) is connected, with hooks and rules", "")]
    assert Examined(box, MEMORY_MODE="nonsense").found == [
        ("ok", "Cursor (project) is connected, with hooks and rules", "")
    ]


def test_doctor_names_a_command_that_is_gone_and_the_remedy_helps(box):
    assert box.run("zed", "windsurf", "--yes").returncode == 0
    settings = box.home / ".config" / "zed" / "settings.json"
    settings.write_text(settings.read_text().replace(str(box.command), "/gone/braindex"))
    examined = Examined(box)
    assert examined.code == 1
    assert [one for one in examined.found if one[0] == "broken"] == [
        (
            "broken", "Zed (user) cannot start the server: there is no command /gone/braindex",
            "`braindex setup zed --scope user` puts it right",
        )
    ]  # fmt: skip
    assert box.run("zed", "--scope", "user", "--yes").returncode == 0
    assert {state for state, _, _ in Examined(box).found} == {"ok"}


def test_doctor_names_hooks_and_rules_that_are_missing(box):
    assert box.run("claude-code", "--yes").returncode == 0
    (box.project / ".claude" / "settings.json").unlink()
    (box.project / "CLAUDE.md").write_text("# Mine\n")
    found = Examined(box).found
    assert ("note", "Claude Code (project) is connected, without hooks and rules") in [one[:2] for one in found]


def test_doctor_names_a_clients_file_that_is_no_json(box):
    (box.project / ".mcp.json").write_text("{")
    [(state, detail, _)] = Examined(box).found
    assert state == "broken"
    assert "line 1, column 2 is no valid JSON" in detail


def test_what_the_user_has_to_know_is_said(box):
    done = box.run("zed", "cursor", "--dry-run", "--json", BRAIN_DIR=str(box.home / "memory"), PATH="/nowhere")
    notes = " ".join(json.loads(done.stdout)["notes"])
    assert "not on this PATH" in notes
    assert f"zed: no word from it says which project is open, so {box.project} is meant" in notes
    assert "BRAIN_DIR is set here" in notes
