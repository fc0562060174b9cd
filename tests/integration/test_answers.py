"""Questions with an engine configured: written answers, the prompt cache, the ledger, and every way of failing."""

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator

import pytest
from tests.conftest import scanned
from tests.fakes.asked import ROOT, cloud
from tests.fakes.deepseek import KEY, FakeDeepSeek
from tests.fakes.ollama import FakeOllama

from braindex.bootstrap import App
from braindex.domain.engines import EngineFailed
from braindex.domain.results import Answer, Question, Workspace
from braindex.domain.routing import CloudRefused
from braindex.llm.prices import load_prices
from braindex.registry.briefs import read_brief

MODELS = ("deepseek-flash", "deepseek-v4-pro")
PROJECT = {
    "src/cart.py": '"""The cart."""\n\n\ndef add_item(cart, item):\n    """Put an item into the cart."""\n    cart.append(item)\n',
    "src/pay.py": '"""Payment."""\n\n\ndef charge_card(card, amount):\n    """Charge a card an amount."""\n    return card\n',
    "src/ship.py": '"""Shipping."""\n\n\ndef ship_order(order):\n    """Send an order to its buyer."""\n    return order\n',
    "src/mail.py": '"""Mail."""\n\n\ndef send_receipt(buyer):\n    """Mail the buyer a receipt of the order."""\n    return buyer\n',
    "README.md": "# Shop\n\nA small shop that sells things.\n\n## Refunds\n\nHow money goes back to a buyer.\n",
}


@pytest.fixture
def deepseek() -> Iterator[FakeDeepSeek]:
    with FakeDeepSeek(models=MODELS, cost=load_prices().cost) as stand_in:
        yield stand_in
        assert stand_in.violations == []


@pytest.fixture
def ollama() -> Iterator[FakeOllama]:
    with FakeOllama() as stand_in:
        yield stand_in
        assert stand_in.violations == []


def ask(app: App, workspace: Workspace, text: str = "how is a card charged", **more) -> Answer:
    return app.asking.ask(workspace, Question(text, **more))


def test_an_answer_is_written_from_the_brief_and_the_sources(deepseek, make_app, make_project):
    deepseek.answer_text = "`charge_card` #src/pay.py:4 charges the card."
    app = make_app(**cloud(deepseek))
    workspace = scanned(app, make_project(PROJECT))
    answer = ask(app, workspace)
    assert (answer.engine, answer.answer) == ("deepseek-flash", "`charge_card` #src/pay.py:4 charges the card.")
    assert answer.sources[0].name == "charge_card"
    (system, user) = deepseek.requests[0].body["messages"]
    assert system["content"] == app.briefs.prefix(workspace)
    assert app.briefs.text(workspace) in system["content"]
    assert "return card" in user["content"]
    assert user["content"].endswith("Question: how is a card charged")


def test_false_citations_are_taken_out_and_counted(deepseek, make_app, make_project):
    deepseek.answer_text = "See `charge_card` #src/pay.py:4 (0.01), #src/pay.py:400, #src/bank.py:1 and lib/x.py:9."
    app = make_app(**cloud(deepseek))
    answer = ask(app, scanned(app, make_project(PROJECT)))
    assert answer.removed == 3
    assert answer.answer is not None
    assert "#src/pay.py:4" in answer.answer
    assert not [one for one in ("400", "bank", "lib/x") if one in answer.answer]
    assert "3 citations that no source holds were removed" in answer.reason


SECRETS = {
    "in a signature": ("src/pay.py", 'CARD_API_KEY = "sk-abcdefghijklmnop1234"\n', "sk-abcdefghijklmnop1234"),
    "cut in a signature": ("src/pay.py", f'CARD_API_KEY = "{"wJalrXUtnFEMI" * 30}"\n', "wJalrXUtnFEMI"),
    "in a body": (
        "src/pay.py",
        'def charge_card(card):\n    """Charge a card."""\n    return post(card, password="hunter2!")\n',
        "hunter2!",
    ),
    "behind a name on the line above": (
        "src/pay.js",
        "function chargeCard(card) {\n  return post(card, {\n    password:\n      'Zt9kQ2'\n  })\n}\n",
        "Zt9kQ2",
    ),
    "in a class that is cited by its header": (
        "src/pay.py",
        "class CardCharger:\n    url = 'https://bob:s3cr3t@bank/charge'\n" + "    charge = 1\n" * 80,
        "s3cr3t",
    ),
    "in a text": ("pay.yaml", "# how a card is charged\ncard_token: a1b2c3d4e5f6\n", "a1b2c3d4e5f6"),
    "in a document": ("PAY.md", "# How a card is charged\n\nWith `token=a1b2c3d4e5f6` a card.\n", "a1b2c3d4e5f6"),
}


