"""Many processes write notes, and any of them may be killed: whatever was acknowledged is there, whole and once."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import braindex.registry
import braindex.registry.failures
from braindex.domain.memories import About, Episode, MemoryVector, Note
from braindex.domain.words import terms
from braindex.registry.failures import StoreDamaged
from braindex.registry.memory import MemoryStore
from braindex.services.workspaces import Workspaces

SOURCE = str(Path(braindex.registry.__file__).parents[2])
TIME = "2026-11-01T10:00:00.000000Z"
KILLED = -signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM
COMMON = """
import os, signal, sys
from pathlib import Path
from braindex.domain.memories import About, Episode, Note
from braindex.registry.memory import MemoryStore
TIME = "2026-11-01T10:00:00.000000Z"
def note(number, text="Refunds go through the ledger."):
    return Note(f"{number:016x}", f"{text} {number}", "decision", "cursor", TIME, TIME, (About("a.py", "run", "ff"),) * 1)
def die():
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
def die_at_call(most):
    # The nth call of a function of braindex, counted exactly: as good as any moment, and the same one each time.
    left = [most]
    def count(frame, event, _):
        if event == "call" and "braindex" in frame.f_code.co_filename and left[0] > 0:
            left[0] -= 1
            if not left[0]:
                die()
    sys.setprofile(count)
    return left
"""
WRITER = """
folder, first, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for number in range(first, first + count):
    with MemoryStore.open(folder) as store:
        assert store.add_note(note(number))
        assert store.add_episode(Episode(f"e{number:015x}", "turn", "cursor", "s", TIME, "asked", "done"))
        store.update_note(f"{number:016x}", updated=TIME, category="changed")
    print(number, flush=True)
"""


def start(script: str, *arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", COMMON + script, *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": SOURCE},
    )  # fmt: skip


def said(child: "subprocess.Popen[str]") -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def expect_whole(folder: Path, *numbers: int) -> None:
    """Each note is there once, with all that belongs to it, and can be found."""
    with MemoryStore.open(folder) as store:
        assert store.problems() == []
        found = {int(one.id, 16): one for one in store.each_note()}
        assert set(numbers) <= set(found)
        assert all(one.about == (About("a.py", "run", "ff"),) for one in found.values())
        assert len(store.search_words(terms("ledger"), 100_000)) == len(found)
        assert store._database.value("SELECT count(*) FROM words") == sum(1 for _ in store._tables.each())
        assert store.add_note(Note("f" * 16, "It takes new ones.", created=TIME, updated=TIME))
        store.forget_note("f" * 16)


def test_processes_that_write_at_once_lose_nothing_and_show_no_error(tmp_path: Path) -> None:
    folder, each = tmp_path / "workspace", 25
    folder.mkdir()
    children = [start(WRITER, folder, number * each, each) for number in range(5)]
    assert {said(child) for child in children} == {"ready"}
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    ended = [child.communicate() for child in children]
    assert [child.returncode for child in children] == [0] * 5, ended
    assert "".join(errors for _, errors in ended) == ""
    expect_whole(folder, *range(5 * each))
    with MemoryStore.open(folder) as store:
        assert (store.counts().notes, store.counts().episodes) == (5 * each, 5 * each)
        assert store.counts().categories == {"changed": 5 * each}


def test_a_writer_that_is_killed_between_its_writes_loses_nothing_it_was_told_is_stored(tmp_path: Path) -> None:
    folder, acknowledged = tmp_path / "workspace", []
    folder.mkdir()
    for turn, count in enumerate((1, 4, 9)):
        child = start(WRITER, folder, turn * 1000, 500)
        assert said(child) == "ready"
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
        acknowledged += [int(said(child)) for _ in range(count)]
        child.kill()
        child.communicate()
        assert child.returncode == KILLED
        expect_whole(folder, *acknowledged)
    assert len(acknowledged) == 14


DIES_WRITING = """
folder, call = Path(sys.argv[1]), int(sys.argv[2])
with MemoryStore.open(folder) as store:
    store.add_note(note(1))
    left = die_at_call(call)
    store.add_note(note(2))
    store.update_note(note(1).id, updated="2026-11-01T10:00:01Z", text="Changed: the ledger takes refunds")
    store.forget_note(note(2).id)
    store.add_note(note(3))
    sys.setprofile(None)
    print(call - left[0])
