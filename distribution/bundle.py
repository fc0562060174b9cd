"""Writes the bundle for Claude Desktop: `braindex-VERSION.mcpb`, from a built wheel.

usage: python distribution/bundle.py WHEEL [--to FOLDER] [--no-lock]

The bundle is a zip of manifest.json, the wheel, a project that depends on it, and a start script. It holds none of
the dependencies: half of them are compiled, and one file is to do for three systems. Its server is of the type `uv`:
the client brings uv, which installs Python and the dependencies when the bundle is installed. The versions are those
of requirements.lock; `uv lock` adds their hashes, which takes uv and a package index (`--no-lock` leaves it out).
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
PARTS: Final = ROOT / "distribution" / "mcpb"
# The earliest time that a zip can hold: the same wheel gives the same bundle.
EPOCH: Final = (1980, 1, 1, 0, 0, 0)
PIN: Final = re.compile(r"^([A-Za-z0-9._-]+==[^\s;\\]+(?: ; [^\\]+?)?) *\\?$", re.MULTILINE)

PROJECT: Final = """\
[project]
name = "braindex-bundle"
version = "{version}"
requires-python = ">=3.11,<3.14"
dependencies = ["braindex"]

[tool.uv]
package = false
constraint-dependencies = {constraints}

[tool.uv.sources]
braindex = {{ path = "{wheel}" }}
"""


class NotOurWheel(Exception):
    def __init__(self, wheel: Path, version: str) -> None:
        super().__init__(f"{wheel} is not the wheel of braindex {version}, which manifest.json is for; build it anew")


def pins(lock: str) -> list[str]:
    """`name==version` of each package in a requirements.lock, with its marker."""
    return PIN.findall(lock)


def project(version: str, wheel: str, lock: str) -> str:
    """The pyproject.toml of the bundle."""
    constraints = json.dumps(pins(lock), indent=2)
    return PROJECT.format(version=version, wheel=wheel, constraints=constraints)


def lay_out(wheel: Path, folder: Path) -> str:
    """Puts the unpacked bundle into a folder; returns its version.

    Raises:
        NotOurWheel: it is another version's.
    """
    version: str = json.loads((PARTS / "manifest.json").read_text(encoding="utf-8"))["version"]
    if not wheel.name.startswith(f"braindex-{version}-"):
        raise NotOurWheel(wheel, version)
    shutil.copytree(PARTS, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (wheel, ROOT / "LICENSE", ROOT / "NOTICE"):
        shutil.copy(path, folder)
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    (folder / "pyproject.toml").write_text(project(version, wheel.name, lock), encoding="utf-8", newline="\n")
    return version


def add_lock(folder: Path) -> None:
    """Raises CalledProcessError where uv finds no solution, FileNotFoundError where there is no uv."""
    subprocess.run(["uv", "lock", "--quiet", "--project", str(folder)], check=True)


def pack(folder: Path, bundle: Path) -> None:
    """Zips a folder; equal files give equal bytes."""
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), EPOCH)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())


def build(wheel: Path, to: Path, *, lock: bool) -> Path:
    """Writes the bundle beside others in a folder and returns its path. Raises as `lay_out` and `add_lock` do."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        version = lay_out(wheel, folder)
        if lock:
            add_lock(folder)
        to.mkdir(parents=True, exist_ok=True)
        bundle = to / f"braindex-{version}.mcpb"
        pack(folder, bundle)
    return bundle


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--to", type=Path, default=ROOT / "dist", metavar="FOLDER")
    parser.add_argument("--no-lock", action="store_true", help="leave the hashes out")
    given = parser.parse_args()
    try:
        print(build(given.wheel, given.to, lock=not given.no_lock))
    except (NotOurWheel, OSError, subprocess.CalledProcessError) as error:
        print(f"bundle: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
