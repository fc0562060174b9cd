"""Memory outside the loop, in the real clients: what one conversation found out is in the next one's first request.

usage: python bench/loop_clients.py --claude PATH --pi PATH [--project FOLDER]
       python bench/loop_clients.py --setup [--claude PATH] [--pi PATH] [--gemini PATH]

Both clients (npm: @anthropic-ai/claude-code, @earendil-works/pi-coding-agent) talk to a model on this machine. Each has
two separate conversations in one workspace, with braindex's hooks and no tool of it; then Claude Code does the same
task once with the memory as a tool, and once with hooks. Prints what the model was sent; exit code 1 where the first
conversation's outcome is missing in the second's first request.

With `--setup` nothing is written by this file: `braindex setup` connects the clients (npm: @google/gemini-cli as well),
in the project and for the user, and each of them says whether it is; then the two conversations, with the hooks that
setup wrote, and `braindex setup --remove`, after which no file is left of it.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from braindex.domain.tokens import count_tokens
from loopback_model import LoopbackModel, Reply  # type: ignore[import-not-found]  # beside this file

HERE = Path(__file__).resolve().parents[1]
EXTENSION = HERE / "src" / "braindex" / "cli" / "clients" / "pi_extension.ts"
ASKED = "Why does parse_date shift the day when the shop is in another time zone?"
AGAIN = "The day is wrong again in parse_date for the shop in Tokyo"
OUTCOME = "The zone of the server was used; parse_date has to take SHOP_ZONE from settings.py."
FILES = {
    "pyproject.toml": "[project]\nname = 'shop'\n",
    "shop/dates.py": 'def parse_date(text):\n    """Parse a date in the zone of the shop."""\n    return text\n',
    "shop/settings.py": "SHOP_ZONE = 'Asia/Tokyo'\n",
}


class World:
    """A home, a data folder and a project of their own, and `braindex` as a command."""

    def __init__(self, folder: Path, project: Path | None) -> None:
        self.home, self.brain, self.root = folder / "home", folder / "brain", folder / "shop"
        bin_folder = folder / "bin"
        for one in (self.home, bin_folder):
            one.mkdir(parents=True)
        if project is None:
            for name, text in FILES.items():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                (self.root / name).write_text(text)
        else:
            shutil.copytree(project, self.root, symlinks=True)
        self.command = bin_folder / "braindex"
        self.command.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m braindex "$@"\n')
        self.command.chmod(0o755)
        self.environ = {
            "PATH": f"{bin_folder}:{os.environ['PATH']}", "HOME": str(self.home), "BRAIN_DIR": str(self.brain),
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""), "ANTHROPIC_API_KEY": "none", "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1", "PI_OFFLINE": "1", "IS_SANDBOX": "1",
        }  # fmt: skip
        self.braindex("scan", ".")

    def braindex(self, *arguments: str) -> str:
        return self.run([str(self.command), *arguments])

    def run(self, command: list[str], **more: str) -> str:
        done = subprocess.run(
            command, cwd=self.root, env={**self.environ, **more}, capture_output=True, text=True, timeout=120,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if done.returncode:
            print(done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)
        return done.stdout

    def said(self, command: list[str], **more: str) -> str:
        """All that a command prints: some clients take the one stream, some the other."""
        return self.run(["sh", "-c", '"$@" 2>&1', "sh", *command], **more)

    def stored(self) -> None:
        """When what hooks have left is stored."""
        waiting = self.brain / "hooks" / "waiting"
        until = time.monotonic() + 30
        while any(waiting.glob("*.json")) and time.monotonic() < until:
            time.sleep(0.1)


def claude(world: World, path: str, prompt: str, replies: list[Reply], *, hooks: bool, tool: bool = False) -> Any:
    settings: dict[str, Any] = {}
    if hooks:
        events = ("SessionStart", "UserPromptSubmit", "Stop")
        settings["hooks"] = {
            event: [{"hooks": [{"type": "command", "command": f"braindex hook claude-code {event}"}]}]
            for event in events
        }
    (world.root / ".claude").mkdir(exist_ok=True)
    (world.root / ".claude" / "settings.json").write_text(json.dumps(settings))
    servers = {"braindex": {"command": str(world.command), "args": ["serve"], "alwaysLoad": True}} if tool else {}
    config = world.home / "mcp.json"
    config.write_text(json.dumps({"mcpServers": servers}))
    with LoopbackModel(replies) as model:
        world.run(
            [path, "-p", prompt, "--allowedTools", "mcp__braindex", "--mcp-config", str(config), "--strict-mcp-config"],
            ANTHROPIC_BASE_URL=model.url,
        )
        world.stored()
        return model.requests


def pi(world: World, path: str, prompt: str, replies: list[Reply]) -> Any:
    agent = world.home / ".pi" / "agent"
    (agent / "extensions").mkdir(parents=True, exist_ok=True)
    shutil.copy(EXTENSION, agent / "extensions" / "braindex.ts")
    with LoopbackModel(replies) as model:
        tell_pi(world, model)
        world.run([path, "--provider", "here", "--model", "loopback", "-p", prompt])
        world.stored()
        return model.requests


def tell_pi(world: World, model: LoopbackModel) -> None:
    """Where the model is."""
    provider = {
        "baseUrl": model.url, "api": "anthropic-messages", "apiKey": "none", "models": [{"id": "loopback"}],
    }  # fmt: skip
    agent = world.home / ".pi" / "agent"
    agent.mkdir(parents=True, exist_ok=True)
    (agent / "models.json").write_text(json.dumps({"providers": {"here": provider}}))


def by_setup(folder: Path, paths: dict[str, str]) -> bool:
    """Whether clients that `braindex setup` has connected are, by their own word and by what their model is sent."""
    looks = {"claude-code": claude_connected, "gemini": gemini_connected}
    talks = {"claude-code": claude_as_set_up, "pi": pi_as_set_up}
    sound = True
    for name, path in paths.items():
        for scope in ("project", "user"):
            world = World(folder / name / scope, None)
            written = json.loads(world.braindex("setup", name, "--scope", scope, "--yes", "--json"))["files"]
            if name in looks:
                connected = looks[name](world, path)
                print(f"{name:12} set up for the {scope:7}  connected, by its own word: {connected}")
                sound &= bool(connected)
            if name in talks:
                sound &= two_conversations(name, partial(talks[name], world, path))
            world.braindex("setup", "--remove", "--yes")
            files = [Path(one["path"]) for one in written]
            left = [str(one) for one in files if one.exists() and "braindex" in one.read_text()]
            print(f"{name:12} {len(files)} files written; of them after --remove with a word of braindex: {len(left)}")
            sound &= not left
    return sound


def claude_connected(world: World, path: str) -> bool:
    """A project's servers wait for an approval, which only a terminal can give; that they are listed is enough then."""
    said = world.said([path, "mcp", "list"])
    return any("braindex" in line and ("Connected" in line or "Pending approval" in line) for line in said.splitlines())


