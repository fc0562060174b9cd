"""Which collections are left over, as a user reads it."""

import json
from pathlib import Path

import pytest

from braindex.vectors.placement import LEFTOVERS, Placement, known_left_over, place, retire
from braindex.vectors.server import ChromaServer


def leave(workspaces: Path, url: str, identifier: str = "uuid", name: str = "") -> None:
    """Gives up an index on the server of a CHROMA_URL."""
    folder = workspaces / (name or url.translate({ord(one): "-" for one in ":/?&="}))
    folder.mkdir(parents=True, exist_ok=True)
    place(folder, Placement(ChromaServer(url).address, f"braindex-{folder.name}-1", identifier))
    retire(folder)


def test_what_is_left_is_counted_by_the_server_that_has_it(tmp_path: Path) -> None:
    leave(tmp_path, "http://127.0.0.1:8000", name="one")
    leave(tmp_path, "http://127.0.0.1:8000/", name="two")
    leave(tmp_path, "https://api.trychroma.com?tenant=T&database=code")
    assert known_left_over(tmp_path) == {"http://127.0.0.1:8000": 2, "https://api.trychroma.com": 1}


def test_an_index_that_was_never_made_leaves_nothing(tmp_path: Path) -> None:
    leave(tmp_path, "http://127.0.0.1:8000", identifier="")
    assert json.loads((tmp_path / LEFTOVERS).read_bytes())  # a deletion is tried all the same
    assert known_left_over(tmp_path) == {}


def test_a_path_a_tenant_and_a_database_may_be_secrets_and_are_not_shown(tmp_path: Path) -> None:
    leave(tmp_path, "http://chroma.example/s3cr3t/x?tenant=t3nant&database=code")
    assert known_left_over(tmp_path) == {"http://chroma.example": 1}


@pytest.mark.parametrize("text", ["", "{}", "[1]", "[{}]"])
def test_a_list_that_cannot_be_read_names_nothing(text: str, tmp_path: Path) -> None:
    (tmp_path / LEFTOVERS).write_text(text)
    assert known_left_over(tmp_path) == {}
    assert known_left_over(tmp_path / "nowhere") == {}
