"""Reviews over a real repository, a real index and memory, and stand-ins for the engines and for GitHub."""

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.asked import cloud
from tests.fakes.conversations import Call, Calls
from tests.fakes.deepseek import FakeDeepSeek
from tests.fakes.github import REPOSITORY, TOKEN, FakeGitHub
from tests.fakes.ollama import FakeOllama
from tests.fakes.repository import Repo

from braindex.bootstrap import App
from braindex.domain.changes import Wanted
from braindex.domain.memories import Episode
from braindex.domain.results import Workspace
from braindex.domain.reviews import Review
from braindex.domain.usage import PICODOLLARS
from braindex.forge.failures import NotARepository, UnknownRevision
from braindex.llm.prices import load_prices
from braindex.registry.failures import StoreLocked
from braindex.registry.memory import MemoryStore
from braindex.registry.memory_file import BUSY_SECONDS
from braindex.services.memories import LOOK_SECONDS
from braindex.services.reviewing.afterwards import ATTEMPTS, Aftermath, Afterwards
from braindex.services.reviewing.review import NothingToReview

CART = '''\
def add_item(cart, item):
    """Put an item into the shopping cart."""
    cart.append(item)


def empty_cart(cart):
    """Take everything out of the cart."""
    cart.clear()
'''
PAY = '''\
from cart import add_item


def buy_again(cart, order):
    """Put what was bought before into the cart."""
    for item in order:
        add_item(cart, item)
'''
MAIL = '''\
def send_receipt(buyer):
    """Mail the buyer a receipt."""
    return buyer
'''
START: dict[str, str | bytes | None] = {"cart.py": CART, "pay.py": PAY, "mail.py": MAIL}
GOOD = {"verdict": "approve", "summary": "Items are counted.", "findings": []}
GITHUB = {"GITHUB_TOKEN": TOKEN, "GITHUB_REPOSITORY": REPOSITORY}
Said = Callable[[dict[str, Any]], str | Calls]


@pytest.fixture
def repo(tmp_path) -> Repo:
    found = Repo(tmp_path / "shop")
    found.commit(START)
    return found


@pytest.fixture
def workspace(app: App, repo: Repo) -> Workspace:
    return app.workspaces.open(repo.root)


@pytest.fixture
def deepseek() -> Iterator[FakeDeepSeek]:
    with FakeDeepSeek(cost=load_prices().cost) as stand_in:
        stand_in.answer_text = scripted()
        yield stand_in
        assert stand_in.violations == []


@pytest.fixture
def ollama() -> Iterator[FakeOllama]:
    with FakeOllama() as stand_in:
        yield stand_in
        assert stand_in.violations == []


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with FakeGitHub() as stand_in:
        yield stand_in
        assert stand_in.violations == []


def scripted(*turns: str | list[Call] | dict[str, Any], summary: str = "Counts the items of the cart.") -> Said:
    """Describes the change when asked to, then gives these turns, and from the last on that one again and again."""
    left = list(turns or [GOOD])

    def say(body: dict[str, Any]) -> str | Calls:
        if not body.get("tools") and "Describe the change." in body["messages"][-1]["content"]:
            return summary
        turn = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(turn, dict):
            return json.dumps(turn)
        return turn if isinstance(turn, str) else Calls(turn)

    return say


def counted(repo: Repo) -> str:
    """A commit that changes `add_item`."""
    return repo.commit({"cart.py": CART.replace("cart.append(item)\n", "cart.append(item)\n    return len(cart)\n")})


def counted_otherwise(repo: Repo) -> str:
    """One after it that changes `add_item` again."""
    return repo.commit(
        {"cart.py": CART.replace("cart.append(item)\n", "cart.append(item)\n    return len(cart) or None\n")}
    )


def review(app: App, workspace: Workspace, revision: str = "HEAD", **more: Any) -> Review:
    return app.reviews.review(workspace, Wanted(revision), **more)


def remembered(app: App, found: Review) -> Episode:
    aftermath = app.afterwards.of(found, "test")
    assert app.afterwards.run(aftermath).stored
    assert aftermath.episode is not None
    return aftermath.episode


