"""A long-lived process answers from the disk as it is now, whoever changed it and whoever scanned it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from tests.fakes.first_scan import SOURCE

from braindex.bootstrap import App
from braindex.domain.results import Workspace
from braindex.services.workspaces import LOCK_FILE

FILES = {
    "cart.py": "def add_to_cart(cart, item):\n    cart.append(item)\n",
    "pay.py": "def charge_card(card, amount):\n    return card.charge(amount)\n",
    "mail.py": "def send_receipt(address):\n    return address\n",
}


class Dialogue:
    """`braindex ask --stdin --json`, which goes on living between its questions."""

    def __init__(self, brain: Path, root: Path) -> None:
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-m",
                "braindex",
                "ask",
                "--stdin",
                "--json",
                "--no-answer",
                "--workspace",
                str(root),
            ],
            env={**os.environ, "PYTHONPATH": str(SOURCE), "BRAIN_DIR": str(brain)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def answer(self, question: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{question}\n")
        self.process.stdin.flush()
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert "error" not in found
        return found

    def found(self, question: str) -> set[tuple[str, str]]:
        """Path and name of the sources of the first answer that is not said to be behind the disk."""
        answer = self.answer(question)
        while "coverage" in answer:
            answer = self.answer(question)
        return {(one["path"], one["name"]) for one in answer["sources"]}

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def root(make_project) -> Path:
    project: Path = make_project(FILES)
    return project


@pytest.fixture
def talk(brain: Path, root: Path) -> Iterator[Callable[[], Dialogue]]:
    made: list[Dialogue] = []

    def start() -> Dialogue:
        made.append(Dialogue(brain, root))
        return made[-1]

    yield start
    for one in made:
        one.close()


@pytest.fixture
def dialogue(talk: Callable[[], Dialogue]) -> Dialogue:
    made = talk()
    assert ("cart.py", "add_to_cart") in made.found("add_to_cart")
    return made


@pytest.fixture
def workspace(app: App, root: Path) -> Workspace:
    return app.workspaces.open(root)


def test_the_next_question_follows_every_kind_of_change_without_a_scan(dialogue, root) -> None:
    (root / "cart.py").write_text("def put_into_cart(cart, item):\n    cart.append(item)\n")
    found = dialogue.found("put_into_cart add_to_cart")
    assert ("cart.py", "put_into_cart") in found
    assert ("cart.py", "add_to_cart") not in found
    (root / "pay.py").unlink()
    assert not {one for one in dialogue.found("charge_card") if one[0] == "pay.py"}
    (root / "mail.py").rename(root / "post.py")
    found = dialogue.found("send_receipt")
    assert ("post.py", "send_receipt") in found
    assert not {one for one in found if one[0] == "mail.py"}


def test_an_edit_of_the_same_size_at_the_same_time_of_day_is_seen(dialogue, root) -> None:
    before = (root / "pay.py").stat()
    (root / "pay.py").write_text("def debit_cards(card, amount):\n    return card.charge(amount)\n")
    os.utime(root / "pay.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (root / "pay.py").stat().st_size == before.st_size
    assert ("pay.py", "debit_cards") in dialogue.found("debit_cards")


def test_what_another_process_has_scanned_is_found(dialogue, app, root, workspace) -> None:
    (root / "cart.py").write_text("def put_into_cart(cart, item):\n    cart.append(item)\n")
    assert app.scans.run(workspace).changed == 1
    found = dialogue.found("put_into_cart add_to_cart")
    assert ("cart.py", "put_into_cart") in found
    assert ("cart.py", "add_to_cart") not in found


def test_a_question_waits_for_no_writer_and_says_what_is_behind(dialogue, app, root, workspace) -> None:
    with FileLock(app.workspaces.folder(workspace) / LOCK_FILE):
        assert "coverage" not in dialogue.answer("charge_card")
        (root / "new.py").write_text("def brand_new():\n    pass\n")
        answer = dialogue.answer("charge_card")
        assert ("pay.py", "charge_card") in {(one["path"], one["name"]) for one in answer["sources"]}
        assert answer["coverage"].startswith("1 file added since the last scan")
    assert ("new.py", "brand_new") in dialogue.found("brand_new")


def test_a_question_that_starts_its_process_waits_for_no_writer_either(talk, app, workspace) -> None:
    app.scans.run(workspace)
    with FileLock(app.workspaces.folder(workspace) / LOCK_FILE):
        assert ("pay.py", "charge_card") in talk().found("charge_card")


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_switch_of_branches_is_followed(talk, root) -> None:
    def git(*arguments: str) -> None:
        own = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *own, *arguments], cwd=root, check=True, capture_output=True)

    git("init", "-b", "main")
    git("add", ".")
    git("commit", "-m", "one")
    git("switch", "-c", "other")
    (root / "cart.py").write_text("def put_into_cart(cart, item):\n    cart.append(item)\n")
    (root / "pay.py").unlink()
    (root / "refund.py").write_text("def give_money_back(card):\n    pass\n")
    git("add", "-A")
    git("commit", "-m", "two")
    asked = "add_to_cart put_into_cart charge_card give_money_back send_receipt"
    here = {("mail.py", "send_receipt")}
    one = {("cart.py", "add_to_cart"), ("pay.py", "charge_card"), *here}
    two = {("cart.py", "put_into_cart"), ("refund.py", "give_money_back"), *here}
    dialogue = talk()
    for branch, expected in (("other", two), ("main", one), ("other", two)):
        git("switch", branch)
        found = {(path, name) for path, name in dialogue.found(asked) if path.endswith(".py") and path != name}
        assert found == expected
