import os
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client

from braindex.bootstrap import App, build_app
from braindex.config import load_settings
from braindex.domain.errors import UsageError
from braindex.domain.results import Answer, Question, Workspace
from braindex.domain.tokens import count_tokens
from braindex.indexing.passages import VERSION
from braindex.server.create import create_server
from braindex.services import freshness, ingest
from braindex.services.ask import PathNotThere

PROJECT = {
    "src/sessions.py": (
        '"""Sessions."""\n\n\nclass Session:\n    """A session with cookies."""\n\n    def send(self, request):\n'
        "        return request\n\n\ndef merge_cookies(jar, cookies):\n"
        '    """Merge cookies into a jar."""\n    for cookie in cookies:\n        jar.set(cookie)\n    return jar\n'
    ),
    "src/database.py": (
        "def open_database(path):\n    '''Open the SQLite database.'''\n    return connect(path)\n\n\n"
        "def close_database(connection):\n    connection.close()\n"
    ),
    "web/style.css": ".price-tag {\n  color: red;\n}\n\n@media print {\n  .price-tag { color: black; }\n}\n",
    "web/index.html": '<main id="app"><h1>Welcome</h1><form id="login"><input name="user"></form></main>\n',
    "README.md": "# Demo\n\n## Installation\n\nRun the installer.\n",
    "tests/test_sessions.py": "def test_merge_cookies():\n    assert merge_cookies([], []) == []\n",
}


def _scanned(app: App, root: Path) -> Workspace:
    workspace = app.workspaces.open(root)
    app.scans.run(workspace)
    return workspace


def _ask(app: App, workspace: Workspace, text: str, **narrowed) -> Answer:
    return app.asking.ask(workspace, Question(text, **narrowed))


@pytest.fixture
def project(app: App, make_project) -> tuple[App, Workspace, Path]:
    root = make_project(PROJECT)
    return app, _scanned(app, root), root


@pytest.mark.parametrize(
    ("question", "name", "path", "line"),
    [
        ("how are cookies merged", "merge_cookies", "src/sessions.py", 11),
        ("where is merge_cookies defined?", "merge_cookies", "src/sessions.py", 11),
        ("Session.send", "send", "src/sessions.py", 7),
        ("Open the SQLite database", "open_database", "src/database.py", 1),
        (".price-tag", ".price-tag", "web/style.css", 1),
        ("Installation", "Installation", "README.md", 3),
        ("login form", "#login", "web/index.html", 1),
    ],
)
def test_the_right_definition_comes_first_with_its_line(
    project, question: str, name: str, path: str, line: int
) -> None:
    app, workspace, _ = project
    first = _ask(app, workspace, question).sources[0]
    assert (first.name, first.path, first.line) == (name, path, line)


def test_every_source_has_a_true_distance_also_where_only_words_found_it(project) -> None:
    app, workspace, _ = project
    for source in _ask(app, workspace, "merge_cookies jar price-tag", limit=20).sources:
        assert source.distance is not None
        assert 0.0 <= source.distance <= 2.0


def test_an_answer_costs_an_agent_few_tokens(project) -> None:
    app, workspace, _ = project
    answer = _ask(app, workspace, "how are cookies merged")
    assert sum(count_tokens(one.excerpt) for one in answer.sources) <= 400


def test_a_question_about_something_else_finds_nothing_and_says_so(project) -> None:
    app, workspace, _ = project
    answer = _ask(app, workspace, "zebra migration volcano")
    assert answer.sources == ()
    assert "nothing relevant" in answer.reason


def test_lines_that_moved_since_the_scan_are_cited_where_they_are_now(project) -> None:
    app, workspace, root = project
    file = root / "src/sessions.py"
    file.write_text("import os\nimport sys\n\n" + file.read_text())
    first = _ask(app, workspace, "where is merge_cookies defined?").sources[0]
    assert (first.name, first.line, first.stale) == ("merge_cookies", 14, False)
    assert "for cookie in cookies" in first.excerpt


def test_a_function_that_was_deleted_since_the_scan_is_not_cited(project) -> None:
    app, workspace, root = project
    file = root / "src/sessions.py"
    file.write_text(file.read_text().split("def merge_cookies")[0])
    assert "src/sessions.py" not in [
        one.path for one in _ask(app, workspace, "merge_cookies").sources if one.name == "merge_cookies"
    ]


