"""Fetches the packages of packages.txt and unpacks those under a permissive licence.

usage: python training/fetch.py FOLDER [--packages training/packages.txt] [--threads 4]

Uses `pip download --no-deps` and `npm pack`, so it asks the indexes that these are set up for. Each package lands in
FOLDER/pypi/NAME or FOLDER/npm/NAME, with its licence in FOLDER/licences.tsv (index, name, version, licence as it is
stated, taken or not). A second run fetches what is missing.
"""

import argparse
import email
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

PACKAGES = Path(__file__).parent / "packages.txt"
LARGEST = 60_000_000  # bytes of an archive; larger ones are binaries
PATIENCE = 180  # seconds for one package
PERMISSIVE = re.compile(
    r"\b(MIT|MIT-0|BSD|0BSD|[23]-Clause|Apache|ISC|ISCL|PSF|Python Software Foundation|Zlib|Unlicense|CC0|HPND"
    r"|Public Domain|BlueOak|Boost|BSL-1\.0)\b",
    re.IGNORECASE,
)
RESTRICTED = re.compile(
    r"(GPL|MPL|Mozilla|Eclipse|EPL|EUPL|CDDL|CeCILL|CC[- ]BY|Commercial|Proprietary|SSPL|BUSL|Elastic)", re.IGNORECASE
)


@dataclass(frozen=True)
class Fetched:
    index: str
    name: str
    version: str
    licence: str
    taken: bool


def folder_name(name: str) -> str:
    return name.replace("@", "").replace("/", "-")


def is_permissive(licence: str) -> bool:
    """Whether every word of a stated licence allows training: unknown is no."""
    return PERMISSIVE.search(licence) is not None and RESTRICTED.search(licence) is None


def unpack(archive: Path, target: Path) -> None:
    """Text only, and never outside the target."""
    if archive.suffix in {".whl", ".zip"}:
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(target)
    else:
        with tarfile.open(archive) as opened:
            opened.extractall(target, filter="data")


def python_licence(target: Path) -> tuple[str, str]:
    """Version and licence of an unpacked wheel or source archive."""
    found = sorted([*target.glob("*.dist-info/METADATA"), *target.glob("*/PKG-INFO"), *target.glob("PKG-INFO")])
    if not found:
        return "", ""
    meta = email.message_from_string(found[0].read_text(encoding="utf-8", errors="replace"))
    stated = [
        meta.get("License-Expression") or "",
        *(one for one in meta.get_all("Classifier", []) if "License" in one),
    ]
    text = " ".join(one.removeprefix("License :: OSI Approved :: ") for one in stated if one)
    return str(meta.get("Version", "")), text or str(meta.get("License") or "").split("\n")[0][:100]


def script_licence(target: Path) -> tuple[str, str]:
    found = sorted(target.glob("*/package.json"))
    if not found:
        return "", ""
    about = json.loads(found[0].read_text(encoding="utf-8", errors="replace"))
    stated = about.get("license") or about.get("licenses") or ""
    return str(about.get("version", "")), stated if isinstance(stated, str) else json.dumps(stated)


def download(index: str, name: str, into: Path) -> Path | None:
    """The archive, or None where there is none."""
    command = (
        [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary",
            ":all:",
            "-d",
            str(into),
            name,
        ]
        if index == "pypi"
        else ["npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", str(into), name]
    )
    try:
        done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False, cwd=into)
    except subprocess.TimeoutExpired:
        return None
    archives = [one for one in into.iterdir() if one.stat().st_size <= LARGEST]
    return archives[0] if done.returncode == 0 and archives else None


def fetch(index: str, name: str, folder: Path) -> Fetched:
    target = folder / index / folder_name(name)
    with tempfile.TemporaryDirectory() as scratch:
        archive = download(index, name, Path(scratch))
        if archive is None:
            return Fetched(index, name, "", "not to be had", taken=False)
        unpacked = Path(scratch) / "unpacked"
        try:
            unpack(archive, unpacked)
        except (OSError, tarfile.TarError, zipfile.BadZipFile) as error:
            return Fetched(index, name, "", f"broken archive: {error}", taken=False)
        version, licence = python_licence(unpacked) if index == "pypi" else script_licence(unpacked)
        taken = is_permissive(licence)
        if taken:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(str(unpacked), target)
    return Fetched(index, name, version, " ".join(licence.split()), taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--packages", type=Path, default=PACKAGES)
    parser.add_argument("--threads", type=int, default=4)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    record = given.folder / "licences.tsv"
    known = {tuple(line.split("\t")[:2]) for line in record.read_text().splitlines()} if record.exists() else set()
    lines = [line.split() for line in given.packages.read_text().splitlines() if line and not line.startswith("#")]
    wanted = [(index, name) for index, name in lines if (index, name) not in known]
    with ThreadPoolExecutor(given.threads) as threads, record.open("a", encoding="utf-8") as out:
        for one in threads.map(lambda pair: fetch(*pair, given.folder), wanted):
            out.write("\t".join([one.index, one.name, one.version, one.licence, "yes" if one.taken else "no"]) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
