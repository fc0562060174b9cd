import json
import math
from pathlib import Path

import pytest
from tests.conftest import ask, scanned

from braindex.bootstrap import App
from braindex.cli.main import main
from braindex.domain.entities import CodeEntity
from braindex.domain.explanation import Explanation, Placed
from braindex.domain.ranking import Candidate
from braindex.domain.results import Answer, Question, Workspace
from braindex.domain.units import StoredEntity
from braindex.services.explaining import Checks
from braindex.services.verify import Verified

PROJECT = {
    "src/sessions.py": (
        '"""Sessions."""\n\n\nclass Session:\n    """A session with cookies."""\n\n    def send(self, request):\n'
        "        return request\n\n\ndef merge_cookies(jar, cookies):\n"
        '    """Merge cookies into a jar."""\n    for cookie in cookies:\n        jar.set(cookie)\n    return jar\n'
    ),
    "src/database.py": (
        "LIMIT = 5\n\n\ndef open_database(path):\n    '''Open the SQLite database.'''\n    return connect(path)\n\n\n"
        "def close_database(connection):\n    if not connection:\n"
        "        raise ValueError('no such connection to close')\n    connection.close()\n"
    ),
    "src/v1/sessions.py": "def merge_cookies(jar, cookies):\n    return jar\n",
    "src/v2/sessions.py": "def merge_cookies(jar, cookies):\n    return cookies\n",
    "web/style.css": ".price-tag {\n  color: red;\n}\n",
    "README.md": "# Demo\n\n## Installation\n\nRun the installer.\n\n## Cookies\n\nThey are merged.\n",
    "tests/test_sessions.py": "def test_merge_cookies():\n    assert merge_cookies([], []) == []\n",
}
QUESTIONS = {
    "symbol": "where is merge_cookies defined?",
    "how": "how are cookies merged?",
    "action": "Open the SQLite database",
    "phrase": "cookies of a session",
    "web": "merge cookies python",
    "error": "ValueError: no such connection to close",
}


@pytest.fixture
def workspace(app: App, make_project) -> Workspace:
    return scanned(app, make_project(PROJECT))


def explained(app: App, workspace: Workspace, text: str, **narrowed: object) -> tuple[Answer, Explanation]:
    answer = ask(app, workspace, text, explain=True, **narrowed)
    assert answer.explanation is not None
    return answer, answer.explanation


def reckoned(one: Placed) -> float:
    """The score from its parts alone."""
    return sum(each.points for each in one.signals) * math.prod(each.factor for each in one.factors) * one.place_factor


@pytest.mark.parametrize(("kind", "text"), QUESTIONS.items())
def test_an_explained_question_has_the_same_sources_in_the_same_order(
    app: App, workspace: Workspace, kind: str, text: str
) -> None:
    app.notes.save(workspace, "cookies are merged by the jar, the later one wins")
    plain = ask(app, workspace, text)
    answer, why = explained(app, workspace, text)
    assert answer.sources == plain.sources
    assert [one.id for one in why.placed] == [one.id for one in plain.sources]
    assert why.analysis.type == kind
    assert plain.explanation is None
    assert "explanation" not in plain.as_json()


@pytest.mark.parametrize("text", QUESTIONS.values())
def test_the_parts_of_an_explanation_add_up_to_the_score(app: App, workspace: Workspace, text: str) -> None:
    app.notes.save(workspace, "cookies are merged by the jar, the later one wins")
    answer, why = explained(app, workspace, text)
    assert answer.sources
    for source, one in zip(answer.sources, why.placed, strict=True):
        assert reckoned(one) == pytest.approx(source.score, abs=1e-9)
        assert one.distance == source.distance


def test_every_search_says_what_it_brought_up_and_in_which_place(app: App, workspace: Workspace) -> None:
    _, why = explained(app, workspace, QUESTIONS["symbol"])
    first = why.placed[0]
    assert (first.name, first.path) == ("merge_cookies", "src/sessions.py")
    assert {"meaning", "words", "name", "verbatim"} == set(first.found_by)
    assert (first.dense_rank is not None, first.lexical_rank is not None) == (True, True)
    assert set(first.words) >= {"merg", "cooki"}
    assert {"exact", "dense", "lexical"} <= {one.name for one in first.signals}


