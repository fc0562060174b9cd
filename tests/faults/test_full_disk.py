"""A full disk: what is stored can be read, a drop makes room, and a write that failed takes none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import braindex.registry

SOURCE = str(Path(braindex.registry.__file__).parents[2])
COMMON = """
import sys
from pathlib import Path
from braindex.domain.entities import CodeEntity
from braindex.domain.units import FileRecord, FileUnits, Terms, Unit
from braindex.registry.failures import StoreFull
from braindex.services.workspaces import Workspaces
disk = Path(sys.argv[1])
def files(count, size, name="f"):
    for number in range(count):
        path = f"{name}{number}.py"
        entity = CodeEntity(path, "function", name, name, "", "python", 1, 2, "def")
        unit = Unit(path, entity, b"1", Terms(name, "", "", "", "", "word " * size), bytes(64))
        yield FileUnits(FileRecord(path, 1, 1, b"d", "python", 1), (unit,))
def fill_disk(left=0):
    with (disk / "ballast").open("wb", buffering=0) as ballast:
        try:
            while ballast.write(bytes(4096)):
                pass
        except OSError:
            pass
        ballast.truncate(max(0, ballast.tell() - left))
workspaces = Workspaces(disk / "brain")
(disk / "project").mkdir()
workspace = workspaces.open(disk / "project")
workspaces.register(workspace)
folder = workspaces.folder(workspace)
def found(store):
    return len(store.search(["f"], 50)), len(store.files()), store.scan_marks().state
"""

needs_small_disk = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mounts a small file system")


def on_a_small_disk(script: str, folder: Path) -> None:
    mount = f"mount -t tmpfs -o size=6m none '{folder}' && exec \"$@\""
    alone = ["unshare", "-m", "sh", "-c", mount, "sh"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no private mounts here")
    done = subprocess.run(
        [*alone, sys.executable, "-c", COMMON + script, str(folder)],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": SOURCE},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@needs_small_disk
@pytest.mark.parametrize("left", [0, 4096, 40_000])
def test_what_is_stored_is_read_on_a_full_disk_and_a_drop_makes_room(left: int, tmp_path: Path) -> None:
    script = f"""
with workspaces.open_index(workspace) as store:
    store.write(list(files(20, 50)))
    store.scan_finished("2026-11-01")
fill_disk({left})
for _ in range(2):
    assert [one.workspace for one in workspaces.list()] == [workspace]
    assert workspaces.find(workspace.id) == workspace
    assert workspaces.with_index(workspace, found) == (20, 20, "complete")
def write(store):
    for one in files(500, 2000, "g"):
        store.write([one])
try:
    workspaces.with_index(workspace, write)
    raise AssertionError("there was room")
except StoreFull:
    pass
assert workspaces.with_index(workspace, found)[0] == 20
workspaces.drop(workspace)
assert workspaces.list() == []
assert not folder.exists()
(disk / "ballast").unlink()
workspaces.register(workspace)
assert workspaces.with_index(workspace, found)[1] == 0
"""
    on_a_small_disk(script, tmp_path)


@needs_small_disk
def test_a_write_that_found_no_room_gives_back_what_it_took(tmp_path: Path) -> None:
    script = """
with workspaces.open_index(workspace) as reader, workspaces.open_index(workspace) as store:
    store.write(list(files(20, 50)))
    store.scan_finished("2026-11-01")
    try:
        store.write(list(files(2000, 3000, "g")))
        raise AssertionError("there was room")
    except StoreFull:
        pass
    log = folder / "index.db-wal"
    assert log.stat().st_size == 0, log.stat().st_size
    assert found(store) == found(reader) == (20, 20, "complete")
    store.write(list(files(20, 50, "h")))
    assert len(reader.files()) == 40
"""
    on_a_small_disk(script, tmp_path)
