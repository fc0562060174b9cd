from pathlib import Path

import pytest

from braindex.config import SETTINGS, InvalidSettings, load_settings

ROOT = Path(__file__).resolve().parents[2]


def test_defaults_serve_when_nothing_is_set(tmp_path: Path) -> None:
    found = load_settings({"HOME": str(tmp_path)}, tmp_path)
    assert found.brain_dir == tmp_path / ".brain"
    assert (found.distance_threshold, found.lexical_rerank, found.max_file_bytes) == (1.15, False, 1_000_000)


def test_a_flag_wins_over_the_environment_and_that_over_the_users_file(tmp_path: Path) -> None:
    brain = tmp_path / "brain"
    brain.mkdir()
    (brain / ".env").write_text("MAX_FILE_BYTES=1\nLEXICAL_RERANK_WEIGHT=1\nQUERY_DISTANCE_THRESHOLD=1\n")
    environ = {"BRAIN_DIR": str(brain), "MAX_FILE_BYTES": "2", "LEXICAL_RERANK_WEIGHT": "2"}
    found = load_settings(environ, tmp_path, {"MAX_FILE_BYTES": "3"})
    assert (found.max_file_bytes, found.lexical_rerank_weight, found.distance_threshold) == (3, 2.0, 1.0)


def test_every_mistake_is_named_at_once(tmp_path: Path) -> None:
    environ = {
        "BRAIN_DIR": str(tmp_path),
        "MAX_FILE_BYTES": "-1",
        "ENABLE_LEXICAL_RERANK": "perhaps",
        "QUERY_DISTANCE_THRESHOLD": "nan",
    }
    with pytest.raises(InvalidSettings) as caught:
        load_settings(environ, tmp_path)
    for name in ("MAX_FILE_BYTES", "ENABLE_LEXICAL_RERANK", "QUERY_DISTANCE_THRESHOLD"):
        assert name in str(caught.value)


def test_an_empty_value_counts_as_not_set(tmp_path: Path) -> None:
    assert load_settings({"BRAIN_DIR": str(tmp_path), "MAX_FILE_BYTES": " "}, tmp_path).max_file_bytes == 1_000_000


def test_a_folders_own_env_may_move_the_data_folder_inside_itself_only(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path / "home")}
    for value, expected in [
        (".brain", tmp_path / ".brain"),
        ("../elsewhere", tmp_path / "home/.brain"),
        ("/etc", tmp_path / "home/.brain"),
    ]:
        (tmp_path / ".env").write_text(f"BRAIN_DIR={value}\n")
        assert load_settings(home, tmp_path).brain_dir == expected


def test_a_stranger_can_set_only_the_harmless_settings_of_a_workspace(tmp_path: Path) -> None:
    workspace = tmp_path / "project"
    workspace.mkdir()
    (workspace / ".env").write_text(
        "QUERY_DISTANCE_THRESHOLD=0.9\nSKIP_BARE_FILES=csv, .JSON\nMAX_FILE_BYTES=5\nBRAIN_WORKSPACE=/etc\nLEXICAL_RERANK_WEIGHT=oops\n"
    )
    found = load_settings({"BRAIN_DIR": str(tmp_path / "b")}, tmp_path).for_workspace(workspace)
    assert found.distance_threshold == 0.9
    assert found.skip_bare_files == (".csv", ".json")
    assert (found.max_file_bytes, found.brain_workspace, found.lexical_rerank_weight) == (1_000_000, "", 0.05)


def test_the_users_own_choice_wins_over_the_workspaces(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("QUERY_DISTANCE_THRESHOLD=0.9\n")
    settings = load_settings({"BRAIN_DIR": str(tmp_path / "b"), "QUERY_DISTANCE_THRESHOLD": "1.15"}, tmp_path)
    assert settings.for_workspace(tmp_path).distance_threshold == 1.15


def test_the_example_file_names_every_setting_with_its_default_and_meaning() -> None:
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    for row in SETTINGS:
        assert row.help.split(".")[0] in example, row.name
        default = ".brain" if row.name == "BRAIN_DIR" else row.default
        assert f"{row.name}={default}\n" in example, row.name
