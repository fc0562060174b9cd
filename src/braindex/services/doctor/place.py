"""What kind of disk a folder lies on: locks and SQLite are only reliable on one of this machine."""

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

# File systems that other machines serve, by their name in /proc/self/mounts.
_NETWORK: Final = frozenset(
    "nfs nfs4 cifs smb2 smb3 smbfs 9p afs ceph glusterfs davfs ncpfs fuse.sshfs fuse.glusterfs fuse.davfs2 "
    "fuse.rclone fuse.s3fs fuse.gcsfuse vboxsf".split()
)
# Folders that a program copies to and from other machines, by a name that their path has in it.
_SYNCED: Final = (
    ("iCloud", re.compile(r"mobile documents|iclouddrive|com~apple~clouddocs", re.IGNORECASE)),
    ("Dropbox", re.compile(r"dropbox(?: \(.*\))?", re.IGNORECASE)),
    ("OneDrive", re.compile(r"onedrive(?: - .*)?", re.IGNORECASE)),
    ("Google Drive", re.compile(r"google ?drive|googledrive-.*", re.IGNORECASE)),
    ("a cloud storage", re.compile(r"cloudstorage|nextcloud|pclouddrive|box sync|mega", re.IGNORECASE)),
)
_MOUNTS: Final = Path("/proc/self/mounts")
_DRIVE_REMOTE: Final = 4  # GetDriveTypeW, https://learn.microsoft.com/windows/win32/api/fileapi
_ESCAPED: Final = re.compile(r"\\([0-7]{3})")


def elsewhere(folder: Path) -> str:
    """Whose disk a folder seems to lie on when it is not one of this machine alone, "" when it is."""
    real = Path(os.path.realpath(folder))
    return synced_by(real.parts) or _network(real)


def synced_by(parts: Sequence[str]) -> str:
    """Which program keeps a folder in step with other machines, going by the names in its path; "" for none."""
    for name, pattern in _SYNCED:
        if any(pattern.fullmatch(part) for part in parts):
            return f"a folder that {name} keeps in step with other machines"
    return ""


def network_mount(path: str, mounts: str) -> str:
    """The kind of network file system a path is on, by the text of /proc/self/mounts; "" for a local one."""
    best, kind = "", ""
    for row in mounts.splitlines():
        fields = row.split(" ")
        if len(fields) < 3:
            continue
        point = _ESCAPED.sub(lambda code: chr(int(code[1], 8)), fields[1])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):  # of two on one point the later one is on top
            best, kind = point, fields[2]
    return f"a network file system ({kind})" if kind in _NETWORK else ""


def _network(real: Path) -> str:
    if sys.platform == "win32":
        return _windows_drive(real)
    try:
        return network_mount(str(real), _MOUNTS.read_text(encoding="utf-8", errors="replace"))
    except OSError:  # macOS has no such file: only synchronised folders are told there
        return ""


def _windows_drive(real: Path) -> str:
    if real.drive.startswith("\\\\"):
        return "a network share"
    if sys.platform == "win32":
        import ctypes  # noqa: PLC0415 - of use on this system alone

        if ctypes.windll.kernel32.GetDriveTypeW(real.drive + "\\") == _DRIVE_REMOTE:
            return "a network drive"
    return ""