def messages(stand_in: FakeDeepSeek | FakeOllama, request: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = stand_in.requests[request].body["messages"]
    return found


def results(deepseek: FakeDeepSeek) -> list[str]:
    """What the tools answered, in the last request."""
    return [one["content"] for one in messages(deepseek, -1) if one["role"] == "tool"]


def test_without_an_engine_the_structure_and_the_callers_are_told_and_nothing_is_asked(app, workspace, repo):
    commit = counted(repo)
    found = review(app, workspace)
    (file,) = found.files
    assert [one.name for one in file.changed] == ["add_item"]
    assert (found.verdict, found.engine, found.changes.commit) == (None, "none", commit)
    assert "no engine is configured" in found.reason
    (called,) = found.callers
    assert [(one.name, one.path, one.line) for one in called.links] == [("buy_again", "pay.py", 7)]


def test_without_an_engine_no_connection_is_opened(app, workspace, repo, monkeypatch):
    counted(repo)

    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("socket.socket.connect", refuse)
    found = review(app, workspace)
    remembered(app, found)


def test_added_removed_and_moved_entities_are_told_apart(app, workspace, repo):
    repo.commit({"cart.py": CART.split("\n\n\n", maxsplit=1)[0] + "\n\n\ndef fill_cart(cart):\n    return cart\n"})
    (file,) = review(app, workspace).files
    assert [one.name for one in file.added] == ["fill_cart"]
    assert [(one.name, one.line) for one in file.removed] == [("empty_cart", 6)]
    repo.git("mv", "cart.py", "basket.py")
    repo.commit()
    (moved,) = review(app, workspace).files
    assert (moved.diff.kind, moved.entities) == ("renamed", ())


def test_uncommitted_work_is_parsed_from_disk(app, workspace, repo):
    repo.write({"cart.py": CART + "\n\ndef fresh():\n    return 1\n", "new.py": "def brand_new():\n    return 2\n"})
    found = app.reviews.review(workspace, Wanted())
    assert {one.name for file in found.files for one in file.added} == {"fresh", "brand_new"}


def test_the_third_review_finds_the_first_as_similar_and_not_the_second(app, workspace, repo):
    counted(repo)
    first = remembered(app, review(app, workspace))
    repo.commit({"mail.py": MAIL.replace("return buyer", "return buyer.address")})
    second = remembered(app, review(app, workspace))
    repo.commit({"cart.py": CART.replace("cart.append(item)", "cart.insert(0, item)")})
    third = review(app, workspace)
    assert [one.id for one in third.similar] == [first.id]
    assert second.id not in {one.id for one in third.similar}


def test_an_earlier_review_of_this_very_change_hides_none_that_says_the_same_of_another(app, workspace, repo):
    counted(repo)
    first = remembered(app, review(app, workspace))
    repo.commit({"cart.py": CART.replace("cart.append(item)", "cart.insert(0, item)")})
    remembered(app, review(app, workspace))
    again = review(app, workspace)
    assert [one.id for one in again.similar] == [first.id]


def test_an_engine_judges_with_similar_reviews_entities_and_callers_before_it(deepseek, make_app, repo):
    app = make_app(**cloud(deepseek))
    workspace = app.workspaces.open(repo.root)
    counted(repo)
    deepseek.answer_text = scripted({**GOOD, "verdict": "comment", "summary": "Callers ignore the count."})
    first = remembered(app, review(app, workspace))
    repo.commit({"mail.py": MAIL.replace("return buyer", "return buyer.address")})
    deepseek.answer_text = scripted(summary="Receipts go to the address of the buyer.")
    remembered(app, review(app, workspace))
    repo.commit({"cart.py": CART.replace("cart.append(item)", "cart.insert(0, item)")})
    deepseek.answer_text = scripted(summary="Puts items to the front of the cart.")
    third = review(app, workspace)
    assert [one.id for one in third.similar] == [first.id]
    (system, user) = messages(deepseek, -1)
    assert system["content"].startswith("You are braindex's code reviewer.")
    assert app.briefs.text(workspace) in system["content"]
    assert "Similar reviews from the last 90 days" in user["content"]
    assert "Callers ignore the count." in user["content"]
    assert "changed function `add_item` #cart.py:1" in user["content"]
    assert "`buy_again` #pay.py:7" in user["content"]
    assert "     3 +    cart.insert(0, item)" in user["content"]


def test_notes_about_what_a_change_touches_come_before_the_engine(deepseek, make_app, repo):
    app = make_app(**cloud(deepseek))
    workspace = app.workspaces.open(repo.root)
    app.scans.run(workspace)
    app.notes.save(workspace, "Everything here is written in British English", "convention")
    app.notes.save(workspace, "No function of this module may return a value", "decision", about=["cart.py::add_item"])
    counted(repo)
    found = review(app, workspace)
    (reminder,) = found.reminders
    assert (reminder.category, reminder.stale) == ("decision", "`add_item` changed since")
    assert "<notes>" in messages(deepseek, -1)[-1]["content"]
    assert "No function of this module may return a value" in messages(deepseek, -1)[-1]["content"]
    repo.commit({"mail.py": MAIL.replace("return buyer", "return buyer.address")})
    assert review(app, workspace).reminders == ()


def test_what_is_stored_holds_the_change_the_verdict_and_the_findings(deepseek, make_app, repo):
    app = make_app(**cloud(deepseek))
    workspace = app.workspaces.open(repo.root)
    commit = counted(repo)
    finding = {"path": "cart.py", "line": 4, "severity": "high", "text": "Callers ignore it."}
    deepseek.answer_text = scripted({"verdict": "request_changes", "summary": "Counts.", "findings": [finding]})
    episode = remembered(app, review(app, workspace))
    (stored,) = app.memories.all_episodes(workspace)
    assert stored == episode
    assert (stored.kind, stored.client, stored.outcome, stored.commit) == ("review", "test", "request_changes", commit)
    assert stored.prompt.startswith("Counts the items of the cart.\nchanged: add_item; Put an item into")
    assert stored.summary == "Counts.\nhigh: #cart.py:4 Callers ignore it."
    assert stored.files == ("cart.py",)
    (recalled,) = app.memories.similar(workspace, "callers ignore the count", 5, what="episode", kind="review")
    assert recalled.distance is not None


def test_the_engine_investigates_with_its_tools_and_each_call_is_in_the_ledger(deepseek, make_app, repo):
    app = make_app(**cloud(deepseek))
    workspace = app.workspaces.open(repo.root)
    counted(repo)
    deepseek.answer_text = scripted(
        [("query_memory", {"query": "who calls add_item"}), ("list_entities", {"path": "cart.py"})],
        [("read_file", {"path": "pay.py", "line": 4, "end_line": 5})],
        GOOD,
    )
    found = review(app, workspace)
    memory, entities, lines = results(deepseek)
    assert "called by, by name:\n  `buy_again` #pay.py:7" in memory
    assert "cart.py:1-4 function def add_item(cart, item)" in entities
    assert "pay.py, lines 4-5 of 7:\n     4  def buy_again(cart, order):\n" in lines
    assert (found.verdict, found.spent.calls) == ("approve", 4)
    usage = app.usage.report().as_json()
    rows = [one for one in usage["rows"] if one["operation"] == "review"]
    assert [(one["engine"], one["calls"]) for one in rows] == [("deepseek-flash", 4)]
    assert found.spent.cost == deepseek.total > 0
    assert found.as_json()["usage"]["cost_usd"] == deepseek.total / PICODOLLARS
    assert not [one for one in usage["rows"] if one["operation"] == "ask"]


def test_ollama_investigates_as_well_and_costs_nothing(ollama, make_app, repo):
    app = make_app(OLLAMA_MODEL="llama3.2", OLLAMA_HOST=ollama.url)
    workspace = app.workspaces.open(repo.root)
    counted(repo)
    ollama.answer_text = scripted([("read_file", {"path": "pay.py"})], GOOD)
    found = review(app, workspace)
    assert (found.verdict, found.engine, found.spent.cost) == ("approve", "ollama", 0)
    assert "buy_again" in messages(ollama, -1)[-1]["content"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("read_file", {"path": "../outside.py"}), "is not in the workspace"),
        (("read_file", {"path": "/etc/passwd"}), "is not in the workspace"),
        (("read_file", {"path": "link.py"}), "cannot be read: a link"),
        (("read_file", {"path": "folder/x.py"}), "cannot be read"),
        (("read_file", {"path": ".env"}), "may hold secrets"),
        (("read_file", {"path": "ignored.py"}), "ignored by .memignore"),
        (("read_file", {"path": "key.txt"}), "private key"),
        (("read_file", {"path": "nowhere.py"}), "no such file"),
        (("read_file", {"path": ""}), "cannot be read"),
        (("read_file", {"path": "cart.py", "line": 900}), "has 9 lines"),
        (("read_file", {"path": "cart.py", "line": "x"}), "whole number"),
        (("read_file", {"path": 3}), "has to be a text"),
        (("read_file", "no JSON"), "no JSON"),
        (("read_file", "[1]"), "no JSON object"),
        (("list_entities", {"path": "../.."}), "is not in the workspace"),
        (("list_entities", {"path": "nothing/here"}), "nothing is indexed"),
        (("query_memory", {"query": ""}), "is empty"),
        (("query_memory", {"query": "x", "kind": "spell"}), "no kind of entity"),
        (("run_shell", {"command": "id"}), "no tool is called 'run_shell'"),
    ],
)
def test_a_call_that_may_not_be_is_told_why_and_the_review_goes_on(deepseek, make_app, repo, call, said):
    tmp_path = repo.root.parent
    (tmp_path / "outside.py").write_text("SECRET_PLACE = 1\n")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x.py").write_text("SECRET_PLACE = 1\n")
    (repo.root / "link.py").symlink_to(tmp_path / "outside.py")
    (repo.root / "folder").symlink_to(tmp_path / "elsewhere")
    key = "-----BEGIN {0}-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\n-----END {0}-----\n".format("PRIVATE KEY")
    repo.commit(
        {
            ".env": "TOKEN=SECRET_PLACE\n",
            "ignored.py": "SECRET_PLACE = 1\n",
            ".memignore": "ignored.py\n",
            "key.txt": key,
        }
    )
    counted(repo)
    app = make_app(**cloud(deepseek))
    deepseek.answer_text = scripted([call], GOOD)
    found = review(app, app.workspaces.open(repo.root))
    (result,) = results(deepseek)
    assert said in result
    assert "SECRET_PLACE" not in result
    assert found.verdict == "approve"


