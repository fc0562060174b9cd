"""A healthy set-up, and broken ones: `braindex doctor` names each fault with a remedy, and whoever does what it says has a
healthy set-up again.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import MakeProject
from tests.fakes.nobody import as_nobody, given_to_nobody
from tests.fakes.ollama import MODELS, FakeOllama

from braindex import light
from braindex.bootstrap import build_app
from braindex.cli.main import main
from braindex.config import load_settings
from braindex.domain.turns import Told
from braindex.registry.conversations import Conversations

FILES = {"cart.py": "def total_price(cart):\n    return sum(cart)\n", "pyproject.toml": "[project]\nname = 'shop'\n"}
HOURS_AGO = 10_000  # seconds
ON_POSIX = pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")


class SetUp:
    """A user's machine: a data folder in the home directory, a project that was scanned, and a note in it."""

    def __init__(self, project: Path, say: Callable[[], str]) -> None:
        self.project, self._said = project, say
        self.brain = Path.home() / ".brain"
        assert self.run("scan", str(project)) == 0
        assert self.run("note", "add", "Prices are kept in cents", "--workspace", str(project)) == 0
        [self.folder] = (one for one in (self.brain / "workspaces").iterdir() if one.is_dir())

    def run(self, *arguments: str) -> int:
        code = main(list(arguments))
        self.out = self._said()
        return code

    def examined(self) -> tuple[int, list[dict[str, Any]]]:
        code = self.run("doctor", "--json")
        return code, json.loads(self.out)["checks"]

    def broken(self) -> dict[str, Any]:
        """The one thing that is broken."""
        code, found = self.examined()
        [one] = [each for each in found if each["state"] == "broken"]
        assert code == 1
        assert one["remedy"]
        return one

    def assert_healthy(self) -> None:
        code, found = self.examined()
        assert (code, [one for one in found if one["state"] == "broken"]) == (0, [])

    def notes(self) -> list[str]:
        assert self.run("note", "list", "--json", "--workspace", str(self.project)) == 0
        return [one["text"] for one in json.loads(self.out)["notes"]]


@pytest.fixture
def setup(make_project: MakeProject, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> SetUp:
    project = make_project(FILES, name="shop")
    monkeypatch.chdir(project)
    return SetUp(project, lambda: capsys.readouterr().out)


def commands(remedy: str) -> list[list[str]]:
    """The calls of braindex that a remedy names, each as its arguments."""
    quoted = re.findall(r"`(braindex [^`]+)`", remedy) or re.findall(r"braindex [^:;]+", remedy)
    return [shlex.split(one)[1:] for one in quoted]


def test_of_a_healthy_set_up_every_line_is_ok(setup: SetUp) -> None:
    code, found = setup.examined()
    assert (code, [one for one in found if one["state"] != "ok"]) == (0, [])
    assert {"Python", "packages", "settings", "data folder", "engines", "embedding", "hooks", "logs", "index.db"} <= {
        one["name"] for one in found
    }
    assert setup.run("doctor") == 0
    assert setup.out.rstrip().endswith("nothing is broken")


def test_an_empty_set_up_is_told_what_to_do_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys) -> None:
    (tmp_path / "Makefile").touch()
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "--json"]) == 0
    [first] = [one for one in json.loads(capsys.readouterr().out)["checks"] if one["name"] == "workspaces"]
    assert (first["state"], commands(first["remedy"])[0]) == ("note", ["scan", "PATH"])
    assert main(["scan", str(tmp_path)]) == 0
    capsys.readouterr()
    assert main(["doctor", "--json"]) == 0
    assert "workspaces" not in {one["name"] for one in json.loads(capsys.readouterr().out)["checks"]}


def test_a_damaged_index_is_set_aside_and_rebuilt(setup: SetUp) -> None:
    (setup.folder / "index.db").write_bytes(b"not a database at all" * 500)
    found = setup.broken()
    assert (found["name"], found["detail"][:13]) == ("index.db", "it is damaged")
    [repair] = commands(found["remedy"])
    assert setup.run(*repair) == 0
    assert setup.run("scan", str(setup.project)) == 0  # "and the next scan rebuilds it"
    setup.assert_healthy()
    assert setup.run("ask", "--no-answer", "total price") == 0
    assert "total_price" in setup.out
    assert setup.notes() == ["Prices are kept in cents"]


