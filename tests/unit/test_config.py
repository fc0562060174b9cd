import os
import sys
from pathlib import Path

import pytest

from braindex.config import LARGEST_ENV, InvalidSettings, Settings, load_settings

LONG_AGO = 1_000_000_000

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    found = tmp_path / "home"
    (found / ".brain").mkdir(parents=True)
    return found


@pytest.fixture
def checkout(home: Path) -> Path:
    found = home / "checkout"
    found.mkdir()
    return found


def settings_in(checkout: Path, home: Path, **environ: str) -> Settings:
    return load_settings({"HOME": str(home), **environ}, checkout)


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


class TestTheDataFolderOfACheckout:
    """A checkout's `.env`, and the data folder it names, may be a stranger's."""

    def test_its_env_sets_only_what_a_workspace_may_set_and_the_rest_is_named(self, checkout, home):
        (checkout / ".env").write_text("BRAIN_DIR=.brain\n")
        (checkout / ".brain").mkdir()
        (checkout / ".brain/.env").write_text(
            "MAX_FILE_BYTES=5\nBRAIN_WORKSPACE=/etc\nQUERY_DISTANCE_THRESHOLD=0.9\nLEXICAL_RERANK_WEIGHT=oops\n"
        )
        found = settings_in(checkout, home)
        assert found.brain_dir == checkout / ".brain"
        assert (found.max_file_bytes, found.brain_workspace) == (1_000_000, "")
        assert (found.distance_threshold, found.lexical_rerank_weight) == (0.9, 0.05)
        (note,) = found.notes
        assert "BRAIN_WORKSPACE, MAX_FILE_BYTES" in note
        assert str(checkout / ".brain/.env") in note

    def test_the_users_own_file_and_environment_still_count(self, checkout, home):
        (checkout / ".env").write_text("BRAIN_DIR=.brain\n")
        (home / ".brain/.env").write_text("MAX_FILE_BYTES=7\nQUERY_DISTANCE_THRESHOLD=0.8\n")
        (checkout / ".brain").mkdir()
        (checkout / ".brain/.env").write_text("QUERY_DISTANCE_THRESHOLD=0.9\n")
        found = settings_in(checkout, home, LEXICAL_RERANK_WEIGHT="2")
        assert (found.max_file_bytes, found.lexical_rerank_weight, found.distance_threshold) == (7, 2.0, 0.8)

    def test_a_relative_path_in_the_environment_leads_wherever_one_works_and_is_trusted_no_more(self, checkout, home):
        (checkout / ".brain").mkdir()
        (checkout / ".brain/.env").write_text("MAX_FILE_BYTES=5\n")
        found = settings_in(checkout, home, BRAIN_DIR=".brain")
        assert (found.brain_dir, found.max_file_bytes) == (checkout / ".brain", 1_000_000)
        assert "MAX_FILE_BYTES" in found.notes[0]

    def test_the_env_of_a_project_is_never_the_users_even_where_the_project_is_the_data_folder(self, checkout, home):
        (checkout / "pyproject.toml").write_text("")
        (checkout / ".env").write_text("MAX_FILE_BYTES=5\n")
        found = settings_in(checkout, home, BRAIN_DIR=str(checkout))
        assert (found.brain_dir, found.max_file_bytes) == (checkout, 1_000_000)

    @pytest.mark.parametrize(
        "value", ["../x", "sub/../../x", "/etc", "~/x", "~", ".", "./", ".git", ".git/x", "a.txt", "a.txt/x"]
    )
    def test_a_place_it_may_not_have_is_named_and_the_users_folder_serves(self, checkout, home, value):
        (checkout / "a.txt").write_text("")
        (checkout / ".env").write_text(f"BRAIN_DIR={value}\n")
        found = settings_in(checkout, home)
        assert found.brain_dir == home / ".brain"
        (note,) = found.notes
        assert note.startswith(f"BRAIN_DIR is {value!r} in {checkout / '.env'}, which does not count")

    def test_a_value_that_is_no_path_at_all_does_not_count(self, checkout, home):
        (checkout / ".env").write_bytes(b"BRAIN_DIR=a\0b\n")
        assert settings_in(checkout, home).brain_dir == home / ".brain"
        (checkout / ".env").write_text("BRAIN_DIR=" + "x" * 10_000)
        found = settings_in(checkout, home)
        assert all(len(note) < 1_000 for note in found.notes)

    @posix_only
    def test_a_link_on_the_way_or_inside_does_not_count(self, checkout, home, tmp_path):
        (tmp_path / "outside").mkdir()
        (checkout / "inside").mkdir()
        (checkout / ".env").write_text("BRAIN_DIR=.brain/deep\n")
        for target in (tmp_path / "outside", checkout / "inside"):
            (checkout / ".brain").symlink_to(target)
            assert settings_in(checkout, home).brain_dir == home / ".brain"
            (checkout / ".brain").unlink()
        (checkout / ".brain/deep/workspaces/id").mkdir(parents=True)
        assert settings_in(checkout, home).brain_dir == checkout / ".brain/deep"
        (checkout / ".brain/deep/workspaces/id/index.db").symlink_to(tmp_path / "other.db")
        found = settings_in(checkout, home)
        assert found.brain_dir == home / ".brain"
        assert "link" in found.notes[0]

    def test_the_home_directorys_own_env_may_name_what_serves_anyway(self, home):
        (home / ".env").write_text("BRAIN_DIR=.brain\n")
        (home / ".brain/.env").write_text("MAX_FILE_BYTES=7\n")
        found = settings_in(home, home)
        assert (found.brain_dir, found.max_file_bytes, found.notes) == (home / ".brain", 7, ())