def test_a_long_result_is_cut_and_too_many_calls_are_not_run(deepseek, make_app, repo):
    repo.commit({"long.py": "".join(f"x{number} = '{'y' * 90}'\n" for number in range(2_000))})
    counted(repo)
    app = make_app(**cloud(deepseek))
    deepseek.answer_text = scripted([("read_file", {"path": "long.py"})] * 9, GOOD)
    review(app, app.workspaces.open(repo.root))
    found = results(deepseek)
    assert "more lines: ask for less" in found[0]
    assert len(found[0]) < 12_000
    assert [one.startswith("not run") for one in found] == [False] * 6 + [True] * 3


def test_no_secret_is_sent_or_stored(deepseek, make_app, repo, github):
    secret = "ghp_" + "a1B2" * 9
    app = make_app(**cloud(deepseek), **GITHUB, GITHUB_API_URL=github.url)
    workspace = app.workspaces.open(repo.root)
    repo.commit({
        "cart.py": CART + f'\nTOKEN = "{secret}"\n',
        ".env": f"GITHUB_TOKEN={secret}\n",
        "config.py": f'def connect():\n    return "https://user:{secret}@example.org"\n',
    })  # fmt: skip
    says = {**GOOD, "summary": f"It holds {secret}.", "findings": [{"path": "cart.py", "line": 10, "text": secret}]}
    deepseek.answer_text = scripted([("read_file", {"path": "config.py"})], says, summary=f"Adds {secret}.")
    found = review(app, workspace)
    aftermath = app.afterwards.of(found)
    app.afterwards.run(aftermath)
    sent = b"".join(one.raw for one in deepseek.requests) + b"".join(one.raw for one in github.requests)
    assert secret.encode() not in sent
    assert b"[redacted]" in sent
    (stored,) = app.memories.all_episodes(workspace)
    assert secret not in f"{stored}{json.dumps(aftermath.as_json())}"
    assert [one.withheld for one in found.files if one.diff.path == ".env"] == ["never indexed: may hold secrets"]


