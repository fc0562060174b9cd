"""Embeddings by choice: what an index is made with, what answers while it is made anew, and what it costs."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.fakes.asked import ROOT
from tests.fakes.ollama import FakeOllama
from tests.fakes.openai import KEY, FakeOpenAI
from tests.fakes.server import Received, Reply

from braindex.bootstrap import App
from braindex.config import InvalidSettings, load_settings
from braindex.domain.engines import EngineFailed
from braindex.domain.results import Answer, Question, ScanProgress, Workspace
from braindex.registry.index import IndexStore
from braindex.services import freshness
from braindex.services.rebuild import BESIDE
from braindex.vectors.index import DenseIndexes

SHOP = {
    "src/cart.py": 'def add_item(cart, item):\n    """Put an item into the cart."""\n    cart.append(item)\n',
    "src/pay.py": 'def charge_card(card, amount):\n    """Charge a card an amount."""\n    return card\n',
    "src/ship.py": 'def ship_order(order):\n    """Send an order to its buyer."""\n    return order\n',
}
ASKED = "charge a card an amount"


class Gated(FakeOpenAI):
    """Answers so many requests, then no more until `gate` is open. `reached` says that one waits."""

    def __init__(self, answered: int = 0) -> None:
        self.left = answered
        self.gate, self.reached = threading.Event(), threading.Event()
        super().__init__()

    def answer(self, received: Received) -> Reply:
        self.left -= 1
        if self.left < 0:
            self.reached.set()
            assert self.gate.wait(60)
        return super().answer(received)

    def close(self) -> None:
        self.gate.set()
        super().close()


@pytest.fixture
def openai() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as stand_in:
        yield stand_in
        assert stand_in.violations == []


def by_openai(stand_in: FakeOpenAI, **more: str) -> dict[str, str]:
    return {"EMBEDDING": "openai", "OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{stand_in.url}/v1", **more}


def by_ollama(stand_in: FakeOllama, **more: str) -> dict[str, str]:
    return {"EMBEDDING": "ollama", "OLLAMA_EMBED_MODEL": "nomic-embed-text", "OLLAMA_HOST": stand_in.url, **more}


def scanned(app: App, root: Path) -> Workspace:
    workspace = app.workspaces.open(root)
    app.scans.run(workspace)
    return workspace


def ask(app: App, workspace: Workspace, text: str = ASKED) -> Answer:
    return app.asking.ask(workspace, Question(text))


def model_of(app: App, workspace: Workspace) -> str:
    with app.workspaces.open_index(workspace) as store:
        return str(store.model()).rpartition("/")[0]


def content(app: App, workspace: Workspace) -> dict[str, bytes | None]:
    """Every id with its vector."""
    with app.workspaces.open_index(workspace) as store:
        rows = store.rows_of([one.id for one in store.entities(store.rows()).values()])
        vectors = store.vectors(rows.values())
        return {identifier: vectors.get(row) for identifier, row in rows.items()}


@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_a_workspace_is_scanned_and_asked_through_a_provider(provider, openai, fake_ollama, make_app, make_project):
    stand_in = openai if provider == "openai" else fake_ollama
    app = make_app(**(by_openai(openai) if provider == "openai" else by_ollama(fake_ollama)))
    workspace = scanned(app, make_project(SHOP))
    asked = len(stand_in.requests)
    assert model_of(app, workspace).startswith(f"{provider}/")
    answer = ask(app, workspace)
    assert (answer.sources[0].name, answer.coverage) == ("charge_card", "")
    assert answer.sources[0].distance is not None
    assert len(stand_in.requests) == asked + 1  # one request a question
    assert fake_ollama.violations == []


def test_a_file_that_changed_has_only_what_is_new_in_it_embedded(openai, make_app, make_project):
    app = make_app(**by_openai(openai))
    root = make_project(SHOP)
    workspace = scanned(app, root)
    openai.requests.clear()
    (root / "src/ship.py").write_text(SHOP["src/ship.py"] + "\n\ndef track(order):\n    return order.place\n")
    app.scans.run(workspace)
    (request,) = openai.requests
    assert all("ship.py" in text for text in request.body["input"])
    openai.requests.clear()
    app.scans.run(workspace)
    assert openai.requests == []


def test_the_old_index_answers_until_the_new_one_is_whole(make_app, make_project, monkeypatch):
    monkeypatch.setattr(freshness, "FIRST_SCAN_TIME", 0.0)
    root = make_project(SHOP)
    workspace = scanned(make_app(), root)
    with Gated() as gated:
        app = make_app(**by_openai(gated))
        before = content(app, workspace)
        (root / "src/new.py").write_text("def brand_new_thing():\n    return 1\n")
        during = ask(app, workspace)
        assert gated.reached.wait(60)
        assert "being made anew" in during.coverage
        during = ask(app, workspace)
        assert during.sources[0].name == "charge_card"
        assert during.sources[0].distance is not None  # by the bundled model, whose index still serves
        assert before.items() <= content(app, workspace).items()
        assert ask(app, workspace, "brand_new_thing").sources[0].path == "src/new.py"  # and is kept up to date
        assert model_of(app, workspace) == "braindex-static-2"
        gated.gate.set()
        app.scans.start(workspace).wait(60)
        answer = ask(app, workspace)
        assert (answer.coverage, answer.sources[0].name) == ("", "charge_card")
        assert model_of(app, workspace) == "openai/text-embedding-3-small@1"
        assert not (app.workspaces.folder(workspace) / BESIDE).exists()


def test_back_to_the_bundled_model_the_words_alone_are_searched_until_the_new_index_is_whole(
    openai, make_app, make_project, monkeypatch
):
    monkeypatch.setattr(freshness, "FIRST_SCAN_TIME", 0.0)
    workspace = scanned(make_app(**by_openai(openai)), make_project(SHOP))
    scanning, asking = make_app(), make_app()
    openai.requests.clear()
    answers: list[Answer] = []

    def at_each(_: ScanProgress) -> None:
        if not answers:
            answers.append(ask(asking, workspace))

    scanning.scans.run(workspace, at_each)
    (during,) = answers
    assert during.sources[0].name == "charge_card"
    assert during.sources[0].distance is None
    assert "being made anew" in during.coverage
    assert "words alone" in during.coverage
    assert "\n" not in during.coverage
    asking.scans.start(workspace).wait(60)
    after = ask(asking, workspace)
    assert (after.coverage, after.sources[0].name, model_of(asking, workspace)) == (
        "",
        "charge_card",
        "braindex-static-2",
    )
    assert openai.requests == []


def test_every_index_is_the_same_however_it_came_about(openai, make_app, make_project):
    root = make_project(SHOP)
    workspace = scanned(make_app(), root)
    bundled = content(make_app(), workspace)
    provider = make_app(**by_openai(openai))
    provider.scans.run(workspace)
    changed = content(provider, workspace)
    assert changed.keys() == bundled.keys()
    assert {len(vector or b"") for vector in changed.values()} == {24 * 4}
    back = make_app()
    back.scans.run(workspace)
    assert content(back, workspace) == bundled


def test_the_vector_index_on_disk_follows_a_change_of_model(openai, make_app, make_project, brain):
    many = {f"m{number}.py": f"def function_{number}():\n    return {number}\n" for number in range(30)}
    root = make_project(many)
    assert scan_in_a_child({"BRAIN_DIR": str(brain)}, root, die_at=0).wait(60) == 0
    app = make_app(**by_openai(openai))
    workspace = scanned(app, root)
    indexes, folder = DenseIndexes(exact_limit=0), app.workspaces.folder(workspace)
    with app.workspaces.open_index(workspace) as store:
        assert store.outbox(1) == []
        (row,) = store.rows_of([one.id for one in store.entities(store.rows_by_name(["function_7"])).values()]).values()
        vector = store.vectors([row])[row]
        nearest = indexes.of(folder, store).nearest(vector, 3)
    indexes.close()
    assert (nearest[0][1], row in [one for one, _ in nearest]) == (0.0, True)


def test_a_provider_that_fails_at_a_question_costs_the_vectors_and_not_the_answer(openai, make_app, make_project):
    app = make_app(**by_openai(openai))
    workspace = scanned(app, make_project(SHOP))
    openai.fail_always("401")
    answer = ask(app, workspace)
    assert answer.sources[0].name == "charge_card"
    assert "check OPENAI_API_KEY" in answer.coverage
    assert "words alone" in answer.coverage
    assert KEY not in answer.coverage
    openai.fail_always(None)
    assert ask(app, workspace).coverage == ""


def test_a_scan_whose_provider_is_down_says_so_and_keeps_what_is_indexed(openai, make_app, make_project):
    root = make_project(SHOP)
    app = make_app(**by_openai(openai))
    workspace = scanned(app, root)
    before = content(app, workspace)
    (root / "src/new.py").write_text("def brand_new_thing():\n    return 1\n")
    openai.fail_always("401")
    with pytest.raises(EngineFailed, match="OPENAI_API_KEY"):
        app.scans.run(workspace)
    status = app.scans.status(workspace)
    assert (status.state, "check OPENAI_API_KEY" in str(status.last_error), status.files) == ("failed", True, 3)
    assert content(app, workspace) == before
    assert "check OPENAI_API_KEY" in ask(app, workspace).coverage
    openai.fail_always(None)
    app.scans.run(workspace)
    assert app.scans.status(workspace).state == "complete"


def test_a_rebuild_that_fails_leaves_the_old_index_and_is_not_tried_at_every_question(openai, make_app, make_project):
    workspace = scanned(make_app(), make_project(SHOP))
    app = make_app(**by_openai(openai))
    before = content(app, workspace)
    openai.fail_always("401")
    answers = [ask(app, workspace) for _ in range(3)]
    assert {one.sources[0].name for one in answers} == {"charge_card"}
    assert all("could not be made anew" in one.coverage and "OPENAI_API_KEY" in one.coverage for one in answers)
    assert all(one.sources[0].distance is not None for one in answers)
    assert len(openai.requests) == 1
    assert content(app, workspace) == before


def test_a_first_scan_without_its_provider_says_why(openai, make_app, make_project):
    openai.fail_always("401")
    app = make_app(**by_openai(openai))
    workspace = app.workspaces.open(make_project(SHOP))
    with pytest.raises(EngineFailed, match="check OPENAI_API_KEY"):
        ask(app, workspace)


SCAN = """
import json, os, signal, sys
from pathlib import Path
from braindex.bootstrap import build_app
from braindex.config import load_settings