def test_a_memory_that_cannot_be_read_is_moved_away_and_a_backup_put_in_its_place(setup: SetUp, tmp_path: Path) -> None:
    path, backup = setup.folder / "memory.db", tmp_path / "backup.db"
    shutil.copy(path, backup)
    path.write_bytes(path.read_bytes()[:5_000])
    found = setup.broken()
    assert (found["name"], found["detail"][:13]) == ("memory.db", "it is damaged")
    place = re.search(r"put a backup at (\S+);", found["remedy"])
    assert place is not None
    for one in setup.folder.glob("memory.db*"):  # "move it away with its -wal and -shm files"
        one.rename(tmp_path / one.name)
    shutil.copy(backup, place[1])
    Path(place[1]).chmod(0o600)
    setup.assert_healthy()
    assert setup.notes() == ["Prices are kept in cents"]


def test_an_engine_that_is_away_and_a_model_that_was_not_pulled(setup: SetUp, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeOllama() as gone:
        port = int(gone.url.rpartition(":")[2])
    monkeypatch.setenv("OLLAMA_HOST", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("OLLAMA_MODEL", "qwen3:8b")
    found = setup.broken()
    assert found["name"] == "Ollama"
    assert "cannot be reached" in found["detail"]
    assert "start it with `ollama serve`" in found["remedy"]
    with FakeOllama(port) as started:
        found = setup.broken()
        assert f"does not list qwen3:8b (it has {', '.join(sorted(MODELS))})" in found["detail"]
        assert found["remedy"].startswith("run `ollama pull qwen3:8b`")
        started.models = (*MODELS, "qwen3:8b")
        setup.assert_healthy()
        started.models = MODELS
        monkeypatch.setenv("OLLAMA_MODEL", "llama3.2")  # "or name another with OLLAMA_MODEL"
        setup.assert_healthy()
        assert {one.method for one in started.requests} == {"GET"}


def test_mistaken_settings_are_found_where_config_says_and_corrected(setup: SetUp) -> None:
    file = setup.brain / ".env"
    file.write_text("MEMORY_MODE=moon\nMAX_FILE_BYTES=-1\nDEEPSEEK_API_KEY=hunter2\n")
    file.chmod(0o600)
    code, found = setup.examined()
    wrong = [one for one in found if one["state"] == "broken"]
    assert (code, [one["name"] for one in wrong]) == (1, ["settings", "settings"])
    [config] = commands(wrong[0]["remedy"])
    assert setup.run(*config, "--json") == 1
    assert "hunter2" not in setup.out
    mistaken = {one["name"]: one["file"] for one in json.loads(setup.out)["settings"] if one["mistake"]}
    assert mistaken == {"MEMORY_MODE": str(file), "MAX_FILE_BYTES": str(file)}
    file.write_text("MEMORY_MODE=local\nMAX_FILE_BYTES=1000000\n")
    setup.assert_healthy()


def test_turns_that_wait_for_long_are_stored_and_refused_ones_are_put_out_of_the_way(setup: SetUp) -> None:
    settings = load_settings(os.environ, setup.project)
    turn = Told("pi", "end", "agent_end", "s1", str(setup.project), prompt="Round the prices?", answer="Half to even.")
    assert light.endings(settings).after(turn)
    conversations = Conversations(setup.brain)
    [waiting] = (setup.brain / "hooks/waiting").iterdir()
    os.utime(waiting, (waiting.stat().st_mtime - HOURS_AGO,) * 2)
    found = setup.broken()
    assert (found["name"], found["detail"]) == ("hooks", "1 turn waits to be stored, the oldest for 3 hours")
    [record] = commands(found["remedy"])
    assert setup.run(*record) == 0
    setup.assert_healthy()
    assert setup.run("recall", "--text", "round the prices", "--json") == 0
    assert "Half to even." in setup.out

    (setup.brain / "hooks/waiting/0.json").write_text('{"episode": "none"}')
    (setup.brain / "hooks/waiting/0.json").chmod(0o600)
    assert setup.run(*record) == 0
    found = setup.broken()
    assert found["detail"].startswith("1 turn can never be stored")
    named = re.search(r"delete (\S+):", found["remedy"])
    assert (named is not None and named[1]) == str(conversations.refused_folder)
    shutil.rmtree(conversations.refused_folder)
    setup.assert_healthy()


def test_a_hook_that_failed_is_told_from_the_log_that_hooks_write(setup: SetUp) -> None:
    hook = [sys.executable, "-P", "-m", "braindex", "hook", "cursor", "stop"]
    done = subprocess.run(hook, input=b"no JSON", capture_output=True, check=True, timeout=60)
    assert done.stdout == b"{}\n"
    code, found = setup.examined()
    [said] = [one for one in found if one["name"] == "hooks" and one["state"] == "note"]
    assert (code, "one hook failed: " in said["detail"], "no JSON" in said["detail"]) == (0, True, True)
    log = re.search(r"in (\S+);", said["remedy"])
    assert log is not None
    Path(log[1]).unlink()
    assert [one["state"] for one in setup.examined()[1] if one["name"] == "hooks"] == ["ok"]


@ON_POSIX
def test_a_data_folder_that_others_can_read_is_closed_by_the_command_that_is_named(setup: SetUp) -> None:
    for one in (setup.brain, setup.brain / ".env"):
        one.touch()
        one.chmod(0o755)
    found = setup.broken()
    assert found["name"] == "private files"
    subprocess.run(shlex.split(found["remedy"]), check=True)
    setup.assert_healthy()


@ON_POSIX
def test_a_data_folder_that_cannot_be_written_gets_its_rights_by_the_command_that_is_named(open_ground: Path) -> None:
    brain, project = open_ground / "brain", open_ground / "project"
    project.mkdir()
    (project / "a.py").write_text("def one():\n    return 1\n")
    app = build_app(load_settings({"BRAIN_DIR": str(brain)}, open_ground))
    app.scans.run(app.workspaces.open(project))
    list(app.doctor().examine())  # loads what the other user could not read from here
    app.close()
    given_to_nobody(brain)
    brain.chmod(0o500)

    def examine() -> list[dict[str, Any]]:
        return [one.as_json() for one in app.doctor().examine(str(project))]

    found = as_nobody(examine, open_ground / "told")
    [wrong] = [one for one in found if one["state"] == "broken"]
    assert (wrong["name"], wrong["detail"]) == ("data folder", f"{brain} cannot be read and written by this user")
    command = wrong["remedy"].partition(", ")[0]
    assert command == f"chmod -R u+rwX {brain}"
    as_nobody(lambda: subprocess.run(shlex.split(command), check=True).returncode, open_ground / "told")
    found = as_nobody(examine, open_ground / "told")
    assert [one for one in found if one["state"] == "broken"] == []


def test_a_data_folder_in_a_synced_folder_is_moved_as_the_guide_says(
    setup: SetUp, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = Path.home() / "Dropbox/brain"
    synced.parent.mkdir()
    setup.brain.rename(synced)
    monkeypatch.setenv("BRAIN_DIR", str(synced))
    code, found = setup.examined()
    [disk] = [one for one in found if one["name"] == "disk"]
    assert (code, disk["state"]) == (0, "note")
    assert disk["detail"] == f"{synced} lies on a folder that Dropbox keeps in step with other machines"
    assert "docs/data-folder.md" in disk["remedy"]
    synced.rename(Path.home() / "brain")
    monkeypatch.setenv("BRAIN_DIR", str(Path.home() / "brain"))
    code, found = setup.examined()
    assert (code, [one for one in found if one["state"] != "ok"]) == (0, [])
    assert setup.notes() == ["Prices are kept in cents"]