def test_findings_that_cite_no_line_of_the_diff_lose_their_place_and_it_is_said(deepseek, make_app, repo):
    counted(repo)
    app = make_app(**cloud(deepseek))
    findings = [
        {"path": "cart.py", "line": 4, "text": "True."},
        {"path": "cart.py", "line": 999, "text": "Beyond."},
        {"path": "pay.py", "line": 7, "text": "A caller."},
        {"path": "invented.py", "line": 1, "text": "Nowhere."},
    ]
    deepseek.answer_text = scripted({"verdict": "comment", "summary": "See #invented.py:3.", "findings": findings})
    found = review(app, app.workspaces.open(repo.root)).opinion
    assert found is not None
    assert [one.place for one in found.findings] == ["#cart.py:4"]
    assert [(one.place, one.text) for one in found.remarks] == [("cart.py", "Beyond."), ("pay.py", "A caller.")]
    assert (found.dropped, found.summary) == (1, "See.")


def test_at_the_limit_of_turns_the_engine_has_to_answer_with_what_it_has(deepseek, make_app, repo):
    counted(repo)
    app = make_app(**cloud(deepseek), REVIEW_MAX_TURNS="3")

    def never_done(body: dict[str, Any]) -> str | Calls:
        return json.dumps(GOOD) if body.get("tool_choice") == "none" else Calls([("read_file", {"path": "pay.py"})])

    deepseek.answer_text = never_done
    found = review(app, app.workspaces.open(repo.root))
    assert found.verdict == "approve"
    assert [one.body.get("tool_choice") for one in deepseek.requests] == [None, "auto", "auto", "none"]
    assert "Answer now" in messages(deepseek, -1)[-1]["content"]
    assert any("REVIEW_MAX_TURNS=3" in one for one in found.notes)


