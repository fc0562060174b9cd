"""The checks that need no workspace: each finding has its state, its words and its remedy."""

import dataclasses
import os
import stat
import sys
from collections.abc import Callable, Sequence
from pathlib import Path, PureWindowsPath

import pytest
from tests.fakes.embedders import OneEmbedder

from braindex.domain.engines import EngineFailed
from braindex.domain.errors import BraindexError
from braindex.domain.health import Check, counted, enumerated, first_of, is_sound, megabytes, report_as_json
from braindex.embedding.bundled import BundledEmbedder
from braindex.languages import LANGUAGES
from braindex.registry.conversations import Left
from braindex.services.doctor import data_folder, engines, hooks, logs, machine, vector_server
from braindex.services.doctor.examination import _guarded, settings
from braindex.services.doctor.parts import (
    AskedServer,
    DoctorParts,
    Installation,
    LeftCollections,
    Probe,
    SettingsFound,
    VectorServer,
)
from braindex.services.doctor.place import elsewhere, in_one_drive, network_mount, network_mount_of_mac, synced_by
from braindex.services.workspaces import Workspaces

ON_POSIX = pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")


@pytest.fixture(scope="module")
def model() -> BundledEmbedder:
    return BundledEmbedder()


@pytest.fixture
def here(tmp_path: Path, model: BundledEmbedder) -> Callable[..., Installation]:
    def make(folder: Path = tmp_path / "brain", *, local_mode: bool = False, probes: Sequence[Probe] = ()):
        found = SettingsFound((), (), lambda _: (), local_mode)
        parts = DoctorParts(Workspaces(folder), OneEmbedder(model), None, found, tuple(probes))  # type: ignore[arg-type]
        return Installation(folder, parts)

    return make


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me/.brain", ""),
        ("/mnt/nas/brain", "a network file system (nfs4)"),
        ("/mnt/nas", "a network file system (nfs4)"),
        ("/mnt/nas2/brain", ""),
        ("/mnt/nas/local/brain", ""),
        ("/media/my share/x", "a network file system (cifs)"),
        ("/home/me/remote/brain", "a network file system (fuse.sshfs)"),
        ("/mnt/c/Users/me/.brain", "a Windows drive seen from WSL (9p)"),
        ("/mnt/d/brain", "a Windows drive seen from WSL (virtiofs)"),
        ("/mnt/e/brain", "a Windows drive seen from WSL (drvfs)"),
        ("/mnt/host/brain", "a network file system (9p)"),
        ("/mnt/disk/brain", ""),
    ],
)
def test_a_network_file_system_is_told_by_the_nearest_mount(path: str, kind: str) -> None:
    mounts = (
        "/dev/sda1 / ext4 rw 0 0\nnas:/export /mnt/nas nfs4 rw 0 0\n/dev/sdb1 /mnt/nas/local xfs rw 0 0\n"
        "//srv/x /media/my\\040share cifs rw 0 0\nshort line\nme@host:/ /home/me/remote fuse.sshfs rw,nosuid 0 0\n"
        "C:\\134 /mnt/c 9p rw,noatime,dirsync,aname=drvfs;path=C:\\134;uid=1000,mmap,access=client 0 0\n"
        "drvfsa /mnt/d virtiofs rw,aname=drvfs 0 0\nE: /mnt/e drvfs rw,noatime 0 0\nshare /mnt/host 9p rw 0 0\n"
        "/dev/sdc1 /mnt/disk fuseblk rw 0 0\n"
    )
    assert network_mount(path, mounts) == kind


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/Users/me/Library/Mobile Documents/com~apple~CloudDocs/x", "iCloud"),
        ("/home/me/Dropbox/x", "Dropbox"),
        ("/home/me/Dropbox (Work)/x", "Dropbox"),
        ("/Users/me/OneDrive - Contoso/x", "OneDrive"),
        ("/Users/me/Library/CloudStorage/Box/x", "a cloud storage"),
        ("/Users/me/Library/CloudStorage/GoogleDrive-me@x.org/My Drive", "Google Drive"),
        ("/home/me/Google Drive/x", "Google Drive"),
        ("/home/me/Nextcloud/x", "Nextcloud"),
        ("/home/me/Proton Drive/x", "a cloud storage"),
        ("/home/me/dropbox-clone/.brain", ""),
        ("/home/me/.brain", ""),
    ],
)
def test_a_folder_that_is_kept_in_step_with_other_machines_is_told_by_its_path(path: str, name: str) -> None:
    found = synced_by(Path(path).parts)
    assert (name in found) if name else found == ""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/Volumes/team share/brain", "a network file system (smbfs)"),
        ("/Volumes/nas/brain", "a network file system (nfs)"),
        ("/Volumes/stick/brain", ""),
        ("/Users/me/.brain", ""),
    ],
)
def test_a_network_file_system_is_told_by_what_mount_prints_on_macos(path: str, kind: str) -> None:
    mounts = (
        "/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)\n"
        "/dev/disk3s5 on /System/Volumes/Data (apfs, local, journaled, nobrowse, protect)\n"
        "map auto_home on /System/Volumes/Data/home (autofs, automounted, nobrowse)\n"
        "//me@srv._smb._tcp.local/team%20share on /Volumes/team share (smbfs, nodev, nosuid, mounted by me)\n"
        "nas:/export on /Volumes/nas (nfs, asynchronous)\n"
        "/dev/disk4s1 on /Volumes/stick (exfat, local, nodev)\n"
        "nonsense\n"
    )
    assert network_mount_of_mac(path, mounts) == kind


