"""`braindex config`, and that whatever is written of the settings says what their table says."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from braindex.cli.main import main
from braindex.config import SETTINGS, load_settings
from braindex.config.table import GROUPS
from braindex.config.written import env_example, markdown_tables

ROOT = Path(__file__).resolve().parents[3]
SECRETS = {
    "DEEPSEEK_API_KEY": "hunter2-deepseek",
    "OPENAI_API_KEY": "hunter2-openai",
    "GITHUB_TOKEN": "hunter2-github",
    "CHROMA_HEADERS": "X-Chroma-Token: hunter2-headers",
    "CHROMA_URL": "https://db.example.com/hunter2-path?tenant=hunter2-tenant",
    "DEEPSEEK_BASE_URL": "https://me:hunter2-password@api.example.com/v1",
    "OLLAMA_HOST": "http://box.example.com:11434/hunter2-path",
    "GITHUB_API_URL": "https://github.example.com/hunter2-api",
}
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, and the working directory."""
    found = tmp_path / "shop"
    found.mkdir()
    (found / "Makefile").touch()
    monkeypatch.chdir(found)
    return found


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str, **settings: str) -> tuple[int, str, str]:
        with monkeypatch.context() as patched:
            for name, value in settings.items():
                patched.setenv(name, value)
            code = main(["config", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def rows(output: str) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in json.loads(output)["settings"]}


def users_env(text: str) -> Path:
    file = Path.home() / ".brain/.env"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return file


def test_every_setting_is_listed_with_its_value_where_it_was_said_and_what_it_does(run: Run, folder: Path) -> None:
    file = users_env("MAX_FILE_BYTES=7\nEPISODE_DAYS=30\n")
    (folder / ".env").write_text("SKIP_BARE_FILES=.csv\n")
    code, out, _ = run(EPISODE_DAYS="90")
    assert code == 0
    for row in SETTINGS:
        assert row.help in out, row.name
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert f"MAX_FILE_BYTES 7 [{file}]" in lines
    assert f"SKIP_BARE_FILES .csv [{folder / '.env'}]" in lines
    assert "EPISODE_DAYS 90 [environment]" in lines
    assert f"passed over in {file}: the environment comes first" in lines
    assert "OLLAMA_MODEL not set [default]" in lines
    assert f"workspace {folder}" in lines


def test_what_is_printed_is_what_serves(run: Run, folder: Path) -> None:
    users_env("MAX_FILE_BYTES=7\nQUERY_DISTANCE_THRESHOLD=0.8\n")
    (folder / ".env").write_text("QUERY_DISTANCE_THRESHOLD=0.9\nLEXICAL_RERANK_WEIGHT=1\nMEMORY_MODE=cloud\n")
    found = rows(run("--json")[1])
    here = load_settings({"HOME": str(Path.home())}, folder).for_workspace(folder)
    for row in SETTINGS:
        in_force = here.brain_dir if row.name == "BRAIN_DIR" else getattr(here, row.field)
        text = found[row.name]["value"]
        assert row.secret or in_force in (row.read(text), Path(text)), row.name


def test_a_secret_is_told_to_be_set_and_an_address_by_where_it_leads(run: Run) -> None:
    for arguments in ((), ("--json",), *((name,) for name in SECRETS)):
        code, out, err = run(*arguments, **SECRETS)
        assert code == 0
        assert "hunter2" not in out + err
    found = rows(run("--json", **SECRETS)[1])
    for name in ("DEEPSEEK_API_KEY", "OPENAI_API_KEY", "GITHUB_TOKEN", "CHROMA_HEADERS"):
        assert (found[name]["secret"], found[name]["value"], found[name]["is_set"]) == (True, None, True)
    assert found["CHROMA_URL"]["value"] == "https://db.example.com (the rest of it is not shown)"
    assert found["OPENAI_BASE_URL"]["value"] == "https://api.openai.com/v1"
    assert "value      set" in run("GITHUB_TOKEN", **SECRETS)[1]


def test_a_key_in_the_place_of_another_setting_is_not_repeated(run: Run) -> None:
    key = "sk-" + "hunter2" * 4
    for name in ("OLLAMA_MODEL", "MEMORY_MODE", "MAX_FILE_BYTES", "CHROMA_URL"):
        for arguments in ((), ("--json",), (name,)):
            _, out, err = run(*arguments, **{name: key})
            assert "hunter2" not in out + err


def test_what_a_workspaces_env_sets_in_vain_is_said_with_the_reason(run: Run, folder: Path) -> None:
    users_env("LEXICAL_RERANK_WEIGHT=1\nBRAIN_DIR=/elsewhere\n")
    (folder / ".env").write_text(
        "DEEPSEEK_API_KEY=hunter2\nMEMORY_MODE=cloud\nQUERY_DISTANCE_THRESHOLD=far\nLEXICAL_RERANK_WEIGHT=2\n"
        "BRAIN_DIR=../elsewhere\n"
    )
    found = rows(run("--json")[1])
    why = {name: [one["why"] for one in row["passed_over"]] for name, row in found.items() if row["passed_over"]}
    stranger = "this file may be a stranger's, and nothing"
    assert why == {
        "DEEPSEEK_API_KEY": [f"{stranger} of it counts there"],
        "MEMORY_MODE": [f"{stranger} but local counts there"],
        "QUERY_DISTANCE_THRESHOLD": ["it has to be a number above 0"],
        "LEXICAL_RERANK_WEIGHT": [f"{Path.home() / '.brain/.env'} comes first"],
        "BRAIN_DIR": ["it is read too late there", "only a relative path to a folder inside that directory does"],
    }
    assert found["MEMORY_MODE"]["source"] == "default"


def test_a_checkouts_own_data_folder_is_said_to_come_from_its_env(run: Run, folder: Path) -> None:
    (folder / ".env").write_text("BRAIN_DIR=.brain\n")
    (folder / ".brain").mkdir()
    (folder / ".brain/.env").write_text("MAX_FILE_BYTES=5\nSKIP_BARE_FILES=.csv\n")
    code, out, _ = run("--json")
    found = rows(out)
    assert (code, found["BRAIN_DIR"]["value"]) == (0, str(folder / ".brain"))
    assert (found["BRAIN_DIR"]["file"], found["BRAIN_DIR"]["passed_over"]) == (str(folder / ".env"), [])
    assert (found["SKIP_BARE_FILES"]["source"], found["MAX_FILE_BYTES"]["source"]) == ("data folder", "default")
    assert [one["source"] for one in json.loads(out)["files"]] == ["user", "data folder", "workspace"]
    passed = run("--json", BRAIN_DIR=str(folder.parent / "brain"))[1]
    assert [one["why"] for one in rows(passed)["BRAIN_DIR"]["passed_over"]] == ["the environment comes first"]


def test_another_workspace_can_be_named(run: Run, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / ".env").write_text("QUERY_DISTANCE_THRESHOLD=0.7\n")
    found = rows(run("--json", "--workspace", str(other))[1])["QUERY_DISTANCE_THRESHOLD"]
    assert (found["value"], found["file"]) == ("0.7", str(other / ".env"))
    code, _, err = run("--workspace", str(tmp_path / "nope"))
    assert (code, "does not exist" in err) == (1, True)
    (folder / "Makefile").unlink()
    assert "workspace  none here: --workspace W names one" in run()[1]


def test_mistakes_are_beside_their_settings_and_all_at_the_end(run: Run, tmp_path: Path) -> None:
    wrong = {"MEMORY_MODE": "moon", "MAX_FILE_BYTES": "-1", "OLLAMA_HOST": "hunter2://x", "EPISODE_DAYS": "0"}
    code, out, err = run(**wrong)
    assert (code, err, "hunter2" in out) == (1, "", False)
    at_the_end = out[out.index("\nmistaken: ") :]
    for name in wrong:
        assert out.count(f"mistaken: {name} ") == 2
        assert f"mistaken: {name} " in at_the_end
    for row in SETTINGS:
        assert row.help in out
    code, out, _ = run("--json", "max_file_bytes", **wrong)
    assert (code, len(json.loads(out)["mistakes"]), json.loads(out)["ok"]) == (1, 4, False)
    assert rows(out)["MAX_FILE_BYTES"]["mistake"].startswith("MAX_FILE_BYTES is '-1'")
    code, out, _ = run(MEMORY_MODE="local", EMBEDDING="openai")
    assert (code, "mistaken: EMBEDDING is openai, and OPENAI_API_KEY is not set" in out) == (1, True)
    code, out, _ = run("--json", PRICES_FILE=str(tmp_path / "none.json"))
    assert (code, "none.json" in json.loads(out)["mistakes"][0]) == (1, True)
    code, _, err = run("--workspace", "shop", **wrong)
    assert (code, "name it by its path" in err) == (1, True)


def test_one_setting_is_shown_in_full_whatever_the_case_of_its_name(run: Run) -> None:
    code, out, _ = run("max_daily_cost")
    assert (code, out.splitlines()[0]) == (0, "MAX_DAILY_COST")
    assert "takes      an amount in US dollars, 0 or more" in out
    code, _, err = run("MAX_DAILY_COSTS")
    assert (code, "did you mean MAX_DAILY_COST?" in err) == (2, True)
    assert "lists them all" in run("zzz")[2]


def test_nothing_is_created_by_looking(run: Run) -> None:
    run()
    assert not (Path.home() / ".brain").exists()


def test_the_example_file_is_what_the_table_makes_and_changes_nothing_but_the_data_folder(
    run: Run, folder: Path
) -> None:
    assert (ROOT / ".env.example").read_text(encoding="utf-8") == env_example()
    code, out, _ = run("--env-example", MEMORY_MODE="moon")
    assert (code, out) == (0, env_example())
    assert run("--env-example", "--json")[0] == 2
    before = {name: row["value"] for name, row in rows(run("--json")[1]).items()}
    (folder / ".env").write_text(env_example())
    after = {name: row["value"] for name, row in rows(run("--json")[1]).items()}
    assert {name for name in before if before[name] != after[name]} == {"BRAIN_DIR"}
    uncommented = env_example().replace("\n# ", "\n").replace("BRAIN_DIR=.brain", "")
    users_env("\n".join(line for line in uncommented.splitlines() if line.split("=")[0] in rows(run("--json")[1])))
    (folder / ".env").unlink()
    assert {name: row["value"] for name, row in rows(run("--json")[1]).items()} == before


def test_the_guide_has_the_table_and_speaks_of_every_setting_once() -> None:
    guide = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    assert guide.endswith(markdown_tables())
    for row in SETTINGS:
        assert guide.count(f"| `{row.name}` |") == 1
    assert sum(len(group.settings) for group in GROUPS) == len(SETTINGS) == len({row.name for row in SETTINGS})