def test_with_a_single_turn_the_engine_answers_at_once(deepseek, make_app, repo):
    counted(repo)
    app = make_app(**cloud(deepseek), REVIEW_MAX_TURNS="1")
    assert review(app, app.workspaces.open(repo.root)).verdict == "approve"
    assert [one["role"] for one in messages(deepseek, -1)] == ["system", "user"]


def test_at_the_limit_of_cost_the_engine_has_to_answer_and_the_limit_is_kept(deepseek, make_app, repo):
    counted(repo)
    app = make_app(**cloud(deepseek), REVIEW_MAX_COST="0.05")

    def never_done(body: dict[str, Any]) -> str | Calls:
        if body.get("tool_choice") == "none":
            return json.dumps(GOOD)
        return Calls([("read_file", {"path": "pay.py"})], "thinking " * 1_500)

    deepseek.answer_text = never_done
    found = review(app, app.workspaces.open(repo.root))
    assert found.verdict == "approve"
    assert any("REVIEW_MAX_COST=0.05" in one for one in found.notes)
    assert len(deepseek.requests) < 20
    assert found.spent.cost is not None
    assert found.spent.cost <= 0.05 * PICODOLLARS


def test_a_limit_that_pays_for_no_review_leaves_the_structure(deepseek, make_app, repo):
    counted(repo)
    app = make_app(**cloud(deepseek), REVIEW_MAX_COST="0")
    found = review(app, app.workspaces.open(repo.root))
    assert (found.verdict, deepseek.requests) == (None, [])
    assert "REVIEW_MAX_COST of $0 does not pay" in found.reason


def test_a_model_without_a_price_answers_at_once_since_its_cost_cannot_be_limited(make_app, repo):
    counted(repo)
    with FakeDeepSeek(models=("own-model",), answer_text=scripted()) as stand_in:
        app = make_app(**cloud(stand_in), DEEPSEEK_FLASH_MODEL="own-model")
        found = review(app, app.workspaces.open(repo.root))
        assert [one.body.get("tool_choice") for one in stand_in.requests] == ["none"]
    assert (found.verdict, found.spent.cost) == ("approve", None)
    assert any("PRICES_FILE" in one for one in found.notes)


def test_the_daily_limit_holds_for_reviews(deepseek, make_app, repo):
    counted(repo)
    app = make_app(**cloud(deepseek), MAX_DAILY_COST="0")
    found = review(app, app.workspaces.open(repo.root))
    assert (found.verdict, deepseek.requests) == (None, [])
    assert "MAX_DAILY_COST" in found.reason


def test_an_engine_that_fails_in_the_middle_leaves_what_was_known(deepseek, make_app, repo):
    counted(repo)
    app = make_app(**cloud(deepseek))
    workspace = app.workspaces.open(repo.root)
    asked = scripted([("read_file", {"path": "pay.py"})])

    def then_fails(body: dict[str, Any]) -> str | Calls:
        said = asked(body)
        if isinstance(said, Calls):
            deepseek.fail_always("402")
        return said

    deepseek.answer_text = then_fails
    found = review(app, workspace)
    assert (found.verdict, found.engine) == (None, "none")
    assert found.reason.startswith("deepseek-flash gave no opinion: ")
    assert "structure, similar reviews and callers only" in found.reason
    assert [one.name for one in found.files[0].changed] == ["add_item"]
    assert found.subject.startswith("Counts the items of the cart.")
    assert found.spent.tokens_in > 0
    assert remembered(app, found).outcome == ""