@pytest.mark.parametrize(
    ("left", "name"),
    [
        (".dropbox.cache", "Dropbox"),
        (".stfolder", "Syncthing"),
        (".sync_0a1b2c3d4e5f.db", "Nextcloud"),
        ("._sync_0a1b2c3d4e5f.db", "Nextcloud"),
        (".dropbox", ""),  # where Dropbox has its own settings, in the home directory of each of its users
        (".git", ""),
    ],
)
def test_a_folder_of_any_name_is_told_by_what_the_program_that_copies_it_leaves_there(
    left: str, name: str, tmp_path: Path
) -> None:
    (tmp_path / "mine/brain").mkdir(parents=True)
    (tmp_path / "mine" / left).mkdir()
    found = elsewhere(tmp_path / "mine/brain")
    assert (name in found) if name else found == ""


def test_a_one_drive_that_was_moved_is_told_by_the_variables_that_name_it() -> None:
    environ = {"OneDrive": "D:\\Cloud", "OneDriveCommercial": ""}
    assert "OneDrive" in in_one_drive(PureWindowsPath("d:\\cloud\\brain"), environ)
    assert in_one_drive(PureWindowsPath("D:\\Cloudy\\brain"), environ) == ""
    assert in_one_drive(PureWindowsPath("C:\\Users\\me\\.brain"), {}) == ""


def test_a_synced_data_folder_is_a_note_that_says_to_move_it(here: Callable[..., Installation], tmp_path: Path) -> None:
    synced = tmp_path / "Dropbox/brain"
    synced.mkdir(parents=True)
    [found] = data_folder.place(here(synced))
    assert (found.state, "Dropbox keeps in step" in found.detail) == ("note", True)
    assert "set BRAIN_DIR" in found.remedy
    assert [one.state for one in data_folder.place(here())] == ["ok"]


@pytest.mark.parametrize(
    ("seconds", "state", "words"),
    [(10, "ok", "in the background"), (900, "note", "for 15 minutes"), (7_200 * 2, "broken", "for 4 hours"),
     (86_400 * 3, "broken", "for 3 days"), (-500, "ok", "in the background")],
)  # fmt: skip
def test_turns_that_wait_are_no_fault_until_they_wait_for_long(seconds: float, state: str, words: str) -> None:
    found = hooks.waiting(Left(2, 1_000.0, 0), lambda: 1_000.0 + seconds)
    assert (found.state, words in found.detail) == (state, True)
    assert found.detail.startswith("2 turns wait to be stored")
    assert ("braindex record --waiting" in found.remedy) == (state != "ok")
    assert hooks.waiting(Left(0, 0.0, 0), lambda: 9e9).detail == "no turn waits to be stored"


def test_the_last_failure_of_a_hook_is_told_from_its_log(here: Callable[..., Installation], tmp_path: Path) -> None:
    assert [one.detail for one in hooks.left(here())] == ["none has run yet"]
    log = tmp_path / "brain/hooks/hooks.log"
    log.parent.mkdir(parents=True)
    assert [one.state for one in hooks.left(here())] == ["ok"]
    log.write_text(
        "2026-12-01 10:00:00,123 WARNING braindex.cli.hooking: hook cursor stop: the input is no JSON\n"
        "2026-12-01 10:00:01,123 ERROR braindex.cli.hooking: hook cursor stop failed\n"
        "Traceback (most recent call last):\n  File \"x.py\"\nKeyError: 'secret'\n"
    )
    _, found = hooks.left(here())
    assert (found.state, found.detail) == (
        "note", "2 hooks failed, the last: 2026-12-01 10:00:01 hook cursor stop failed (KeyError)",
    )  # fmt: skip
    assert str(log) in found.remedy