def test_a_file_that_was_deleted_since_the_scan_is_not_cited(project) -> None:
    app, workspace, root = project
    (root / "src/database.py").unlink()
    assert "src/database.py" not in [one.path for one in _ask(app, workspace, "open database").sources]


@pytest.fixture
def later(project: tuple[App, Workspace, Path], monkeypatch: pytest.MonkeyPatch) -> tuple[App, Workspace, Path]:
    """The same project, as if more than two seconds had passed since its scan."""
    monkeypatch.setattr(freshness, "LOOK_EVERY", 0.0)
    monkeypatch.setattr(freshness, "LOOK_TIME", 30.0)
    monkeypatch.setattr(freshness, "TAKE_IN_TIME", 30.0)
    return project


def test_a_function_written_since_the_scan_is_found_without_a_scan(later) -> None:
    app, workspace, root = later
    (root / "src" / "fresh.py").write_text("def brand_new_function():\n    return 1\n")
    assert _ask(app, workspace, "brand_new_function").sources[0].path == "src/fresh.py"


def test_what_was_renamed_since_the_scan_is_found_under_its_new_name_only(later) -> None:
    app, workspace, root = later
    (root / "src/database.py").rename(root / "src/storage.py")
    paths = {one.path for one in _ask(app, workspace, "open_database").sources}
    assert "src/storage.py" in paths
    assert "src/database.py" not in paths


def test_a_question_about_an_unchanged_workspace_writes_nothing(later) -> None:
    app, workspace, root = later
    for file in root.rglob("*"):
        os.utime(file, ns=(1_700_000_000_000_000_000, 1_700_000_000_000_000_000))
    app.scans.run(workspace)
    with app.workspaces.open_index(workspace) as store:
        before = store.scan_marks()
    _ask(app, workspace, "cookies")
    with app.workspaces.open_index(workspace) as store:
        assert store.scan_marks() == before


def test_a_file_that_cannot_be_indexed_is_not_looked_into_at_every_question(later) -> None:
    app, workspace, root = later
    (root / "broken.dat").write_bytes(b"\x00\x01 no text")
    for file in root.rglob("*"):
        os.utime(file, ns=(1_700_000_000_000_000_000, 1_700_000_000_000_000_000))
    summary = app.scans.run(workspace)
    assert [one.path for one in summary.skipped] == ["broken.dat"]
    with app.workspaces.open_index(workspace) as store:
        before = store.scan_marks(), store.files()
        assert "broken.dat" in before[1]
    _ask(app, workspace, "cookies")
    with app.workspaces.open_index(workspace) as store:
        assert (store.scan_marks(), store.files()) == before
    assert app.scans.status(workspace).skipped == app.scans.run(workspace).skipped == summary.skipped


def test_an_answer_that_could_not_wait_for_the_look_at_the_disk_says_so(later, monkeypatch) -> None:
    app, workspace, root = later
    monkeypatch.setattr(freshness, "LOOK_TIME", 0.0)
    (root / "src" / "fresh.py").write_text("def brand_new_function():\n    return 1\n")
    coverages = [_ask(app, workspace, "brand_new_function").coverage]
    assert "newest edits may be missing" in coverages[0]
    while coverages[-1]:
        coverages.append(_ask(app, workspace, "brand_new_function").coverage)
    assert _ask(app, workspace, "brand_new_function").sources[0].path == "src/fresh.py"


def test_an_index_made_by_another_version_is_made_anew_before_it_answers(later, monkeypatch) -> None:
    app, workspace, _ = later
    monkeypatch.setattr(ingest, "VERSION", VERSION + 1)
    answer = _ask(app, workspace, "open_database")
    assert (answer.coverage, answer.sources[0].name) == ("", "open_database")
    with app.workspaces.open_index(workspace) as store:
        assert str(store.model()).endswith(f"/{VERSION + 1}")


def test_a_question_during_a_long_scan_says_what_is_still_missing(app: App, make_project, monkeypatch) -> None:
    monkeypatch.setattr(freshness, "FIRST_SCAN_TIME", 0.0)
    many = {f"m{number}.py": f"def function_{number}():\n    pass\n" * 20 for number in range(300)}
    workspace = app.workspaces.open(make_project(many))
    answer = _ask(app, workspace, "function_7")
    assert "the first scan is running" in answer.coverage
    app.scans.start(workspace).wait(60)
    assert _ask(app, workspace, "function_7").coverage == ""


