"""server.json, by which the MCP registry lists the server: the fields it must have, and that they are true."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any, Final

from braindex.cli.parser import build_parser
from braindex.config import SETTINGS

ROOT = Path(__file__).resolve().parents[3]
LISTED: Final[dict[str, Any]] = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PACKAGE: Final = LISTED["packages"][0]


def test_the_versions_are_the_project_s() -> None:
    assert LISTED["version"] == PACKAGE["version"] == PROJECT["version"]


def test_the_package_is_the_project() -> None:
    assert (PACKAGE["registryType"], PACKAGE["identifier"]) == ("pypi", PROJECT["name"])
    assert PACKAGE["transport"] == {"type": "stdio"}


def test_the_registry_s_limits_are_kept() -> None:
    assert re.fullmatch(
        r"https://static\.modelcontextprotocol\.io/schemas/\d{4}-\d\d-\d\d/server\.schema\.json", LISTED["$schema"]
    )
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", LISTED["name"])
    assert 3 <= len(LISTED["name"]) <= 200
    assert 1 <= len(LISTED["description"]) <= 100
    assert 1 <= len(LISTED["title"]) <= 100
    assert set(LISTED) == {"$schema", "name", "title", "description", "version", "packages"}


def test_its_arguments_start_the_server() -> None:
    given = [one["value"] for one in PACKAGE["packageArguments"]]
    assert build_parser().parse_args(given).command.name == "serve"


def test_its_variables_are_settings_and_keys_are_secret() -> None:
    rows = {row.name for row in SETTINGS}
    named = {one["name"]: one for one in PACKAGE["environmentVariables"]}
    assert set(named) <= rows
    assert {name for name, one in named.items() if one.get("isSecret")} == {
        name for name in named if name.endswith("_KEY")
    }


def test_a_page_that_claims_the_name_for_the_registry_claims_this_one() -> None:
    """The registry looks for `mcp-name:` in the package's description, which is the README."""
    claimed = re.findall(r"mcp-name:\s*(\S+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert set(claimed) <= {LISTED["name"]}