@ON_POSIX
def test_what_hooks_keep_has_to_be_private_too(here: Callable[..., Installation], tmp_path: Path) -> None:
    waiting = tmp_path / "brain/hooks/waiting"
    waiting.mkdir(parents=True)
    for folder in (tmp_path / "brain", tmp_path / "brain/hooks", waiting):
        folder.chmod(0o711)
    (waiting / "1.json").write_text("{}")
    (waiting / "1.json").chmod(0o644)
    [found] = data_folder.modes(here())
    assert (found.state, "hooks/waiting/1.json (0644)" in found.detail) == ("broken", True)


def test_a_data_folder_that_is_not_there_is_no_fault_and_is_not_made(
    here: Callable[..., Installation], tmp_path: Path
) -> None:
    [found] = data_folder.folder(here())
    assert (found.state, "does not exist yet" in found.detail) == ("note", True)
    assert list(data_folder.modes(here())) == []
    assert [one.state for one in data_folder.space(here())] == ["ok"]
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_the_data_folder_is_a_fault(here: Callable[..., Installation], tmp_path: Path) -> None:
    (tmp_path / "brain").write_text("x")
    [found] = data_folder.folder(here())
    assert (found.state, "is no folder" in found.detail) == ("broken", True)


@ON_POSIX
def test_only_what_is_braindexs_own_has_to_be_private(here: Callable[..., Installation], tmp_path: Path) -> None:
    brain = tmp_path / "brain"
    brain.mkdir()
    brain.chmod(0o711)
    (brain / "README.md").write_text("of the project that the folder is")
    assert [one.state for one in data_folder.modes(here())] == ["ok"]
    (brain / ".env").write_text("DEEPSEEK_API_KEY=sk")
    (brain / ".env").chmod(0o640)
    [found] = data_folder.modes(here())
    assert (found.state, ".env (0640)" in found.detail) == ("broken", True)
    brain.chmod(0o700)
    assert [one.state for one in data_folder.modes(here())] == ["ok"]


@ON_POSIX
def test_a_data_folder_that_is_a_link_is_as_open_as_what_it_leads_to(
    here: Callable[..., Installation], tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "brain").symlink_to(tmp_path / "real")
    for mode, state in ((0o755, "broken"), (0o700, "ok")):
        (tmp_path / "real").chmod(mode)
        assert [one.state for one in data_folder.modes(here())] == [state]


FOLDER, FILE, LINK = stat.S_IFDIR, stat.S_IFREG, stat.S_IFLNK
TREE = ("/b", "/b/w", "/b/w/i", "/b/w/i/f")


@pytest.mark.parametrize(
    ("modes", "reached"),
    [
        ((0o700, 0o755, 0o755, 0o644), ""),
        ((0o755, 0o700, 0o755, 0o644), "/b"),
        ((0o711, 0o711, 0o711, 0o644), "/b/w/i/f"),
        ((0o711, 0o711, 0o711, 0o600), ""),
        ((0o711, 0o711, 0o755, 0o600), "/b/w/i"),
        ((0o710, 0o711, 0o711, 0o640), "/b/w/i/f"),  # the group passes all of them
        ((0o710, 0o711, 0o711, 0o604), ""),  # others read the file, and pass no further than the first
        ((0o711, 0o710, 0o711, 0o602), ""),
        ((0o744, 0o711, 0o711, 0o644), "/b"),  # its names are listed, and nobody passes
    ],
)
def test_what_others_reach_is_told_through_every_folder_above_it(modes: Sequence[int], reached: str) -> None:
    kinds = (FOLDER, FOLDER, FOLDER, FILE)
    entries = [(path, kind | mode) for path, kind, mode in zip(TREE, kinds, modes, strict=True)]
    assert [path for path, _ in data_folder.reachable(entries)] == reached.split()
    assert list(data_folder.reachable([("/b", FOLDER | 0o711), ("/b/link", LINK | 0o777)])) == []


LOG = """2026-12-01 10:00:00,123 WARNING braindex.services.scan: slow
2026-12-01 10:00:01,123 ERROR braindex.services.scan: a background scan failed
Traceback (most recent call last):
  File "secret.py", line 1, in <module>
KeyError: 'a secret'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "secret.py", line 2, in <module>
braindex.registry.failures.StoreFull: no secret left
2026-12-01 09:00:00,000 ERROR braindex.bug: earlier \x1b[31mred\x1b[0m
"""