environ, root, at = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])
walked = 0

def report(progress):
    global walked
    walked += progress.phase == "walking"
    if walked == at and progress.phase == "storing":
        os.kill(os.getpid(), signal.SIGKILL)

app = build_app(load_settings(environ, Path(environ["BRAIN_DIR"])))
app.scans.run(app.workspaces.open(root), report)
"""


def scan_in_a_child(settings: dict[str, str], root: Path, *, die_at: int) -> "subprocess.Popen[bytes]":
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.Popen([sys.executable, "-c", SCAN, json.dumps(settings), str(root), str(die_at)], env=environ)


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_kill_while_the_provider_is_asked_costs_neither_the_old_index_nor_what_was_paid(
    make_app, make_project, brain, monkeypatch
):
    many = {f"m{number}.py": f"def function_{number}():\n    return {number}\n" * 40 for number in range(60)}
    root = make_project(many)
    workspace = scanned(make_app(), root)
    monkeypatch.setattr(freshness, "FIRST_SCAN_TIME", 0.0)
    with Gated(answered=15) as gated:
        before = content(make_app(), workspace)
        child = scan_in_a_child({"BRAIN_DIR": str(brain), **by_openai(gated)}, root, die_at=0)
        assert gated.reached.wait(60)
        child.send_signal(signal.SIGKILL)
        assert child.wait(60) == -signal.SIGKILL
        app = make_app(**by_openai(gated))
        assert content(app, workspace) == before
        with IndexStore.open(app.workspaces.folder(workspace) / BESIDE) as beside:
            paid = beside.entity_count()
        assert paid > 0
        gated.left = 1_000_000
        gated.requests.clear()
        app.scans.run(workspace)
        assert sum(len(one.body["input"]) for one in gated.requests) == len(before) - paid
        assert model_of(app, workspace).startswith("openai/")
        assert content(app, workspace).keys() == before.keys()


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_kill_while_the_new_index_is_put_in_place_leaves_the_old_one(openai, make_app, make_project, brain):
    root = make_project(SHOP)
    workspace = scanned(make_app(), root)
    before = content(make_app(), workspace)
    # The scans of the old index, of the one beside it, and the one that puts it in place.
    child = scan_in_a_child({"BRAIN_DIR": str(brain), **by_openai(openai)}, root, die_at=3)
    assert child.wait(60) == -signal.SIGKILL
    app = make_app(**by_openai(openai))
    assert (content(app, workspace), model_of(app, workspace)) == (before, "braindex-static-2")
    openai.requests.clear()
    app.scans.run(workspace)
    assert openai.requests == []  # everything was paid for before
    assert model_of(app, workspace).startswith("openai/")
    assert {len(vector or b"") for vector in content(app, workspace).values()} == {24 * 4}


def test_an_index_that_was_begun_beside_and_is_damaged_is_begun_anew(openai, make_app, make_project):
    workspace = scanned(make_app(), make_project(SHOP))
    app = make_app(**by_openai(openai))
    beside = app.workspaces.folder(workspace) / BESIDE
    beside.mkdir()
    (beside / "index.db").write_bytes(b"no database" * 1000)
    app.scans.run(workspace)
    assert model_of(app, workspace).startswith("openai/")
    assert not beside.exists()


def test_a_file_that_changes_while_the_index_is_made_beside_is_in_the_new_one(openai, make_app, make_project):
    root = make_project(SHOP)
    workspace = scanned(make_app(), root)
    app = make_app(**by_openai(openai))
    walked: list[str] = []

    def at_each(progress: ScanProgress) -> None:
        if progress.phase == "walking":
            walked.append(progress.phase)
            if len(walked) == 3:
                (root / "src/late.py").write_text("def brand_new_thing():\n    return 1\n")

    app.scans.run(workspace, at_each)
    assert len(walked) == 3
    assert ask(app, workspace, "brand_new_thing").sources[0].path == "src/late.py"
    assert None not in content(app, workspace).values()


@pytest.mark.parametrize("restart", [True, False])
def test_a_provider_that_changes_its_dimension_has_the_index_made_anew(restart, openai, make_app, make_project):
    root = make_project(SHOP)
    app = make_app(**by_openai(openai))
    workspace = scanned(app, root)
    openai.dimension = 48
    if restart:
        app = make_app(**by_openai(openai))
    answer = ask(app, workspace)
    assert (answer.sources[0].name, answer.sources[0].distance) == ("charge_card", None)
    assert "words alone" in answer.coverage
    (root / "src/new.py").write_text("def brand_new_thing():\n    return 1\n")
    for _ in range(3):
        answer = ask(app, workspace)
    assert answer.coverage == ""
    assert answer.sources[0].distance is not None
    assert {len(vector or b"") for vector in content(app, workspace).values()} == {48 * 4}


def test_one_scan_alone_heals_a_changed_dimension(openai, make_app, make_project):
    root = make_project(SHOP)
    workspace = scanned(make_app(**by_openai(openai)), root)
    openai.dimension = 48
    (root / "src/new.py").write_text("def brand_new_thing():\n    return 1\n")
    app = make_app(**by_openai(openai))
    app.scans.run(workspace)
    assert {len(vector or b"") for vector in content(app, workspace).values()} == {48 * 4}


def test_a_workspace_that_stays_here_never_reaches_the_provider(openai, make_app, make_project):
    app = make_app(**by_openai(openai))
    workspace = scanned(app, make_project({**SHOP, ".env": "MEMORY_MODE=local\n"}))
    answer = ask(app, workspace)
    assert (answer.sources[0].name, answer.coverage) == ("charge_card", "")
    assert model_of(app, workspace) == "braindex-static-2"
    assert openai.requests == []
    other = scanned(app, make_project(SHOP, name="other"))
    assert model_of(app, other).startswith("openai/")


def test_a_workspace_that_stays_here_keeps_ollama_on_this_machine_and_no_other(fake_ollama, tmp_path, make_project):
    root = make_project({".env": "MEMORY_MODE=local\n"})

    def chosen(**changed: str) -> str:
        return load_settings({"BRAIN_DIR": str(tmp_path), **by_ollama(fake_ollama), **changed}, tmp_path).embedding_of(
            root
        )

    assert chosen() == "ollama"
    assert chosen(OLLAMA_HOST="10.0.0.5") == "bundled"
    assert chosen(OLLAMA_EMBED_MODEL="embed:cloud") == "bundled"


def test_local_mode_embeds_with_ollama_on_this_machine(fake_ollama, brain, make_project):
    settings = {"BRAIN_DIR": str(brain), "MEMORY_MODE": "local", **by_ollama(fake_ollama)}
    assert scan_in_a_child(settings, make_project(SHOP), die_at=0).wait(60) == 0
    assert len(fake_ollama.requests) > 0


def test_what_embedding_costs_is_in_the_ledger(openai, fake_ollama, make_app, make_project):
    app = make_app(**by_openai(openai))
    workspace = scanned(app, make_project(SHOP))
    ask(app, workspace)
    rows = [row for row in app.usage.report("all").rows if row.operation == "embed"]
    assert [(row.workspace_id, row.engine, row.sums.calls) for row in rows] == [(workspace.id, "openai", 2)]
    assert rows[0].sums.tokens_in == openai.tokens
    assert rows[0].sums.cost == openai.tokens * 20_000  # picodollars: $0.02 a million tokens
    other = make_app(**by_ollama(fake_ollama))
    other.scans.run(workspace)
    (row,) = [one for one in other.usage.report("all").rows if one.engine == "ollama"]
    assert (row.operation, row.sums.cost, row.sums.tokens_in > 0) == ("embed", 0, True)


def test_a_daily_limit_holds_for_embeddings_too(openai, make_app, make_project):
    root = make_project(SHOP)
    workspace = scanned(make_app(**by_openai(openai)), root)
    openai.requests.clear()
    limited = make_app(**by_openai(openai, MAX_DAILY_COST="0"))
    assert "MAX_DAILY_COST" in ask(limited, workspace).coverage
    unknown = make_app(**by_openai(openai, MAX_DAILY_COST="5", OPENAI_EMBED_MODEL="house-model"))
    with pytest.raises(EngineFailed, match="price of house-model is unknown"):
        unknown.scans.run(workspace)
    assert openai.requests == []


REFUSED = {
    "OLLAMA_EMBED_MODEL": {"EMBEDDING": "ollama"},
    "OPENAI_API_KEY": {"EMBEDDING": "openai"},
    "MEMORY_MODE=local": {"EMBEDDING": "openai", "OPENAI_API_KEY": "k", "MEMORY_MODE": "local"},
    "OLLAMA_HOST": {
        "EMBEDDING": "ollama",
        "OLLAMA_EMBED_MODEL": "m",
        "OLLAMA_HOST": "10.0.0.5",
        "MEMORY_MODE": "local",
    },
    "cloud": {"EMBEDDING": "ollama", "OLLAMA_EMBED_MODEL": "m:cloud", "MEMORY_MODE": "local"},
    "EMBEDDING": {"EMBEDDING": "cohere"},
}


@pytest.mark.parametrize("name", REFUSED)
def test_settings_that_cannot_embed_are_refused_at_start_by_name(name, tmp_path):
    with pytest.raises(InvalidSettings, match=name):
        load_settings({"BRAIN_DIR": str(tmp_path), **REFUSED[name]}, tmp_path)


def test_a_repository_cannot_choose_who_embeds_it(openai, make_app, make_project):
    env = f"EMBEDDING=openai\nOPENAI_API_KEY={KEY}\nOPENAI_BASE_URL={openai.url}/v1\n"
    app = make_app()
    workspace = scanned(app, make_project({**SHOP, ".env": env}))
    assert (model_of(app, workspace), openai.requests) == ("braindex-static-2", [])


START = """
import json, sys
from pathlib import Path
from braindex.bootstrap import build_app
from braindex.config import load_settings
brain, root = sys.argv[1:]
app = build_app(load_settings({"BRAIN_DIR": brain, "EMBEDDING": "openai", "OPENAI_API_KEY": "k"}, Path(root)))
app.scans.status(app.workspaces.open(root))
print(json.dumps([name for name in ("openai", "ollama", "numpy", "httpx", "httpx2", "chromadb") if name in sys.modules]))
"""


def test_nothing_is_imported_for_a_provider_before_it_is_asked(make_project, brain):
    done = subprocess.run(
        [sys.executable, "-c", START, str(brain), str(make_project(SHOP))],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == []
