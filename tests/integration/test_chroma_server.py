"""The vectors in a Chroma server: a real one, one that fails in every way, and none at all."""

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import ask, scanned
from tests.fakes.chroma import Passing, free_port

import braindex.registry
from braindex.domain.entities import CodeEntity
from braindex.domain.ports import Vector
from braindex.domain.units import FileRecord, FileUnits, Terms, Unit
from braindex.registry.index import IndexStore
from braindex.vectors.backing import VectorServerAway, VectorServerSilent
from braindex.vectors.index import DenseIndexes
from braindex.vectors.placement import left_over, placement
from braindex.vectors.server import ChromaServer, Limits

SOURCE = str(Path(braindex.registry.__file__).parents[2])
PATIENT = Limits(question_seconds=30.0, first_wait=0.0)  # a machine that is busy with other tests
NOWHERE = "http://192.0.2.1:8000"  # an address that documentation may use and nobody has (RFC 5737)


def vectors(seed: int, count: int) -> list[Vector]:
    values = np.random.default_rng(seed).normal(size=(count, 32)).astype("<f4")
    return [bytes(one.astype("<f4").tobytes()) for one in values / np.linalg.norm(values, axis=1, keepdims=True)]


def put(store: IndexStore, seed: int, count: int) -> None:
    """The file of this seed now holds so many entities."""
    path = f"file{seed}.py"
    units = []
    for number, vector in enumerate(vectors(seed, count)):
        entity = CodeEntity(path, "function", f"n{number}", f"n{number}", "", "python", 1, 2, "")
        units.append(Unit(f"{seed} {number}", entity, b"1", Terms("x", "", "", "", "", ""), vector))
    store.write([FileUnits(FileRecord(path, 1, 1, b"1", "python", 1), tuple(units))])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "workspaces" / tmp_path.name


@pytest.fixture
def store(folder: Path) -> Iterator[IndexStore]:
    with IndexStore.open(folder) as opened:
        yield opened


Connect = Callable[..., DenseIndexes]


@pytest.fixture
def connect() -> Iterator[Connect]:
    made: list[DenseIndexes] = []

    def make(url: str, headers: Sequence[tuple[str, str]] = (), limits: Limits = PATIENT) -> DenseIndexes:
        made.append(DenseIndexes(server=ChromaServer(url, headers, limits)))
        return made[-1]

    yield make
    for one in made:
        one.close()


def exact(folder: Path, store: IndexStore) -> list[tuple[int, float]]:
    return DenseIndexes().of(folder, store).nearest(vectors(99, 1)[0], 5)


def test_a_small_workspace_too_is_searched_on_the_server_and_only_ids_and_vectors_go_there(
    real, between, connect, folder, store
) -> None:
    put(store, 1, 50)
    index = connect(between.url).of(folder, store)
    assert index.sync() == 50
    sent = len(between.requests)
    assert index.nearest(vectors(99, 1)[0], 5) == exact(folder, store)
    assert index.remark == ""
    assert [one.path.rpartition("/")[2] for one in between.requests[sent:]] == ["query", "count"]
    [collection] = real.collections(folder.name)
    assert collection["name"].startswith(f"braindex-{folder.name}-")
    assert collection["metadata"] == {"made_by": "braindex", "workspace_id": folder.name}
    hnsw = collection["configuration_json"]["hnsw"]
    assert (hnsw["space"], hnsw["ef_construction"], hnsw["max_neighbors"], hnsw["ef_search"]) == ("l2", 80, 16, 500)
    held = real.ask("POST", f"/collections/{collection['id']}/get", {"include": ["documents", "metadatas"]})
    assert len(held["ids"]) == 50
    assert not any(held["documents"] or [])
    assert not any(held["metadatas"] or [])
    assert not (folder / "vector_db").exists()


def test_the_number_of_vectors_is_asked_for_once_and_not_at_every_question(between, connect, folder, store) -> None:
    put(store, 1, 50)
    index = connect(between.url).of(folder, store)
    index.sync()
    sent = len(between.requests)
    for seed in range(3):
        index.nearest(vectors(seed, 1)[0], 5)
    counts = [one for one in between.requests[sent:] if one.path.endswith("/count")]
    assert len(counts) == 1


