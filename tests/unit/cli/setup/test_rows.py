"""Where each client's files are on each platform, and what goes into them."""

import json
import re
from pathlib import PurePath, PurePosixPath, PureWindowsPath

import pytest

from braindex.cli.clients import CLIENTS
from braindex.cli.setup.jsonc import parse
from braindex.cli.setup.parts import Hooks, OwnFile, Section, ServerEntry
from braindex.cli.setup.rows import ROWS, At, ClientRow, Machine, shell_word

LINUX = Machine("linux", {}, PurePosixPath("/home/ann"))
MAC = Machine("darwin", {}, PurePosixPath("/Users/ann"))
WINDOWS = Machine("win32", {"APPDATA": "C:\\Users\\ann\\AppData\\Roaming"}, PureWindowsPath("C:/Users/ann"))
SUPPORT = "/Users/ann/Library/Application Support"
ROAMING = "C:/Users/ann/AppData/Roaming"


def row(name: str) -> ClientRow:
    return next(one for one in ROWS if one.name == name)


def paths(name: str, scope: str, machine: Machine) -> list[str]:
    root: PurePath = type(machine.home)("C:/work/shop" if machine is WINDOWS else "/work/shop")
    return [part.path.as_posix() for part in row(name).parts(At(machine, root, "braindex"), scope)]  # type: ignore[arg-type]


def test_every_client_of_the_contract_has_a_row():
    assert {one.name for one in ROWS} == {
        "cursor", "vscode", "claude-desktop", "claude-code", "pi", "antigravity", "gemini", "cline", "windsurf", "zed",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "linux", "mac", "windows"),
    [
        ("cursor", "/home/ann/.cursor/mcp.json", "/Users/ann/.cursor/mcp.json", "C:/Users/ann/.cursor/mcp.json"),
        (
            "vscode", "/home/ann/.config/Code/User/mcp.json", f"{SUPPORT}/Code/User/mcp.json",
            f"{ROAMING}/Code/User/mcp.json",
        ),
        (
            "claude-desktop", "/home/ann/.config/Claude/claude_desktop_config.json",
            f"{SUPPORT}/Claude/claude_desktop_config.json", f"{ROAMING}/Claude/claude_desktop_config.json",
        ),
        ("claude-code", "/home/ann/.claude.json", "/Users/ann/.claude.json", "C:/Users/ann/.claude.json"),
        ("pi", "/home/ann/.pi/agent/mcp.json", "/Users/ann/.pi/agent/mcp.json", "C:/Users/ann/.pi/agent/mcp.json"),
        (
            "antigravity", "/home/ann/.gemini/config/mcp_config.json", "/Users/ann/.gemini/config/mcp_config.json",
            "C:/Users/ann/.gemini/config/mcp_config.json",
        ),
        (
            "gemini", "/home/ann/.gemini/settings.json", "/Users/ann/.gemini/settings.json",
            "C:/Users/ann/.gemini/settings.json",
        ),
        (
            "cline", "/home/ann/.cline/data/settings/cline_mcp_settings.json",
            "/Users/ann/.cline/data/settings/cline_mcp_settings.json",
            "C:/Users/ann/.cline/data/settings/cline_mcp_settings.json",
        ),
        (
            "windsurf", "/home/ann/.codeium/windsurf/mcp_config.json", "/Users/ann/.codeium/windsurf/mcp_config.json",
            "C:/Users/ann/.codeium/windsurf/mcp_config.json",
        ),
        (
            "zed", "/home/ann/.config/zed/settings.json", "/Users/ann/.config/zed/settings.json",
            f"{ROAMING}/Zed/settings.json",
        ),
    ],
)  # fmt: skip
def test_a_users_servers_are_where_the_client_reads_them(name, linux, mac, windows):
    assert [paths(name, "user", on)[0] for on in (LINUX, MAC, WINDOWS)] == [linux, mac, windows]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("cursor", [".cursor/mcp.json", ".cursor/hooks.json", ".cursor/rules/braindex.mdc"]),
        ("vscode", [".vscode/mcp.json", ".github/hooks/braindex.json", "AGENTS.md"]),
        ("claude-code", [".mcp.json", ".claude/settings.json", "CLAUDE.md"]),
        ("pi", [".pi/mcp.json", ".pi/extensions/braindex.ts", "AGENTS.md"]),
        ("antigravity", [".agents/mcp_config.json", ".agents/hooks.json", "AGENTS.md"]),
        ("gemini", [".gemini/settings.json", ".gemini/settings.json", "GEMINI.md"]),
        ("claude-desktop", []),
        ("cline", []),
        ("windsurf", []),
        ("zed", []),
    ],
)
def test_a_projects_files_lie_in_the_project(name, wanted):
    assert paths(name, "project", LINUX) == [f"/work/shop/{one}" for one in wanted]
    assert paths(name, "project", WINDOWS) == [f"C:/work/shop/{one}" for one in wanted]


