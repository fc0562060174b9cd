"""The protocol's own conformance suite on braindex's server, in both protocol eras.

usage: python bench/conformance.py NPM_FOLDER

NPM_FOLDER is a folder in which `npm i node@22 @modelcontextprotocol/conformance@0.2.0-alpha.12` was run (where npm
holds back install scripts, `node installArchSpecificPackage.js` in its node_modules/node). The suite speaks HTTP, so
the very server that `braindex serve` runs over stdio is served over HTTP on loopback, with a workspace and a data
folder of its own. The suite asks for things by names of its own; where braindex has the like, the name is put in
place of the suite's on the way in (Aliases), and the answer is braindex's. Prints one line a scenario, with the
reason where one does not apply; exit code 1 where one that applies fails.
"""

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

from braindex.bootstrap import App, build_app
from braindex.config import load_settings
from braindex.server.create import create_server

VERSIONS: Final = ("2025-11-25", "2026-07-28")
FILES: Final = 4_000  # of the workspace whose scan tells its progress: some seconds of work
SECONDS: Final = 600  # after which the suite counts as hung

HTTP = "about HTTP; braindex serves standard input and output alone"
NO_MEDIA = "braindex answers with text and structure, and has no picture, sound or embedded resource to give"
NO_ASKING = "braindex asks the client for its roots alone: no sampling and no elicitation"
NO_STATE = "no question of braindex's goes over several rounds or carries state"
NO_LOGGING = "logging over the protocol is deprecated; braindex logs into a file"

NOT_APPLICABLE: Final = {
    "logging-set-level": NO_LOGGING,
    "tools-call-with-logging": NO_LOGGING,
    "tools-call-image": NO_MEDIA,
    "tools-call-audio": NO_MEDIA,
    "tools-call-embedded-resource": NO_MEDIA,
    "tools-call-mixed-content": NO_MEDIA,
    "resources-read-binary": NO_MEDIA,
    "prompts-get-embedded-resource": NO_MEDIA,
    "prompts-get-with-image": NO_MEDIA,
    "prompts-get-with-args": "wants two free texts in one prompt; no prompt of braindex's takes them",
    "tools-call-sampling": NO_ASKING,
    "tools-call-elicitation": NO_ASKING,
    "elicitation-sep1034-defaults": NO_ASKING,
    "elicitation-sep1330-enums": NO_ASKING,
    "json-schema-2020-12": "wants $defs and $ref in a tool's schema, which model vendors refuse",
    "server-sse-polling": HTTP,
    "http-header-validation": HTTP,
    "http-custom-header-server-validation": HTTP,
    "dns-rebinding-protection": HTTP,
    "server-sse-multiple-streams": HTTP,
    "input-required-result-basic-elicitation": NO_ASKING,
    "input-required-result-basic-sampling": NO_ASKING,
    "input-required-result-multiple-input-requests": NO_ASKING,
    "input-required-result-capability-check": NO_ASKING,
    "input-required-result-result-type": NO_ASKING,
    "input-required-result-missing-input-response": NO_ASKING,
    "input-required-result-validate-input": NO_ASKING,
    "input-required-result-ignore-extra-params": NO_ASKING,
    "input-required-result-request-state": NO_STATE,
    "input-required-result-multi-round": NO_STATE,
    "input-required-result-tampered-state": NO_STATE,
}
# Checks of a scenario that applies otherwise.
EXCEPTED: Final = {
    "sep-2575-server-rejects-undeclared-capability": "wants a tool that cannot do without sampling",
    "sep-2575-missing-capability-http-400": "wants a tool that cannot do without sampling",
}