@pytest.mark.parametrize("where", SECRETS)
def test_a_secret_in_a_source_is_not_sent_to_an_engine_and_citations_hold(where, deepseek, make_app, make_project):
    path, text, secret = SECRETS[where]
    deepseek.answer_text = f"See #{path}:1."
    app = make_app(**cloud(deepseek))
    workspace = scanned(app, make_project({path: text, "README.md": "# Shop\n"}))
    answer = ask(app, workspace)
    (system, user) = deepseek.requests[0].body["messages"]
    assert path in user["content"]
    assert "[redacted]" in user["content"]
    assert secret not in json.dumps([one.body for one in deepseek.requests])
    assert system["content"] == app.briefs.prefix(workspace)
    assert (answer.removed, answer.answer) == (0, f"See #{path}:1.")


def test_a_secret_in_a_note_or_in_a_brief_by_hand_is_not_sent_to_an_engine(deepseek, make_app, make_project):
    app = make_app(**cloud(deepseek))
    workspace = scanned(app, make_project(PROJECT))
    app.notes.save(workspace, "The card is charged with password=hunter2! at the bank")
    app.briefs.update(workspace, "# Shop\n\nThe bank is https://bob:s3cr3t@bank/charge.")
    app.finish(30)
    first, second = ask(app, workspace), ask(app, workspace)
    assert first.sources == second.sources
    sent = [one.body["messages"] for one in deepseek.requests]
    assert not [secret for secret in ("hunter2!", "s3cr3t") if secret in json.dumps(sent)]
    assert {one[0]["content"] for one in sent} == {app.briefs.prefix(workspace)}


def test_nothing_relevant_calls_no_engine(deepseek, make_app, make_project):
    app = make_app(**cloud(deepseek))
    workspace = scanned(app, make_project(PROJECT))
    answer = ask(app, workspace, "zebra migration across the savannah")
    assert (answer.engine, answer.answer, answer.sources) == ("none", None, ())
    assert "nothing relevant" in answer.reason
    assert deepseek.requests == []


def test_sources_alone_are_given_where_only_they_are_wanted(deepseek, make_app, make_project):
    app = make_app(**cloud(deepseek))
    answer = ask(app, scanned(app, make_project(PROJECT)), write=False)
    assert (answer.engine, answer.answer, bool(answer.sources)) == ("none", None, True)
    assert deepseek.requests == []


FAILURES = {
    "400": "DeepSeek refused the request",
    "401": "check DEEPSEEK_API_KEY",
    "402": "out of credit",
    "403": "check DEEPSEEK_API_KEY",
    "404": "DEEPSEEK_FLASH_MODEL",
    "429": "takes no more requests",
    "500": "failed on its own side",
    "503": "failed on its own side",
    "drop half-way": "broke before the answer was complete",
    "drop before answering": "the connection to DeepSeek broke",
    "empty body": "instead of an answer",
    "no choices": "JSON that holds no message",
}


@pytest.mark.parametrize("name", FAILURES)
def test_an_engine_that_fails_costs_the_answer_and_nothing_else(name, deepseek, make_app, make_project, brain):
    app = make_app(**cloud(deepseek))
    workspace = scanned(app, make_project(PROJECT))
    folder = app.workspaces.folder(workspace)
    app.briefs.update(workspace, "# Shop\n\nLocked.")
    app.finish(30)
    locked = read_brief(folder)
    deepseek.fail_always(name)
    answer = ask(app, workspace)
    assert (answer.engine, answer.answer) == ("none", None)
    assert answer.sources[0].name == "charge_card"
    assert FAILURES[name] in answer.reason
    assert "\n" not in answer.reason
    assert KEY not in answer.reason
    with pytest.raises(EngineFailed):
        app.briefs.update(workspace, replace_by_hand=True)
    assert read_brief(folder) == locked