class TestTheDataFolderTheUserNames:
    @pytest.mark.parametrize(
        ("value", "why"),
        [
            ("file", "is a file"),
            ("file/x", "lies below a file"),
            ("repo/.git/x", "version control"),
            ("~nobody-here/x", "unknown user"),
        ],
    )
    def test_one_that_cannot_hold_data_is_a_mistake_with_its_reason(self, tmp_path, home, value, why):
        (tmp_path / "file").write_text("")
        with pytest.raises(InvalidSettings, match=why) as caught:
            load_settings({"HOME": str(home), "BRAIN_DIR": value}, tmp_path)
        assert "BRAIN_DIR is" in str(caught.value)

    def test_a_file_where_the_default_folder_would_be_is_a_mistake_that_names_it(self, tmp_path):
        (tmp_path / ".brain").write_text("")
        with pytest.raises(InvalidSettings, match="is a file"):
            settings_in(tmp_path, tmp_path)

    def test_the_home_directory_is_the_environments(self, home, tmp_path):
        assert load_settings({"HOME": str(home), "BRAIN_DIR": "~/data"}, tmp_path).brain_dir == home / "data"

    def test_what_cannot_be_read_of_its_env_is_a_mistake_and_not_passed_over(self, home):
        for content, why in [(b"\xff\xfeM\0", "not UTF-8"), (b"#" * (LARGEST_ENV + 1), "larger than")]:
            (home / ".brain/.env").write_bytes(content)
            with pytest.raises(InvalidSettings, match=why):
                settings_in(home, home)

    def test_a_line_of_its_env_that_sets_nothing_is_named(self, home):
        (home / ".brain/.env").write_text("\ufeffMAX_FILE_BYTES=7\n\n'oops\n", encoding="utf-8")
        found = settings_in(home, home)
        assert found.max_file_bytes == 7
        assert found.notes == (f"line 3 of {home / '.brain/.env'} is no NAME=value and does not count",)

    @posix_only
    def test_its_env_may_be_a_link_but_no_device_or_pipe(self, home, tmp_path):
        (tmp_path / "dotfiles.env").write_text("MAX_FILE_BYTES=7\n")
        (home / ".brain/.env").symlink_to(tmp_path / "dotfiles.env")
        assert settings_in(home, home).max_file_bytes == 7
        (home / ".brain/.env").unlink()
        os.mkfifo(home / ".brain/.env")
        with pytest.raises(InvalidSettings, match="not a regular file"):
            settings_in(home, home)


def test_a_wrong_value_is_shown_only_in_part(home: Path) -> None:
    with pytest.raises(InvalidSettings) as caught:
        settings_in(home, home, MAX_FILE_BYTES="9x" * 50_000, QUERY_DISTANCE_THRESHOLD="-" * 50_000)
    assert len(str(caught.value)) < 1_000