"""


def calls_of(script: str, *arguments: object) -> int:
    """How many calls the whole of it is: what is killed after more than that is not killed."""
    child = start(script, *arguments, 10**9)
    output, errors = child.communicate()
    assert child.returncode == 0, errors
    return int(output)


def test_a_writer_that_is_killed_anywhere_in_a_write_leaves_whole_rows(tmp_path: Path) -> None:
    (tmp_path / "counted").mkdir()
    calls = calls_of(DIES_WRITING, tmp_path / "counted")
    states = set()
    for place in range(12):
        folder = tmp_path / str(place)
        folder.mkdir()
        child = start(DIES_WRITING, folder, 1 + calls * place // 12)
        _, errors = child.communicate()
        assert child.returncode == KILLED, errors
        expect_whole(folder, 1)
        with MemoryStore.open(folder) as store:
            states.add(tuple(one.text for one in store.each_note()))
    first, second, third = (f"Refunds go through the ledger. {number}" for number in (1, 2, 3))
    changed = "Changed: the ledger takes refunds"
    assert states <= {(first,), (first, second), (changed, second), (changed,), (changed, third)}
    assert len(states) >= 4


DIES_OPENING = """
folder, call = Path(sys.argv[1]), int(sys.argv[2])
left = die_at_call(call)
MemoryStore.open(folder).close()
sys.setprofile(None)
print(call - left[0])
"""


def test_a_process_that_is_killed_while_it_makes_a_memory_leaves_one_that_opens(tmp_path: Path) -> None:
    (tmp_path / "counted").mkdir()
    calls = calls_of(DIES_OPENING, tmp_path / "counted")
    for place in range(10):
        folder = tmp_path / str(place)
        folder.mkdir()
        child = start(DIES_OPENING, folder, 1 + calls * place // 10)
        child.communicate()
        assert child.returncode == KILLED
        expect_whole(folder)


DIES_MERGING = """
from braindex.services.workspaces import Workspaces
brain, old, new, call = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
known = Workspaces(brain)
old, new = known.find(old), known.find(new)
left = die_at_call(call)
known.merge(old, new)
sys.setprofile(None)
print(call - left[0])
"""


def moved(tmp_path: Path, name: str) -> tuple[Workspaces, str, str]:
    """A workspace with notes of its own, and one whose folder is gone."""
    known = Workspaces(tmp_path / name / "brain")
    made = []
    for place, numbers in (("old", (1, 2)), ("new", (2, 3))):
        root = tmp_path / name / place
        root.mkdir(parents=True)
        made.append(known.open(root))
        known.register(made[-1])
        with MemoryStore.open(known.folder(made[-1])) as store:
            for number in numbers:
                text = f"the ledger {number}"
                store.add_note(
                    Note(f"{number:016x}", text, created=TIME, updated=TIME, about=(About("a.py", "run", "ff"),))
                )
            store.add_episode(Episode(f"e{numbers[0]:015x}", "turn", created=TIME))
            store.put_vectors(
                "m", [MemoryVector(one.memory.id, one.stamp, bytes(8)) for one in store.without_vector("m", 9)]
            )
    (tmp_path / name / "old").rmdir()
    return known, made[0].id, made[1].id


def expect_merged(known: Workspaces, new: str) -> None:
    assert [one.workspace.id for one in known.list()] == [new]
    folder = known.folder(known.find(new))
    expect_whole(folder, 1, 2, 3)
    with MemoryStore.open(folder) as store:
        assert (store.counts().notes, store.counts().episodes) == (3, 2)
        assert len(store.vectors("m")[0]) == 5
    assert [one.name for one in folder.parent.iterdir()] == [new]


def test_a_merge_keeps_the_notes_of_both(tmp_path: Path) -> None:
    known, old, new = moved(tmp_path, "both")
    known.merge(known.find(old), known.find(new))
    expect_merged(known, new)


def test_a_merge_that_is_killed_anywhere_can_be_repeated_and_loses_and_doubles_nothing(tmp_path: Path) -> None:
    known, old, new = moved(tmp_path, "counted")
    calls = calls_of(DIES_MERGING, known.data_folder, old, new)
    for place in range(14):
        known, old, new = moved(tmp_path, str(place))
        gone, kept = known.find(old), known.find(new)
        child = start(DIES_MERGING, known.data_folder, old, new, 1 + calls * place // 14)
        _, errors = child.communicate()
        assert child.returncode == KILLED, errors
        with MemoryStore.open(known.folder(kept)) as store:
            here = {int(one.id, 16) for one in store.each_note()}
        there: set[int] = set()
        if MemoryStore.exists(known.folder(gone)):
            with MemoryStore.open(known.folder(gone), create=False) as store:
                there = {int(one.id, 16) for one in store.each_note()}
        assert here | there == {1, 2, 3}
        known.merge(gone, kept)
        expect_merged(known, new)


STORES_LATE = """
folder = Path(sys.argv[1])
with MemoryStore.open(folder) as store:
    print("open", flush=True)
    sys.stdin.readline()
    try:
        print("stored" if store.add_note(note(9)) else "known", flush=True)
    except Exception as refusal:
        print(type(refusal).__name__, flush=True)