def test_headers_arrive_as_they_were_given_and_go_with_every_request(between, connect, folder, store) -> None:
    put(store, 1, 5)
    given = (("Authorization", 'Bearer a=b"c; ~d'), ("X-Chroma-Token", "tok en"))
    index = connect(between.url, given).of(folder, store)
    index.sync()
    index.nearest(vectors(99, 1)[0], 5)
    assert len(between.requests) > 3
    for received in between.requests:
        assert received.headers["authorization"] == 'Bearer a=b"c; ~d'
        assert received.headers["x-chroma-token"] == "tok en"


def test_tenant_database_and_prefix_of_the_address_are_where_requests_go(between, connect, folder, store) -> None:
    put(store, 1, 5)
    index = connect(f"{between.url}/behind?tenant=my%20team&database=code").of(folder, store)
    between.fail("takes")
    with pytest.raises(VectorServerAway):
        index.sync()
    assert [one.path for one in between.requests[:2]] == [
        "/behind/api/v2/pre-flight-checks",
        "/behind/api/v2/tenants/my%20team/databases/code/collections",
    ]


def test_a_server_on_this_machine_is_not_looked_for_behind_a_proxy(real, connect, folder, store, monkeypatch) -> None:
    for name in ("HTTP_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    put(store, 1, 5)
    index = connect(real.url).of(folder, store)
    assert index.sync() == 5
    assert index.nearest(vectors(99, 1)[0], 5) == exact(folder, store)
    assert index.remark == ""


def test_a_proxy_that_is_none_is_named(connect, folder, store, monkeypatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "nonsense://127.0.0.1:1")
    put(store, 1, 5)
    with pytest.raises(VectorServerAway, match="NO_PROXY"):
        connect(NOWHERE).of(folder, store).sync()


def test_while_the_server_is_away_the_stored_vectors_answer_and_the_next_scan_catches_up(
    real, connect, folder, store
) -> None:
    port = free_port()
    index = connect(f"http://127.0.0.1:{port}").of(folder, store)
    put(store, 1, 30)
    with pytest.raises(VectorServerAway, match=f"127.0.0.1:{port} cannot be reached: start it, or check CHROMA_URL"):
        index.sync()
    with Passing(real, port):
        assert index.sync() == 30
        assert index.nearest(vectors(99, 1)[0], 5) == exact(folder, store)
        assert index.remark == ""
    put(store, 2, 30)
    assert index.nearest(vectors(99, 1)[0], 5) == exact(folder, store)
    assert "searched the stored vectors instead" in index.remark
    with pytest.raises(VectorServerAway):
        index.sync()
    with Passing(real, port):
        assert index.sync() == 30
        assert index.nearest(vectors(99, 1)[0], 5) == exact(folder, store)
        assert index.remark == ""


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        ("401", "refused access (HTTP 401): check CHROMA_HEADERS"),
        ("403", "check CHROMA_HEADERS"),
        ("404", "lost the collection"),
        ("413", "takes no request of so many bytes"),
        ("429", "takes no more requests for now"),
        ("500", "failed on its own side (HTTP 500)"),
        ("drop half-way", "broke the connection"),
        ("drop before answering", "broke the connection"),
        ("empty body", "no answer of Chroma's: check CHROMA_URL"),
        ("non-JSON", "check CHROMA_URL"),
        ("JSON of another kind", "check CHROMA_URL"),
        ("no message", "check CHROMA_URL"),
        ("deep body", "check CHROMA_URL"),
        ("wrong content type", "check CHROMA_URL"),
        ("no Chroma", "check CHROMA_URL"),
        ("redirect", "check CHROMA_URL"),
        ("compressed", "in another form"),
    ],
)
def test_whatever_the_server_does_a_question_is_answered_and_says_so(
    failure, said, *, between, connect, folder, store
) -> None:
    put(store, 1, 50)
    index = connect(between.url).of(folder, store)
    index.sync()
    between.fail(failure)
    assert index.nearest(vectors(99, 1)[0], 5) == exact(folder, store)
    assert said in index.remark
    assert index.remark.startswith("searched the stored vectors instead, since the Chroma server at ")


def test_a_server_that_is_slow_is_waited_for_no_longer_than_its_limit(between, connect, folder, store) -> None:
    put(store, 1, 50)
    quick = connect(between.url).of(folder, store)
    quick.sync()
    between.fail_always("slow", seconds=600.0)
    index = connect(between.url, limits=Limits(question_seconds=0.2)).of(folder, store)
    assert index.nearest(vectors(99, 1)[0], 5) == exact(folder, store)
    assert "did not answer" in index.remark