def test_every_question_of_a_workspace_has_the_same_prefix_and_hits_the_cache(deepseek, make_app, make_project):
    settings = cloud(deepseek, ENABLE_DEEPSEEK_PRO="true")
    first, second = make_app(**settings), make_app(**settings)
    workspace = scanned(first, make_project(PROJECT))
    first.briefs.update(workspace, "# Shop\n\n" + "A shop that sells many things. " * 100)
    first.finish(30)
    asked = [
        (app, f"{lead} {text}")
        for lead in ("where is", "explain how the design of")
        for text in ("charge_card", "send_receipt", "the cart", "ship_order", "add_item")
        for app in (first, second)
    ]
    before = len(deepseek.requests)
    assert [(text, one.reason) for app, text in asked if (one := ask(app, workspace, text)).answer is None] == []
    prefix = first.briefs.prefix(workspace)
    sent = [
        (one.body["messages"], one.body["model"]) for one in deepseek.requests[before:] if len(one.body["messages"]) > 1
    ]
    assert len(sent) == len(asked) == 20
    assert {messages[0]["content"] for messages, _ in sent} == {prefix}
    assert {model for _, model in sent} == set(MODELS)
    whole = -(-len(prefix.encode()) // 4)
    assert all(one.usage.cache_hit_tokens >= 0.97 * whole for one in deepseek.bill[before:])


def test_a_cache_that_forgot_is_warmed_again(deepseek, make_app, make_project):
    app = make_app(**cloud(deepseek))
    workspace = scanned(app, make_project(PROJECT))
    for text in ("charge_card", "send_receipt"):
        deepseek.cache.forget()
        app.warm_ups._last.clear()
        ask(app, workspace, text)
        app.finish(30)
        assert [len(one.body["messages"]) for one in deepseek.requests[-2:]] == [2, 1]
    ask(app, workspace, "ship_order")
    assert deepseek.bill[-1].usage.cache_hit_tokens > 0


def test_warm_ups_can_be_turned_off(deepseek, make_app, make_project):
    app = make_app(**cloud(deepseek, BRIEF_WARMUP="false"))
    workspace = scanned(app, make_project(PROJECT))
    app.briefs.update(workspace, "# Shop\n")
    ask(app, workspace)
    app.finish(30)
    assert len(deepseek.requests) == 1


def test_the_ledger_says_what_the_provider_bills(deepseek, make_app, make_project):
    app = make_app(**cloud(deepseek, ENABLE_DEEPSEEK_PRO="true"))
    workspace = scanned(app, make_project(PROJECT))
    app.briefs.upgrade(workspace)
    for text in ("charge_card", "explain how the design of the cart works", "where does a receipt go"):
        ask(app, workspace, text)
    app.finish(30)
    report = app.usage.report("all")
    assert deepseek.total > 0
    assert report.totals.cost == deepseek.total
    assert {row.operation for row in report.rows} == {"ask", "brief", "warmup"}
    assert report.totals.tokens_in == sum(one.usage.tokens_in for one in deepseek.bill)


def test_an_answer_that_failed_and_was_billed_is_in_the_ledger(deepseek, make_app, make_project):
    app = make_app(**cloud(deepseek, BRIEF_WARMUP="false"))
    workspace = scanned(app, make_project(PROJECT))
    deepseek.answer_text = "  "
    answer = ask(app, workspace)
    assert (answer.engine, "an empty text" in answer.reason) == ("none", True)
    assert app.usage.report("all").totals.cost == deepseek.total > 0


def test_tokens_saved_are_those_of_the_cited_files_beyond_the_answer(make_app, make_project):
    app = make_app()
    workspace = scanned(app, make_project({"big.py": "def find_me():\n    pass\n\n\n" + "x = 1\n" * 4000}))
    ask(app, workspace, "find_me", limit=1)
    (row,) = app.usage.report("all").rows
    assert (row.engine, row.operation, row.sums.cost) == ("none", "ask", 0)
    assert 5_900 < row.sums.tokens_saved < 6_020


def test_a_daily_limit_closes_the_cloud(deepseek, make_app, make_project):
    spending = make_app(**cloud(deepseek))
    workspace = scanned(spending, make_project(PROJECT))
    ask(spending, workspace)
    spending.finish(30)
    asked = len(deepseek.requests)
    answer = ask(make_app(**cloud(deepseek, MAX_DAILY_COST="0.000001")), workspace)
    assert (answer.engine, bool(answer.sources)) == ("none", True)
    assert "MAX_DAILY_COST" in answer.reason
    assert len(deepseek.requests) == asked


def test_a_daily_limit_with_an_unknown_price_closes_the_cloud(deepseek, make_app, make_project):
    app = make_app(**cloud(deepseek, MAX_DAILY_COST="5", DEEPSEEK_FLASH_MODEL="house-model"))
    answer = ask(app, scanned(app, make_project(PROJECT)))
    assert (answer.engine, "house-model is unknown" in answer.reason) == ("none", True)
    assert deepseek.requests == []


def test_ollama_answers_short_questions_where_both_are_configured(deepseek, ollama, make_app, make_project):
    app = make_app(**cloud(deepseek, OLLAMA_HOST=ollama.url, OLLAMA_MODEL=ollama.models[0]))
    workspace = scanned(app, make_project(PROJECT))
    assert ask(app, workspace).engine == "ollama"
    assert ask(app, workspace, "explain how the pipeline charges a card").engine == "deepseek-flash"
    assert ask(app, workspace, use_cloud=True).engine == "deepseek-flash"
    assert app.usage.report("all", None, ("engine",)).rows[0].sums.cost is not None


def test_a_question_is_not_sent_to_the_cloud_by_what_stands_in_the_repository(deepseek, make_app, make_project):
    env = f"DEEPSEEK_API_KEY={KEY}\nDEEPSEEK_BASE_URL={deepseek.url}\nMEMORY_MODE=cloud\n"
    app = make_app()
    answer = ask(app, scanned(app, make_project({**PROJECT, ".env": env})))
    assert (answer.engine, deepseek.requests) == ("none", [])


def test_a_workspace_may_keep_its_own_questions_here(deepseek, make_app, make_project):
    app = make_app(**cloud(deepseek))
    workspace = scanned(app, make_project({**PROJECT, ".env": "MEMORY_MODE=local\n"}))
    answer = ask(app, workspace)
    assert (answer.engine, "MEMORY_MODE=local" in answer.reason) == ("none", True)
    assert not app.briefs.upgrade(workspace)
    with pytest.raises(CloudRefused):
        ask(app, workspace, use_cloud=True)
    app.finish(30)
    assert deepseek.requests == []


LOCAL = """
import json, socket, sys
from pathlib import Path

trapped = []

def trap(event, arguments):
    if event == "socket.connect":
        address = arguments[1]
        if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1"):
            trapped.append(str(address))
    if event == "socket.getaddrinfo" and arguments[0] not in ("127.0.0.1", "::1", "localhost", None):
        trapped.append(str(arguments[0]))

sys.addaudithook(trap)
from braindex.bootstrap import build_app
from braindex.config import InvalidSettings, load_settings
from braindex.domain.results import Question
from braindex.domain.routing import CloudRefused

brain, root, url, model = sys.argv[1:]
NAMES = ("add_item", "charge_card", "ship_order", "send_receipt", "cart.py") * 2
environ = {
    "BRAIN_DIR": brain, "MEMORY_MODE": "local", "OLLAMA_HOST": url, "OLLAMA_MODEL": model,
    "DEEPSEEK_API_KEY": "sk-x", "DEEPSEEK_BASE_URL": "https://api.example.org",
}
app = build_app(load_settings(environ, Path(brain)))
workspace = app.workspaces.open(root)
app.scans.run(workspace)
app.briefs.upgrade(workspace)
engines = [app.asking.ask(workspace, Question(f"where is {name}")).engine for name in NAMES]
engines.append(app.asking.ask(workspace, Question("charge the card " * 133)).engine)
refused = []
try:
    app.asking.ask(workspace, Question("where is the cart", use_cloud=True))
except CloudRefused as error:
    refused.append(str(error))
try:
    load_settings({**environ, "OLLAMA_HOST": "ollama.example.org"}, Path(brain))
except InvalidSettings as error:
    refused.append(str(error))
app.finish(30)
print(json.dumps({"trapped": trapped, "engines": engines, "refused": refused, "brief": app.briefs.view(workspace).state.engine}))
"""


def test_local_mode_connects_to_nothing_but_this_machine(ollama, brain, make_project):
    root = make_project(PROJECT)
    brain.mkdir()
    arguments = [str(brain), str(root), ollama.url, ollama.models[0]]
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LOCAL), *arguments],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["trapped"] == []
    assert set(found["engines"]) == {"ollama"}
    assert found["brief"] == "ollama"
    assert "MEMORY_MODE" in found["refused"][0]
    assert "OLLAMA_HOST" in found["refused"][1]