class Aliases:
    """Puts a name of braindex's in place of one of the suite's: as a middleware, before anything is looked at."""

    def __init__(self, brief: str, root: Path, large: Path) -> None:
        self._brief = brief
        self._large = large
        self._tools = {
            "test_simple_text": ("list_workspaces", {}),
            "test_error_handling": ("query_memory", {"query": "apples", "limit": 0}),
            "test_tool_with_progress": ("scan_workspace", {"workspace": str(large), "wait_seconds": 50}),
            "test_input_required_result_list_roots": ("scan_status", {}),
        }
        self._prompts: dict[Any, dict[str, str]] = {
            "test_simple_prompt": {"workspace": str(root)},
            "test_input_required_result_prompt": {},
        }

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        return await call_next(replace(ctx, params=self._meant(ctx.method, dict(ctx.params or {}))))

    def _meant(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        name = params.get("name")
        if method == "tools/call" and name in self._tools:
            tool, arguments = self._tools[name]
            if name == "test_tool_with_progress":
                self._grow()
            return {**params, "name": tool, "arguments": arguments}
        if method == "prompts/get" and name in self._prompts:
            return {**params, "name": "onboard", "arguments": self._prompts[name]}
        if method == "completion/complete":
            return {
                **params,
                "ref": {"type": "ref/prompt", "name": "onboard"},
                "argument": {"name": "workspace", "value": ""},
            }
        if method.startswith("resources/") and str(params.get("uri", "")).startswith(
            ("test://static-text", "test://template/123", "test://watched-resource")
        ):
            return {**params, "uri": self._brief}
        return params

    def _grow(self) -> None:
        """New files, so that the scan has as much to do as the first time."""
        folder = self._large / f"part{len(list(self._large.glob('part*')))}"
        folder.mkdir()
        for number in range(FILES):
            (folder / f"m{number}.py").write_text(f"def price_{number}(apples):\n    return apples * {number}\n")


def shop(folder: Path) -> Path:
    """A small project; its brief says its name, 123 included, as the suite's template wants it."""
    root = folder / "shop-123"
    root.mkdir()
    (root / "package.json").write_text('{"name": "shop-123"}')
    (root / "README.md").write_text("# shop-123\n\nSells apples.\n")
    (root / "shop.py").write_text("def sell(apples):\n    return apples\n")
    return root


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """braindex on a port of its own; its address."""
    root, large = shop(folder), folder / "large"
    large.mkdir()
    (large / "package.json").write_text("{}")
    app: App = build_app(load_settings({"BRAIN_DIR": str(folder / "brain")}, folder))
    workspace = app.workspaces.open(root)
    app.scans.run(workspace)
    app.workspaces.register(app.workspaces.open(large))
    server = create_server(app, environ={}, cwd=root, home=folder, version="conformance")
    server.middleware.append(Aliases(f"brain://{workspace.id}/brief", root, large))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    serving = {"transport": "streamable-http", "host": "127.0.0.1", "port": port}
    threading.Thread(target=server.run, kwargs=serving, daemon=True).start()
    for _ in range(600):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        app.close()


def run(npm: Path, url: str, version: str, out: Path) -> dict[str, list[dict[str, Any]]]:
    """The checks of every server scenario of a version."""
    node = npm / "node_modules" / "node" / "bin" / "node"
    suite = npm / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    command = [str(node) if node.exists() else "node", str(suite), "server", "--url", url, "--suite", "all"]
    command += ["--spec-version", version, "--timeout", "120000", "-o", str(out)]
    subprocess.run(command, capture_output=True, timeout=SECONDS, check=False, cwd=out.parent, env=dict(os.environ))
    found = {}
    for file in sorted(out.glob("*/checks.json")):
        name = re.sub(r"-\d{4}-\d\d-\d\dT.*$", "", file.parent.name).removeprefix("server-")
        found[name if name not in {"initialize", "stateless"} else f"server-{name}"] = json.loads(file.read_text())
    return found


def judged(scenario: str, checks: list[dict[str, Any]]) -> tuple[str, list[str]]:
    """`ok`, `MISS` or `n/a`, and what there is to say."""
    if scenario in NOT_APPLICABLE:
        return "n/a", [NOT_APPLICABLE[scenario]]
    failed = [one for one in checks if one["status"] not in {"SUCCESS", "INFO", "SKIPPED"}]
    said = [f"n/a {one['id']}: {EXCEPTED[one['id']]}" for one in failed if one["id"] in EXCEPTED]
    missed = [f"{one['id']}: {one.get('errorMessage', '')}" for one in failed if one["id"] not in EXCEPTED]
    return ("MISS" if missed else "ok"), [*missed, *said]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("npm", type=Path, metavar="NPM_FOLDER")
    npm = parser.parse_args().npm.resolve()
    missed = 0
    for version in VERSIONS:
        with tempfile.TemporaryDirectory() as scratch, served(Path(scratch).resolve()) as url:
            found = run(npm, url, version, Path(scratch) / "out")
        verdicts = {scenario: judged(scenario, checks) for scenario, checks in found.items()}
        counts = {verdict: sum(one == verdict for one, _ in verdicts.values()) for verdict in ("ok", "MISS", "n/a")}
        checks = sum(len(found[name]) for name, (verdict, _) in verdicts.items() if verdict != "n/a")
        print(
            f"\n{version}: {counts['ok']} scenarios pass ({checks} checks), {counts['MISS']} fail, "
            f"{counts['n/a']} do not apply"
        )
        for scenario, (verdict, said) in sorted(verdicts.items(), key=lambda one: one[1][0] == "n/a"):
            print(f"  {verdict:4} {scenario}" + "".join(f"\n         {line}" for line in said))
        missed += counts["MISS"] + (not counts["ok"])
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
