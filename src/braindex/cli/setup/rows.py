"""The clients that setup knows, one row each: where their files are, and what goes into them.

Paths are pure functions of the platform, the environment and the home directory. Sources: each client's documentation,
named in docs/clients.md.
"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import PurePath
from typing import Any, Final, Literal

from braindex.cli.clients.antigravity import ANTIGRAVITY
from braindex.cli.clients.claude_code import CLAUDE_CODE
from braindex.cli.clients.cursor import CURSOR
from braindex.cli.clients.gemini import GEMINI
from braindex.cli.clients.spec import Client
from braindex.cli.clients.vscode import VSCODE
from braindex.cli.setup.parts import Hooks, OwnFile, Part, Section, ServerEntry
from braindex.cli.setup.rules import CURSOR_HEAD, OWN_MARK, RULES, VSCODE_HEAD, own_rules

Platform = Literal["linux", "darwin", "win32"]
Scope = Literal["project", "user"]

BARE: Final = "braindex"
PI_MARK: Final = "// braindex for pi"

_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./~@")


@dataclass(frozen=True, slots=True)
class Machine:
    """What the places of files depend on."""

    platform: Platform
    environ: Mapping[str, str]
    home: PurePath

    def named(self, variable: str, otherwise: PurePath) -> PurePath:
        """The folder that a variable names, where it names one from the root on."""
        named = type(self.home)(self.environ.get(variable, "").strip())
        return named if named.is_absolute() else otherwise

    @property
    def applications(self) -> PurePath:
        """Where desktop applications keep a user's settings."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return self.named("APPDATA", self.home / "AppData" / "Roaming")
        return self.named("XDG_CONFIG_HOME", self.home / ".config")


@dataclass(frozen=True, slots=True)
class At:
    """One setting up: of this machine's user, or of the project at `root` (None where there is none).

    `command` is what starts braindex: in files that are committed its bare name, else its path.
    """

    machine: Machine
    root: PurePath | None
    command: str

    @property
    def project(self) -> PurePath:
        if self.root is None:  # pragma: no cover - a plan of project files is made of a project alone
            raise ValueError("there is no project")
        return self.root

    def hook(self, client: Client) -> dict[str, str]:
        """The command of each event of a client's hooks, as a shell takes it."""
        return {event: f"{shell_word(self.command)} hook {client.name} {event}" for event in client.events}


Parts = Callable[[At], Sequence[Part]]


@dataclass(frozen=True, slots=True)
class ClientRow:
    """One client. `signs` are the places of which one is there where the client was ever used; `project` and `user` are
    what goes where, None where the client has no such files. `pinned` is a client that gives the server no project:
    its entry names one.
    """

    name: str
    title: str
    signs: Callable[[Machine], Sequence[PurePath]]
    user: Parts
    project: Parts | None = None
    pinned: bool = False

    def parts(self, at: At, scope: Scope) -> Sequence[Part]:
        made = self.project if scope == "project" else self.user
        return () if made is None else made(at)

    def scope(self, wanted: Scope | None, *, in_project: bool) -> Scope | None:
        """The scope to use, None where the client does not have the wanted one."""
        if wanted == "project" and self.project is None:
            return None
        if wanted is not None:
            return wanted
        return "project" if self.project is not None and in_project else "user"


def shell_word(command: str) -> str:
    """A command as the shells of all platforms take it: a Windows path with `/`, which they all read."""
    if "\\" in command and command[1:2] == ":":
        command = command.replace("\\", "/")
        return command if set(command) <= _PLAIN else f'"{command}"'
    return shlex.quote(command)


def _entry(at: At, *arguments: str, **more: Any) -> dict[str, Any]:
    return {**more, "command": at.command, "args": ["serve", *arguments]}


def _pinned(at: At) -> tuple[str, ...]:
    return () if at.root is None else ("--workspace", str(at.root))


def _claude_hooks(at: At, path: PurePath) -> Hooks:
    return Hooks(path, ("hooks",), at.hook(CLAUDE_CODE), {"type": "command"}, grouped=True)


def _cursor_hooks(at: At, path: PurePath) -> Hooks:
    return Hooks(path, ("hooks",), at.hook(CURSOR), {}, defaults={"version": 1})


def _vscode_hooks(at: At, path: PurePath) -> Hooks:
    return Hooks(path, ("hooks",), at.hook(VSCODE), {"type": "command"})


def _gemini_hooks(at: At, path: PurePath) -> Hooks:
    return Hooks(path, ("hooks",), at.hook(GEMINI), {"type": "command"}, grouped=True)


def _antigravity_hooks(at: At, path: PurePath) -> Hooks:
    return Hooks(path, ("braindex",), at.hook(ANTIGRAVITY), {"type": "command"})