def test_the_last_errors_of_the_logs_are_shown_without_tracebacks(
    here: Callable[..., Installation], tmp_path: Path
) -> None:
    brain = tmp_path / "brain"
    brain.mkdir()
    (brain / "server-12.log").write_text(LOG)
    (brain / "server-13.log.1").write_text("2026-12-01 11:00:00,123 ERROR braindex.bug: the newest\n")
    (brain / "notes.log").write_text("2026-12-01 12:00:00,123 ERROR braindex.bug: none of ours\n")
    [found] = logs.last_errors(here())
    assert found.state == "note"
    assert found.detail.startswith("3 errors, the last: 2026-12-01 09:00:00 earlier")
    assert "2026-12-01 10:00:01 a background scan failed (StoreFull)" in found.detail
    assert found.detail.endswith("2026-12-01 11:00:00 the newest")
    assert "secret" not in found.detail
    assert found.remedy.startswith(f"the whole text is in {brain / 'server-13.log.1'}; ")
    assert "goes when server-13.log.1, server-12.log are deleted" in found.remedy
    for name in ("server-12.log", "server-13.log.1"):
        (brain / name).unlink()
    assert [one.detail for one in logs.last_errors(here())] == ["there is none"]


def test_a_key_in_the_line_of_an_error_is_not_shown(here: Callable[..., Installation], tmp_path: Path) -> None:
    (tmp_path / "brain").mkdir()
    line = "2026-12-01 11:00:00,123 ERROR braindex.bug: a library said sk-abcdefghijklmnop1234\n"
    (tmp_path / "brain" / "server-12.log").write_text(line)
    [found] = logs.last_errors(here())
    assert found.detail.endswith("a library said [redacted]")


def test_logs_without_errors_are_counted(here: Callable[..., Installation], tmp_path: Path) -> None:
    brain = tmp_path / "brain"
    brain.mkdir()
    for number, said in ((1, "no error in 1 log"), (2, "no error in 2 logs")):
        (brain / f"server-{number}.log").write_text("2026-12-01 10:00:00,123 WARNING braindex.x: slow\n")
        assert [one.detail for one in logs.last_errors(here())] == [said]


@ON_POSIX
def test_a_pipe_or_a_link_by_a_logs_name_is_neither_waited_for_nor_followed(
    here: Callable[..., Installation], tmp_path: Path
) -> None:
    brain = tmp_path / "brain"
    brain.mkdir()
    os.mkfifo(brain / "server-1.log")
    (tmp_path / "elsewhere").write_text(LOG)
    (brain / "server-2.log").symlink_to(tmp_path / "elsewhere")
    assert [one.state for one in logs.last_errors(here())] == ["ok"]


def test_the_bundled_model_gives_the_vector_that_is_known(model: BundledEmbedder) -> None:
    assert engines.known_answer(model) == ""


def test_a_model_whose_table_was_changed_does_not_pass() -> None:
    changed = BundledEmbedder()
    changed._table.documents[:] = changed._table.documents[:, ::-1].copy()
    assert engines.known_answer(changed) == "it gives another vector than it should"
    changed._table.documents[:] = float("nan")
    assert engines.known_answer(changed) == "it gives a vector that is not of length 1"


class Away(EngineFailed):
    def __init__(self) -> None:
        super().__init__("it cannot be reached: start it")


def away() -> list[str]:
    raise Away


def probe(listed: Callable[[], Sequence[str]], *, complete: bool = True) -> Probe:
    named = (("MODEL", "llama3.2"), ("MODEL", "other:7b"))
    return Probe(
        "Ollama", "http://127.0.0.1:1", named, listed, stays_here=False, complete=complete, on_missing="pull {model}"
    )


def test_an_engine_is_asked_for_its_models(here: Callable[..., Installation]) -> None:
    assert [one.state for one in engines.engines(here())] == ["ok"]
    both = probe(lambda: ["llama3.2:latest", "other:7b"])
    assert [one.state for one in engines.engines(here(probes=[both]))] == ["ok"]
    [found] = engines.engines(here(probes=[probe(lambda: ["llama3.2:latest"])]))
    assert (found.state, found.remedy) == ("broken", "pull other:7b")
    [found] = engines.engines(here(probes=[probe(lambda: ["llama3.2:latest"], complete=False)]))
    assert found.state == "note"
    [found] = engines.engines(here(probes=[probe(away)]))
    assert (found.state, found.detail, found.remedy) == (
        "broken", "llama3.2, other:7b: it cannot be reached", "start it",
    )  # fmt: skip


def test_in_local_mode_nothing_that_leaves_this_machine_is_asked(here: Callable[..., Installation]) -> None:
    [found] = engines.engines(here(probes=[probe(away)], local_mode=True))
    assert (found.state, "MEMORY_MODE=local" in found.detail) == ("note", True)


def test_what_this_installation_is_made_of_is_sound() -> None:
    found = [*machine.python(), *machine.packages(), *machine.sqlite(), *machine.grammars()]
    assert is_sound(found)
    assert f"{len(LANGUAGES)} of {len(LANGUAGES)}" in found[-1].detail


@pytest.mark.parametrize(("version", "numbers"), [("0.25.2", (0, 25, 2)), ("2.0rc1", (2,)), ("", ())])
def test_a_version_is_read_as_far_as_it_is_numbers(version: str, numbers: tuple[int, ...]) -> None:
    assert machine._numbers(version) == numbers


def test_a_check_that_fails_hides_no_other() -> None:
    def faulty():
        yield Check("one", "ok", "fine")
        raise KeyError("surprise")

    def refused():
        raise PermissionError("no")
        yield

    first, second = _guarded("faulty", faulty)
    assert (first.state, second.state, second.name) == ("ok", "broken", "faulty")
    assert "KeyError" in second.detail
    [third] = _guarded("refused", refused, "id")
    assert (third.state, third.workspace_id) == ("broken", "id")


def test_a_report_is_sound_when_nothing_is_broken() -> None:
    report = report_as_json([Check("a", "ok", "x"), Check("b", "note", "y", "do", "id", "shop", "/shop")])
    nothing = {"remedy": None, "workspace_id": None, "workspace_name": None, "workspace_path": None}
    whose = {"workspace_id": "id", "workspace_name": "shop", "workspace_path": "/shop"}
    assert report == {
        "ok": True,
        "checks": [
            {"name": "a", "state": "ok", "detail": "x", **nothing},
            {"name": "b", "state": "note", "detail": "y", "remedy": "do", **whose},
        ],
    }
    assert report_as_json([Check("a", "broken", "x")])["ok"] is False
    assert enumerated("abcdefg") == "a, b, c, d, e and 2 more"
    assert first_of(["a", "b"]) == "a; b"
    assert first_of(list("abcdef")) == "a; b; c; and 3 more"
    assert (counted(0, "log"), counted(1, "log"), counted(1200, "log")) == ("0 logs", "1 log", "1,200 logs")
    assert (megabytes(0), megabytes(2_500_000)) == ("under 0.1 MB", "2.5 MB")


def test_names_without_effect_are_notes_of_the_settings(here: Callable[..., Installation]) -> None:
    parts = here().parts
    found = dataclasses.replace(parts.settings, without_effect=("DEEPSEEK_KEY in .env is no setting",))
    with_them = Installation(here().brain_dir, dataclasses.replace(parts, settings=found))
    ok, note = settings(with_them)
    assert (ok.state, ok.detail) == ("ok", "all as shipped")
    assert (note.name, note.state, note.detail) == ("settings", "note", "DEEPSEEK_KEY in .env is no setting")


class Hung(BraindexError):
    def __init__(self) -> None:
        super().__init__("the Chroma server at http://127.0.0.1:8000 did not answer within 3 s")


def test_a_chroma_server_is_asked_once_and_what_to_do_names_the_setting(here: Callable[..., Installation]) -> None:
    asked: list[int] = []

    def hung() -> str:
        asked.append(1)
        raise Hung

    assert list(vector_server.server(here())) == []
    server = AskedServer(VectorServer("http://127.0.0.1:8000", hung))
    assert asked == []
    made = Installation(here().brain_dir, here().parts, server=server)
    [found] = vector_server.server(made)
    assert (found.name, found.state) == ("Chroma server", "broken")
    assert found.detail == str(Hung())
    assert "CHROMA_URL" in found.remedy
    assert server.is_away
    assert asked == [1]
    answers = AskedServer(VectorServer("http://127.0.0.1:8000", lambda: "1.0.0"))
    [found] = vector_server.server(Installation(here().brain_dir, here().parts, server=answers))
    assert (found.state, found.detail, answers.is_away) == ("ok", "http://127.0.0.1:8000, version 1.0.0", False)


def test_collections_that_were_left_are_counted_by_server(here: Callable[..., Installation]) -> None:
    left = (LeftCollections("http://a:1", 1), LeftCollections("http://b:1", 3))
    parts = dataclasses.replace(here().parts, left_collections=lambda: left)
    first, second = vector_server.left_collections(Installation(here().brain_dir, parts))
    assert (first.state, first.detail.startswith("1 collection of")) == ("note", True)
    assert second.detail.startswith("3 collections of")
    assert "CHROMA_URL of then, at http://b:1" in second.remedy
