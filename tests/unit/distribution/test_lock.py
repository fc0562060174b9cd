"""requirements.lock says what pyproject.toml asks for, and where nothing comes from."""

import re
import tomllib
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[3]
LOCK: Final = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ASKED: Final = [Requirement(one) for one in (*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"])]
PIN: Final = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)


def _pinned(name: str) -> list[str]:
    """The versions of a package: several, where they depend on the version of Python."""
    return [version for one, version in PIN.findall(LOCK) if canonicalize_name(one) == canonicalize_name(name)]


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_what_the_project_asks_for_is_locked_within_its_range(asked: Requirement) -> None:
    locked = _pinned(asked.name)
    assert locked, f"{asked.name} is not in requirements.lock; CONTRIBUTING.md says how it is renewed"
    assert [one for one in locked if not asked.specifier.contains(one, prereleases=True)] == []


def test_every_package_of_the_lock_has_a_hash() -> None:
    entries = re.split(r"\n(?=\S)", LOCK.strip())
    assert [entry.splitlines()[0] for entry in entries if "--hash=sha256:" not in entry] == []


def test_the_lock_names_no_place_that_packages_come_from() -> None:
    assert "://" not in LOCK
    assert not re.search(r"^--(index|extra-index|find-links|trusted-host)", LOCK, re.MULTILINE)
