"""What a build ships: everything that the package needs to run, and nothing of the folder it was built in."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import Final

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
HUNG = 300

NEEDED: Final = {
    "braindex/py.typed",
    "braindex/cli/clients/pi_extension.ts",
    "braindex/embedding/data/model_int8.npz",
    "braindex/embedding/data/vocab.txt",
    "braindex/languages/queries/python.scm",
    "braindex/llm/prices.json",
}
FOREIGN: Final = re.compile(
    r"(^|/)(tests|bench|training|\.brain|\.git|\.venv|__pycache__|\.env)(/|$)|\.(pyc|db|log|lock)$"
)


def _build(project: Path, folder: Path, *targets: str) -> list[Path]:
    environ = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    chosen = [word for target in targets for word in ("-t", target)]
    command = [sys.executable, "-m", "hatchling", "build", *chosen, "-d", str(folder)]
    done = subprocess.run(command, cwd=project, env=environ, capture_output=True, text=True, timeout=HUNG, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(folder.iterdir())


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(sdist, wheel)"""
    sdist, wheel = sorted(
        _build(ROOT, tmp_path_factory.mktemp("dist"), "sdist", "wheel"), key=lambda path: path.suffix != ".gz"
    )
    return sdist, wheel


def _in_source() -> set[str]:
    files = {path.relative_to(SOURCE).as_posix() for path in (SOURCE / "braindex").rglob("*") if path.is_file()}
    return {path for path in files if "__pycache__" not in path}


def test_the_wheel_holds_the_package_to_the_file(built: tuple[Path, Path]) -> None:
    names = set(zipfile.ZipFile(built[1]).namelist())
    shipped = {name for name in names if name.startswith("braindex/")}
    assert shipped == _in_source()
    assert shipped >= NEEDED
    beside = {name.partition("/")[2] for name in names - shipped}
    assert beside == {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE", "licenses/NOTICE"}


def test_nothing_of_the_working_folder_is_in_the_wheel(built: tuple[Path, Path]) -> None:
    assert [name for name in zipfile.ZipFile(built[1]).namelist() if FOREIGN.search(name)] == []


def test_the_wheel_names_its_command_its_licence_and_its_dependencies(built: tuple[Path, Path]) -> None:
    wheel = zipfile.ZipFile(built[1])
    folder = next(name for name in wheel.namelist() if name.endswith("/METADATA")).partition("/")[0]
    metadata = Parser().parsestr(wheel.read(f"{folder}/METADATA").decode())
    assert (metadata["Name"], metadata["License-Expression"]) == ("braindex", "MIT")
    assert metadata["Requires-Python"] == ">=3.11"
    assert "braindex = braindex.cli.main:main" in wheel.read(f"{folder}/entry_points.txt").decode()
    needed = [one for one in metadata.get_all("Requires-Dist", []) if "extra ==" not in one]
    assert not any(" @ " in one for one in needed)


def test_the_sdist_holds_the_project_and_no_memory(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[0]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert names >= {"pyproject.toml", "README.md", "LICENSE", "NOTICE", "server.json", "requirements.lock"}
    assert names >= {f"src/{name}" for name in NEEDED}
    assert "tests/conftest.py" in names
    hidden = {name for name in names if re.search(r"(^|/)\.", name)}
    assert hidden == {".env.example", ".memignore.example", ".importlinter", ".gitignore"}
    assert [name for name in names if re.search(r"__pycache__|\.(pyc|db|log)$", name)] == []


def test_the_same_source_gives_the_same_bytes_also_by_way_of_the_sdist(
    built: tuple[Path, Path], tmp_path: Path
) -> None:
    sdist, wheel = built
    again_sdist, again = sorted(
        _build(ROOT, tmp_path / "again", "sdist", "wheel"), key=lambda path: path.suffix != ".gz"
    )
    assert again.read_bytes() == wheel.read_bytes()
    assert again_sdist.read_bytes() == sdist.read_bytes()
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (project,) = (tmp_path / "unpacked").iterdir()
    (from_sdist,) = _build(project, tmp_path / "from_sdist", "wheel")
    assert from_sdist.read_bytes() == wheel.read_bytes()