def gemini_connected(world: World, path: str) -> bool:
    said = world.said([path, "mcp", "list"], GEMINI_CLI_TRUST_WORKSPACE="true")
    return any("braindex" in line and "Connected" in line for line in said.splitlines())


def claude_as_set_up(world: World, path: str, prompt: str, replies: list[Reply]) -> Any:
    with LoopbackModel(replies) as model:
        world.run([path, "-p", prompt], ANTHROPIC_BASE_URL=model.url)
        world.stored()
        return model.requests


def pi_as_set_up(world: World, path: str, prompt: str, replies: list[Reply]) -> Any:
    with LoopbackModel(replies) as model:
        tell_pi(world, model)
        world.run([path, "--provider", "here", "--model", "loopback", "-p", prompt])
        world.stored()
        return model.requests


def told(requests: list[dict[str, Any]], wanted: str) -> bool:
    """Whether the first request holds a text that no answer of its own conversation brought."""
    return bool(requests) and wanted in json.dumps(requests[0]["messages"], ensure_ascii=False)


def block(requests: list[dict[str, Any]], wanted: str) -> str:
    """What braindex put before the first request that holds it, from its first line on: 12 lines at most."""
    parts = [part for one in requests[0]["messages"] for part in _texts(one["content"])]
    text = next(part for part in parts if wanted in part)
    begins = max(text.rfind("braindex recalled", 0, text.index(wanted)), 0)
    return "\n".join(text[begins:].splitlines()[:12])