@pytest.mark.parametrize("said", ["LGTM, ship it", "{", json.dumps({"verdict": "sure"})])
def test_an_answer_that_cannot_be_read_is_asked_for_once_more(deepseek, make_app, repo, said):
    counted(repo)
    app = make_app(**cloud(deepseek))
    workspace = app.workspaces.open(repo.root)
    deepseek.answer_text = scripted(said, GOOD)
    assert review(app, workspace).verdict == "approve"
    assert "That was not the JSON object" in messages(deepseek, -1)[-1]["content"]
    deepseek.answer_text = scripted(said)
    before = len(deepseek.requests)
    found = review(app, workspace)
    assert (found.verdict, len(deepseek.requests) - before) == (None, 3)
    assert "no verdict that can be read" in found.reason


def test_without_the_engine_nothing_is_asked_of_it(deepseek, make_app, repo):
    counted(repo)
    app = make_app(**cloud(deepseek))
    found = review(app, app.workspaces.open(repo.root), with_engine=False)
    assert (found.verdict, deepseek.requests) == (None, [])
    assert "as wished" in found.reason


def test_in_local_mode_the_cloud_is_not_asked(deepseek, make_app, repo):
    counted(repo)
    (repo.root / ".env").write_text("MEMORY_MODE=local\n")
    app = make_app(**cloud(deepseek))
    found = review(app, app.workspaces.open(repo.root))
    assert (found.verdict, deepseek.requests) == (None, [])
    assert "MEMORY_MODE=local" in found.reason


@pytest.mark.parametrize(
    ("wanted", "error", "said"),
    [
        (Wanted("nowhere..HEAD"), UnknownRevision, "no commit 'nowhere'"),
        (Wanted("HEAD..HEAD"), NothingToReview, "the changes HEAD..HEAD hold no change"),
        (Wanted(staged=True), NothingToReview, "--staged"),
    ],
)
def test_what_cannot_be_reviewed_is_said_clearly(app, workspace, wanted, error, said):
    with pytest.raises(error, match=said):
        app.reviews.review(workspace, wanted)


def test_a_workspace_without_a_repository_is_said_to_be_one(app, make_project):
    with pytest.raises(NotARepository):
        review(app, app.workspaces.open(make_project({"a.py": "a = 1\n"}, "plain")))


# What follows a review.


def test_the_review_is_stored_and_its_status_posted(github, make_app, repo):
    app = make_app(**GITHUB, GITHUB_API_URL=github.url)
    workspace = app.workspaces.open(repo.root)
    commit = counted(repo)
    done = app.afterwards.run(app.afterwards.of(review(app, workspace)))
    assert (done.troubles, len(done.lines)) == ((), 2)
    assert github.statuses[commit][0]["state"] == "error"
    assert len(app.memories.all_episodes(workspace)) == 1


def test_a_token_alone_posts_nothing(github, make_app, repo):
    app = make_app(GITHUB_TOKEN=TOKEN, GITHUB_API_URL=github.url)
    counted(repo)
    done = app.afterwards.run(app.afterwards.of(review(app, app.workspaces.open(repo.root))))
    assert (done.posted, github.requests) == ("", [])


def test_the_review_is_stored_when_the_post_fails(github, make_app, repo):
    app = make_app(**GITHUB, GITHUB_API_URL=github.url)
    workspace = app.workspaces.open(repo.root)
    counted(repo)
    github.fail_always("403")
    done = app.afterwards.run(app.afterwards.of(review(app, workspace)))
    assert done.stored
    assert "permission" in done.troubles[0]
    assert len(app.memories.all_episodes(workspace)) == 1


class Store:
    """Stands for the memory: waits for something, then fails as often as it is told."""

    def __init__(self, until: threading.Event, failures: int = 0) -> None:
        self.until, self.failures, self.asked = until, failures, 0

    def record(self, workspace: Workspace, *_: object) -> bool:
        assert self.until.wait(30)
        self.asked += 1
        if self.asked <= self.failures:
            raise StoreLocked(Path(workspace.path))
        return True


def aftermath_of(app: App, repo: Repo) -> Aftermath:
    counted(repo)
    return app.afterwards.of(review(app, app.workspaces.open(repo.root)))


