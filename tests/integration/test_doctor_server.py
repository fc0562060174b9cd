"""`doctor` and a Chroma server: one that is there, away, hung, another program, and one that was set or unset just now."""

from pathlib import Path

import pytest
from tests.conftest import MakeApp, MakeProject, scanned
from tests.fakes.chroma import Passing, RealChroma, free_port
from tests.fakes.server import Received, Reply, StandIn, as_json

from braindex.bootstrap import App
from braindex.domain.health import Check, is_sound
from braindex.domain.results import Workspace
from braindex.vectors.placement import left_over

FILES = {"cart.py": "def total(cart):\n    return sum(cart)\n", "pay.py": "def pay(cart):\n    return cart\n"}
SERVER, VECTORS = "Chroma server", "vector index"


@pytest.fixture
def workspace(make_app: MakeApp, make_project: MakeProject) -> Workspace:
    """One that was scanned before there was any server."""
    return scanned(make_app(), make_project(FILES))


def examined(app: App, *, full: bool = True) -> dict[str, Check]:
    return {one.name: one for one in app.doctor().examine(full=full)}


def test_a_server_that_is_there_says_its_version_and_what_it_holds_is_compared(
    real: RealChroma, make_app: MakeApp, workspace: Workspace
) -> None:
    app = make_app(CHROMA_URL=real.url)
    before = examined(app)
    assert (before[SERVER].state, before[SERVER].detail) == ("ok", f"{real.url}, version 1.0.0")
    assert before[VECTORS].state == "note"
    assert "are not on the Chroma server yet" in before[VECTORS].detail
    assert "the next scan puts them there" in before[VECTORS].remedy
    app.scans.run(workspace)
    after = examined(app)
    assert (after[VECTORS].state, after[VECTORS].detail) == ("ok", "what it holds is what index.db holds")
    [collection] = real.collections(workspace.id)
    real.ask("DELETE", f"/collections/{collection['name']}")
    lost = examined(app)[VECTORS]
    assert (lost.state, "lost the collection" in lost.detail) == ("broken", True)
    assert "rebuilds it from index.db" in lost.remedy


def test_a_server_that_was_unset_or_is_another_now_is_no_fault_of_a_workspace(
    real: RealChroma, between: Passing, make_app: MakeApp, workspace: Workspace
) -> None:
    make_app(CHROMA_URL=real.url).scans.run(workspace)
    exact = examined(make_app())
    assert (exact[VECTORS].state, exact[VECTORS].remedy) == ("ok", "")
    assert "searched exactly" in exact[VECTORS].detail
    other = examined(make_app(CHROMA_URL=between.url))
    assert (other[VECTORS].state, "not on the Chroma server yet" in other[VECTORS].detail) == ("note", True)
    embedded = examined(make_app(EXACT_SEARCH_LIMIT="0"))
    assert (embedded[VECTORS].state, "of this machine yet" in embedded[VECTORS].detail) == ("note", True)
    for found in (exact, other, embedded):
        assert is_sound(found.values())


def test_a_limit_that_was_lowered_is_no_fault_and_an_index_that_was_deleted_is(
    make_app: MakeApp, workspace: Workspace
) -> None:
    app = make_app(EXACT_SEARCH_LIMIT="0")
    assert examined(app)[VECTORS].state == "note"
    app.scans.run(workspace)
    assert examined(app)[VECTORS].detail == "what it holds is what index.db holds"
    raised = examined(make_app())[VECTORS]
    assert (raised.state, "searched exactly" in raised.detail) == ("ok", True)
    folder = app.workspaces.folder(workspace)
    (folder / "vector_db").rename(folder.parent.parent / "gone")
    assert examined(make_app(EXACT_SEARCH_LIMIT="0"))[VECTORS].state == "broken"


@pytest.mark.parametrize("was_there", [True, False])
def test_a_server_that_is_away_is_what_is_broken_and_not_what_it_holds(
    was_there: bool, real: RealChroma, make_app: MakeApp, workspace: Workspace
) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    if was_there:
        with Passing(real, port):
            make_app(CHROMA_URL=url).scans.run(workspace)
    else:
        make_app(CHROMA_URL=url).scans.run(workspace)
    for full in (True, False):
        found = examined(make_app(CHROMA_URL=url), full=full)
        assert (found[SERVER].state, found[SERVER].detail) == (
            "broken", f"the Chroma server at {url} cannot be reached",
        )  # fmt: skip
        assert "CHROMA_URL" in found[SERVER].remedy
        assert found[VECTORS].state == "note"
        assert "index.db answers meanwhile" in found[VECTORS].detail
        assert "braindex scan" not in found[VECTORS].remedy
        assert [one.name for one in found.values() if one.state == "broken"] == [SERVER]


