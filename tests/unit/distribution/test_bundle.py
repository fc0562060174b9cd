"""The bundle for Claude Desktop: what its manifest promises, and that what it starts is the server."""

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any, Final

import pytest
from distribution import bundle
from packaging.requirements import Requirement

from braindex.config import SETTINGS

ROOT = Path(__file__).resolve().parents[3]
MANIFEST: Final[dict[str, Any]] = json.loads((bundle.PARTS / "manifest.json").read_text(encoding="utf-8"))
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENTRY: Final = MANIFEST["server"]["mcp_config"]
HUNG = 120


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / f"braindex-{PROJECT['version']}-py3-none-any.whl"
    path.write_bytes(b"a wheel")
    return path


def test_its_version_is_the_project_s() -> None:
    assert MANIFEST["version"] == PROJECT["version"]


def test_each_variable_is_a_setting_that_the_user_is_asked_for() -> None:
    assert set(ENTRY["env"]) <= {row.name for row in SETTINGS}
    asked = {re.fullmatch(r"\$\{user_config\.(\w+)\}", value)[1] for value in ENTRY["env"].values()}  # type: ignore[index]
    assert asked == set(MANIFEST["user_config"])


def test_keys_are_kept_secret_and_only_the_project_is_required() -> None:
    asked = MANIFEST["user_config"]
    assert {name for name, one in asked.items() if one.get("sensitive")} == {
        name for name in asked if name.endswith("_key")
    }
    assert {name for name, one in asked.items() if one["required"]} == {"workspace"}


def test_it_leaves_the_working_directory_alone() -> None:
    """With `--directory` the bundle's own folder would look like the project that is meant."""
    assert "--directory" not in ENTRY["args"]
    assert ENTRY["args"][-1] == "${__dirname}/" + MANIFEST["server"]["entry_point"]
    assert (bundle.PARTS / MANIFEST["server"]["entry_point"]).is_file()


def test_the_bundle_holds_the_wheel_and_a_project_that_depends_on_it(wheel: Path, tmp_path: Path) -> None:
    made = bundle.build(wheel, tmp_path / "out", lock=False)
    with zipfile.ZipFile(made) as archive:
        names = set(archive.namelist())
        project = tomllib.loads(archive.read("pyproject.toml").decode())
    assert names == {"manifest.json", "pyproject.toml", "server/main.py", wheel.name, "LICENSE", "NOTICE"}
    assert project["tool"]["uv"]["sources"] == {"braindex": {"path": wheel.name}}
    held = {Requirement(one).name for one in project["tool"]["uv"]["constraint-dependencies"]}
    assert held >= {Requirement(one).name for one in PROJECT["dependencies"]}


def test_the_same_wheel_gives_the_same_bundle(wheel: Path, tmp_path: Path) -> None:
    first, second = (bundle.build(wheel, tmp_path / name, lock=False).read_bytes() for name in ("one", "two"))
    assert first == second


def test_another_version_s_wheel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(bundle.NotOurWheel, match=r"braindex-9\.9\.9"):
        bundle.build(tmp_path / "braindex-9.9.9-py3-none-any.whl", tmp_path, lock=False)


def test_pins_keep_their_markers_and_lose_their_hashes() -> None:
    lock = (
        "anyio==4.16.0 \\\n    --hash=sha256:00\nnumpy==2.4.6 ; python_full_version < '3.12' \\\n    --hash=sha256:00\n"
    )
    assert bundle.pins(lock) == ["anyio==4.16.0", "numpy==2.4.6 ; python_full_version < '3.12'"]


def test_what_it_starts_is_the_server_and_settings_left_empty_do_not_count(tmp_path: Path) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}) + "\n"
    # MEMORY_MODE as it stands in the manifest would be refused, were it taken for a value.
    environ = {**os.environ, **ENTRY["env"], "PYTHONPATH": str(ROOT / "src")}
    environ |= {"BRAIN_DIR": str(tmp_path / "brain"), "BRAIN_WORKSPACE": str(tmp_path)}
    command = [sys.executable, str(bundle.PARTS / "server" / "main.py")]
    done = subprocess.run(
        command, input=request, env=environ, capture_output=True, text=True, timeout=HUNG, check=False
    )
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "braindex", done.stderr