def test_a_file_swapped_for_a_link_out_of_the_workspace_is_not_read(project, tmp_path: Path) -> None:
    app, workspace, root = project
    secret = tmp_path / "secret.py"
    secret.write_text("def open_database(path):\n    return 'TOP SECRET'\n")
    (root / "src/database.py").unlink()
    (root / "src/database.py").symlink_to(secret)
    assert "SECRET" not in str(_ask(app, workspace, "open_database").as_json())


def test_a_narrowed_question_is_filtered_before_it_is_cut(app: App, make_project) -> None:
    noisy = {
        f"noise/merge_cookies_{number}.py": f"def merge_cookies_{number}():\n    '''Merge cookies.'''\n"
        for number in range(8)
    }
    workspace = _scanned(app, make_project({**noisy, "scope/jar.py": "def merge_jar():\n    '''Merge cookies.'''\n"}))
    answer = _ask(app, workspace, "merge cookies", limit=3, path="scope")
    assert {one.path for one in answer.sources} == {"scope/jar.py"}


def test_a_question_can_be_narrowed_by_kind_and_language(project) -> None:
    app, workspace, _ = project
    assert {one.kind for one in _ask(app, workspace, "cookies", kind="class").sources} <= {"class"}
    assert {one.language for one in _ask(app, workspace, "price tag", language="css").sources} == {"css"}


@pytest.mark.parametrize(
    ("question", "word"),
    [
        (Question(""), "empty"),
        (Question("  \n"), "empty"),
        (Question("x", limit=0), "limit is 0"),
        (Question("x", limit=-1), "limit is -1"),
        (Question("x", limit=51), "from 1 to 50"),
        (Question("x", kind="banana"), "banana"),
        (Question("x", language="cobol"), "cobol"),
    ],
)
def test_a_wrong_question_is_an_error_that_names_what_is_wrong(project, question: Question, word: str) -> None:
    app, workspace, _ = project
    with pytest.raises(UsageError, match=word):
        app.asking.ask(workspace, question)


@pytest.mark.parametrize(
    "text", ['foo:bar "unbalanced AND *x', "merge_cookies " * 3000, "'; DROP TABLE files; --", "\x00\ud800"]
)
def test_any_text_is_a_question(project, text: str) -> None:
    app, workspace, _ = project
    _ask(app, workspace, text)


def test_a_question_in_chinese_finds_code_commented_in_chinese_and_nothing_in_english_code(
    app: App, make_project
) -> None:
    chinese = make_project(
        {
            "db.py": "def connect(path):\n    # 打开数据库连接\n    return path\n",
            "other.py": "def unrelated():\n    return 1\n",
        },
        "chinese",
    )
    answer = _ask(app, _scanned(app, chinese), "数据库连接在哪里打开")
    assert answer.sources[0].path == "db.py"
    english = make_project(PROJECT, "english")
    nothing = _ask(app, _scanned(app, english), "数据库连接在哪里打开")
    assert nothing.sources == ()
    assert "nothing relevant" in nothing.reason


def test_a_file_of_chinese_text_is_not_the_best_match_of_every_question(app: App, make_project) -> None:
    root = make_project({**PROJECT, "说明.txt": "这是一个说明文件。" * 30})
    workspace = _scanned(app, root)
    assert _ask(app, workspace, "how are cookies merged").sources[0].name == "merge_cookies"
    assert "说明.txt" not in [one.path for one in _ask(app, workspace, "how are cookies merged").sources]


def test_a_document_is_cited_by_exactly_its_name(app: App, make_project) -> None:
    workspace = _scanned(app, make_project({"docs/Ativação b.md": "# Ativação\n\nComo ativar.\n"}))
    assert _ask(app, workspace, "Ativação").sources[0].path == "docs/Ativação b.md"


def test_a_file_named_in_decomposed_unicode_is_found_and_read(app: App, make_project) -> None:
    workspace = _scanned(app, make_project({"cafe\u0301.py": "def brew_coffee():\n    return 'hot'\n"}))
    source = _ask(app, workspace, "brew_coffee").sources[0]
    assert source.path == "caf\u00e9.py"
    assert "hot" in source.excerpt