@pytest.mark.parametrize(("failures", "stored"), [(0, True), (ATTEMPTS - 1, True), (ATTEMPTS, False)])
def test_the_status_is_posted_while_the_store_is_slow_or_locked(github, make_app, repo, failures, stored):
    app = make_app(**GITHUB, GITHUB_API_URL=github.url)
    aftermath = aftermath_of(app, repo)
    store = Store(until=github.asked, failures=failures)  # stores nothing before the status is posted
    board = app.afterwards._board
    done = Afterwards(store, board, lambda _: False).run(aftermath)
    assert done.posted
    assert bool(done.stored) == stored
    assert bool(done.troubles) != stored


def test_a_bug_in_one_half_comes_up_after_the_other_has_ended(github, make_app, repo):
    app = make_app(**GITHUB, GITHUB_API_URL=github.url)
    workspace = app.workspaces.open(repo.root)
    aftermath = aftermath_of(app, repo)

    class Broken:
        def post(self, *_: object, **__: object) -> None:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Afterwards(app.memories, Broken(), lambda _: False).run(aftermath)
    assert len(app.memories.all_episodes(workspace)) == 1


def test_a_workspace_that_keeps_to_this_machine_posts_nothing_elsewhere(make_app, repo):
    app = make_app(**GITHUB)
    aftermath = aftermath_of(app, repo)
    (repo.root / ".env").write_text("MEMORY_MODE=local\n")
    done = app.afterwards.run(aftermath)
    assert "MEMORY_MODE=local" in done.troubles[0]
    assert done.stored


def test_what_is_left_to_do_can_be_handed_over(github, make_app, repo):
    app = make_app(**GITHUB, GITHUB_API_URL=github.url)
    aftermath = aftermath_of(app, repo)
    assert Aftermath.of_json(json.loads(json.dumps(aftermath.as_json()))) == aftermath


def test_reviews_beyond_the_users_limit_of_age_go_with_the_next_one(make_app, repo):
    app = make_app(EPISODE_DAYS="30")
    workspace = app.workspaces.open(repo.root)
    app.memories.record(workspace, Episode("0" * 16, "review", created="2020-01-01T00:00:00Z", prompt="old"))
    app.afterwards.run(aftermath_of(app, repo))
    assert len(app.memories.all_episodes(workspace)) == 1


def test_a_memory_that_another_process_keeps_to_itself_costs_the_similar_reviews_and_is_said(
    app, workspace, repo, monkeypatch
):
    counted(repo)
    remembered(app, review(app, workspace))
    counted_otherwise(repo)
    path = app.workspaces.folder(workspace) / "memory.db"
    opened = list[float]()
    opening = MemoryStore.open

    def at_once(folder: Path, *, create: bool = True, busy_seconds: float = BUSY_SECONDS) -> MemoryStore:
        opened.append(busy_seconds)
        return opening(folder, create=create, busy_seconds=0.0)

    monkeypatch.setattr(MemoryStore, "open", at_once)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        found = review(app, workspace)
    assert [one.name for one in found.files[0].changed] == ["add_item"]
    assert found.similar == ()
    assert "in use by another process" in found.notes[-1]
    assert set(opened) == {LOOK_SECONDS}
    assert review(app, workspace).similar


def test_similar_reviews_are_found_while_another_process_writes(app, workspace, repo, monkeypatch):
    counted(repo)
    first = remembered(app, review(app, workspace))
    counted_otherwise(repo)
    monkeypatch.setattr("braindex.services.memories.LOOK_SECONDS", 0.0)
    path = app.workspaces.folder(workspace) / "memory.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("DELETE FROM vectors")  # as if it was imported just now
        other.execute("BEGIN IMMEDIATE")
        found = review(app, workspace)
    assert [one.id for one in found.similar] == [first.id]


def test_a_change_is_not_similar_to_itself(app, workspace, repo):
    counted(repo)
    remembered(app, review(app, workspace))
    assert review(app, workspace).similar == ()


def test_a_memory_that_cannot_be_read_costs_the_similar_reviews_alone(app, workspace, repo):
    counted(repo)
    remembered(app, review(app, workspace))
    (app.workspaces.folder(workspace) / "memory.db").write_bytes(b"no database at all" * 1_000)
    found = review(app, workspace)
    assert found.similar == ()
    assert found.files
    done = app.afterwards.run(app.afterwards.of(found))
    assert done.troubles