def test_a_merged_workspace_brings_its_ledger_along(make_app, make_project, tmp_path):
    app = make_app()
    root = make_project(PROJECT)
    old = scanned(app, root)
    ask(app, old)
    app.usage.flush(10)
    new = app.workspaces.open(root.rename(tmp_path / "moved"))
    app.scans.run(new)
    app.workspaces.merge(old, new)
    assert [row.workspace_id for row in app.usage.report("all").rows] == [new.id]


@pytest.mark.parametrize("said", [{}, [], {"prompt_tokens": "9"}, {"prompt_tokens": 10**15}])
def test_an_answer_of_unknown_usage_costs_null_and_counts_under_a_daily_limit(said, deepseek, make_app, make_project):
    deepseek.fail_always("another usage", usage=said)
    app = make_app(**cloud(deepseek, MAX_DAILY_COST="0.00000001"))
    workspace = scanned(app, make_project(PROJECT))
    assert ask(app, workspace).engine == "deepseek-flash"
    app.finish(30)
    answer = ask(app, workspace)
    assert (answer.engine, "MAX_DAILY_COST" in answer.reason) == ("none", True)
    assert app.usage.report("all").totals.unknown_cost_calls == 1


def test_what_an_answer_would_cost_is_said_before_anybody_is_asked(deepseek, make_app, make_project):
    app = make_app(**cloud(deepseek))
    workspace = scanned(app, make_project(PROJECT))
    question = Question("how is a card charged", estimate=True)
    answer = app.asking.sources(workspace, question)
    told = answer.estimate
    assert told is not None
    assert (told.engine, told.model) == ("deepseek-flash", "deepseek-flash")
    assert 0 < (told.cached or 0) < (told.uncached or 0)
    assert all(len(one.body["messages"]) == 1 for one in deepseek.requests)  # warm-ups of the brief
    assert app.asking.sources(workspace, Question("how is a card charged")).estimate is None
    ask(app, workspace)
    [(system, user)] = [one.body["messages"] for one in deepseek.requests if len(one.body["messages"]) == 2]
    said = sum(-(-len(one["content"].encode()) // 4) for one in (system, user))
    assert told.prefix_tokens + told.asked_tokens == said
    assert answer.as_json()["estimate"]["uncached_usd"] == pytest.approx((told.uncached or 0) / 1e12)


def test_an_estimate_says_why_no_engine_would_answer_or_that_its_price_is_unknown(deepseek, make_app, make_project):
    workspace = scanned(make_app(), make_project(PROJECT))
    question = Question("how is a card charged", estimate=True)
    none = make_app().asking.sources(workspace, question).estimate
    assert none is not None
    assert (none.engine, none.reason) == ("none", "no engine is configured: sources only")
    app = make_app(**cloud(deepseek), DEEPSEEK_FLASH_MODEL="a-model-of-tomorrow")
    unknown = app.asking.sources(workspace, question).estimate
    assert unknown is not None
    assert (unknown.cached, unknown.uncached) == (None, None)