def test_the_first_question_of_an_unscanned_workspace_scans_it(app: App, make_project) -> None:
    workspace = app.workspaces.open(make_project(PROJECT))
    answer = _ask(app, workspace, "how are cookies merged")
    assert answer.sources[0].name == "merge_cookies"


def test_the_same_content_gives_the_same_answer_however_the_index_was_built(tmp_path: Path, make_project) -> None:
    root = make_project(PROJECT)
    orders = []
    for number, paths in enumerate((sorted(PROJECT), sorted(PROJECT, reverse=True))):
        app = build_app(load_settings({"BRAIN_DIR": str(tmp_path / f"brain{number}")}, tmp_path))
        workspace = app.workspaces.open(root)
        for path in paths:
            (root / path).rename(tmp_path / "aside")
            app.scans.run(workspace)
            (tmp_path / "aside").rename(root / path)
        app.scans.run(workspace)
        answers = [
            _ask(app, workspace, text, limit=20)
            for text in ("cookies", "open the database", "price", "how does it work")
        ]
        orders.append([[(one.id, round(one.score, 6)) for one in answer.sources] for answer in answers])
        app.close()
    assert orders[0] == orders[1]


def test_the_lexical_rerank_is_a_pure_reorder(tmp_path: Path, make_project) -> None:
    root = make_project(PROJECT)
    found = {}
    for value in ("false", "true"):
        app = build_app(load_settings({"BRAIN_DIR": str(tmp_path / "brain"), "ENABLE_LEXICAL_RERANK": value}, tmp_path))
        found[value] = _ask(app, _scanned(app, root), "merge cookies into a jar").sources
        app.close()
    assert {one.id for one in found["true"]} == {one.id for one in found["false"]}
    scores = [one.score for one in found["true"]]
    assert scores == sorted(scores, reverse=True)
    best = found["true"][0]
    assert best.score == pytest.approx(1 / (best.distance or 2.0) + 0.05 * 3, abs=0.06)


def test_a_long_class_is_cited_by_its_header(app: App, make_project) -> None:
    methods = "".join(f"    def method_{number}(self):\n        return {number}\n\n" for number in range(40))
    workspace = _scanned(
        app, make_project({"big.py": f'class Enormous:\n    """All of it."""\n\n    size = 1\n\n{methods}'})
    )
    source = _ask(app, workspace, "Enormous").sources[0]
    assert (source.name, source.line, source.end_line) == ("Enormous", 1, 50)


def test_an_index_that_is_no_database_is_set_aside_and_rebuilt_by_the_next_question(project) -> None:
    app, workspace, _ = project
    folder = app.workspaces.folder(workspace)
    for name in ("index.db-wal", "index.db-shm"):
        (folder / name).unlink(missing_ok=True)
    (folder / "index.db").write_bytes(b"this is not a database" * 100)
    assert _ask(app, workspace, "merge_cookies").sources[0].name == "merge_cookies"
    assert list(folder.glob("index.db.damaged-*"))


def test_a_question_never_imports_chromadb_for_a_small_workspace(project) -> None:
    app, _, root = project
    program = (
        "import sys; from pathlib import Path; from braindex.bootstrap import build_app; from braindex.config import load_settings;"
        "from braindex.domain.results import Question; app = build_app(load_settings({'BRAIN_DIR': sys.argv[1]}, Path.cwd()));"
        "answer = app.asking.ask(app.workspaces.open(sys.argv[2]), Question('merge_cookies'));"
        "assert answer.sources; assert 'chromadb' not in sys.modules"
    )
    brain = app.settings.brain_dir
    subprocess.run([sys.executable, "-c", program, str(brain), str(root)], check=True, env={**os.environ})


@pytest.mark.parametrize("path", ["web", "web/", "./web", "{root}/web", "src/../web", "{root}/src/../web"])
def test_a_path_filter_may_be_written_in_any_usual_way(project, path: str) -> None:
    app, workspace, root = project
    answer = _ask(app, workspace, "price tag", path=path.format(root=root))
    assert {one.path for one in answer.sources} == {"web/style.css"}


def test_a_path_filter_outside_the_workspace_is_an_error_that_names_both(project) -> None:
    app, workspace, _ = project
    with pytest.raises(UsageError, match="/etc is not in the workspace"):
        _ask(app, workspace, "price tag", path="/etc")