"""


def test_who_stores_a_note_in_a_workspace_that_is_being_merged_is_told_that_it_was_not_stored(tmp_path: Path) -> None:
    known, old, new = moved(tmp_path, "late")
    folder = known.folder(known.find(old))
    child = start(STORES_LATE, folder)
    assert said(child) == "open"
    late: list[str] = []

    def before_the_drop(_: Path) -> None:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
        late.append(said(child))

    Workspaces(known.data_folder, before_the_drop).merge(known.find(old), known.find(new))
    child.communicate()
    assert late == ["MemoryEnded"]
    expect_merged(known, new)


STORES_ON = """
folder = Path(sys.argv[1])
for number in range(100, 10**6):
    try:
        with MemoryStore.open(folder) as store:
            store.add_note(note(number))
    except Exception as refusal:
        print(type(refusal).__name__, flush=True)
        break
    print(number, flush=True)
"""


def test_every_note_that_was_taken_while_a_merge_went_on_is_in_the_new_memory(tmp_path: Path) -> None:
    known, old, new = moved(tmp_path, "hammer")
    gone, kept = known.find(old), known.find(new)
    child = start(STORES_ON, known.folder(gone))
    assert said(child) == "100"
    known.merge(gone, kept)
    told, _ = child.communicate()
    *stored, refusal = told.split()
    assert refusal in {"MemoryEnded", "MemoryWithoutHome"}
    with MemoryStore.open(known.folder(kept)) as store:
        here = {int(one.id, 16) for one in store.each_note()}
    assert {1, 2, 3, 100, *map(int, stored)} == here
    assert not known.folder(gone).exists()


def test_a_memory_that_is_only_a_log_is_neither_merged_nor_dropped(tmp_path: Path) -> None:
    known, old, new = moved(tmp_path, "log")
    folder = known.folder(known.find(old))
    (folder / "memory.db").unlink()
    (folder / "memory.db-wal").write_bytes(b"notes of a process that was killed" * 30)
    with pytest.raises(StoreDamaged, match="its write-ahead log"):
        known.merge(known.find(old), known.find(new))
    assert (folder / "memory.db-wal").exists()


def test_a_workspace_that_is_scanned_again_takes_notes_again(tmp_path: Path) -> None:
    """A merge that was cut off before its drop leaves a memory that takes nothing."""
    known, old, _ = moved(tmp_path, "again")
    workspace = known.find(old)
    MemoryStore.end(known.folder(workspace))
    known.check_registered(workspace)  # as a scan does that has the writer lock
    with MemoryStore.open(known.folder(workspace)) as store:
        assert store.add_note(
            Note("f" * 16, "again", created="2026-11-01T10:00:00.000000Z", updated="2026-11-01T10:00:00.000000Z")
        )


@pytest.mark.parametrize("damage", [b"not a database" * 500, b""])
def test_a_memory_that_cannot_be_read_is_not_dropped_by_a_merge(tmp_path: Path, damage: bytes) -> None:
    known, old, new = moved(tmp_path, "damaged")
    file = known.folder(known.find(old)) / "memory.db"
    with MemoryStore.open(known.folder(known.find(old))) as store:
        store.add_note(Note("a" * 16, "in the log", created=TIME, updated=TIME))
        log = file.with_name("memory.db-wal").read_bytes()
    file.write_bytes(damage)
    file.with_name("memory.db-wal").write_bytes(log)
    with pytest.raises(braindex.registry.failures.StoreDamaged):
        known.merge(known.find(old), known.find(new))
    assert len(known.list()) == 2
    assert file.read_bytes() == damage