def test_what_holds_a_source_back_is_said_in_words(app: App, workspace: Workspace) -> None:
    _, why = explained(app, workspace, "how are cookies merged?", limit=20)
    reasons = {one.path: " ".join(each.reason for each in one.factors) for one in why.placed}
    assert "a test" in reasons["tests/test_sessions.py"]
    assert "an old or vendored copy" in reasons["src/v1/sessions.py"]
    assert "prose" in reasons["README.md"]
    assert reasons["src/sessions.py"] == ""


def test_what_is_asked_for_by_name_is_held_back_only_behind_a_better_copy(app: App, workspace: Workspace) -> None:
    _, why = explained(app, workspace, "where is test_merge_cookies defined?")
    one = why.placed[0]
    assert one.name == "test_merge_cookies"
    assert "only behind a better copy" in one.factors[-1].reason
    assert math.prod(each.factor for each in one.factors) == pytest.approx(1.0)


def test_what_the_threshold_cut_is_listed_with_its_distance_and_the_reason(make_app, make_project) -> None:
    app = make_app(QUERY_DISTANCE_THRESHOLD="0.9")
    workspace = scanned(app, make_project(PROJECT))
    answer, why = explained(app, workspace, "how are payments refunded?")
    assert answer.sources == ()
    assert why.cut
    assert all(one.distance is not None and one.distance > 0.9 for one in why.cut)
    assert "farther than 0.9 (QUERY_DISTANCE_THRESHOLD)" in why.cut[0].why
    assert [one.distance for one in why.cut] == sorted(one.distance or 9 for one in why.cut)


def test_candidates_without_room_are_named(app: App, workspace: Workspace) -> None:
    _, why = explained(app, workspace, "cookies of a session", limit=1)
    assert why.candidates > 1
    assert why.following[0].why.startswith("score ")
    assert {one.name for one in why.following}.isdisjoint({why.placed[0].id})


def test_a_note_among_the_sources_is_explained_by_its_words_and_its_meaning(app: App, workspace: Workspace) -> None:
    app.notes.save(workspace, "cookies are merged by the jar, the later one wins")
    _, why = explained(app, workspace, "how are cookies merged by the jar?")
    [note] = [one for one in why.placed if not one.path]
    assert {one.name for one in note.signals} == {"dense", "words"}
    _, alone = explained(app, workspace, "how are cookies merged by the jar?", kind="note")
    assert [one.path for one in alone.placed] == [""]


def test_the_lexical_rerank_is_said_to_have_come_last(make_app, make_project) -> None:
    app = make_app(ENABLE_LEXICAL_RERANK="true")
    workspace = scanned(app, make_project(PROJECT))
    answer, why = explained(app, workspace, "cookies of a session")
    assert why.rerank == 0.05
    assert [one.id for one in why.placed] == [one.id for one in answer.sources]
    assert f"{answer.sources[0].score:.4f}" in why.placed[0].remark


def test_a_question_for_sources_alone_can_be_explained_too(app: App, workspace: Workspace) -> None:
    answer = app.asking.sources(workspace, Question("cookies of a session", explain=True))
    assert answer.explanation is not None


def _stored(line: int, end: int) -> StoredEntity:
    return StoredEntity(7, "id", CodeEntity("a.py", "function", "f", "f", "", "python", line, end, "def f()"), b"")


def test_what_the_look_at_the_disk_changed_is_taken_down() -> None:
    was, now = _stored(1, 5), _stored(4, 9)
    checks, candidate = Checks(), Candidate(7, "id", was.entity, None)
    checks.see(candidate, was, Verified(was.entity, []))
    assert checks.corrected == []
    checks.see(candidate, was, Verified(now.entity, []))
    checks.see(candidate, was, Verified(was.entity, [], stale=True))
    checks.see(candidate, was, None)
    checks.see(candidate, None, None)
    assert [one.check for one in checks.corrected] == ["moved", "stale", "gone", "gone"]
    assert "lines 1-5 are 4-9 by now" in checks.corrected[0].said


def test_the_command_explains_in_text_and_as_json(
    brain: Path, make_project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BRAIN_DIR", str(brain))
    root = make_project({**PROJECT, "src/a<b>\u202e.py": "def merge_cookies_badly():\n    return 1\n"})
    question = ["ask", "where is merge_cookies defined?", "--workspace", str(root), "--explain"]
    assert main(question) == 0
    text = capsys.readouterr().out
    assert "symbol: it asks for something by its name" in text
    assert "exact 1.000 × 2" in text
    assert "\u202e" not in text
    assert main([*question, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["explanation"]["type"] == "symbol"
    assert [one["id"] for one in found["explanation"]["sources"]] == [one["id"] for one in found["sources"]]