@pytest.mark.parametrize("path", ["..", "../elsewhere", "web/../../elsewhere"])
def test_a_path_filter_that_climbs_out_of_the_workspace_is_an_error(project, path: str) -> None:
    app, workspace, _ = project
    with pytest.raises(UsageError, match="is not in the workspace"):
        _ask(app, workspace, "price tag", path=path)


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_path_filter_may_lead_into_the_workspace_through_a_link(project, tmp_path: Path) -> None:
    app, workspace, root = project
    (tmp_path / "link").symlink_to(root)
    assert {one.path for one in _ask(app, workspace, "price tag", path=f"{tmp_path}/link/web").sources} == {
        "web/style.css"
    }


@pytest.mark.parametrize("path", ["nope", "web/nope.css", "style.css", "{root}/nope"])
def test_a_path_that_the_workspace_does_not_have_is_an_error_that_says_where_paths_start(project, path: str) -> None:
    app, workspace, root = project
    with pytest.raises(PathNotThere, match=r"is not in the workspace .* starts at the workspace's root"):
        _ask(app, workspace, "price tag", path=path.format(root=root))
    (root / "web" / "style.css").unlink()
    with pytest.raises(PathNotThere, match=r"^web/style.css is not"):
        _ask(app, workspace, "price tag", path="web/style.css")


@pytest.mark.parametrize("path", ["no*pe", "**/nope.py", "web/[xyz]", "empty", "left_out"])
def test_a_pattern_or_an_existing_path_of_which_nothing_is_indexed_finds_nothing(project, path: str) -> None:
    app, workspace, root = project
    (root / "empty").mkdir()
    (root / ".memignore").write_text("left_out\n")
    (root / "left_out").write_text("text\n")
    answer = _ask(app, workspace, "price tag", path=path)
    assert (answer.sources, answer.reason[:26]) == ((), "nothing relevant was found")


@pytest.mark.anyio
async def test_an_agent_is_told_that_a_path_is_not_in_the_workspace(project, tmp_path: Path) -> None:
    app, workspace, root = project
    server = create_server(app, workspace.path, environ={}, cwd=tmp_path, home=tmp_path)
    async with Client(server) as client:
        result = await client.call_tool("query_memory", {"query": "price tag", "path": "nope"})
    assert result.is_error
    assert f"nope is not in the workspace {root}" in str(result.content)


def test_a_sentence_that_stands_in_a_file_word_for_word_is_found_there(app: App, make_project) -> None:
    messages = "".join(f'    "CODE_{number}": "Something number {number} went wrong",\n' for number in range(30))
    errors = f'ERRORS = {{\n{messages}    "CODE_BODY": "Body cannot be empty when content-type is set",\n}}\n'
    root = make_project({"lib/errors.py": errors, "lib/body.py": "def is_empty_body(body):\n    return not body\n" * 3})
    workspace = _scanned(app, root)
    first = _ask(app, workspace, "Body cannot be empty when content-type is set").sources[0]
    assert (first.path, first.name) == ("lib/errors.py", "ERRORS")
    assert "CODE_BODY" in first.excerpt


def test_a_name_that_is_no_entity_is_found_where_it_is_written(app: App, make_project) -> None:
    root = make_project(
        {
            "a.py": "class Request:\n    max_content_length: int = 5\n",
            "b.py": "def content_length(x):\n    return len(x)\n",
        }
    )
    assert _ask(app, _scanned(app, root), "max_content_length").sources[0].path == "a.py"


def test_sources_that_only_share_words_are_called_weak(tmp_path: Path, make_project) -> None:
    strict = build_app(load_settings({"BRAIN_DIR": str(tmp_path / "b"), "QUERY_DISTANCE_THRESHOLD": "0.01"}, tmp_path))
    answer = _ask(strict, _scanned(strict, make_project(PROJECT)), "run the installer")
    assert answer.sources
    assert "weak matches only" in answer.reason


def test_a_kind_or_language_may_be_written_in_capitals(project) -> None:
    app, workspace, _ = project
    assert _ask(app, workspace, "price tag", language="CSS").sources


def test_the_very_name_asked_for_is_found_however_common_its_words_are(app: App, make_project) -> None:
    many = {f"m{number}.py": f"def send_message_{number}(message):\n    return message\n" for number in range(30)}
    workspace = _scanned(app, make_project({**many, "limits.py": "_MESSAGE = 'x'\n"}))
    assert _ask(app, workspace, "where is _MESSAGE defined").sources[0].path == "limits.py"