def _pi_extension(at: At, path: PurePath) -> OwnFile:
    text = files("braindex.cli.clients").joinpath("pi_extension.ts").read_text(encoding="utf-8")
    quoted = '"' + at.command.replace("\\", "/").replace('"', '\\"') + '"'
    return OwnFile(path, text.replace('?? "braindex"', f"?? {quoted}"), PI_MARK, "hooks", command=quoted)


def _cursor_project(at: At) -> Sequence[Part]:
    folder = at.project / ".cursor"
    return (
        ServerEntry(folder / "mcp.json", "mcpServers", _entry(at, "--workspace", "${workspaceFolder}", type="stdio")),
        _cursor_hooks(at, folder / "hooks.json"),
        OwnFile(folder / "rules" / "braindex.mdc", own_rules(CURSOR_HEAD), OWN_MARK),
    )


def _cursor_user(at: At) -> Sequence[Part]:
    # `${workspaceFolder}` is the folder of the file there, and not the project.
    folder = at.machine.home / ".cursor"
    return (
        ServerEntry(folder / "mcp.json", "mcpServers", _entry(at, type="stdio")),
        _cursor_hooks(at, folder / "hooks.json"),
    )


def _vscode_project(at: At) -> Sequence[Part]:
    entry = _entry(at, "--workspace", "${workspaceFolder}", type="stdio")
    return (
        ServerEntry(at.project / ".vscode" / "mcp.json", "servers", entry),
        _vscode_hooks(at, at.project / ".github" / "hooks" / "braindex.json"),
        Section(at.project / "AGENTS.md", RULES),
    )


def _vscode_folder(machine: Machine) -> PurePath:
    return machine.applications / "Code" / "User"


def _vscode_others(machine: Machine) -> tuple[PurePath, ...]:
    """Where editors that are VS Code under another name keep a user's settings: each apart, in the same files."""
    return tuple(machine.applications / name / "User" for name in ("Code - Insiders", "VSCodium"))


def _vscode_user(at: At) -> Sequence[Part]:
    own = _vscode_folder(at.machine)
    places = ((own, None), *((other, other) for other in _vscode_others(at.machine)))
    entry, rules, name = _entry(at, type="stdio"), own_rules(VSCODE_HEAD), "braindex.instructions.md"
    return (
        *(ServerEntry(folder / "mcp.json", "servers", entry, beside=beside) for folder, beside in places),
        _vscode_hooks(at, at.machine.home / ".copilot" / "hooks" / "braindex.json"),
        *(OwnFile(folder / "prompts" / name, rules, OWN_MARK, beside=beside) for folder, beside in places),
    )


def _claude_desktop_folder(machine: Machine) -> PurePath:
    return machine.applications / "Claude"


def _claude_desktop_user(at: At) -> Sequence[Part]:
    path = _claude_desktop_folder(at.machine) / "claude_desktop_config.json"
    return (ServerEntry(path, "mcpServers", _entry(at, *_pinned(at))),)


def _claude_folder(machine: Machine) -> PurePath:
    return machine.named("CLAUDE_CONFIG_DIR", machine.home / ".claude")


def _claude_settings(machine: Machine) -> PurePath:
    """The user's servers: beside the folder, or in the one that CLAUDE_CONFIG_DIR names."""
    return machine.named("CLAUDE_CONFIG_DIR", machine.home) / ".claude.json"


def _claude_code_project(at: At) -> Sequence[Part]:
    return (
        ServerEntry(at.project / ".mcp.json", "mcpServers", _entry(at, type="stdio", alwaysLoad=True)),
        _claude_hooks(at, at.project / ".claude" / "settings.json"),
        Section(at.project / "CLAUDE.md", RULES),
    )


def _claude_code_user(at: At) -> Sequence[Part]:
    folder = _claude_folder(at.machine)
    return (
        ServerEntry(_claude_settings(at.machine), "mcpServers", _entry(at, type="stdio", alwaysLoad=True)),
        _claude_hooks(at, folder / "settings.json"),
        Section(folder / "CLAUDE.md", RULES),
    )


def _pi_folder(machine: Machine) -> PurePath:
    return machine.named("PI_CODING_AGENT_DIR", machine.home / ".pi" / "agent")


def _pi_project(at: At) -> Sequence[Part]:
    folder = at.project / ".pi"
    return (
        ServerEntry(folder / "mcp.json", "mcpServers", _entry(at, exposure="direct")),
        _pi_extension(at, folder / "extensions" / "braindex.ts"),
        Section(at.project / "AGENTS.md", RULES),
    )


def _pi_user(at: At) -> Sequence[Part]:
    folder = _pi_folder(at.machine)
    return (
        ServerEntry(folder / "mcp.json", "mcpServers", _entry(at, exposure="direct")),
        _pi_extension(at, folder / "extensions" / "braindex.ts"),
        Section(folder / "AGENTS.md", RULES),
    )


