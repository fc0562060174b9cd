"""The bench of faults notices what it looks for: entities lost, doubled and stale, rows lost, wrong answers."""

import importlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.conftest import scanned

from braindex.bootstrap import App
from braindex.domain.memories import Note
from braindex.registry.index import IndexStore
from braindex.registry.memory import MemoryStore

BENCH = Path(__file__).resolve().parents[3] / "bench"
TIME = "2026-11-01T10:00:00.000000Z"
MakeProject = Callable[..., Path]


@pytest.fixture(scope="module")
def world() -> Iterator[ModuleType]:
    """The bench's modules import each other by name, as they do when it runs."""
    sys.path.insert(0, str(BENCH))
    yield importlib.import_module("faults_world")
    sys.path.remove(str(BENCH))


@pytest.fixture
def project(app: App, brain: Path, make_project: MakeProject, world: ModuleType) -> Path:
    root = make_project(
        {"a.py": "def weigh():\n    return 1\n\n\ndef load():\n    return 2\n", "b.md": "# Vans\n\nFast.\n"}
    )
    scanned(app, root)
    return root


def source(name: str, path: str, line: int, *, stale: bool = False) -> dict[str, Any]:
    return {"name": name, "path": path, "line": line, "stale": stale}


def test_a_sound_index_differs_in_nothing(world: ModuleType, project: Path, brain: Path) -> None:
    found = world.content(brain, project)
    assert {path: len(rows) for path, rows in found.items()} == {"a.py": 3, "b.md": 2}  # with the entity of each file
    assert world.differences(found, world.content(brain, project)) == []


def test_an_index_that_lost_a_file_is_noticed(world: ModuleType, project: Path, brain: Path) -> None:
    sound = world.content(brain, project)
    with IndexStore.open(world.workspace_folder(brain, project)) as store:
        store.remove(["a.py"])
    lost = world.content(brain, project)
    assert world.differences(lost, sound) == ["a.py: lost"]
    assert world.differences(sound, lost) == ["a.py: left over"]


def test_an_index_that_is_behind_its_source_is_noticed(world: ModuleType, project: Path, brain: Path, app: App) -> None:
    old = world.content(brain, project)
    (project / "a.py").write_text("\ndef weigh():\n    return 1\n")
    scanned(app, project)
    assert world.differences(old, world.content(brain, project)) == ["a.py: 2 lost, 3 stale"]


def test_entities_lost_doubled_and_stale_are_told_apart(world: ModuleType) -> None:
    one, other, new = (
        ("function", "weigh", 1, b"", "id1"),
        ("function", "load", 5, b"", "id2"),
        ("heading", "x", 1, b""),
    )
    sound = {"a.py": [one, other]}
    assert world.differences({"a.py": [one]}, sound) == ["a.py: 1 lost"]
    assert world.differences({"a.py": [one, other, (*other[:-1], "id3")]}, sound) == ["a.py: 1 doubled"]
    assert world.differences({"a.py": [one, other, (*new, "id4")]}, sound) == ["a.py: 1 stale"]
    assert world.differences({"a.py": [one, (*other[:-1], "id5")]}, sound) == ["a.py: other ids"]


def test_a_vector_that_differs_is_noticed(world: ModuleType, project: Path, brain: Path) -> None:
    sound = world.content(brain, project)
    first = sound["a.py"][0]
    other = {**sound, "a.py": [(*first[:-2], b"other", first[-1]), *sound["a.py"][1:]]}
    assert world.differences(other, sound) == ["a.py: 1 lost, 1 stale"]


def test_a_lost_row_of_memory_is_noticed(world: ModuleType, tmp_path: Path) -> None:
    rows = {f"{number:016x}": f"note {number}" for number in range(3)}
    with MemoryStore.open(tmp_path) as memory:
        for key, text in rows.items():
            memory.add_note(Note(id=key, text=text, category="decision", author="a", created=TIME, updated=TIME))
    assert world.lost_memories(tmp_path, rows) == []
    [first, second, _] = rows
    with MemoryStore.open(tmp_path) as memory:
        memory.forget_note(first)
    assert world.lost_memories(tmp_path, rows) == [first]
    assert world.lost_memories(tmp_path, {second: "other words"}) == [second]


def test_the_words_of_an_entity_are_looked_for(world: ModuleType, project: Path, brain: Path) -> None:
    import sqlite3

    path = world.workspace_folder(brain, project) / "index.db"
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM fulltext WHERE name LIKE '%weigh%'")
    database.close()
    with pytest.raises(AssertionError, match="weigh is not found by its words"):
        world.content(brain, project)


class TestAnswers:
    """`load` is at a.py:5 of the project and was there long before; `gone` went long before."""

    @pytest.fixture
    def journal(self, world: ModuleType) -> Any:
        return world.Journal({"load": ("a.py", 0.0)}, {"gone": 0.0})

    def judged(self, world: ModuleType, journal: Any, root: Path, sources: list[Any], name: str, **more: str) -> str:
        asked = world.Asked(name, journal.there.get(name))
        said: str = world.judged({"sources": sources, **more}, asked, journal, root)
        return said

    def test_an_exact_citation_is_right(self, world: ModuleType, journal: Any, project: Path) -> None:
        assert self.judged(world, journal, project, [source("load", "a.py", 5)], "load") == ""

    @pytest.mark.parametrize(("path", "line"), [("a.py", 4), ("b.md", 5), ("a.py", 99)])
    def test_another_place_is_wrong(self, world: ModuleType, journal: Any, project: Path, path: str, line: int) -> None:
        said = self.judged(world, journal, project, [source("load", path, line)], "load")
        assert "at another place" in said

    def test_what_is_not_found_is_wrong_unless_the_answer_says_that_it_is_behind(
        self, world: ModuleType, journal: Any, project: Path
    ) -> None:
        assert "not found" in self.judged(world, journal, project, [], "load")
        assert self.judged(world, journal, project, [], "load", coverage="one file is being taken in") == ""

    def test_what_moved_while_it_was_asked_for_may_be_missed(
        self, world: ModuleType, journal: Any, project: Path
    ) -> None:
        asked = world.Asked("load", journal.there["load"])
        journal.there["load"] = ("moved.py", time.monotonic())
        assert world.judged({"sources": []}, asked, journal, project) == ""

    def test_what_is_gone_must_not_be_cited_whatever_the_answer_says(
        self, world: ModuleType, journal: Any, project: Path
    ) -> None:
        cited = [source("gone", "a.py", 1)]
        assert "was deleted" in self.judged(world, journal, project, cited, "gone")
        assert "was deleted" in self.judged(world, journal, project, cited, "gone", coverage="behind")
        assert self.judged(world, journal, project, [source("gone", "a.py", 1, stale=True)], "gone") == ""
        assert self.judged(world, journal, project, [source("load", "a.py", 5)], "gone") == ""

    def test_an_error_is_wrong(self, world: ModuleType, journal: Any, project: Path) -> None:
        assert "the process ended" in self.judged(world, journal, project, [], "gone", error="the process ended")