@pytest.mark.parametrize(
    ("variable", "name", "wanted"),
    [
        ("XDG_CONFIG_HOME", "vscode", "/elsewhere/Code/User/mcp.json"),
        ("XDG_CONFIG_HOME", "zed", "/elsewhere/zed/settings.json"),
        ("CLAUDE_CONFIG_DIR", "claude-code", "/elsewhere/.claude.json"),
        ("PI_CODING_AGENT_DIR", "pi", "/elsewhere/mcp.json"),
        ("GEMINI_CLI_HOME", "gemini", "/elsewhere/.gemini/settings.json"),
    ],
)
def test_the_variables_that_move_a_clients_folder_are_heeded(variable, name, wanted):
    moved = Machine("linux", {variable: "/elsewhere"}, LINUX.home)
    assert paths(name, "user", moved)[0] == wanted
    relative = Machine("linux", {variable: "elsewhere"}, LINUX.home)
    assert paths(name, "user", relative) == paths(name, "user", LINUX)


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize("machine", [LINUX, MAC, WINDOWS], ids=lambda one: one.platform)
@pytest.mark.parametrize("client", ROWS, ids=lambda one: one.name)
def test_an_entry_starts_the_server(client, machine, scope):
    at = At(machine, type(machine.home)("/work/shop"), "/opt/braindex")
    for part in client.parts(at, scope):
        if isinstance(part, ServerEntry):
            entry = parse(part.applied("")).value[part.key]["braindex"]
            assert (entry["command"], entry["args"][0]) == ("/opt/braindex", "serve")
            named = entry["args"][1:]
            assert named in ([], ["--workspace", "${workspaceFolder}"], ["--workspace", str(at.root)])
            assert (named == ["--workspace", str(at.root)]) == client.pinned


@pytest.mark.parametrize(
    "client", [one for one in ROWS if one.name in {known.name for known in CLIENTS}], ids=lambda one: one.name
)
@pytest.mark.parametrize("scope", ["user", "project"])
def test_every_client_with_hooks_is_given_them(client, scope):
    hooks = [
        part for part in client.parts(At(LINUX, PurePosixPath("/p"), "braindex"), scope) if part.purpose == "hooks"
    ]
    assert len(hooks) == 1
    known = next(one for one in CLIENTS if one.name == client.name)
    for hook in hooks:
        if isinstance(hook, Hooks):
            written = hook.applied("")
            named = re.findall(r"braindex hook (\S+) (\w+)", written)
            assert {name for name, _ in named} == {client.name}
            assert {known.named(event) for _, event in named} >= known.injecting | {"end"}
        else:
            assert isinstance(hook, OwnFile)
            assert '?? "braindex"' in hook.applied("")


@pytest.mark.parametrize(
    "client", [one for one in ROWS if one.name not in {"claude-desktop", "zed"}], ids=lambda one: one.name
)
def test_agents_are_told_to_ask_first_and_to_cite(client):
    scope = "project" if client.project else "user"
    rules = [
        part for part in client.parts(At(LINUX, PurePosixPath("/p"), "braindex"), scope) if part.purpose == "rules"
    ]
    assert len(rules) == 1
    text = rules[0].applied("")
    assert "query_memory" in text
    assert "Cite the places" in text
    assert isinstance(rules[0], (Section, OwnFile))


def test_a_users_pi_extension_starts_the_command_by_its_path():
    at = At(WINDOWS, None, "C:\\Users\\ann\\bin\\braindex.exe")
    text = next(part for part in row("pi").parts(at, "user") if part.purpose == "hooks").applied("")
    assert '?? "C:/Users/ann/bin/braindex.exe"' in text


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("braindex", "braindex"),
        ("/opt/my tools/braindex", "'/opt/my tools/braindex'"),
        ("C:\\Users\\ann\\braindex.exe", "C:/Users/ann/braindex.exe"),
        ("C:\\Program Files\\braindex.exe", '"C:/Program Files/braindex.exe"'),
    ],
)
def test_a_command_is_written_as_a_shell_takes_it(command, word):
    assert shell_word(command) == word


def test_a_project_is_named_to_clients_that_give_none():
    for name in ("claude-desktop", "cline", "windsurf", "zed"):
        part = row(name).parts(At(LINUX, PurePosixPath("/work/shop"), "b"), "user")[0]
        assert "/work/shop" in json.dumps(parse(part.applied("")).value)
        alone = row(name).parts(At(LINUX, None, "b"), "user")[0]
        assert "--workspace" not in alone.applied("")


@pytest.mark.parametrize("machine", [LINUX, MAC, WINDOWS], ids=lambda one: one.platform)
def test_editors_that_are_vscode_under_another_name_have_their_files_beside_its_own(machine):
    parts = row("vscode").parts(At(machine, None, "/opt/braindex"), "user")
    own, *others = [part for part in parts if isinstance(part, ServerEntry)]
    assert own.beside is None
    for part, name in zip(others, ("Code - Insiders", "VSCodium"), strict=True):
        assert part.path == own.path.parents[2] / name / "User" / "mcp.json"
        assert part.beside == part.path.parent
        assert part.values == own.values