def _texts(content: Any) -> list[str]:
    return [content] if isinstance(content, str) else [part["text"] for part in content if part.get("type") == "text"]


def size(requests: list[dict[str, Any]]) -> int:
    """Tokens that the model was sent in all of them, without the client's own tools and system prompt."""
    return sum(count_tokens(json.dumps(one["messages"], ensure_ascii=False)) for one in requests)


def two_conversations(name: str, talk: Any) -> bool:
    first = talk(ASKED, [{"text": OUTCOME}])
    second = talk(AGAIN, [{"text": "I take SHOP_ZONE."}])
    known = told(second, OUTCOME)
    tools = [one for one in second for part in one["messages"] if "tool_result" in json.dumps(part)]
    print(
        f"{name:12} first conversation: {len(first)} model call(s), outcome known in its first: {told(first, OUTCOME)}"
    )
    print(
        f"{name:12} second: {len(second)} model call(s), outcome in its first: {known}, tool calls for it: {len(tools)}"
    )
    if known:
        print("    " + "\n    ".join(block(second, OUTCOME).strip().splitlines()))
    return known and not told(first, OUTCOME)


def as_tool_or_hook(world: World, path: str) -> None:
    """The same task, whose answer is remembered: with the memory as a tool, and with hooks."""
    query = {"tool": "mcp__braindex__query_memory", "input": {"query": AGAIN, "limit": 5}}
    answer = {"text": "I take SHOP_ZONE."}
    tool = claude(world, path, AGAIN, [query, answer], hooks=False, tool=True)
    hook = claude(world, path, AGAIN, [answer], hooks=True)
    for name, requests in (("as a tool", tool), ("by hooks", hook)):
        print(f"memory {name:10} {len(requests)} model calls, {size(requests):6,} tokens of messages sent")
    offered = count_tokens(json.dumps([one for one in tool[0]["tools"] if "braindex" in one["name"]])) if tool else 0
    print(f"and the tools' definitions, in each call: {offered:,} tokens")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--claude", help="the claude command")
    parser.add_argument("--pi", help="the pi command")
    parser.add_argument("--project", type=Path, help="a folder to work in instead of a small one")
    parser.add_argument("--gemini", help="the gemini command, for --setup")
    parser.add_argument("--setup", action="store_true", help="connect the clients by `braindex setup` instead")
    arguments = parser.parse_args()
    sound = []
    with tempfile.TemporaryDirectory() as folder:
        if arguments.setup:
            paths = {"claude-code": arguments.claude, "pi": arguments.pi, "gemini": arguments.gemini}
            sys.exit(not by_setup(Path(folder), {name: path for name, path in paths.items() if path}))
        if arguments.claude:
            world = World(Path(folder) / "claude", arguments.project)
            sound.append(
                two_conversations(
                    "Claude Code", lambda prompt, replies: claude(world, arguments.claude, prompt, replies, hooks=True)
                )
            )
            as_tool_or_hook(world, arguments.claude)
        if arguments.pi:
            other = World(Path(folder) / "pi", arguments.project)
            sound.append(two_conversations("pi", lambda prompt, replies: pi(other, arguments.pi, prompt, replies)))
    sys.exit(not (sound and all(sound)))


if __name__ == "__main__":
    main()
