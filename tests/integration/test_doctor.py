"""`braindex doctor` as people and scripts call it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import MakeApp, MakeProject, scanned
from tests.fakes.deepseek import KEY, FakeDeepSeek
from tests.fakes.ollama import FakeOllama
from tests.fakes.server import Received, Reply, as_json

from braindex.cli.main import main

FILES = {"cart.py": "def total(cart):\n    return sum(cart)\n"}
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(brain: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setenv("BRAIN_DIR", str(brain))

    def call(*arguments: str, **settings: str) -> tuple[int, str]:
        with monkeypatch.context() as patched:
            for name, value in settings.items():
                patched.setenv(name, value)
            code = main(["doctor", *arguments])
        return code, capsys.readouterr().out

    return call


def checks(output: str) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in json.loads(output)["checks"]}


def test_without_any_data_nothing_is_broken_and_nothing_is_created(run: Run, brain: Path, tmp_path: Path) -> None:
    code, out = run()
    assert code == 0
    assert "does not exist yet" in out
    assert "-> scan a project: `braindex scan PATH`" in out
    assert out.rstrip().endswith("nothing is broken, 2 to note")
    assert not brain.exists()
    code, out = run("--json", str(tmp_path))
    assert code == 0
    assert json.loads(out)["ok"] is True
    assert checks(out)["index.db"]["detail"] == "never scanned"
    assert not brain.exists()


def test_one_workspace_can_be_named_and_what_is_wrong_ends_with_exit_code_1(
    run: Run, make_app: MakeApp, make_project: MakeProject
) -> None:
    app = make_app()
    shop, other = (scanned(app, make_project(FILES, name=name)) for name in ("shop", "other"))
    code, out = run("--json")
    assert code == 0
    assert {one["workspace_id"] for one in json.loads(out)["checks"]} == {None, shop.id, other.id}
    (app.workspaces.folder(shop) / "index.db").write_bytes(b"nothing of the kind" * 900)
    for named in (["shop"], ["--workspace", shop.id[:8]], [shop.path]):
        arguments = named if named[0] != "shop" else ["--workspace", "shop"]
        code, out = run(*arguments, "--json")
        assert code == 1
        found = json.loads(out)
        assert (found["ok"], {one["workspace_id"] for one in found["checks"]}) == (False, {None, shop.id})
    assert run("--workspace", "other")[0] == 0
    code, out = run(shop.path)
    assert code == 1
    assert "broken  index.db       it is damaged" in out
    assert f"-> braindex doctor --repair {shop.path}" in out
    code, out = run("--repair", shop.path)
    assert (code, "the next scan or question rebuilds it" in out) == (0, True)
    code, out = run(shop.path)  # until then there is nothing in it, and nothing is wrong with that
    assert (code, "its index was damaged and was set aside" in out) == (0, True)
    app.scans.run(shop)
    code, out = run(shop.path)
    assert (code, "set aside" in out) == (0, False)


def test_findings_of_a_workspace_stand_below_its_name_path_and_id(
    run: Run, make_app: MakeApp, make_project: MakeProject
) -> None:
    shop = scanned(make_app(), make_project(FILES, name="shop"))
    assert f"\nworkspace shop  {shop.path}  {shop.id}\n" in run()[1]
    of_it = [one for one in json.loads(run("--json")[1])["checks"] if one["workspace_id"]]
    assert {(one["workspace_name"], one["workspace_path"]) for one in of_it} == {("shop", shop.path)}


@pytest.mark.parametrize("wrong", ["{tmp}/nope", "{tmp}/file", "/", "{home}", "nope", "./nope", "{brain}/workspaces"])
def test_a_folder_that_can_be_no_workspace_is_refused_in_the_words_of_the_other_commands(
    wrong: str, brain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BRAIN_DIR", str(brain))
    (brain / "workspaces").mkdir(parents=True)
    (tmp_path / "file").write_text("x")
    argument = wrong.format(tmp=tmp_path, home=Path.home(), brain=brain)
    said = []
    for command in ("status", "doctor"):
        assert main([command, argument]) == 1
        said.append(capsys.readouterr().err)
    assert said[0] == said[1] != ""


def test_a_known_workspace_whose_folder_is_gone_is_examined_all_the_same(
    run: Run, make_app: MakeApp, make_project: MakeProject, tmp_path: Path
) -> None:
    shop = scanned(make_app(), make_project(FILES, name="shop"))
    Path(shop.path).rename(tmp_path / "elsewhere")
    code, out = run("--json", shop.path)
    assert (code, checks(out)["folder"]["state"]) == (0, "note")
    assert checks(out)["index.db"]["state"] == "ok"


def test_a_description_that_is_lost_is_written_anew_by_the_scan_that_the_remedy_names(
    run: Run, make_app: MakeApp, make_project: MakeProject
) -> None:
    app = make_app()
    shop = scanned(app, make_project(FILES, name="shop"))
    described = app.workspaces.folder(shop) / "workspace.json"
    before = described.read_text()
    described.unlink()
    code, out = run()
    assert (code, f"no workspace.json says whose data it is of {shop.path}" in out) == (0, True)
    assert f"-> braindex scan {shop.path}: writes it anew" in out
    assert "left over" not in out
    app.scans.run(shop)
    assert described.read_text() == before
    assert "workspace.json" not in run()[1]


def test_a_misspelt_setting_is_named_and_its_value_is_not(run: Run, brain: Path) -> None:
    brain.mkdir(mode=0o700)
    (brain / ".env").write_text("DEEPSEEK_KEY=sk-secret\nBRAIN_DIR=/elsewhere/secret\n")
    code, out = run()
    assert code == 0
    assert "no setting; DEEPSEEK_API_KEY is one" in out
    assert "ok      settings       1 set: BRAIN_DIR" in out  # in the environment, where it counts
    assert f"BRAIN_DIR in {brain / '.env'} has no effect there" in out
    assert "secret" not in out


def test_the_same_number_of_files_is_told_by_every_command(
    run: Run, make_app: MakeApp, make_project: MakeProject
) -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA7bq9" * 40 + "\n-----END RSA PRIVATE KEY-----\n"
    app = make_app()
    shop = scanned(app, make_project({**FILES, "notes.txt": key, "binary.py": b"\0\1"}))
    status = app.status.of(shop)
    assert status.files < len(FILES) + 2
    assert checks(run("--json")[1])["index.db"]["detail"].startswith(f"{status.files} file")


def test_mistakes_of_the_settings_are_named_with_what_else_can_be_said(run: Run, brain: Path) -> None:
    code, out = run(MEMORY_MODE="moon", MAX_FILE_BYTES="-1")
    assert code == 1
    assert "MEMORY_MODE is 'moon'" in out
    assert "MAX_FILE_BYTES is '-1'" in out
    assert "ok      SQLite" in out
    code, out = run("--json", PRICES_FILE=str(brain / "none.json"))
    assert code == 1
    assert checks(out)["settings"]["state"] == "broken"
    assert not brain.exists()


def test_what_a_workspaces_own_env_sets_in_vain_is_named_without_its_value(
    run: Run, make_app: MakeApp, make_project: MakeProject
) -> None:
    env = "DEEPSEEK_API_KEY=sk-secret\nQUERY_DISTANCE_THRESHOLD=1.0\nTHEIR_OWN=1\nMEMORY_MODE=cloud\n"
    shop = scanned(make_app(), make_project({**FILES, ".env": env}))
    code, out = run("--json", shop.path)
    assert code == 0
    [found] = [one for one in json.loads(out)["checks"] if one["name"] == "settings" and one["workspace_id"]]
    assert found["detail"] == "its .env sets MEMORY_MODE, DEEPSEEK_API_KEY, which does not count there"
    assert "sk-secret" not in out


def test_what_could_fool_a_terminal_is_escaped(run: Run, make_app: MakeApp, make_project: MakeProject) -> None:
    scanned(make_app(), make_project(FILES, name="sh\x1b[31mop\u202e"))
    for arguments in ((), ("--json",)):
        _, out = run(*arguments)
        assert "\x1b" not in out
        assert "\u202e" not in out
    assert any("sh\x1b[31mop\u202e" in one["detail"] for one in json.loads(run("--json")[1])["checks"])


def test_arguments_that_contradict_each_other_are_refused(run: Run, tmp_path: Path) -> None:
    assert run("--quick", "--repair")[0] == 2
    assert run(str(tmp_path), "--workspace", "x")[0] == 2
    assert run("--workspace", "nobody-knows-it")[0] == 1


class ListingDeepSeek(FakeDeepSeek):
    """One that lists its models too, as api-docs.deepseek.com/api/list-models has it."""

    def answer(self, received: Received) -> Reply:
        if (received.method, received.path) != ("GET", "/models"):
            return super().answer(received)
        if received.headers.get("authorization") != f"Bearer {self.key}":
            return self.error(401, "Authentication Fails")
        rows = [{"id": name, "object": "model", "owned_by": "deepseek"} for name in self.models]
        return as_json({"object": "list", "data": rows})


def test_engines_are_asked_for_their_models_and_never_for_an_answer(run: Run, fake_ollama: FakeOllama) -> None:
    with ListingDeepSeek() as fake:
        settings = {"DEEPSEEK_API_KEY": KEY, "DEEPSEEK_BASE_URL": fake.url, "OLLAMA_HOST": fake_ollama.url}
        code, out = run("--json", **settings, OLLAMA_MODEL="llama3.2")
        assert code == 0, out
        found = checks(out)
        assert (found["DeepSeek"]["state"], found["Ollama"]["state"]) == ("ok", "ok")
        settings["DEEPSEEK_FLASH_MODEL"] = "deepseek-unheard-of"
        code, out = run("--json", **settings, OLLAMA_MODEL="never-pulled")
        assert code == 1
        found = checks(out)
        assert found["DeepSeek"]["state"] == "note"
        assert (found["Ollama"]["state"], "ollama pull never-pulled" in found["Ollama"]["remedy"]) == ("broken", True)
        settings["DEEPSEEK_API_KEY"] = "sk-wrong"
        code, out = run("--json", **settings)
        assert (code, checks(out)["DeepSeek"]["remedy"]) == (1, "check DEEPSEEK_API_KEY")
        assert "sk-wrong" not in out
        fake.fail_always("slow", seconds=30)
        assert "did not answer within 2 s" in run("--json", **settings)[1]
        assert fake.violations == []
        assert {one.method for one in (*fake.requests, *fake_ollama.requests)} == {"GET"}


@pytest.mark.parametrize("failure", ["non-JSON", "JSON of another kind", "drop half-way", "500", "huge body"])
def test_a_provider_that_answers_nonsense_is_broken_in_one_line(
    failure: str, run: Run, fake_ollama: FakeOllama
) -> None:
    fake_ollama.fail_always(failure)
    with ListingDeepSeek() as fake:
        fake.fail_always(failure)
        settings = {"DEEPSEEK_API_KEY": KEY, "DEEPSEEK_BASE_URL": fake.url, "OLLAMA_HOST": fake_ollama.url}
        code, out = run("--json", **settings, OLLAMA_MODEL="llama3.2", EMBEDDING="ollama", OLLAMA_EMBED_MODEL="embed")
    assert code == 1
    states = [(one["name"], one["state"]) for one in json.loads(out)["checks"]]
    assert states.count(("embedding", "broken")) == 1
    assert ("DeepSeek", "broken") in states
    assert ("Ollama", "broken") in states
    assert "the check itself failed" not in out
