"""Who calls this, over real scans: by the service, the command line and a question."""

import json
import os
import subprocess
import sys

import pytest
from tests.conftest import ask, scanned

from braindex.domain.relations import relatives_lines
from braindex.services.related import NothingCalled, TooFewLinks

PROJECT = {
    "shop/vans.py": (
        "from shop.base import Vehicle\n\n\nclass Van(Vehicle):\n    def __init__(self):\n        self.load()\n\n"
        "    def load(self):\n        return weigh(self)\n\n\ndef weigh(van):\n    return len(str(van))\n"
    ),
    "shop/base.py": "class Vehicle(Protocol):\n    pass\n",
    "shop/depot.py": "from shop.vans import Van, weigh\n\n\ndef open_depot():\n    return weigh(Van())\n",
    "other/scales.py": "def weigh(sack):\n    return 1\n",
    "tests/test_vans.py": "def test_weigh():\n    assert weigh(Van()) == 1\n",
}


@pytest.fixture
def workspace(app, make_project):
    return scanned(app, make_project(PROJECT))


def links(found, relation: str) -> list[tuple[str, str, int]]:
    return [(one.name, one.path, one.line) for one in found.links.get(relation, ())]


def test_callers_are_the_near_ones_first_and_tests_last(app, workspace):
    relatives = app.relations.of(workspace, "weigh")
    [near, far] = relatives.found
    assert (near.path, far.path, relatives.coverage) == ("other/scales.py", "shop/vans.py", "")
    assert links(far, "callers") == [
        ("load", "shop/vans.py", 9),
        ("open_depot", "shop/depot.py", 5),
        ("test_weigh", "tests/test_vans.py", 2),
    ]
    assert links(far, "importers") == [("depot.py", "shop/depot.py", 1)]


def test_a_class_knows_its_bases_its_members_and_who_makes_it(app, workspace):
    [van] = app.relations.of(workspace, "Van").found
    assert links(van, "bases") == [("Vehicle", "shop/base.py", 1)]
    assert links(van, "members") == [("__init__", "shop/vans.py", 5), ("load", "shop/vans.py", 8)]
    assert [name for name, _, _ in links(van, "callers")] == ["open_depot", "test_weigh"]
    [vehicle] = app.relations.of(workspace, "Vehicle").found
    assert links(vehicle, "derived") == [("Van", "shop/vans.py", 4)]
    assert links(vehicle, "bases") == [("Protocol", "", 0)]


def test_of_two_of_one_name_the_nearer_is_called_and_the_other_counted(app, workspace):
    [load] = app.relations.of(workspace, "Van.load").found
    [weigh] = load.links["calls"]
    assert (weigh.path, weigh.line, weigh.others) == ("shop/vans.py", 12, 1)


def test_a_constructor_is_called_by_the_name_of_its_class(app, workspace):
    [made] = app.relations.of(workspace, "Van.__init__").found
    assert "open_depot" in [name for name, _, _ in links(made, "callers")]
    assert links(made, "calls") == [("load", "shop/vans.py", 8)]


def test_an_edit_is_taken_in_before_callers_are_told(app, workspace, tmp_path):
    (tmp_path / "project" / "shop" / "new.py").write_text("def haul():\n    weigh(1)\n")
    (tmp_path / "project" / "shop" / "depot.py").unlink()
    [_, far] = app.relations.of(workspace, "weigh").found
    assert [name for name, _, _ in links(far, "callers")] == ["load", "haul", "test_weigh"]


def test_a_limit_leaves_out_and_says_how_many(app, workspace):
    [_, far] = app.relations.of(workspace, "weigh", 1).found
    assert (len(far.links["callers"]), far.left_out["callers"]) == (1, 2)


def test_a_name_that_nothing_has_is_an_error_that_says_so(app, workspace):
    with pytest.raises(TooFewLinks, match="limit is 0"):
        app.relations.of(workspace, "Van", 0)
    with pytest.raises(NothingCalled, match="'haul'"):
        app.relations.of(workspace, "haul")


def test_a_question_for_callers_is_answered_with_them(app, workspace):
    answer = ask(app, workspace, "who calls open_depot?")
    assert answer.related is not None
    assert relatives_lines(answer.related)[1:] == ["nothing in this workspace calls it by name"]
    answer = ask(app, workspace, "what calls Van")
    assert answer.related is not None
    [van] = answer.related.found
    assert set(van.links) == {"callers"}  # of all that is related to it, what was asked for
    assert van.left_out == {}
    assert [one.name for one in van.links["callers"]] == ["open_depot", "test_weigh"]
    assert answer.as_json()["related"]["matched_by"] == "name"
    assert ask(app, workspace, "where is Van defined").related is None


def test_the_command_prints_citations_and_json(brain, make_project):
    root = make_project(PROJECT)

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-P", "-m", "braindex", *arguments, "--workspace", str(root)]
        env = {**os.environ, "BRAIN_DIR": str(brain)}
        return subprocess.run(command, env=env, capture_output=True, encoding="utf-8", check=False, timeout=60)

    assert run("ask", "weigh", "--json").returncode == 0
    shown = run("related", "Van").stdout
    assert "`Van` #shop/vans.py:4\n" in shown
    assert "  `open_depot` #shop/depot.py:5\n" in shown
    [found] = json.loads(run("related", "Van", "--json").stdout)["entities"]
    assert found["related"]["bases"] == [{"name": "Vehicle", "kind": "class", "path": "shop/base.py", "line": 1}]
    missing = run("related", "nothing_such")
    assert missing.returncode == 2
    assert "'nothing_such'" in missing.stderr