class TestTheEnvOfAWorkspace:
    def threshold(self, checkout: Path, home: Path) -> float:
        return settings_in(checkout, home).options(checkout).distance_threshold

    @posix_only
    @pytest.mark.parametrize("target", ["/dev/zero", "/etc/passwd", "../outside.env", "nowhere"])
    def test_a_link_out_of_it_does_not_count(self, checkout, home, target):
        (home / "outside.env").write_text("QUERY_DISTANCE_THRESHOLD=0.9\n")
        (checkout / ".env").symlink_to(target)
        assert self.threshold(checkout, home) == 1.15

    @posix_only
    def test_a_link_that_stays_in_it_counts(self, checkout, home):
        (checkout / "local.env").write_text("QUERY_DISTANCE_THRESHOLD=0.9\n")
        (checkout / ".env").symlink_to("local.env")
        assert self.threshold(checkout, home) == 0.9

    @posix_only
    def test_a_pipe_is_not_waited_for(self, checkout, home):
        os.mkfifo(checkout / ".env")
        assert self.threshold(checkout, home) == 1.15

    def test_a_folder_a_large_file_and_one_that_is_not_utf_8_are_passed_over(self, checkout, home):
        (checkout / ".env").mkdir()
        assert self.threshold(checkout, home) == 1.15
        (checkout / ".env").rmdir()
        wanted = b"QUERY_DISTANCE_THRESHOLD=0.9\n"
        for content in (wanted + b"#" * LARGEST_ENV, wanted + b"\xff", wanted.decode().encode("utf-16")):
            (checkout / ".env").write_bytes(content)
            assert self.threshold(checkout, home) == 1.15
        (checkout / ".env").write_bytes(wanted + b"#" * (LARGEST_ENV - len(wanted)))
        assert self.threshold(checkout, home) == 0.9

    def test_a_line_nobody_can_read_spoils_no_other_and_is_not_complained_of(self, checkout, home, caplog):
        (checkout / ".env").write_text("'=\"\nQUERY_DISTANCE_THRESHOLD=0.9\n")
        assert self.threshold(checkout, home) == 0.9
        assert caplog.text == ""

    def test_while_time_size_and_inode_stay_it_is_not_read_again(self, checkout, home):
        env = checkout / ".env"

        def put(value: str, mtime: int) -> None:
            env.write_text(f"QUERY_DISTANCE_THRESHOLD={value}\n")
            os.utime(env, (mtime, mtime))

        settings = settings_in(checkout, home)
        put("0.9", LONG_AGO)
        assert settings.options(checkout).distance_threshold == 0.9
        put("0.8", LONG_AGO)
        assert settings.options(checkout).distance_threshold == 0.9
        put("0.8", LONG_AGO + 1)
        assert settings.options(checkout).distance_threshold == 0.8

    def test_a_file_written_a_moment_ago_is_read_again_since_its_time_may_not_tell(self, checkout, home):
        settings = settings_in(checkout, home)
        for value in ("0.9", "0.8", "0.7"):
            (checkout / ".env").write_text(f"QUERY_DISTANCE_THRESHOLD={value}\n")
            assert settings.options(checkout).distance_threshold == float(value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OLLAMA_HOST", "http://user:hunter2@example.com"),
        ("OLLAMA_HOST", "hunter2://example.com"),
        ("DEEPSEEK_BASE_URL", "ftp://hunter2"),
        ("OPENAI_BASE_URL", "hunter2"),
        ("CHROMA_URL", "http://user:hunter2@example.com"),
        ("CHROMA_URL", "hunter2:8000"),
        ("CHROMA_HEADERS", "hunter2"),
        ("CHROMA_HEADERS", '{"Authorization": ["hunter2"]}'),
    ],
)
def test_an_address_that_is_none_is_named_and_never_repeated(name: str, value: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings) as caught:
        load_settings({"HOME": str(tmp_path), name: value}, tmp_path)
    assert f"{name} has a value that is not shown" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_contradiction_shows_of_an_address_only_where_it_leads(tmp_path: Path) -> None:
    given = {"HOME": str(tmp_path), "OLLAMA_HOST": "http://example.com/hunter2?key=hunter2", "MEMORY_MODE": "local"}
    with pytest.raises(InvalidSettings, match=r"OLLAMA_HOST is http://example\.com:80, and") as caught:
        load_settings(given, tmp_path)
    assert "hunter2" not in str(caught.value)


def test_the_home_of_nobody_is_a_mistake_of_prices_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match="PRICES_FILE is '~nosuchuser/x'"):
        load_settings({"HOME": str(tmp_path), "PRICES_FILE": "~nosuchuser/x"}, tmp_path)


