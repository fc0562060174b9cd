"""The MCP Inspector's command line on the real `braindex serve`: every tool, resource and prompt, in both eras.

usage: python bench/inspector.py NPM_FOLDER

NPM_FOLDER is a folder in which `npm i node@22 @modelcontextprotocol/inspector@2.12.0` was run (where npm holds back
install scripts, `node installArchSpecificPackage.js` in its node_modules/node). The definitions of the tools are looked
at with `--strict`, which fails on a schema that some client or model vendor refuses. Each line is a process of the
inspector with a server of its own, over one workspace and one data folder. Exit code 1 where one of them fails.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ERAS: Final = ("legacy", "modern")
SECONDS: Final = 120  # after which one run counts as hung


@dataclass(frozen=True, slots=True)
class Bench:
    """The inspector, and a server's surroundings."""

    npm: Path
    folder: Path

    def run(self, era: str, *arguments: str) -> tuple[dict[str, Any], str]:
        """What the inspector was answered, and what is wrong with it ("" for nothing)."""
        node = self.npm / "node_modules" / "node" / "bin" / "node"
        inspector = self.npm / "node_modules" / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build"
        environ = {"BRAIN_DIR": str(self.folder / "brain"), "HOME": str(self.folder)}
        environ |= {name: os.environ[name] for name in ("PYTHONPATH",) if os.environ.get(name)}
        command = [str(node) if node.exists() else "node", str(inspector / "index.js"), "--cli"]
        command += ["--protocol-era", era, "--cwd", str(self.folder / "shop")]
        command += [part for name, value in environ.items() for part in ("-e", f"{name}={value}")]
        # The format comes last: a list of pairs takes all words that follow it, up to the next option.
        command += [*arguments, "--format", "json", sys.executable, "-P", "-m", "braindex", "serve"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        try:
            found: dict[str, Any] = json.loads(done.stdout or "{}").get("result", {})
        except ValueError:
            found = {}
        if done.returncode or not found or found.get("isError"):
            return found, f"exit code {done.returncode}: {(done.stderr or done.stdout)[-400:]}"
        return found, ""


def calls(note: str) -> dict[str, dict[str, Any]]:
    """Every tool with arguments that work, in an order in which they do."""
    return {
        "scan_workspace": {"wait_seconds": 50},
        "scan_status": {},
        "query_memory": {"query": "where are apples sold?", "limit": 3, "path": "shop.py"},
        "get_brief": {},
        "update_brief": {"content": "# shop\n\nSells apples.\n"},
        "save_to_memory": {"text": f"Apples are counted ({note}).", "category": "decision", "about": ["shop.py"]},
        "list_memory": {},
        "list_workspaces": {},
        "usage_report": {"period": "week"},
    }


PROMPTS: Final = {"onboard": [], "review": ["changes=HEAD"], "add_language": ["language=rust"]}


def measure(bench: Bench, era: str) -> list[tuple[str, str]]:
    """(what was asked, what is wrong with the answer) of everything there is."""
    done: list[tuple[str, str]] = []

    def ask(what: str, *arguments: str) -> dict[str, Any]:
        found, wrong = bench.run(era, *arguments)
        done.append((what, wrong))
        print(f"  {'MISS' if wrong else 'ok  '} {what} {wrong}", flush=True)
        return found

    tools = {one["name"] for one in ask("tools/list --strict", "--method", "tools/list", "--strict").get("tools", [])}
    saved: dict[str, Any] = {}
    for name, given in calls(era).items():
        found = ask(
            f"tools/call {name}", "--method", "tools/call", "--tool-name", name, "--tool-args-json", json.dumps(given)
        )
        saved = found if name == "save_to_memory" else saved
    note = saved.get("structuredContent", {}).get("note", {}).get("id", "")
    forget = json.dumps({"id": note})
    ask(
        "tools/call forget_memory", "--method", "tools/call", "--tool-name", "forget_memory", "--tool-args-json", forget
    )
    left = tools - {*calls(era), "forget_memory"}
    done.append(("every tool is called", ", ".join(left)))
    ask("resources/templates/list", "--method", "resources/templates/list")
    for one in ask("resources/list", "--method", "resources/list").get("resources", []):
        ask(f"resources/read {one['name']}", "--method", "resources/read", "--uri", one["uri"])
    listed = {one["name"] for one in ask("prompts/list", "--method", "prompts/list").get("prompts", [])}
    done.append(("every prompt is fetched", ", ".join(listed ^ PROMPTS.keys())))
    for name, pairs in PROMPTS.items():
        given_pairs = ["--prompt-args", *pairs] if pairs else []
        ask(f"prompts/get {name}", "--method", "prompts/get", "--prompt-name", name, *given_pairs)
    return done


def prepare(folder: Path) -> None:
    root = folder / "shop"
    root.mkdir()
    (root / "package.json").write_text('{"name": "shop"}')
    (root / "shop.py").write_text("def sell(apples):\n    return apples\n")
    git = ["git", "-C", str(root), "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "first"], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("npm", type=Path, metavar="NPM_FOLDER")
    npm = parser.parse_args().npm.resolve()
    missed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve()
        prepare(folder)
        for era in ERAS:
            print(f"\n{era}")
            found = measure(Bench(npm, folder), era)
            wrong = [one for one in found if one[1]]
            print(f"  {len(found) - len(wrong)} of {len(found)} hold")
            missed += len(wrong)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
