"""Files that other processes read: the same outcomes as read here, whatever becomes of those processes."""

import os
import select
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from braindex.bootstrap import WORKER, bundled_model
from braindex.domain.options import WorkspaceOptions
from braindex.indexing.walk import Found
from braindex.registry.index import IndexStore
from braindex.services.counts import ScanStopped
from braindex.services.crew import Crew, Crews
from braindex.services.ingest import Ingest
from braindex.services.reading import CHUNK_FILES, Outcome, Reader, Task, chunks

SOURCE = Path(__file__).parents[3] / "src"


def quietly() -> None:
    """A scan that nobody stops."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    for number in range(12):
        text = f'def function_{number}(a, b=1):\n    """Adds {number}."""\n    return a + b + {number}\n'
        (folder / f"m{number:02}.py").write_text(text * 3)
    (folder / "zero.py").write_bytes(b"a = 1\0")
    (folder / "page.html").write_text('<main id="top"><h1>Grüße</h1></main>', encoding="utf-8")
    return folder


@pytest.fixture
def tasks(root: Path) -> list[Task]:
    files = sorted(root.iterdir())
    return [Task(Found(one.name, one.stat().st_size, one.stat().st_mtime_ns)) for one in files]


@pytest.fixture
def reader(root: Path) -> Reader:
    return Reader(root, WorkspaceOptions(), bundled_model())


def groups(tasks: list[Task], size: int = 3) -> list[list[Task]]:
    return [tasks[start : start + size] for start in range(0, len(tasks), size)]


def read_by(crew: Crew, tasks: list[Task]) -> list[Outcome]:
    with crew:
        return [one for some in crew.read(groups(tasks), quietly) for one in some]


def altered(*lines: str) -> tuple[str, ...]:
    """A reading process in which these lines ran first."""
    program = "\n".join(["import os, sys", *lines, "from braindex.worker import main", "main()"])
    return (sys.executable, "-P", "-c", program)


def crashing_at(name: str) -> tuple[str, ...]:
    return altered(
        "from braindex.services import reading",
        "read = reading.Reader._read",
        f"reading.Reader._read = lambda self, task: os._exit(11) if task.found.path == {name!r} else read(self, task)",
    )


def test_other_processes_read_what_this_one_would_in_the_same_order(reader: Reader, tasks: list[Task]) -> None:
    assert read_by(Crew(WORKER, reader, 2), tasks) == reader.read(tasks)


def test_without_an_embedder_the_passages_come_back_instead_of_vectors(root: Path, tasks: list[Task]) -> None:
    reader = Reader(root, WorkspaceOptions(), None)
    found = read_by(Crew(WORKER, reader, 1), tasks)
    assert found == reader.read(tasks)
    assert all(unit.vector is None for one in found for unit in one.units)
    assert sum(len(one.unembedded) for one in found) == sum(len(one.units) for one in found) > 0


def test_what_the_index_has_is_neither_split_into_terms_nor_embedded_again(reader: Reader, tasks: list[Task]) -> None:
    before = reader.read(tasks)
    known = {one.path: {unit.id: unit.digest for unit in one.units} for one in before}
    again = [Task(task.found, b"another digest", known[task.found.path]) for task in tasks]
    found = read_by(Crew(WORKER, reader, 1), again)
    assert [[unit.id for unit in one.units] for one in found] == [[unit.id for unit in one.units] for one in before]
    assert all(unit.vector is None and not unit.terms.body for one in found for unit in one.units)
    same = [Task(task.found, one.digest) for task, one in zip(tasks, before, strict=True) if one.digest]
    assert all(one.same for one in read_by(Crew(WORKER, reader, 1), same))


def test_a_file_that_ends_its_reader_is_left_out_and_all_others_are_read(reader: Reader, tasks: list[Task]) -> None:
    found = read_by(Crew(crashing_at("m04.py"), reader, 2), tasks)
    for one, expected in zip(found, reader.read(tasks), strict=True):
        if one.path == "m04.py":
            assert one.skipped is not None
            assert "crashed" in one.skipped.reason
            assert one.skipped.again
        else:
            assert one == expected


@pytest.mark.parametrize(
    "command",
    [
        ("/no/such/program",),
        (sys.executable, "-c", "raise SystemExit(3)"),
        altered("from braindex.services import frames", "frames.greeted = lambda value: ('0.0', *value[1:])"),
    ],
    ids=["none", "ends at once", "of another version"],
)
def test_where_no_process_can_be_had_the_files_are_read_here(command, reader: Reader, tasks: list[Task]) -> None:
    assert read_by(Crew(command, reader, 2), tasks) == reader.read(tasks)


def test_what_a_library_prints_in_a_reading_process_is_no_answer(reader: Reader, tasks: list[Task]) -> None:
    noisy = altered(
        "from braindex.services import reading",
        "read = reading.Reader.read",
        "def loud(self, tasks):",
        "    print('loaded!', flush=True)",
        "    return read(self, tasks)",
        "reading.Reader.read = loud",
    )
    assert read_by(Crew(noisy, reader, 1), tasks) == reader.read(tasks)


def test_a_scan_that_is_stopped_waits_for_no_reader(reader: Reader, tasks: list[Task]) -> None:
    hanging = altered(
        "import threading",
        "from braindex.services import reading",
        "reading.Reader.read = lambda self, tasks: threading.Event().wait()",
    )

    def stop() -> None:
        raise ScanStopped

    with pytest.raises(ScanStopped), Crew(hanging, reader, 2) as crew:
        list(crew.read(groups(tasks), stop))


def test_a_reader_that_a_stopped_scan_ends_is_no_news(
    reader: Reader, tasks: list[Task], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    begun = tmp_path / "begun"
    hanging = altered(
        "import pathlib, threading",
        "from braindex.services import reading",
        f"begun = pathlib.Path({str(begun)!r})",
        "reading.Reader.read = lambda self, tasks: (begun.touch(), threading.Event().wait())",
    )

    def stop_in_the_middle() -> None:
        if begun.exists():
            raise ScanStopped

    with pytest.raises(ScanStopped), Crew(hanging, reader, 2) as crew:
        list(crew.read(groups(tasks), stop_in_the_middle))
    assert caplog.messages == []


@pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX")
def test_a_signal_to_the_group_of_the_scan_reaches_no_reader(reader: Reader, tasks: list[Task]) -> None:
    with Crew(WORKER, reader, 1) as crew:
        list(crew.read(groups(tasks), quietly))
        process = crew.members[0].process_id
        assert process is not None
        assert os.getpgid(process) not in (os.getpgid(0), -1)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="how a process of another parent ends is seen on Linux")
def test_readers_end_with_the_scan_that_was_killed(root: Path) -> None:
    program = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from braindex.bootstrap import WORKER, bundled_model
        from braindex.domain.options import WorkspaceOptions
        from braindex.indexing.walk import Found
        from braindex.services.crew import Crew
        from braindex.services.reading import Reader, Task

        root = Path(sys.argv[1])
        tasks = [Task(Found(one.name, 1, 1)) for one in sorted(root.iterdir())]
        with Crew(WORKER, Reader(root, WorkspaceOptions(), bundled_model()), 2) as crew:
            list(crew.read([[task] for task in tasks], lambda: None))
            print(*[member.process_id for member in crew.members], flush=True)
            sys.stdin.read()
        """
    )
    scan = subprocess.Popen(
        [sys.executable, "-P", "-c", program, str(root)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )  # fmt: skip
    with scan:
        assert scan.stdout is not None
        readers = [os.pidfd_open(int(one)) for one in scan.stdout.readline().split() if one != "None"]
        assert readers
        scan.send_signal(signal.SIGKILL)
        scan.wait(30)
    for one in readers:
        assert select.select([one], [], [], 30)[0], "it is still there"
        os.close(one)


def test_few_bytes_are_read_here_and_many_by_as_many_processes_as_are_worth_it(reader: Reader) -> None:
    crews = Crews(WORKER, 4, bundled_model(), large_bytes=1000)
    assert [crews.for_files(reader, size) for size in (0, 999)] == [None, None]
    counts = [len(crew.members) for size in (1000, 2500, 9000) if (crew := crews.for_files(reader, size))]
    assert counts == [2, 3, 4]
    assert Crews(WORKER, 1, bundled_model(), large_bytes=1000).for_files(reader, 10**9) is None


def test_files_come_in_chunks_of_a_bounded_size(tasks: list[Task]) -> None:
    large = [Task(Found("large.py", 500_000, 1)), *tasks[:2], Task(Found("more.py", 99_999, 1))]
    assert [len(one) for one in chunks(large)] == [1, 3]
    assert [len(one) for one in chunks([tasks[0]] * (CHUNK_FILES + 1))] == [CHUNK_FILES, 1]


def content(folder: Path) -> tuple[object, ...]:
    with IndexStore.open(folder) as store:
        stored = store.entities(store.rows())
        entities = {one.id: (row, one.entity) for row, one in stored.items()}
        hits = store.search(["function", "add"], 50)
        return store.files().keys(), entities, store.vectors(store.rows()), hits, store.skipped()


def test_an_index_made_by_readers_is_the_one_made_without(root: Path, tmp_path: Path) -> None:
    model = bundled_model()
    made = []
    for name, crews in (("without", None), ("with", Crews(WORKER, 2, model, large_bytes=100))):
        with IndexStore.open(tmp_path / name) as store:
            Ingest(
                root, store, model, WorkspaceOptions(),
                own_folder=tmp_path / "brain", report=lambda _: None, should_stop=lambda: False, crews=crews,
            ).run()  # fmt: skip
        made.append(content(tmp_path / name))
    assert made[0] == made[1]