class TestAChromaServer:
    @pytest.mark.parametrize(
        ("given", "read"),
        [
            ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
            ("HTTPS://api.example.com/", "https://api.example.com"),
            ("http://[::1]:8000/behind/", "http://[::1]:8000/behind"),
            ("https://h/?tenant=a&database=b", "https://h?tenant=a&database=b"),
        ],
    )
    def test_its_address_may_name_tenant_and_database(self, given, read, home):
        assert settings_in(home, home, CHROMA_URL=given).chroma_url == read

    def test_without_one_the_embedded_index_serves(self, home):
        assert (settings_in(home, home).chroma_url, settings_in(home, home).chroma_headers) == ("", ())

    @pytest.mark.parametrize(
        "given",
        [
            "127.0.0.1:8000", "ftp://h", "http://", "http://:8000", "http://h:99999", "http://h:0", "http://h:x",
            "http://a@h", "http://h#x", "http://h?key=x", "http://h?tenant=", "http://h?tenant=a&tenant=b", "http://h?x",
        ],
    )  # fmt: skip
    def test_an_address_with_parts_that_would_go_unused_is_none(self, given, home):
        with pytest.raises(InvalidSettings, match="CHROMA_URL has a value that is not shown"):
            settings_in(home, home, CHROMA_URL=given)

    @pytest.mark.parametrize(
        ("given", "read"),
        [
            ("Authorization: Bearer a=b", (("Authorization", "Bearer a=b"),)),
            ("Authorization=Bearer x:y,X-Chroma-Token=z", (("Authorization", "Bearer x:y"), ("X-Chroma-Token", "z"))),
            ("A: 1\nB : 2,\n", (("A", "1"), ("B", "2"))),
            ('{"Cookie": "a, b; c=d"}', (("Cookie", "a, b; c=d"),)),
        ],
    )
    def test_headers_are_pairs_or_json(self, given, read, home):
        found = settings_in(home, home, CHROMA_HEADERS=given)
        assert found.chroma_headers == read
        assert "chroma_headers" not in repr(found)

    @pytest.mark.parametrize(
        "given",
        [
            "Bearer x", "Accept: a, b", "A:", ": x", "A=1,a=2", "A b: c", "Host: elsewhere", "Content-Length: 5",
            "A: \u00e9", "A: b\tc", '{"A": 1}', '{"A"', '{"A": "b\\nc"}', "{" * 100_000, '{"A":' * 100_000,
        ],
    )  # fmt: skip
    def test_what_is_no_header_is_a_mistake(self, given, home):
        with pytest.raises(InvalidSettings, match="CHROMA_HEADERS has a value that is not shown"):
            settings_in(home, home, CHROMA_HEADERS=given)

    def test_in_local_mode_it_has_to_be_on_this_machine(self, home):
        with pytest.raises(
            InvalidSettings, match=r"CHROMA_URL is https://db\.example\.com, and MEMORY_MODE=local"
        ) as caught:
            settings_in(home, home, MEMORY_MODE="local", CHROMA_URL="https://db.example.com/hunter2?tenant=hunter2")
        assert "hunter2" not in str(caught.value)
        for mode, url in (("local", "http://localhost:8000"), ("", "https://db.example.com"), ("hybrid", "https://h")):
            assert settings_in(home, home, MEMORY_MODE=mode, CHROMA_URL=url).chroma_url == url

    def test_a_workspace_cannot_name_one_and_can_refuse_one_elsewhere(self, checkout, home):
        (checkout / ".env").write_text("CHROMA_URL=http://evil.example\nCHROMA_HEADERS=A: b\nMEMORY_MODE=local\n")
        unset = settings_in(home, home)
        assert (unset.for_workspace(checkout).chroma_url, unset.for_workspace(checkout).chroma_headers) == ("", ())
        remote = settings_in(home, home, CHROMA_URL="https://db.example.com")
        assert [remote.vectors_stay_here(one) for one in (checkout, home, None)] == [True, False, True]
        assert not settings_in(home, home, CHROMA_URL="http://127.0.0.1:8000").vectors_stay_here(checkout)


def test_names_in_the_users_own_file_that_no_setting_has_are_told_with_the_setting_that_is_meant(
    home: Path, checkout: Path
) -> None:
    lines = (
        "DEEPSEEK_KEY=sk-1", "deepseek_api_key=sk-2", "EXACT_SEARCH_LIMITS=5", "BRAIN_DIR=/elsewhere", "XYZ=sk-3",
        "MAX_FILE_BYTES=7",
    )  # fmt: skip
    file = home / ".brain/.env"
    file.write_text("\n".join(lines))
    found = settings_in(checkout, home)
    assert found.without_effect == (
        f"DEEPSEEK_KEY in {file} is no setting; DEEPSEEK_API_KEY is one",
        f"deepseek_api_key in {file} does not count: DEEPSEEK_API_KEY is written in capitals",
        f"EXACT_SEARCH_LIMITS in {file} is no setting; EXACT_SEARCH_LIMIT is one",
        f"XYZ in {file} is no setting",
        f"BRAIN_DIR in {file} has no effect there, since it is read too late: set it in the environment",
    )
    assert (found.brain_dir, found.explicit, found.notes) == (home / ".brain", frozenset({"MAX_FILE_BYTES"}), ())


def test_names_of_a_checkouts_data_folder_are_looked_at_and_those_of_a_workspace_are_its_own(
    home: Path, checkout: Path
) -> None:
    (checkout / ".env").write_text("BRAIN_DIR=.brain\nTHEIR_OWN=1\n")
    (checkout / ".brain").mkdir()
    (checkout / ".brain/.env").write_text("MAX_BYTES=1\nx\u202ey=2\n")
    found = settings_in(checkout, home).without_effect
    assert [line.split(" ")[0] for line in found] == ["MAX_BYTES", "x\\u202ey"]


def test_of_many_names_without_effect_ten_are_told(home: Path, checkout: Path) -> None:
    (home / ".brain/.env").write_text("".join(f"NOBODYS_{number}=1\n" for number in range(1_200)))
    found = settings_in(checkout, home).without_effect
    assert len(found) == 11
    assert found[-1] == f"1,190 more names in {home / '.brain/.env'} are no settings"


def test_a_name_without_a_value_is_no_setting(home: Path, checkout: Path) -> None:
    (home / ".brain/.env").write_text("\nMAX_FILE_BYTES\nEXACT_SEARCH_LIMIT=5\n")
    found = settings_in(checkout, home)
    assert (found.max_file_bytes, found.exact_search_limit) == (1_000_000, 5)
    assert found.notes == (f"line 2 of {home / '.brain/.env'} is no NAME=value and does not count",)


class TestReviews:
    """What reviews are bounded by, and where their statuses go."""

    def test_a_review_has_twenty_turns_and_a_dollar(self, home):
        found = settings_in(home, home)
        assert (found.review_max_turns, found.review_max_cost, found.episode_days) == (20, 1.0, None)

    @pytest.mark.parametrize(
        ("name", "value", "expects"),
        [
            ("REVIEW_MAX_TURNS", "0", "a whole number above 0"),
            ("REVIEW_MAX_COST", "-1", "an amount in US dollars"),
            ("EPISODE_DAYS", "0", "a whole number of days above 0"),
            ("GITHUB_REPOSITORY", "owner", "OWNER/NAME"),
            ("GITHUB_REPOSITORY", "../..", "OWNER/NAME"),
            ("GITHUB_REPOSITORY", "a/b/c", "OWNER/NAME"),
            ("GITHUB_API_URL", "ftp://x", "an http or https address"),
        ],
    )
    def test_a_value_that_is_none_is_named(self, home, name, value, expects):
        with pytest.raises(InvalidSettings, match=f"{name} .*{expects}"):
            settings_in(home, home, **{name: value})

    def test_statuses_need_a_token_and_a_repository(self, home):
        both = {"GITHUB_TOKEN": "t", "GITHUB_REPOSITORY": "owner/name"}
        assert settings_in(home, home, **both).posts_statuses
        for name, value in both.items():
            assert not settings_in(home, home, **{name: value}).posts_statuses

    def test_in_local_mode_a_status_elsewhere_is_refused_at_start(self, home):
        both = {"GITHUB_TOKEN": "hunter2", "GITHUB_REPOSITORY": "owner/name", "MEMORY_MODE": "local"}
        with pytest.raises(InvalidSettings, match=r"GITHUB_TOKEN and GITHUB_REPOSITORY .* MEMORY_MODE=local") as raised:
            settings_in(home, home, **both)
        assert "hunter2" not in str(raised.value)
        assert settings_in(home, home, **both, GITHUB_API_URL="http://127.0.0.1:8000").posts_statuses
        assert not settings_in(home, home, GITHUB_TOKEN="t", MEMORY_MODE="local").posts_statuses

    def test_a_workspaces_env_sets_none_of_them(self, home):
        project = home / "project"
        project.mkdir()
        (project / ".env").write_text(
            "GITHUB_TOKEN=t\nGITHUB_REPOSITORY=evil/x\nREVIEW_MAX_COST=9\nMEMORY_MODE=local\n"
        )
        here = settings_in(home, home).for_workspace(project)
        assert (here.github_token, here.github_repository, here.review_max_cost) == ("", "", 1.0)
        assert settings_in(home, home).stays_here(project)
