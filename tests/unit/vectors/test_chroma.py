import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import braindex.vectors
from braindex.vectors.backing import VectorIndexBusy, VectorIndexUnavailable
from braindex.vectors.chroma import ChromaVectors

SOURCE = str(Path(braindex.vectors.__file__).parents[2])


def run(script: str, *arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True, text=True, check=False, cwd=cwd, env={**os.environ, "PYTHONPATH": SOURCE},
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "workspace"
    made.mkdir(mode=0o700)
    return made


@pytest.fixture
def chroma(folder: Path) -> Iterator[ChromaVectors]:
    opened = ChromaVectors(folder)
    yield opened
    opened.close()


def apply(chroma: ChromaVectors, upserts: list[tuple[str, bytes]], deletes: list[str], generation: int = 1) -> None:
    with chroma.turn():
        chroma.refresh(generation)
        with chroma.changes():
            chroma.apply(upserts, deletes)


def nearest(chroma: ChromaVectors, question: bytes, limit: int = 10, generation: int = 1) -> list[tuple[str, float]]:
    with chroma.turn():
        chroma.refresh(generation)
        return chroma.nearest(question, limit)


def test_the_nearest_come_first_with_true_distances(chroma, pack) -> None:
    apply(chroma, [("right", pack([0, 1])), ("same", pack([1, 0])), ("opposite", pack([-1, 0]))], [])
    found = nearest(chroma, pack([1, 0]))
    assert [one for one, _ in found] == ["same", "right", "opposite"]
    assert [distance for _, distance in found] == pytest.approx([0, 2**0.5, 2], abs=1e-6)


def test_an_empty_index_finds_nothing(chroma, pack) -> None:
    assert nearest(chroma, pack([1, 0])) == []


def test_more_vectors_than_one_call_takes_go_in_at_once(chroma, crowd, pack) -> None:
    vectors = [(name, pack(numbers)) for name, numbers in crowd(6000, 8).items()]
    apply(chroma, vectors, [])
    with chroma.turn():
        chroma.refresh(1)
        assert chroma.count() == 6000
    hits = sum(nearest(chroma, vector, 1)[0][0] == name for name, vector in vectors[::200])
    assert hits == len(vectors[::200])
    apply(chroma, [], [name for name, _ in vectors[:5990]])
    assert {one for one, _ in nearest(chroma, vectors[0][1], 50)} == {name for name, _ in vectors[5990:]}


def test_a_vector_is_replaced_and_of_two_in_one_call_the_last_counts(chroma, pack) -> None:
    apply(chroma, [("a", pack([1, 0]))], [])
    apply(chroma, [("a", pack([1, 0])), ("a", pack([0, 1]))], [])
    assert nearest(chroma, pack([0, 1])) == [("a", 0.0)]


def test_deleting_what_is_not_there_does_nothing(chroma, pack) -> None:
    apply(chroma, [("a", pack([1, 0]))], [])
    apply(chroma, [], ["b", "a", "a"])
    assert nearest(chroma, pack([1, 0])) == []


def test_a_client_sees_what_another_wrote_once_the_generation_moves(folder, chroma, pack) -> None:
    apply(chroma, [("a", pack([1, 0]))], [])
    script = (
        "import sys; from pathlib import Path; from braindex.vectors.chroma import ChromaVectors\n"
        "chroma = ChromaVectors(Path(sys.argv[1]))\n"
        "with chroma.turn(), chroma.changes():\n"
        "    chroma.refresh(1); chroma.apply([('b', bytes.fromhex(sys.argv[2]))], ['a'])\n"
    )
    assert run(script, folder, pack([0, 1]).hex()).returncode == 0
    assert nearest(chroma, pack([0, 1]), generation=2) == [("b", 0.0)]


def test_closing_releases_the_files_and_the_next_use_opens_them_again(folder, chroma, pack) -> None:
    apply(chroma, [("a", pack([1, 0]))], [])
    assert chroma.close()
    (folder / "vector_db").rename(folder / "elsewhere")
    (folder / "elsewhere").rename(folder / "vector_db")
    assert nearest(chroma, pack([1, 0])) == [("a", 0.0)]


def test_closing_one_workspace_leaves_another_open(tmp_path, chroma, pack) -> None:
    apply(chroma, [("a", pack([1, 0]))], [])
    (tmp_path / "other").mkdir()
    other = ChromaVectors(tmp_path / "other")
    apply(other, [("b", pack([1, 0]))], [])
    other.close()
    assert nearest(chroma, pack([1, 0])) == [("a", 0.0)]
    apply(chroma, [("c", pack([0, 1]))], [])
    assert nearest(chroma, pack([0, 1]), 1) == [("c", 0.0)]


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")
def test_all_its_files_and_folders_are_for_their_owner_alone(folder, chroma, crowd, pack) -> None:
    apply(chroma, [(name, pack(numbers)) for name, numbers in crowd(1500, 8).items()], [])
    everything = list(folder.rglob("*"))
    assert any(one.suffix == ".bin" for one in everything)
    assert {stat.S_IMODE(one.stat().st_mode) for one in everything if one.is_file()} == {0o600}
    assert {stat.S_IMODE(one.stat().st_mode) for one in everything if one.is_dir()} == {0o700}


def test_only_one_thread_has_its_turn(chroma) -> None:
    refused: list[type[BaseException]] = []

    def other() -> None:
        try:
            with chroma.turn():
                pass
        except VectorIndexBusy as busy:
            refused.append(type(busy))

    with chroma.turn():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert not chroma.close(wait_seconds=0)
    assert refused == [VectorIndexBusy]
    with chroma.turn():
        pass


def test_only_one_process_has_its_turn_and_its_end_is_the_end_of_its_turn(folder, chroma) -> None:
    script = (
        "import sys; from pathlib import Path; from braindex.vectors.chroma import ChromaVectors\n"
        "with ChromaVectors(Path(sys.argv[1])).turn():\n"
        "    print('in', flush=True); sys.stdin.read()\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": SOURCE},
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline() == "in\n"
    with pytest.raises(VectorIndexBusy), chroma.turn():
        pass
    child.kill()
    child.communicate()
    with chroma.turn(wait_seconds=5):
        pass


def test_a_write_that_was_cut_off_is_known(chroma, pack) -> None:
    def cut_off() -> None:
        with chroma.changes():
            chroma.apply([("a", pack([1, 0]))], [])
            raise KeyboardInterrupt

    with chroma.turn():
        chroma.refresh(1)
        assert not chroma.interrupted
        with pytest.raises(KeyboardInterrupt):
            cut_off()
        assert chroma.interrupted
        chroma.reset()
        assert not chroma.interrupted
        assert not chroma.exists
        chroma.refresh(2)
        assert chroma.count() == 0


def test_a_process_that_dies_while_it_reads_is_known_and_one_that_is_at_it_is_waited_for(folder, chroma, pack) -> None:
    apply(chroma, [("a", pack([1, 0]))], [])
    script = (
        "import os, sys; from pathlib import Path; from braindex.vectors.chroma import ChromaVectors\n"
        "chroma = ChromaVectors(Path(sys.argv[1]))\n"
        "with chroma.turn(), chroma.reading():\n"
        "    chroma.refresh(1); print('in', flush=True); sys.stdin.readline(); os._exit(11)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": SOURCE},
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline() == "in\n"
    with pytest.raises(VectorIndexBusy), chroma.turn():
        pass
    child.communicate("go on\n")
    with chroma.turn():
        assert chroma.interrupted
        chroma.reset()
        assert not chroma.interrupted


def test_a_search_that_ends_leaves_no_mark_and_one_that_fails_does(chroma, pack) -> None:
    apply(chroma, [("a", pack([1, 0]))], [])
    with chroma.turn():
        with chroma.reading():
            chroma.refresh(1)
            chroma.nearest(pack([1, 0]), 1)
        assert not chroma.interrupted
        with pytest.raises(KeyboardInterrupt), chroma.reading():
            raise KeyboardInterrupt
        assert not chroma.interrupted
        with pytest.raises(VectorIndexUnavailable), chroma.reading():
            chroma.nearest(pack([1, 0, 0]), 1)
        assert chroma.interrupted


def test_a_damaged_index_is_a_named_failure(folder, chroma, pack) -> None:
    apply(chroma, [("a", pack([1, 0]))], [])
    chroma.close()
    (folder / "vector_db" / "chroma.sqlite3").write_bytes(b"not a database" * 500)
    with pytest.raises(VectorIndexUnavailable, match=r"rebuilt from index\.db"):
        nearest(chroma, pack([1, 0]))


def test_a_vector_of_another_dimension_is_a_named_failure(chroma, pack) -> None:
    apply(chroma, [("a", pack([1, 0]))], [])
    with pytest.raises(VectorIndexUnavailable, match="dimension"):
        nearest(chroma, pack([1, 0, 0]))


def test_a_dropped_workspace_is_not_created_again(tmp_path) -> None:
    chroma = ChromaVectors(tmp_path / "gone")
    with pytest.raises(VectorIndexUnavailable, match="does not exist"), chroma.turn():
        pass
    assert list(tmp_path.iterdir()) == []


CHILD = """
import socket, sys
from pathlib import Path
opened = []
def refuse(*arguments, **more):
    opened.append(arguments)
    raise OSError("no network here")
socket.socket.connect = refuse
socket.getaddrinfo = refuse
import braindex.vectors.index
assert "chromadb" not in sys.modules, "loaded before it was needed"
from braindex.vectors.chroma import ChromaVectors
chroma = ChromaVectors(Path(sys.argv[1]))
with chroma.turn(), chroma.changes():
    chroma.refresh(1)
    chroma.apply([("a", bytes.fromhex(sys.argv[2]))], ["b"])
    assert chroma.nearest(bytes.fromhex(sys.argv[2]), 3) == [("a", 0.0)]
chroma.close()
assert opened == [], opened
"""


def test_it_prints_nothing_opens_no_connection_and_is_loaded_only_when_used(folder, pack) -> None:
    done = run(CHILD, folder, pack([1, 0]).hex())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "line",
    ["CHROMA_API_IMPL=chromadb.api.fastapi.FastAPI\nCHROMA_SERVER_HOST=example.com", "PERSIST_DIRECTORY=/nowhere"],
)
def test_the_env_file_of_the_working_directory_has_no_say(line, folder, tmp_path, pack) -> None:
    (tmp_path / ".env").write_text(line + "\n", encoding="utf-8")
    done = run(CHILD, folder, pack([1, 0]).hex(), cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (folder / "vector_db" / "chroma.sqlite3").exists()


def test_an_env_file_that_chroma_could_not_read_is_not_read(folder, tmp_path) -> None:
    (tmp_path / ".env").write_text("CHROMA_SERVER_NOFILE=many\n", encoding="utf-8")
    script = (
        "import sys; from pathlib import Path; from braindex.vectors.chroma import ChromaVectors\n"
        "chroma = ChromaVectors(Path(sys.argv[1]))\n"
        "with chroma.turn(): chroma.refresh(1); print('open')\n"
    )
    done = run(script, folder, cwd=tmp_path)
    assert done.stdout == "open\n", done.stderr


def test_real_recall_is_near_perfect(chroma, crowd, pack) -> None:
    vectors = {name: pack(numbers) for name, numbers in crowd(3000, 32).items()}
    apply(chroma, list(vectors.items()), [])
    matrix = np.frombuffer(b"".join(vectors.values()), "<f4").reshape(3000, 32)
    names, hits = list(vectors), 0
    for question in list(vectors.values())[::100]:
        best = np.argsort(-(matrix @ np.frombuffer(question, "<f4")))[:10]
        hits += len({names[at] for at in best} & {one for one, _ in nearest(chroma, question)})
    assert hits / 300 > 0.97