def test_a_server_that_failed_is_left_alone_for_a_while_and_then_asked_again(between, connect, folder, store) -> None:
    now = [1000.0]
    put(store, 1, 50)
    limits = dataclasses.replace(PATIENT, pause_seconds=15.0, clock=lambda: now[0])
    index = connect(between.url, limits=limits).of(folder, store)
    index.sync()
    between.fail("500")
    index.nearest(vectors(99, 1)[0], 5)
    sent = len(between.requests)
    now[0] += 14.0
    assert index.nearest(vectors(99, 1)[0], 5) == exact(folder, store)
    assert "HTTP 500" in index.remark
    assert len(between.requests) == sent
    now[0] += 2.0
    assert index.nearest(vectors(99, 1)[0], 5) == exact(folder, store)
    assert index.remark == ""


@pytest.mark.parametrize("failure", ["500", "503", "429", "drop before answering"])
def test_a_change_is_tried_again_after_what_may_pass(failure, between, connect, folder, store) -> None:
    put(store, 1, 5)
    index = connect(between.url).of(folder, store)
    between.fail(failure, 2)
    assert index.sync() == 5


@pytest.mark.parametrize(("failure", "times"), [("401", 1), ("500", 3), ("non-JSON", 1)])
def test_a_change_is_tried_only_so_often_and_only_where_that_may_help(
    failure, times, *, between, connect, folder, store
) -> None:
    put(store, 1, 5)
    index = connect(between.url).of(folder, store)
    between.fail_always(failure)
    for attempts in (times, 1):  # one that failed a moment ago is tried once
        before = len(between.requests)
        with pytest.raises(VectorServerAway):
            index.sync()
        assert len(between.requests) - before == attempts
    between.fail_always(None)
    assert index.sync() == 5


def test_a_server_that_gives_no_answer_is_asked_once_in_all(between, connect, folder, store) -> None:
    """Neither the question after it nor what a scan has to send waits for it again; a scan waits no longer than a
    question does.
    """
    now = [1000.0]
    put(store, 1, 5)
    limits = Limits(question_seconds=0.2, change_seconds=600.0, clock=lambda: now[0])
    index = connect(between.url, limits=limits).of(folder, store)
    between.fail_always("slow", seconds=600.0)
    with pytest.raises(VectorServerSilent, match="did not answer"):
        index.sync()
    assert [one.path for one in between.requests] == ["/api/v2/pre-flight-checks"]
    with pytest.raises(VectorServerSilent):
        index.sync()
    assert index.nearest(vectors(99, 1)[0], 5) == exact(folder, store)
    assert len(between.requests) == 1
    between.fail_always(None)
    now[0] += limits.pause_seconds
    connect(between.url).of(folder, store).sync()
    assert index.sync() == 0


def test_a_server_that_gave_a_question_no_answer_is_not_asked_by_what_follows_it(
    between, connect, folder, store
) -> None:
    put(store, 1, 5)
    connect(between.url).of(folder, store).sync()
    between.fail_always("slow", seconds=600.0)
    index = connect(between.url, limits=Limits(question_seconds=0.2, change_seconds=600.0)).of(folder, store)
    before = len(between.requests)
    assert index.nearest(vectors(99, 1)[0], 5) == exact(folder, store)
    put(store, 2, 5)
    with pytest.raises(VectorServerSilent):
        index.sync()
    assert len(between.requests) == before + 1


def test_a_server_that_has_answered_a_moment_ago_is_not_asked_whether_it_is_there(
    between, connect, folder, store
) -> None:
    now = [1000.0]
    put(store, 1, 5)
    index = connect(between.url, limits=dataclasses.replace(PATIENT, clock=lambda: now[0])).of(folder, store)
    index.sync()
    for waited, asked_first in ((14.0, False), (16.0, True)):
        now[0] += waited
        before = len(between.requests)
        index.sync()
        paths = [one.path.rpartition("/")[2] for one in between.requests[before:]]
        assert paths == ["pre-flight-checks"] * asked_first + ["count"]


def test_a_scan_that_is_stopped_waits_for_no_server(between, connect, folder, store) -> None:
    put(store, 1, 5)
    index = connect(between.url).of(folder, store)
    between.fail_always("slow", seconds=600.0)
    assert index.sync(stop=between.waiting.is_set) == 0
    between.fail_always("500")
    patient = dataclasses.replace(PATIENT, first_wait=600.0)
    index = connect(between.url, limits=patient).of(folder, store)
    before = len(between.requests)
    assert index.sync(stop=lambda: len(between.requests) > before) == 0
    between.fail_always(None)
    assert index.sync() == 5