def test_a_server_that_hangs_is_waited_for_once_however_many_workspaces_there_are(
    between: Passing, make_app: MakeApp, make_project: MakeProject, workspace: Workspace
) -> None:
    app = make_app(CHROMA_URL=between.url)
    app.scans.run(workspace)
    scanned(app, make_project(FILES, name="other"))
    between.fail_always("slow", seconds=30)
    sent = len(between.requests)
    found = list(app.doctor().examine())
    [said] = [one for one in found if one.name == SERVER]
    assert (said.state, "did not answer within 3 s" in said.detail) == ("broken", True)
    assert [one.state for one in found if one.name == VECTORS] == ["note", "note"]
    assert len(between.requests) == sent + 1


class Other(StandIn):
    """Another program that listens there; `reply` is what it says to everything."""

    reply = Reply(b"<html>501</html>", 501, "text/html")

    def answer(self, received: Received) -> Reply:
        if received.path.endswith("/version") and self.version is not None:
            return self.version
        return self.reply

    version: Reply | None = None


REPLIES: dict[str, tuple[Reply | None, Reply, str]] = {
    "a page for another method": (None, Reply(b"<html>", 501, "text/html"), "is something else than Chroma (HTTP 501)"),
    "a page that is missing": (None, Reply(b"<html>", 404, "text/html"), "is something else than Chroma (HTTP 404)"),
    "a page": (None, Reply(b"<html>", 200, "text/html"), "no answer of Chroma's"),
    "JSON of its own": (None, as_json({"version": 1}), "no answer of Chroma's"),
    "a word": (None, as_json("hello"), "no answer of Chroma's"),
    "an old Chroma": (None, as_json({"detail": "Not Found"}, 404), "does not know version 2 of the interface"),
    "a key that is wrong": (as_json("1.0.0"), as_json({}, 401), "refused access (HTTP 401)"),
    "no such tenant": (as_json("1.0.0"), as_json({"error": "NotFoundError"}, 404), "has no such tenant or database"),
    "a fault of its own": (None, as_json({}, 500), "failed on its own side (HTTP 500)"),
}


@pytest.mark.parametrize("name", REPLIES)
def test_what_is_no_server_to_use_is_named_without_a_secret(name: str, make_app: MakeApp, brain: Path) -> None:
    version, reply, words = REPLIES[name]
    with Other() as other:
        other.version, other.reply = version, reply
        url = f"{other.url}/pa-th?tenant=my-tenant&database=my-base"
        app = make_app(CHROMA_URL=url, CHROMA_HEADERS="X-Chroma-Token: s3cr3t")
        found = examined(app)[SERVER]
        assert all(one.headers["x-chroma-token"] == "s3cr3t" for one in other.requests)
    said = f"{found.detail} {found.remedy}"
    assert (found.state, words in said) == ("broken", True), said
    assert "CHROMA_URL" in found.remedy
    for secret in ("s3cr3t", "pa-th", "my-tenant"):
        assert secret not in said


def test_no_server_is_spoken_of_where_none_is_set(make_app: MakeApp, workspace: Workspace) -> None:
    assert not {SERVER, "collections"} & examined(make_app()).keys()


def test_collections_that_were_left_are_told_and_deleted_by_a_scan_and_not_by_looking(
    real: RealChroma, make_app: MakeApp, make_project: MakeProject, brain: Path, workspace: Workspace
) -> None:
    app = make_app(CHROMA_URL=real.url)
    app.scans.run(workspace)
    make_app().scans.run(workspace)  # which searches exactly from now on
    assert len(left_over(brain / "workspaces")) == 1
    for one in (make_app(), make_app(CHROMA_URL=real.url)):
        found = examined(one)["collections"]
        assert (found.state, found.detail.startswith("1 collection ")) == ("note", True)
        assert f"CHROMA_URL of then, at {real.url}, deletes" in found.remedy
    assert len(real.collections(workspace.id)) == 1
    app.scans.run(workspace)
    assert "collections" not in examined(app)
    assert len(real.collections(workspace.id)) == 1  # the new one
    assert left_over(brain / "workspaces") == []
