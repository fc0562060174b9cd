"""What kind of disk a folder lies on: locks and SQLite are only reliable on one of this machine.

The rules are functions of text, so that those of three platforms are tested on each: the table of mounts as Linux
(`/proc/self/mounts`, proc(5)) or macOS (`/sbin/mount`) writes it, the path, and what lies in the folders above.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Final

# File systems that other machines serve, or the host of a virtual one, by their name in a table of mounts.
_NETWORK: Final = frozenset(
    "nfs nfs4 cifs smb2 smb3 smbfs 9p afs afpfs webdav davfs ncpfs coda ceph glusterfs lustre beegfs gpfs orangefs "
    "fuse.sshfs fuse.glusterfs fuse.ceph fuse.davfs2 fuse.smbnetfs fuse.gvfsd-fuse fuse.rclone fuse.s3fs fuse.gcsfuse "
    "fuse.goofys fuse.mount-s3 fuse.juicefs fuse.onedriver fuse.google-drive-ocamlfuse fuse.curlftpfs sshfs "
    "vboxsf vmhgfs fuse.vmhgfs-fuse prl_fs virtiofs drvfs".split()
)
# A Windows drive seen from WSL: version 1 calls it drvfs, version 2 reaches it over 9p or virtiofs, with that name
# among the options (https://wsl.dev/technical-documentation/drvfs).
_WSL: Final = re.compile(r"\bdrvfs\b")
# Folders that a program copies to and from other machines, by the name that it gives them.
_SYNCED: Final = (
    ("iCloud", r"mobile documents|iclouddrive|com~apple~clouddocs"),
    ("Dropbox", r"dropbox(?: \(.*\))?"),
    ("OneDrive", r"onedrive(?: - .*)?"),
    ("Google Drive", r"google ?drive(?:[ -].*)?|googledrive-.*|my drive"),
    ("Nextcloud", r"nextcloud\d*|owncloud"),
    ("a cloud storage", r"cloudstorage|pclouddrive|box sync|mega|mega ?sync|seafile|yandex\.disk|synologydrive"),
    ("a cloud storage", r"proton ?drive(?:[ -].*)?|creative cloud files|icedrive|tresors|resilio sync"),
)
# What such a program leaves in the top folder that it keeps in step, whatever that is called. (`~/.dropbox`, without
# more, is where Dropbox has its own settings.)
_LEFT_BEHIND: Final = (
    ("Dropbox", re.compile(r"\.dropbox\.cache")),
    ("Syncthing", re.compile(r"\.stfolder.*")),
    ("Nextcloud", re.compile(r"\._?sync_[0-9a-f]{12}\.db|\.(?:nextcloud|owncloud)sync\.log")),
    ("Seafile", re.compile(r"\.seafile-data")),
)
# The variables in which Windows has the folders of OneDrive, wherever they were moved.
_ONE_DRIVE: Final = ("OneDrive", "OneDriveConsumer", "OneDriveCommercial")
_MOUNTS: Final = Path("/proc/self/mounts")
_MOUNT_COMMAND: Final = "/sbin/mount"
_MOUNT_SECONDS: Final = 2.0
# `//me@nas/share on /Volumes/share (smbfs, nodev, nosuid, mounted by me)`
_MAC_ROW: Final = re.compile(r"(?P<device>.*?) on (?P<point>/.*) \((?P<kind>[^,)]+)[^)]*\)")
_MOST_NAMES: Final = 2_000  # of a folder that are looked at
_DRIVE_REMOTE: Final = 4  # GetDriveTypeW, https://learn.microsoft.com/windows/win32/api/fileapi
_ESCAPED: Final = re.compile(r"\\([0-7]{3})")


def elsewhere(folder: Path) -> str:
    """Whose disk a folder seems to lie on when it is not one of this machine alone, "" when it is."""
    real = Path(os.path.realpath(folder))
    by_name = synced_by(real.parts) or in_one_drive(real, os.environ)
    return by_name or left_behind_in((real, *real.parents), _names) or _network(real)


def synced_by(parts: Sequence[str]) -> str:
    """Which program keeps a folder in step with other machines, going by the names in its path; "" for none."""
    for name, pattern in _SYNCED:
        if any(re.fullmatch(pattern, part, re.IGNORECASE) for part in parts):
            return _in_step(name)
    return ""


def in_one_drive(folder: PurePath, environ: Mapping[str, str]) -> str:
    """The same for OneDrive on Windows, by the variables that name its folders."""
    tops = (type(folder)(environ[name]) for name in _ONE_DRIVE if environ.get(name))
    return _in_step("OneDrive") if any(folder.is_relative_to(top) for top in tops) else ""


def left_behind_in(folders: Sequence[Path], names: Callable[[Path], Iterator[str]]) -> str:
    """The same by what such a program leaves in the top folder that it keeps in step."""
    for folder in folders:
        for found in names(folder):
            for name, pattern in _LEFT_BEHIND:
                if pattern.fullmatch(found):
                    return _in_step(name)
    return ""


def network_mount(path: str, mounts: str) -> str:
    """The kind of network file system a path is on, by the text of /proc/self/mounts; "" for a local one."""
    rows = (row.split(" ") for row in mounts.splitlines())
    unescaped = (
        (_ESCAPED.sub(lambda code: chr(int(code[1], 8)), row[1]), row[2], " ".join(row[3:4]))
        for row in rows
        if len(row) > 2
    )
    return _mounted(path, unescaped)


def network_mount_of_mac(path: str, mounts: str) -> str:
    """The same by what `mount` prints on macOS."""
    matches = (_MAC_ROW.fullmatch(row) for row in mounts.splitlines())
    return _mounted(path, ((row["point"], row["kind"], "") for row in matches if row is not None))


def _mounted(path: str, rows: Iterator[tuple[str, str, str]]) -> str:
    """Of (mount point, kind, options) the nearest above a path, where others serve it."""
    best, kind, options = "", "", ""
    for point, found, more in rows:
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):  # of two on one point the later one is on top
            best, kind, options = point, found, more
    if kind == "drvfs" or _WSL.search(options):
        return f"a Windows drive seen from WSL ({kind})"
    return f"a network file system ({kind})" if kind in _NETWORK else ""


def _in_step(program: str) -> str:
    return f"a folder that {program} keeps in step with other machines"


def _names(folder: Path) -> Iterator[str]:
    """The first names in a folder, none where this user may not look."""
    try:
        with os.scandir(folder) as entries:
            yield from (one.name for one, _ in zip(entries, range(_MOST_NAMES), strict=False))
    except OSError:
        return


def _network(real: Path) -> str:
    if sys.platform == "win32":
        return _windows_drive(real)
    try:
        if sys.platform == "darwin":
            return network_mount_of_mac(str(real), _told_by_mount())
        return network_mount(str(real), _MOUNTS.read_text(encoding="utf-8", errors="replace"))
    except (OSError, subprocess.SubprocessError):  # then nobody can tell
        return ""


def _told_by_mount() -> str:
    """Raises OSError or SubprocessError."""
    done = subprocess.run(
        (_MOUNT_COMMAND,),
        capture_output=True, timeout=_MOUNT_SECONDS, check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.stdout.decode("utf-8", "replace")


def _windows_drive(real: Path) -> str:
    if real.drive.startswith("\\\\"):
        return "a network share"
    if sys.platform == "win32":
        import ctypes  # noqa: PLC0415 - of use on this system alone

        if ctypes.windll.kernel32.GetDriveTypeW(real.drive + "\\") == _DRIVE_REMOTE:
            return "a network drive"
    return ""