def test_a_collection_that_the_server_lost_is_said_and_made_anew(real, connect, folder, store) -> None:
    put(store, 1, 50)
    index = connect(real.url).of(folder, store)
    index.sync()
    [collection] = real.collections(folder.name)
    real.ask("DELETE", f"/collections/{collection['name']}")
    assert index.nearest(vectors(99, 1)[0], 5) == exact(folder, store)
    assert "lost the collection" in index.remark
    assert index.sync() == 50
    assert index.nearest(vectors(99, 1)[0], 5) == exact(folder, store)
    assert (index.remark, len(real.collections(folder.name))) == ("", 1)


@pytest.mark.parametrize("change", ["delete", "upsert"])
def test_another_number_of_vectors_is_said_and_made_right(change, real, connect, folder, store) -> None:
    put(store, 1, 50)
    index = connect(real.url).of(folder, store)
    index.sync()
    [collection] = real.collections(folder.name)
    body = {"ids": ["1 7"]} if change == "delete" else {"ids": ["foreign"], "embeddings": [[0.5] * 32]}
    real.ask("POST", f"/collections/{collection['id']}/{change}", body)
    assert index.nearest(vectors(99, 1)[0], 5) == exact(folder, store)
    assert f"holds {49 if change == 'delete' else 51} vectors instead of 50" in index.remark
    assert index.sync() == 50
    assert index.nearest(vectors(99, 1)[0], 5) == exact(folder, store)
    [anew] = real.collections(folder.name)  # the old one is gone
    assert (index.remark, anew["id"] != collection["id"]) == ("", True)


def test_from_the_embedded_index_to_a_server_and_back_nothing_is_out_of_date(real, connect, folder, store) -> None:
    embedded, server = DenseIndexes(exact_limit=0), connect(real.url)
    put(store, 1, 50)
    assert embedded.of(folder, store).sync() == 50
    put(store, 2, 10)
    assert server.of(folder, store).sync() == 60
    assert not (folder / "vector_db").exists()
    put(store, 1, 20)
    server.of(folder, store).sync()
    index = embedded.of(folder, store)
    assert index.nearest(vectors(99, 1)[0], 5) == exact(folder, store)
    assert index.sync() == 30
    assert index.nearest(vectors(99, 1)[0], 5) == exact(folder, store)
    assert index.problems() == []
    assert server.of(folder, store).sync() == 30
    assert server.of(folder, store).problems() == []
    assert len(real.collections(folder.name)) == 1
    embedded.close()


def test_a_dropped_workspace_leaves_nothing_on_the_server(real, connect, folder, store) -> None:
    put(store, 1, 5)
    indexes = connect(real.url)
    indexes.of(folder, store).sync()
    assert len(real.collections(folder.name)) == 1
    indexes.drop(folder)
    assert real.collections(folder.name) == []
    assert left_over(folder.parent) == []


def test_what_a_drop_could_not_delete_is_deleted_when_a_scan_reaches_the_server(
    real, between, *, connect, folder, store, caplog
) -> None:
    put(store, 1, 5)
    indexes = connect(between.url)
    indexes.of(folder, store).sync()
    between.fail_always("503")
    indexes.drop(folder)
    assert "left on its Chroma server" in caplog.text
    assert [one.collection for one in left_over(folder.parent)] == [
        one["name"] for one in real.collections(folder.name)
    ]
    between.fail_always(None)
    other = folder.parent / "other"
    with IndexStore.open(other) as another:
        put(another, 2, 5)
        connect(between.url).of(other, another).sync()
    assert real.collections(folder.name) == []
    assert left_over(folder.parent) == []


def test_a_note_of_where_the_vectors_are_that_cannot_be_read_costs_a_rebuild(real, connect, folder, store) -> None:
    put(store, 1, 5)
    index = connect(real.url).of(folder, store)
    index.sync()
    for content in ("", "[]", '{"address": 1, "collection": 2, "id": 3, "rebuild": 4}', "{"):
        (folder / "vector_db.server").write_text(content)
        assert index.nearest(vectors(99, 1)[0], 5) == exact(folder, store)
        assert index.sync() == 5
    found = placement(folder)
    assert found is not None
    assert json.loads((folder / "vector_db.server").read_text())["collection"] == found.collection
    if os.name == "posix":
        assert (folder / "vector_db.server").stat().st_mode & 0o777 == 0o600


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[4])
from tests.integration.test_chroma_server import PATIENT, put
from braindex.registry.index import IndexStore
from braindex.vectors.index import DenseIndexes
from braindex.vectors.server import ChromaServer
folder, url, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
indexes = DenseIndexes(server=ChromaServer(url, limits=PATIENT))
for part in range(1, 4):
    with IndexStore.open(folder) as store:
        put(store, seed * 10 + part, 60)
        indexes.of(folder, store).sync(wait_seconds=60)