def _gemini_folder(machine: Machine) -> PurePath:
    return machine.named("GEMINI_CLI_HOME", machine.home) / ".gemini"


def _antigravity_project(at: At) -> Sequence[Part]:
    folder = at.project / ".agents"
    return (
        ServerEntry(folder / "mcp_config.json", "mcpServers", _entry(at)),
        _antigravity_hooks(at, folder / "hooks.json"),
        Section(at.project / "AGENTS.md", RULES),
    )


def _antigravity_user(at: At) -> Sequence[Part]:
    folder = at.machine.home / ".gemini"
    return (
        ServerEntry(folder / "config" / "mcp_config.json", "mcpServers", _entry(at)),
        _antigravity_hooks(at, folder / "config" / "hooks.json"),
        Section(folder / "GEMINI.md", RULES),
    )


def _gemini_project(at: At) -> Sequence[Part]:
    settings = at.project / ".gemini" / "settings.json"
    return (
        ServerEntry(settings, "mcpServers", _entry(at)),
        _gemini_hooks(at, settings),
        Section(at.project / "GEMINI.md", RULES),
    )


def _gemini_user(at: At) -> Sequence[Part]:
    folder = _gemini_folder(at.machine)
    return (
        ServerEntry(folder / "settings.json", "mcpServers", _entry(at)),
        _gemini_hooks(at, folder / "settings.json"),
        Section(folder / "GEMINI.md", RULES),
    )


def _cline_extensions(machine: Machine) -> tuple[PurePath, ...]:
    folders = (_vscode_folder(machine), *_vscode_others(machine))
    return tuple(one / "globalStorage" / "saoudrizwan.claude-dev" for one in folders)


def _cline_user(at: At) -> Sequence[Part]:
    # Newer versions share one file between their extension and their command, older ones keep it with VS Code's.
    name = "cline_mcp_settings.json"
    entry = _entry(at, *_pinned(at))
    own = at.machine.home / ".cline" / "data" / "settings" / name
    extensions = _cline_extensions(at.machine)
    return (
        ServerEntry(own, "mcpServers", entry),
        *(ServerEntry(one / "settings" / name, "mcpServers", entry, beside=one) for one in extensions),
        OwnFile(at.machine.home / "Documents" / "Cline" / "Rules" / "braindex.md", own_rules(), OWN_MARK),
    )


def _windsurf_folder(machine: Machine) -> PurePath:
    return machine.home / ".codeium" / "windsurf"


def _windsurf_user(at: At) -> Sequence[Part]:
    folder = _windsurf_folder(at.machine)
    return (
        ServerEntry(folder / "mcp_config.json", "mcpServers", _entry(at, *_pinned(at))),
        Section(folder / "memories" / "global_rules.md", RULES),
    )


def _zed_folder(machine: Machine) -> PurePath:
    if machine.platform == "darwin":
        return machine.home / ".config" / "zed"
    return machine.applications / ("Zed" if machine.platform == "win32" else "zed")


def _zed_user(at: At) -> Sequence[Part]:
    entry = _entry(at, *_pinned(at))
    return (ServerEntry(_zed_folder(at.machine) / "settings.json", "context_servers", entry),)


ROWS: Final[tuple[ClientRow, ...]] = (
    ClientRow("cursor", "Cursor", lambda on: (on.home / ".cursor",), _cursor_user, _cursor_project),
    ClientRow(
        "vscode",
        "VS Code",
        lambda on: (_vscode_folder(on), *_vscode_others(on)),
        _vscode_user,
        _vscode_project,
    ),
    ClientRow(
        "claude-desktop", "Claude Desktop", lambda on: (_claude_desktop_folder(on),), _claude_desktop_user, pinned=True
    ),
    ClientRow(
        "claude-code",
        "Claude Code",
        lambda on: (_claude_folder(on), _claude_settings(on)),
        _claude_code_user,
        _claude_code_project,
    ),
    ClientRow("pi", "pi", lambda on: (_pi_folder(on),), _pi_user, _pi_project),
    ClientRow(
        "antigravity",
        "Antigravity",
        lambda on: tuple(on.home / ".gemini" / one for one in ("config", "antigravity", "antigravity-cli")),
        _antigravity_user,
        _antigravity_project,
    ),
    ClientRow(
        "gemini",
        "Gemini CLI",
        lambda on: (_gemini_folder(on) / "settings.json", _gemini_folder(on) / "tmp"),
        _gemini_user,
        _gemini_project,
    ),
    ClientRow("cline", "Cline", lambda on: (on.home / ".cline", *_cline_extensions(on)), _cline_user, pinned=True),
    ClientRow("windsurf", "Windsurf", lambda on: (_windsurf_folder(on),), _windsurf_user, pinned=True),
    ClientRow("zed", "Zed", lambda on: (_zed_folder(on),), _zed_user, pinned=True),
)
