"""A client that runs braindex's hooks as its own: a process for each."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from filelock import FileLock

import braindex.cli
from braindex.bootstrap import App
from braindex.domain.memories import Episode
from braindex.domain.results import Workspace
from braindex.registry.conversations import Conversations

SOURCE = Path(braindex.cli.__file__).parents[2]
HUNG = 60  # seconds
FILES = {
    ".git/HEAD": "ref: refs/heads/main\n",
    ".git/refs/heads/main": "a" * 40 + "\n",
    "shop/dates.py": 'def parse_date(text):\n    """Parse a date in the time zone of the shop."""\n    return text\n',
    "shop/cart.py": 'def add_item(cart, item):\n    """Put one item into the cart."""\n    cart.append(item)\n',
}
ASKED = "Why does parse_date shift the day when the shop is in another time zone?"
ANSWERED = "The zone of the server was used. parse_date now takes the zone of the shop, which settings.py names."


class Client:
    """A client that runs braindex's hooks in a project."""

    def __init__(self, root: Path, brain: Path) -> None:
        self.python: tuple[str, ...] = ()
        self.root = root
        self.brain = brain
        self.environ = {
            "PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "BRAIN_DIR": str(brain), "PYTHONPATH": str(SOURCE),
        }  # fmt: skip

    def run(self, client: str, event: str, text: str | bytes) -> "subprocess.CompletedProcess[bytes]":
        data = text if isinstance(text, bytes) else text.encode()
        return subprocess.run(
            [sys.executable, *self.python, "-P", "-m", "braindex", "hook", client, event],
            input=data, cwd=self.root, env=self.environ, capture_output=True, timeout=HUNG, check=False,
        )  # fmt: skip

    def hook(self, event: str, client: str = "claude-code", **given: Any) -> dict[str, Any]:
        done = self.run(client, event, json.dumps({"cwd": str(self.root), "hook_event_name": event, **given}))
        assert (done.returncode, done.stderr) == (0, b"")
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def context(self, prompt: str, session: str = "s1") -> str:
        answer = self.hook("UserPromptSubmit", session_id=session, prompt=prompt)
        found: str = answer.get("hookSpecificOutput", {}).get("additionalContext", "")
        return found

    def log(self) -> str:
        path = self.brain / "hooks" / "hooks.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""


def stored(app: App, workspace: Workspace) -> list[Episode]:
    """The episodes, when everything that hooks have left is stored, whoever does it."""
    waiting = Conversations(app.settings.brain_dir)
    while waiting.has_waiting():
        with FileLock(waiting.folder / "recorder.lock", mode=0o600):
            pass
        app.recorder().drain()
    return app.memories.all_episodes(workspace)