assert "chromadb" not in sys.modules
"""


def test_two_processes_write_to_one_collection_while_a_third_asks(real, connect, folder) -> None:
    root = str(Path(__file__).resolve().parents[2])
    children = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder), real.url, str(seed), root],
            stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": SOURCE},
        )
        for seed in (1, 2)
    ]  # fmt: skip
    reader = connect(real.url)
    while any(child.poll() is None for child in children):
        with IndexStore.open(folder) as store:
            known = store.vector_count()
            assert len(reader.of(folder, store).nearest(vectors(11, 1)[0], 5)) >= min(5, known)
    assert [child.communicate()[1] for child in children] == ["", ""]
    with IndexStore.open(folder) as store:
        index = reader.of(folder, store)
        assert (store.vector_count(), store.outbox(1), index.problems()) == (360, [], [])
        for seed in (11, 12, 13, 21, 22, 23):
            assert all(index.nearest(one, 1)[0][1] < 1e-4 for one in vectors(seed, 60)[::20])
        assert index.remark == ""
    assert len(real.collections(folder.name)) == 1


PROJECT = {f"part{number}.py": f"def close_session_{number}():\n    '''End it.'''\n" for number in range(5)}


def test_an_application_keeps_its_vectors_there_and_a_drop_takes_them_away(real, make_app, make_project) -> None:
    app = make_app(CHROMA_URL=real.url)
    workspace = scanned(app, make_project(PROJECT))
    answer = ask(app, workspace, "how is a session closed?")
    assert (bool(answer.sources), "Chroma" in answer.coverage) == (True, False)
    assert len(real.collections(workspace.id)) == 1
    app.workspaces.drop(workspace)
    assert real.collections(workspace.id) == []


def test_an_application_whose_server_is_away_scans_answers_and_says_so(make_app, make_project, real) -> None:
    port = free_port()
    root = make_project(PROJECT)
    app = make_app(CHROMA_URL=f"http://127.0.0.1:{port}")
    workspace = app.workspaces.open(root)
    summary = app.scans.run(workspace)
    assert summary.entities >= 5
    assert any("cannot be reached" in note for note in summary.notes)
    with Passing(real, port):
        assert app.scans.run(workspace).notes == ()
        assert "Chroma" not in ask(app, workspace, "how is a session closed?").coverage
    answer = ask(app, workspace, "how is a session opened?")
    assert answer.sources
    assert "searched the stored vectors instead" in answer.coverage
    app.workspaces.drop(workspace)
    assert [one.workspace for one in app.workspaces.list()] == []
    with Passing(real, port):
        scanned(app, make_project(PROJECT, name="other"))
    assert real.collections(workspace.id) == []


def test_a_command_asks_a_server_that_hangs_once_and_ends(brain, make_app, make_project, between) -> None:
    root = make_project(PROJECT)
    scanned(make_app(CHROMA_URL=between.url), root)
    between.fail_always("slow", seconds=600.0)
    for command, asked in ((["ask", "how is a session closed?"], "query"), (["scan"], "pre-flight-checks")):
        before = len(between.requests)
        environment = {**os.environ, "PYTHONPATH": SOURCE, "BRAIN_DIR": str(brain), "CHROMA_URL": between.url}
        ended = subprocess.run(
            [sys.executable, "-P", "-m", "braindex", *command],
            check=False,
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert ended.returncode == 0, ended.stderr
        assert [one.path.rpartition("/")[2] for one in between.requests[before:]] == [asked]
        assert "did not answer" in ended.stdout


def test_nothing_of_a_workspace_that_asks_to_stay_local_goes_to_another_machine(make_app, make_project) -> None:
    root = make_project({**PROJECT, ".env": "MEMORY_MODE=local\n"})
    app = make_app(CHROMA_URL=NOWHERE, EXACT_SEARCH_LIMIT="0")
    workspace = app.workspaces.open(root)
    assert app.scans.run(workspace).notes == ()
    assert (app.workspaces.folder(workspace) / "vector_db").is_dir()
    assert ask(app, workspace, "how is a session closed?").sources
